"""What an evaluation gives back, and the protocol of everything that evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from gaits.tasks.task import Task


@dataclass(frozen=True)
class Transitions:
    """Steps of several episodes, one episode after another, in the order of the solutions. N steps in all."""

    obs: np.ndarray  # (N, obs_dim) float32, before the step; never normalized
    action: np.ndarray  # (N, action_dim) float32, as the policy gave it, noise included
    reward: np.ndarray  # (N,) float64
    next_obs: np.ndarray  # (N, obs_dim) float32
    terminated: np.ndarray  # (N,) bool: the robot fell
    truncated: np.ndarray  # (N,) bool: the step limit was reached
    solution: np.ndarray  # (N,) int64, position in the batch


@dataclass(frozen=True)
class Results:
    """Outcome of evaluating n solutions, with E episodes each."""

    objective: np.ndarray  # (n,) float64, mean return over the episodes
    measures: np.ndarray  # (n, k) float64, mean over the episodes
    length: np.ndarray  # (n,) int64, steps over all episodes
    failed: np.ndarray  # (n,) bool: an episode met numbers that are not finite, and ended just before
    episode_objective: np.ndarray  # (n, E) float64
    transitions: Transitions | None = None

    def rows(self, which: slice) -> Results:
        """The results of some of the solutions, without transitions."""
        names = ("objective", "measures", "length", "failed", "episode_objective")
        return Results(**{name: getattr(self, name)[which] for name in names})


class Pending(Protocol):
    """An evaluation under way."""

    def result(self) -> Results:
        """Wait for it."""


class Evaluator(Protocol):
    """Evaluates solutions of one task. The result depends on the arguments alone, never on who computes it.

    Close it when done, or use it in a ``with`` statement.
    """

    task: Task

    def submit(
        self,
        solutions: ArrayLike,
        seeds: ArrayLike,
        transitions: ArrayLike = False,
        *,
        action_noise: float = 0.0,
        obs_mean: ArrayLike | None = None,
        obs_std: ArrayLike | None = None,
    ) -> Pending:
        """Start evaluating.

        Args:
            solutions: (n, solution_dim) policy parameters.
            seeds: (n,) one seed per solution, or (n, E) for E episodes each. Seed s plays the episode of ``reset(seed=s)``.
            transitions: Whether to keep every step; one bool, or one per solution.
            action_noise: Standard deviation of Gaussian noise added to every action.
            obs_mean, obs_std: (obs_dim,) or (n, obs_dim); policies see (obs - mean) / std.
        """

    def evaluate(
        self,
        solutions: ArrayLike,
        seeds: ArrayLike,
        transitions: ArrayLike = False,
        *,
        action_noise: float = 0.0,
        obs_mean: ArrayLike | None = None,
        obs_std: ArrayLike | None = None,
    ) -> Results:
        """Evaluate: ``submit(...).result()``, whose arguments these are."""
        options = {"action_noise": action_noise, "obs_mean": obs_mean, "obs_std": obs_std}
        return self.submit(solutions, seeds, transitions, **options).result()  # type: ignore[arg-type]

    def close(self) -> None:
        """Free everything it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
