"""Episodes to play, checked, and room for their outcomes: what every player takes, whoever asks for it."""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from gaits.episodes.episode import Episode, Pictures, Setup, Steps, Trace, check_seed, draw_noise
from gaits.tasks.task import Task

NOT_PLAYED = -1
_taking = threading.Lock()  # one for all: it is held for less than a microsecond, and a job must travel to other machines


@dataclass(frozen=True)
class Batch:
    """Solutions to evaluate, and how.

    Attributes:
        solutions: (n, solution_dim) policy parameters.
        counted: Whether they count as evaluations of a search's budget.
        transitions: Whether to keep every step; one bool, or one per solution.
        action_noise: Standard deviation of Gaussian noise added to every action.
        obs_mean: (obs_dim,) or (n, obs_dim); policies see (obs - mean) / std.
        obs_std: The same.
        seeds: (n,) of the episodes that a search is to play; None for new ones.
    """

    solutions: ArrayLike
    counted: bool = True
    transitions: ArrayLike = False
    action_noise: float = 0.0
    obs_mean: ArrayLike | None = None
    obs_std: ArrayLike | None = None
    seeds: ArrayLike | None = None

    def __len__(self) -> int:
        return len(self.solutions)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Job:
    """n solutions with E episodes each: N = n E episodes, of which number i belongs to solution i // E.

    Any number of players may work on it at once: each takes an episode, plays it and puts it back, until none is left.
    Compiled ones may draw from ``next`` by an atomic addition instead, and write the outcomes themselves, ``end`` last.
    """

    solutions: np.ndarray  # (n, solution_dim) float32
    seeds: np.ndarray  # (n, E) int64
    record: np.ndarray  # (n,) bool: whose steps are kept
    action_noise: float
    obs_mean: np.ndarray  # (n or 1, obs_dim) float32
    obs_std: np.ndarray  # (n or 1, obs_dim) float32
    task_name: str
    action_dim: int
    max_steps: int
    n_measures: int
    trace: bool = False
    """Whether all episodes are to be drawn."""
    first: int = 0
    """Position of the first solution in the batch this is a part of."""

    next: np.ndarray = field(init=False)  # (1,) int64: the episode that is taken next; N or more when none is left
    objective: np.ndarray = field(init=False)  # (N,) float64
    measures: np.ndarray = field(init=False)  # (N, k) float64
    length: np.ndarray = field(init=False)  # (N,) int64
    end: np.ndarray = field(init=False)  # (N,) int64: how it ended; NOT_PLAYED before that
    steps: dict[int, Steps] = field(init=False)  # of the episodes that are recorded
    traces: dict[int, Trace | Pictures] = field(init=False)  # of those to be drawn

    def __post_init__(self) -> None:
        n = self.seeds.size
        outcomes = {
            "next": np.zeros(1, np.int64),
            "objective": np.zeros(n),
            "measures": np.zeros((n, self.n_measures)),
            "length": np.zeros(n, np.int64),
            "end": np.full(n, NOT_PLAYED),
            "steps": {},
            "traces": {},
        }
        for name, value in outcomes.items():
            object.__setattr__(self, name, value)

    @property
    def n_episodes(self) -> int:
        return self.seeds.size

    @property
    def episodes_each(self) -> int:
        return self.seeds.shape[1]

    @property
    def recorded(self) -> np.ndarray:
        """Numbers of the episodes whose steps are kept."""
        return np.flatnonzero(np.repeat(self.record, self.episodes_each))

    @property
    def complete(self) -> bool:
        """Whether all episodes were played."""
        return not (self.end == NOT_PLAYED).any()

    def take(self) -> int | None:
        """The number of an episode that nobody has taken; None if there is none left."""
        with _taking:
            i = int(self.next[0])
            self.next[0] = i + 1
        return i if i < self.n_episodes else None

    def cancel(self) -> None:
        """Let nobody take another episode."""
        with _taking:
            self.next[0] = self.n_episodes

    def setup(self, i: int) -> Setup:
        """What an episode depends on."""
        row, seed = i // self.episodes_each, int(self.seeds.flat[i])
        return Setup(
            self.solutions[row],
            seed,
            self.obs_mean[row % len(self.obs_mean)],
            self.obs_std[row % len(self.obs_std)],
            draw_noise(seed, self.action_noise, self.max_steps, self.action_dim),
            bool(self.record[row]),
            self.trace,
        )

    def put(self, i: int, episode: Episode) -> None:
        """Keep the outcome of an episode."""
        self.objective[i], self.measures[i], self.length[i] = episode.objective, episode.measures, episode.length
        if episode.steps is not None:
            self.steps[i] = episode.steps
        if episode.trace is not None:
            self.traces[i] = episode.trace
        self.end[i] = episode.end

    def episode(self, i: int) -> Episode:
        """An episode that was played."""
        outcome = float(self.objective[i]), self.measures[i], int(self.length[i]), int(self.end[i])
        return Episode(*outcome, self.steps.get(i), self.traces.get(i))

    def blame(self, i: int, why: object) -> str:
        """What to say of an episode that cannot be played."""
        row, seed = self.first + i // self.episodes_each, self.seeds.flat[i]
        return f"{self.task_name} failed in the episode of solution {row} with seed {seed}. {why}"

    def part(self, start: int, stop: int) -> Job:
        """The job of some of the solutions, in arrays that travel alone."""
        rows = slice(start, stop)
        mean, std = (a[rows] if len(a) > 1 else a for a in (self.obs_mean, self.obs_std))
        return dataclasses.replace(
            self,
            solutions=self.solutions[rows],
            seeds=self.seeds[rows],
            record=self.record[rows],
            obs_mean=mean,
            obs_std=std,
            first=self.first + start,
        )

    def only(self, i: int) -> Job:
        """The job of one episode."""
        row, column = divmod(i, self.episodes_each)
        return dataclasses.replace(self.part(row, row + 1), seeds=self.seeds[row : row + 1, column : column + 1])


def make_job(task: Task, batch: Batch, seeds: ArrayLike, trace: bool = False) -> Job:
    """Check what the user gave, once, so that nothing further in has to.

    ``seeds`` are (n,) one per solution, or (n, E) for E episodes each. Seed s plays the episode of ``reset(seed=s)``.
    """
    solutions = check_solutions(task, batch.solutions)
    n, noise = len(solutions), batch.action_noise
    keep = np.asarray(batch.transitions, bool)
    if keep.shape not in ((), (n,)):
        raise ValueError(f"transitions must be one bool or {n}, one per solution; got shape {keep.shape}.")
    if not isinstance(noise, (int, float)) or not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"action_noise must be a finite standard deviation of 0 or more; got {noise}.")
    mean = check_statistics("obs_mean", task, n, 0.0 if batch.obs_mean is None else batch.obs_mean)
    std = check_statistics("obs_std", task, n, 1.0 if batch.obs_std is None else batch.obs_std)
    if not (std > 0).all():
        raise ValueError(f"obs_std must be positive everywhere; its smallest value is {std.min()}.")
    about = task.name, task.action_dim, task.max_steps, len(task.measure_names)
    record = np.array(np.broadcast_to(keep, n))
    return Job(solutions, check_seeds(seeds, n), record, float(noise), mean, std, *about, trace)


def check_solutions(task: Task, solutions: ArrayLike) -> np.ndarray:
    dim = task.solution_dim
    array = to_float32(solutions)
    if array is None or array.ndim != 2 or array.shape[1] != dim:
        got = "rows of different lengths or not numbers" if array is None else f"shape {array.shape}"
        raise ValueError(f"Solutions for {task.name} must have shape (n, {dim}), a row of {dim} parameters each. Got {got}.")
    if array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
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
    plain = array.dtype == np.int64 and array.min(initial=0) >= 0
    for seed in () if plain else array.flat:
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
    return np.require(np.broadcast_to(array, (rows, task.obs_dim)), requirements=["C", "W"])


def to_float32(values: ArrayLike) -> np.ndarray | None:
    """The values as a float32 array, or None if they do not make one. One that may not be written, as JAX's, is copied.

    To Numba it is another type, for which all would be compiled again.
    """
    try:
        with np.errstate(over="ignore"):
            return np.require(values, np.float32, ["C", "W", "E"])
    except (ValueError, TypeError):
        return None
