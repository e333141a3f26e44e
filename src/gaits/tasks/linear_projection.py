"""Linear projection: the benchmark of the differentiable quality diversity literature (Fontaine and Nikolaidis, 2021).

The measures are sums of the two halves of a solution, each coordinate limited to [-5.12, 5.12] (beyond, it counts as
5.12 / x). Most of the measure space can only be reached when many coordinates move together, so plain mutation stays
near the middle, and following the gradients does not. The objective is a shifted sphere or Rastrigin function, scaled so
that 100 is the optimum and 0 the corner of the box farthest from it. Nothing holds solutions inside the box, and far beyond
it objectives fall without end; those below 0 are refused, as by the minimum acceptance threshold of CMA-MAE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gaits.tasks.function import Function
from gaits.tasks.task import Task

EDGE = 5.12
SHIFT = 0.4 * EDGE


@dataclass(frozen=True)
class LinearProjection(Function):
    """Sphere or Rastrigin over linear projections, with exact gradients."""

    dim: int = 100
    objective: Literal["sphere", "rastrigin"] = "sphere"
    lowest: ClassVar = 0.0

    @property
    def suited(self) -> Mapping[str, Any]:
        """Mutations for a box 10 wide; those for weights of networks stay where they begin."""
        return {"sigma": 0.5, "iso_sigma": 0.5, "line_sigma": 0.2}

    def evaluate(self, solutions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = solutions.astype(np.float64)
        clipped = np.where(np.abs(x) <= EDGE, x, EDGE / np.where(x == 0, 1, x))
        measures = np.stack([half.sum(axis=1) for half in np.array_split(clipped, 2, axis=1)], axis=1)
        return 100.0 * (1.0 - self._cost(x - SHIFT) / self._worst), measures

    def jacobian(self, solution: np.ndarray) -> np.ndarray:
        x = solution.astype(np.float64)
        slope = np.where(np.abs(x) <= EDGE, 1.0, -EDGE / np.where(x == 0, 1, x) ** 2)
        first = np.arange(self.dim) < (self.dim + 1) // 2
        return np.stack([-100.0 * self._cost_gradient(x - SHIFT) / self._worst, slope * first, slope * ~first])

    @property
    def _worst(self) -> float:
        return float(self._cost(np.full((1, self.dim), -EDGE - SHIFT))[0])

    def _cost(self, d: np.ndarray) -> np.ndarray:
        cost = (d**2).sum(axis=1)
        if self.objective == "rastrigin":
            cost = cost + (10.0 - 10.0 * np.cos(2 * np.pi * d)).sum(axis=1)
        return cost

    def _cost_gradient(self, d: np.ndarray) -> np.ndarray:
        return 2 * d + (20 * np.pi * np.sin(2 * np.pi * d) if self.objective == "rastrigin" else 0.0)


def linear_projection(objective: Literal["sphere", "rastrigin"], dim: int = 100, cells: int = 100) -> Task:
    return Task(
        name=f"lp_{objective}",
        title=f"Linear projection ({objective})",
        problem=LinearProjection(dim, objective),
        measure_names=("sum of the first half", "sum of the second half"),
        measure_range=(-EDGE * dim / 2, EDGE * dim / 2),
        grid=(cells, cells),
        objective_range=(0.0, 100.0),
    )


LINEAR_PROJECTION = (linear_projection("sphere"), linear_projection("rastrigin"))
