"""Exact gradients, for tasks that are differentiable functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.evaluation.results import Results
from gaits.tasks.function import Function


class ExactGradients:
    """The function's own Jacobian; no samples."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def samples(self, solution: np.ndarray) -> np.ndarray:
        return np.zeros((0, self.function.dim), np.float32)

    def jacobian(self, solution: np.ndarray, results: Results) -> np.ndarray:
        return self.function.jacobian(solution)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
