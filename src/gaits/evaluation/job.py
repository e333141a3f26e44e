"""A checked job: episodes to play, and the assembly of their outcomes. Shared by all evaluators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gaits.console import describe
from gaits.evaluation.player import EpisodeFailed, Player
from gaits.evaluation.results import Results, Transitions
from gaits.physics import kernel
from gaits.physics.world import Episode, Setup, check_seed
from gaits.tasks.task import Task


@dataclass(frozen=True)
class Job:
    """n solutions with E episodes each; episode e belongs to solution e // E."""

    solutions: np.ndarray  # (n, solution_dim) float32
    seeds: np.ndarray  # (n, E) int64
    transitions: np.ndarray  # (n,) bool
    action_noise: float
    obs_mean: np.ndarray  # (n or 1, obs_dim) float32
    obs_std: np.ndarray  # (n or 1, obs_dim) float32
    first: int = 0
    """Position of the first solution in the batch this is a part of."""

    @property
    def n_episodes(self) -> int:
        return self.seeds.size

    def play(self, episode: int, player: Player, task: Task) -> Episode:
        """Play one episode of the batch; the outcome depends on nothing else."""
        i = episode // self.seeds.shape[1]
        seed = int(self.seeds.flat[episode])
        try:
            return player.play(
                Setup(
                    self.solutions[i],
                    seed,
                    self.obs_mean[i % len(self.obs_mean)],
                    self.obs_std[i % len(self.obs_std)],
                    draw_noise(seed, self.action_noise, task),
                    bool(self.transitions[i]),
                )
            )
        except Exception as error:
            if task.env is None:
                raise
            told = error if isinstance(error, EpisodeFailed) else describe(error)
            raise EpisodeFailed(
                f"{task.name} failed in the episode of solution {self.first + i} with seed {seed}. {told}"
            ) from None

    def part(self, start: int, stop: int) -> Job:
        """The job of some of the solutions, in arrays that travel alone."""
        rows = slice(start, stop)
        mean, std = (a[rows] if len(a) > 1 else a for a in (self.obs_mean, self.obs_std))
        return Job(
            self.solutions[rows], self.seeds[rows], self.transitions[rows], self.action_noise, mean, std, self.first + start
        )

    def assemble(self, episodes: list[Episode], task: Task) -> Results:
        """Results from all episodes, in order."""
        shape = self.seeds.shape
        objective = np.array([e.objective for e in episodes], float).reshape(shape)
        measures = np.array([e.measures for e in episodes], float).reshape(*shape, len(task.measure_names))
        return Results(
            objective=objective.mean(axis=1),
            measures=measures.mean(axis=1),
            length=np.array([e.length for e in episodes], np.int64).reshape(shape).sum(axis=1),
            failed=np.any(np.array([e.end == kernel.NON_FINITE for e in episodes], bool).reshape(shape), axis=1),
            episode_objective=objective,
            transitions=self._join(episodes) if self.transitions.any() else None,
        )

    def _join(self, episodes: list[Episode]) -> Transitions:
        kept = [(i // self.seeds.shape[1], e) for i, e in enumerate(episodes) if self.transitions[i // self.seeds.shape[1]]]
        lengths = np.array([e.length for _, e in kept])
        last = np.cumsum(lengths)[lengths > 0] - 1
        ends = np.array([e.end for _, e in kept])[lengths > 0]
        terminated, truncated = np.zeros((2, lengths.sum()), bool)
        terminated[last] = ends == kernel.TERMINATED
        truncated[last] = ends == kernel.TRUNCATED
        return Transitions(
            obs=np.concatenate([e.obs[:-1] for _, e in kept]),
            action=np.concatenate([e.actions for _, e in kept]),
            reward=np.concatenate([e.rewards for _, e in kept]),
            next_obs=np.concatenate([e.obs[1:] for _, e in kept]),
            terminated=terminated,
            truncated=truncated,
            solution=np.repeat([i for i, _ in kept], lengths),
        )


def draw_noise(seed: int, std: float, task: Task) -> np.ndarray:
    """Action noise of one episode (max_steps, action_dim), from a stream apart from the start angles'."""
    if std == 0.0:
        return np.zeros((0, task.action_dim), np.float32)
    stream = np.random.SeedSequence(seed, spawn_key=(1,))
    rng = np.random.Generator(np.random.PCG64(stream))
    return np.float32(std) * rng.standard_normal((task.max_steps, task.action_dim), np.float32)


def make_job(
    task: Task,
    solutions: ArrayLike,
    seeds: ArrayLike,
    transitions: ArrayLike = False,
    action_noise: float = 0.0,
    obs_mean: ArrayLike | None = None,
    obs_std: ArrayLike | None = None,
) -> Job:
    """Check what the user gave, once, so that nothing further in has to."""
    checked = check_solutions(task, solutions)
    n = len(checked)
    keep = np.asarray(transitions, bool)
    if keep.shape not in ((), (n,)):
        raise ValueError(f"transitions must be one bool or {n}, one per solution; got shape {keep.shape}.")
    if not isinstance(action_noise, (int, float)) or not (np.isfinite(action_noise) and action_noise >= 0):
        raise ValueError(f"action_noise must be a finite standard deviation of 0 or more; got {action_noise}.")
    mean = check_statistics("obs_mean", task, n, 0.0 if obs_mean is None else obs_mean)
    std = check_statistics("obs_std", task, n, 1.0 if obs_std is None else obs_std)
    if not (std > 0).all():
        raise ValueError(f"obs_std must be positive everywhere; its smallest value is {std.min()}.")
    return Job(checked, check_seeds(seeds, n), np.broadcast_to(keep, n), float(action_noise), mean, std)


def check_solutions(task: Task, solutions: ArrayLike) -> np.ndarray:
    dim = task.solution_dim
    array = to_float32(solutions)
    if array is None or array.ndim != 2 or array.shape[1] != dim:
        got = "rows of different lengths or not numbers" if array is None else f"shape {array.shape}"
        raise ValueError(f"Solutions for {task.name} must have shape (n, {dim}), a row of {dim} parameters each. Got {got}.")
    bad = np.flatnonzero(~np.isfinite(array.sum(axis=1, dtype=np.float64)))  # float32 cannot overflow a float64 sum
    if bad.size:
        raise ValueError(
            f"Solutions must be finite in float32; {bad.size} of {len(array)} are not, the first at position {bad[0]}."
        )
    return array


def check_seeds(seeds: ArrayLike, n: int) -> np.ndarray:
    expected = f"one whole number from 0 to 2**63 - 1 per solution, shape ({n},), or per episode, shape ({n}, episodes)"
    # As objects: NumPy would turn a list with a seed beyond 2**63 into floats.
    array = seeds if isinstance(seeds, np.ndarray) else np.array(seeds, np.object_)
    if array.ndim not in (1, 2) or len(array) != n or (array.ndim == 2 and array.shape[1] == 0):
        raise ValueError(f"seeds must be {expected}; got shape {array.shape}.")
    for seed in array.flat:
        try:
            check_seed(seed)
        except ValueError:
            raise ValueError(f"seeds must be {expected}; got {seed!r}.") from None
    return array.astype(np.int64).reshape(n, -1 if array.size else 1)


def check_statistics(name: str, task: Task, n: int, values: ArrayLike) -> np.ndarray:
    array = to_float32(values)
    if array is None or array.shape not in ((), (task.obs_dim,), (n, task.obs_dim)) or not np.isfinite(array).all():
        got = "rows of different lengths or not numbers" if array is None else f"shape {array.shape}"
        raise ValueError(f"{name} must be finite with shape ({task.obs_dim},) or ({n}, {task.obs_dim}); got {got}.")
    rows = n if array.ndim == 2 and n else 1
    return np.ascontiguousarray(np.broadcast_to(array, (rows, task.obs_dim)))


def to_float32(values: ArrayLike) -> np.ndarray | None:
    """The values as a float32 array, or None if they do not make one."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(values, np.float32, order="C")
    except (ValueError, TypeError):
        return None
