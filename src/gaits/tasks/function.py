"""Problems that are computed, not simulated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gaits.policies import MLP
from gaits.tasks.problem import Parts, Problem

if TYPE_CHECKING:
    from gaits.episodes.player import Player
    from gaits.tasks.qdgym import Robot
    from gaits.tasks.task import Task


class Function(Problem):
    """Objective, measures, and their exact gradients, of solutions that are just numbers."""

    dim: int
    """Number of parameters of a solution."""
    lowest: ClassVar[float] = -math.inf
    """The lowest objective in the function's domain. A solution below it is outside, and fails: no archive takes it."""

    def evaluate(self, solutions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Objectives (n,) and measures (n, k) of solutions (n, dim)."""
        raise NotImplementedError

    def jacobian(self, solution: np.ndarray) -> np.ndarray:
        """Gradients (1 + k, dim) of the objective and each measure at a solution (dim,)."""
        raise NotImplementedError

    def make_policy(self, task: Task) -> MLP:
        raise ValueError(
            f"{task.name} is a function, not a robot: it has no policies and no episodes. Choose a task such as qd_hopper."
        )

    def solution_dim(self, task: Task) -> int:
        return self.dim

    def first_solution(self, task: Task, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(self.dim, np.float32)

    def make_player(self, task: Task) -> Player:
        from gaits.episodes.function import FunctionPlayer

        return FunctionPlayer(self)

    def check_luck(self, task: Task) -> None:
        raise ValueError(f"{task.name} is a function, the same every time: there is no luck in it.")

    def unwatchable(self, task: Task) -> str:
        return f"{task.title} is a function, not a robot: there is nothing to watch, only the map."

    def find_parts(self, task: Task) -> Parts:
        raise ValueError(f"{task.name} is a function, not a robot. Choose a task such as qd_hopper.")

    def find_robot(self, task: Task) -> Robot:
        raise ValueError(f"{task.name} is a function, not a robot. Choose a task such as qd_hopper.")

    def find_function(self, task: Task) -> Function:
        return self
