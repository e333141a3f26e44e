"""MAP-Elites: copy random elites, add Gaussian noise, keep what is better. The paper's simplest baseline.

MAP-Elites (line) crosses pairs of elites instead (Vassiliades and Mouret, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.emitters import GaussianEmitter, IsoLineEmitter, MutationEmitter
from gaits.algorithms.luck import LuckSettings
from gaits.algorithms.ribs_state import archive_state, restore_archive
from gaits.archives import SEED, insert, make_archive
from gaits.checks import positive
from gaits.evaluation.results import Results
from gaits.tasks.task import Task


@dataclass(frozen=True)
class MapElitesSettings(LuckSettings):
    """Settings of MAP-Elites; the defaults are the paper's."""

    batch_size: int = 100
    """Solutions per iteration (λ)."""
    sigma: float = 0.02
    """Standard deviation of the Gaussian noise on every parameter (σ)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "batch_size", "sigma")


@dataclass(frozen=True)
class MapElitesLineSettings(LuckSettings):
    """Settings of MAP-Elites (line); the defaults are those of PGA-MAP-Elites, for policies."""

    batch_size: int = 100
    """Solutions per iteration (λ)."""
    iso_sigma: float = 0.005
    """Standard deviation of the noise on every parameter (σ_1)."""
    line_sigma: float = 0.05
    """Standard deviation of the step along the line between two elites (σ_2)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "batch_size", "iso_sigma", "line_sigma")


class MapElites:
    """One iteration: λ uniformly chosen elites plus N(0, σ²I), inserted in order. The first starts from one network."""

    def __init__(self, task: Task, settings: Any, seed: np.random.SeedSequence) -> None:
        init, archive, emitter = spawn_ints(seed, 3)
        self.archive = make_archive(task, archive, fields=SEED)
        self.emitter = self.make_emitter(settings, task.init(np.random.default_rng(init)), emitter)

    def make_emitter(self, settings: Any, x0: np.ndarray, seed: int) -> MutationEmitter:
        return GaussianEmitter(self.archive, sigma=settings.sigma, x0=x0, batch_size=settings.batch_size, seed=seed)

    def ask(self) -> Batch:
        self.solutions = self.emitter.ask()
        return Batch(self.solutions)

    def learn(self) -> None:
        self.emitter.prepare()

    def tell(self, results: Results) -> Iteration:
        return Iteration(
            [insert(self.archive, self.solutions, results.objective, results.measures, results.failed, results.seed)]
        )

    def state(self) -> dict[str, Any]:
        return {"archive": archive_state(self.archive), "emitter": self.emitter.state()}

    def restore(self, state: dict[str, Any]) -> None:
        restore_archive(self.archive, state["archive"])
        self.emitter.restore(state["emitter"])


class MapElitesLine(MapElites):
    """The same with crossover: x + N(0, σ_1² I) + N(0, σ_2²) (y - x) of elites x and y."""

    def make_emitter(self, settings: MapElitesLineSettings, x0: np.ndarray, seed: int) -> MutationEmitter:
        sigmas = {"sigma": settings.iso_sigma, "line_sigma": settings.line_sigma}
        return IsoLineEmitter(self.archive, **sigmas, x0=x0, batch_size=settings.batch_size, seed=seed)
