"""Watchers that log a run's metrics elsewhere. CSV needs none: every run writes its metrics.csv."""

from __future__ import annotations

import dataclasses
import math
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaits.progress import Watcher
from gaits.runs.files import make_folder

if TYPE_CHECKING:
    from gaits.runs.config import Config


class TensorBoard(Watcher):
    """Every metric as a TensorBoard scalar over evaluations, in RUN/tensorboard."""

    def __init__(self) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ValueError("TensorBoard needs tensorboardX: pip install 'gaits[tensorboard]'") from None
        self._make: Any = SummaryWriter
        self._writer: Any = None

    def begin(self, config: Config, folder: Path) -> None:
        place = make_folder(folder / "tensorboard")
        self._writer = self._make(str(place), filename_suffix=f".{secrets.token_hex(8)}")

    def update(self, row: dict[str, float], archive: Any) -> None:
        for name, value in finite(row).items():
            self._writer.add_scalar(name, value, global_step=int(row["evaluations"]))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class WeightsAndBiases(Watcher):
    """Every metric, and the run's configuration, to Weights & Biases, by whose own rules and login.

    Args:
        project: Name of the project there.
        options: Handed to ``wandb.init``: ``mode="offline"``, say.
    """

    def __init__(self, project: str = "gaits", **options: Any) -> None:
        try:
            import wandb
        except ImportError:
            raise ValueError("WeightsAndBiases needs wandb: pip install wandb") from None
        self._wandb: Any = wandb
        self._options = {"project": project, **options}
        self._run: Any = None

    def begin(self, config: Config, folder: Path) -> None:
        options = {"name": folder.name, "config": dataclasses.asdict(config), **self._options}
        self._run = self._wandb.init(**options)

    def update(self, row: dict[str, float], archive: Any) -> None:
        self._run.log(finite(row), step=int(row["evaluations"]))

    def close(self) -> None:
        if self._run is not None:
            self._run.finish()


def finite(row: dict[str, float]) -> dict[str, float]:
    """The metrics that have a value: those of an empty archive, and of a critic that has not learned yet, have none."""
    return {name: value for name, value in row.items() if math.isfinite(value)}
