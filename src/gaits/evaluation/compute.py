"""What to compute on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gaits.checks import above_zero, lookup, whole_number


@dataclass(frozen=True)
class Compute:
    """What episodes are played and critics trained on. It changes the speed of a run and nothing else."""

    workers: int | None = None
    """Threads to play episodes on; processes, for an environment in Python. None is one per core."""
    scheduler: str | None = None
    """Play episodes on a Dask cluster (needs gaits[cluster]): its address such as tcp://HOST:8786, its scheduler's file,
    local for --workers processes here, or slurm for --workers jobs."""
    deadline: float = 300.0
    """Seconds without an answer, after which a cluster's workers are given up and their episodes played elsewhere."""
    tls_ca: str | None = None
    """For a cluster at a tls:// address: file of the authority that signed its certificates. Needs the other two."""
    tls_cert: str | None = None
    """File of this process's certificate."""
    tls_key: str | None = None
    """File of the certificate's key."""
    learner_cores: int | None = None
    """Cores that critics train on while episodes run; None is all, shared with the workers."""

    def __post_init__(self) -> None:
        for name in ("workers", "learner_cores"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)
        above_zero("deadline", self.deadline)
        files = (self.tls_ca, self.tls_cert, self.tls_key)
        if any(files) and (not all(files) or self.scheduler in (None, "local")):
            raise ValueError("--tls-ca, --tls-cert and --tls-key go together, for a --scheduler on other machines.")

    @property
    def tls(self) -> tuple[str, str, str] | None:
        """Authority, certificate and key, if connections are encrypted."""
        return (self.tls_ca, self.tls_cert, self.tls_key) if self.tls_ca and self.tls_cert and self.tls_key else None


NAMES = tuple(field.name for field in dataclasses.fields(Compute))


def make_compute(options: Mapping[str, Any]) -> Compute:
    """From keyword arguments, which can be nothing else."""
    for name in options:
        lookup("option of where to compute", name, dict.fromkeys(NAMES))
    return Compute(**options)


def split(options: dict[str, Any]) -> tuple[Compute, dict[str, Any]]:
    """From keyword arguments, and those that are left."""
    here = {name: value for name, value in options.items() if name in NAMES}
    return Compute(**here), {name: value for name, value in options.items() if name not in NAMES}
