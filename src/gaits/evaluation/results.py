"""What an evaluation gives back, and the protocol of everything that evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from gaits.episodes import NON_FINITE, TERMINATED, TRUNCATED, Batch, Job
from gaits.tasks.task import Task

CLOSED = "The evaluator was closed while this job was being evaluated."


@dataclass(frozen=True)
class Transitions:
    """Steps of several episodes, one episode after another, in the order of the solutions. N steps in all.

    Attributes:
        obs: (N, obs_dim) float32, before the step; never normalized.
        action: (N, action_dim) float32, as the policy gave it, noise included.
        reward: (N,) float64.
        next_obs: (N, obs_dim) float32.
        terminated: (N,) bool: the robot fell.
        truncated: (N,) bool: the step limit was reached.
        solution: (N,) int64, position in the batch.
    """

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_obs: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    solution: np.ndarray


@dataclass(frozen=True)
class Results:
    """Outcome of evaluating n solutions, with E episodes each.

    Attributes:
        objective: (n,) float64, mean return over the episodes.
        measures: (n, k) float64, mean over the episodes.
        length: (n,) int64, steps over all episodes.
        failed: (n,) bool: numbers were not finite, and an episode ended just before; or outside a function's domain.
        episode_objective: (n, E) float64.
        episode_measures: (n, E, k) float64.
        seeds: (n, E) int64, of the episodes.
        transitions: Every step, if the batch asked for them.
    """

    objective: np.ndarray
    measures: np.ndarray
    length: np.ndarray
    failed: np.ndarray
    episode_objective: np.ndarray
    episode_measures: np.ndarray
    seeds: np.ndarray
    transitions: Transitions | None = None

    @property
    def seed(self) -> np.ndarray:
        """(n,) the seed of each solution's first episode, which is its only one in a search."""
        return self.seeds[:, 0]

    def rows(self, which: slice) -> Results:
        """The results of some of the solutions, without transitions."""
        names = ("objective", "measures", "length", "failed", "episode_objective", "episode_measures", "seeds")
        return Results(**{name: getattr(self, name)[which] for name in names})


def assemble(job: Job) -> Results:
    """The results of a job that was played to its end."""
    shape = job.seeds.shape
    objective, measures = job.objective.reshape(shape), job.measures.reshape(*shape, job.n_measures)
    return Results(
        objective=objective.mean(axis=1),
        measures=measures.mean(axis=1),
        length=job.length.reshape(shape).sum(axis=1),
        failed=(job.end == NON_FINITE).reshape(shape).any(axis=1),
        episode_objective=objective,
        episode_measures=measures,
        seeds=job.seeds,
        transitions=_join(job) if job.steps else None,
    )


def _join(job: Job) -> Transitions:
    """The steps of all recorded episodes, in order."""
    kept = job.recorded
    steps = [job.steps[i] for i in kept.tolist()]
    lengths = job.length[kept]
    last = np.cumsum(lengths)[lengths > 0] - 1
    ends = job.end[kept][lengths > 0]
    terminated, truncated = np.zeros((2, lengths.sum()), bool)
    terminated[last] = ends == TERMINATED
    truncated[last] = ends == TRUNCATED
    return Transitions(
        obs=np.concatenate([one.obs[:-1] for one in steps]),
        action=np.concatenate([one.actions for one in steps]),
        reward=np.concatenate([one.rewards for one in steps]),
        next_obs=np.concatenate([one.obs[1:] for one in steps]),
        terminated=terminated,
        truncated=truncated,
        solution=np.repeat(kept // job.episodes_each, lengths),
    )


class Pending(Protocol):
    """An evaluation under way."""

    def result(self) -> Results:
        """Wait for it."""


class Evaluator(Protocol):
    """Evaluates solutions of one task. The result depends on the arguments alone, never on who computes it.

    Close it when done, or use it in a ``with`` statement.
    """

    task: Task

    def submit(self, batch: Batch, seeds: ArrayLike) -> Pending:
        """Start evaluating a batch of n solutions.

        ``seeds`` are (n,), one per solution, or (n, E) for E episodes each. Seed s plays the episode of ``reset(seed=s)``.
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
        """Evaluate solutions, and wait for it. The arguments are those of ``Batch``, and seeds as for ``submit``."""
        options: dict[str, Any] = {"action_noise": action_noise, "obs_mean": obs_mean, "obs_std": obs_std}
        return self.submit(Batch(solutions, transitions=transitions, **options), seeds).result()

    def close(self) -> None:
        """Free everything it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
