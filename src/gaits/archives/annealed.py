"""Annealed archives, as CMA-MAE searches with: a cell accepts what is above its threshold, which follows what it accepts.

A threshold t starts at the lowest objective of the task and moves by t ← (1 - α) t + α f with every solution accepted, so a
cell that was just improved stays worth improving; at α = 1 it is the elite's objective, and at 0 nothing is ever learnt.
Elites in here may be worse than ones before them: what a search found is in a result archive beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaits.archives.archive import KINDS, REFUSED, Archive, _make
from gaits.checks import between
from gaits.tasks.task import Task


@dataclass(frozen=True)
class AnnealingSettings:
    """Settings of an annealed archive."""

    archive_learning_rate: float = 0.01
    """How fast a cell's threshold follows what the cell accepts (α), from 0 to 1, which is MAP-Elites' archive."""

    def __post_init__(self) -> None:
        between(self, 0.0, 1.0, "archive_learning_rate")


def make_annealed(task: Task, settings: AnnealingSettings, seed: int) -> Archive:
    """An empty annealed archive over the task's measures."""
    kind, low = KINDS[task.archive], task.objective_range[0]
    options = {"seed": seed, "learning_rate": settings.archive_learning_rate, "threshold_min": low}
    return _make(kind, kind.of(task), task.ranges, task.solution_dim, low, **options)


def anneal(
    archive: Archive, solutions: np.ndarray, objective: np.ndarray, measures: np.ndarray, failed: np.ndarray
) -> dict[str, np.ndarray]:
    """Offer a batch at once, by CMA-MAE's batch rule: ribs' ``status``, and ``value``, how far each is above its threshold.

    ``failed`` ones are not offered, and rank last.
    """
    status, value = np.zeros(len(objective), np.int32), np.full(len(objective), REFUSED)
    fine = ~failed
    if fine.any():
        told = archive.add(solutions[fine], objective[fine], measures[fine])
        status[fine], value[fine] = told["status"], told["value"]
    return {"status": status, "value": value}
