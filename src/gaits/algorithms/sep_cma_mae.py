"""sep-CMA-MAE: several diagonal Gaussians that climb an annealed archive (Tjanaka, Fontaine, Lee, Kalkar, Nikolaidis, 2023).

CMA-MAE for policies of thousands of parameters: separable CMA-ES keeps a variance per parameter, and no covariances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits import memory
from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.emitters import GaussiansEmitter
from gaits.algorithms.ribs_state import archive_state, restore_archive, restore_ribs, ribs_state
from gaits.archives import SEED, AnnealingSettings, anneal, insert, make_annealed, make_archive
from gaits.checks import positive
from gaits.evaluation.results import Results
from gaits.tasks.task import Task


@dataclass(frozen=True)
class SepCmaMaeSettings(AnnealingSettings):
    """Settings of sep-CMA-MAE; the defaults are its paper's."""

    batch_size: int = 200
    """Solutions per iteration, of all emitters together; each has the same number."""
    emitters: int = 5
    """Gaussians that are adapted side by side (ψ)."""
    sigma0: float = 0.02
    """Initial step size of every Gaussian (σ_0)."""
    archive_learning_rate: float = 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "batch_size", "emitters", "sigma0")
        if self.batch_size % self.emitters or self.batch_size < 4 * self.emitters:
            raise ValueError(
                f"batch_size must be a multiple of emitters, and at least 4 times as many, so that each has two parents; "
                f"got {self.batch_size} and {self.emitters}."
            )


class SepCmaMae:
    """One iteration: every emitter samples its Gaussian; all are inserted; each emitter steps towards what improved most."""

    def __init__(self, task: Task, settings: SepCmaMaeSettings, seed: np.random.SeedSequence) -> None:
        init, archive, *emitters = spawn_ints(seed, 2 + settings.emitters)
        self.archive = make_archive(task, archive, fields=SEED)
        self.annealed = make_annealed(task, settings, archive)
        x0 = task.init(np.random.default_rng(init))
        self.emitters = [
            GaussiansEmitter(
                self.annealed,
                x0=x0,
                sigma0=settings.sigma0,
                ranker="imp",
                es="sep_cma_es",
                selection_rule="mu",
                restart_rule="basic",
                batch_size=settings.batch_size // settings.emitters,
                seed=one,
            )
            for one in emitters
        ]

    def ask(self) -> Batch:
        self.solutions = memory.join(*(emitter.ask() for emitter in self.emitters))
        return Batch(self.solutions)

    def learn(self) -> None:
        pass

    def tell(self, results: Results) -> Iteration:
        outcome = (self.solutions, results.objective, results.measures, results.failed)
        inserted, told = insert(self.archive, *outcome, results.seed), anneal(self.annealed, *outcome)
        for i, emitter in enumerate(self.emitters):
            own = slice(i * emitter.batch_size, (i + 1) * emitter.batch_size)
            emitter.tell({name: values[own] for name, values in told.items()})
        return Iteration([inserted], {"restarts": sum(emitter.restarts for emitter in self.emitters)})

    def state(self) -> dict[str, Any]:
        archives = {"archive": archive_state(self.archive), "annealed": archive_state(self.annealed)}
        return {**archives, "emitters": [ribs_state(emitter) for emitter in self.emitters]}

    def restore(self, state: dict[str, Any]) -> None:
        restore_archive(self.archive, state["archive"])
        restore_archive(self.annealed, state["annealed"])
        for emitter, its in zip(self.emitters, state["emitters"], strict=True):
            restore_ribs(emitter, its)
