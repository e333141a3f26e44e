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
    """Threads to play episodes on; processes, for an environment in Python. Default: one per core."""
    scheduler: str | None = None
    """Play episodes on a Dask cluster (needs gaits[cluster]): its address such as tcp://HOST:8786, its scheduler's file,
    local for --workers processes here, or slurm for --workers jobs."""
    deadline: float = 300.0
    """Seconds without an answer, after which a cluster's workers are given up and their episodes played elsewhere."""
    learner_cores: int | None = None
    """Cores that critics train on while episodes run; default: all, shared with the workers."""

    def __post_init__(self) -> None:
        for name in ("workers", "learner_cores"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), 1)
        above_zero("deadline", self.deadline)


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
