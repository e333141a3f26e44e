"""MAP-Elites: copy random elites, add Gaussian noise, keep what is better. The paper's simplest baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.emitters import GaussianEmitter
from gaits.algorithms.ribs_state import archive_state, restore_archive
from gaits.archives import SEED, insert, make_archive
from gaits.checks import positive
from gaits.evaluation.results import Results
from gaits.tasks.task import Task


@dataclass(frozen=True)
class MapElitesSettings:
    """Settings of MAP-Elites; the defaults are the paper's."""

    batch_size: int = 100
    """Solutions per iteration (λ)."""
    sigma: float = 0.02
    """Standard deviation of the Gaussian noise on every parameter (σ)."""

    def __post_init__(self) -> None:
        positive(self, "batch_size", "sigma")


class MapElites:
    """One iteration: λ uniformly chosen elites plus N(0, σ²I), inserted in order. The first starts from one network."""

    def __init__(self, task: Task, settings: MapElitesSettings, seed: np.random.SeedSequence) -> None:
        init, archive, emitter = spawn_ints(seed, 3)
        self.archive = make_archive(task, archive, fields=SEED)
        self.emitter = GaussianEmitter(
            self.archive,
            sigma=settings.sigma,
            x0=task.init(np.random.default_rng(init)),
            batch_size=settings.batch_size,
            seed=emitter,
        )

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
