"""Evaluation of tasks that are functions: no episodes, no threads, no seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gaits.evaluation.job import check_solutions
from gaits.evaluation.results import Evaluator, Results
from gaits.tasks.task import Task


class FunctionEvaluator(Evaluator):
    """Computes the task's function. Seeds, noise, normalization and transitions, which only episodes have, are ignored."""

    def __init__(self, task: Task) -> None:
        assert task.function is not None
        self.task, self.function = task, task.function

    def submit(self, solutions: ArrayLike, seeds: ArrayLike, transitions: ArrayLike = False, **options: Any) -> Computed:
        checked = check_solutions(self.task, solutions)
        objective, measures = self.function.evaluate(checked)
        n = len(checked)
        return Computed(Results(objective, measures, np.zeros(n, np.int64), ~np.isfinite(objective), objective[:, None]))

    def close(self) -> None:
        pass


class Computed:
    """A result that is already there."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def result(self) -> Results:
        return self._results
