"""What is solved: the record every other part of gaits is parameterized by."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gaits.checks import check_label, lookup, whole_number
from gaits.policies import MLP
from gaits.tasks.problem import Problem

if TYPE_CHECKING:
    import gymnasium

    from gaits.tasks.environment import Trajectory
    from gaits.tasks.function import Function
    from gaits.tasks.qdgym import Robot

Range = tuple[float, float]
ARCHIVES = ("grid", "cvt")
"""Archives to choose from. What ribs has besides has no cells, or cells that move; see ``gaits.archives.KINDS``."""
MAX_CVT_CELLS = 50_000
"""Of a CVT, whose centroids take longer the more there are."""
MAX_CELLS, MAX_STEPS, MAX_LAYERS, MAX_WEIGHTS = 1_000_000, 1_000_000, 20, 10_000_000
"""Of an archive, an episode and a network: beyond, a file that says so would fill the memory before anything is learned."""


def check_network(kind: str, hidden: Sequence[int], inputs: int = 0, outputs: int = 0) -> None:
    """Raise if a network of these layers is larger than any that is trained here."""
    weights = sum(a * b for a, b in itertools.pairwise((inputs, *hidden, outputs)))
    if len(hidden) > MAX_LAYERS or weights > MAX_WEIGHTS:
        raise ValueError(
            f"A {kind} has {MAX_LAYERS} hidden layers and {MAX_WEIGHTS:,} weights at most; got {len(hidden):,} and "
            f"{weights:,}. Choose a smaller network."
        )


@dataclass(frozen=True)
class Changes:
    """What a user may change about a task; None leaves what the task has."""

    grid: tuple[int, ...] | None = None
    """Cells along each measure, instead of the task's."""
    archive: str | None = None
    """grid, or cvt: cells of about equal size around centroids, instead of the task's."""
    cells: int | None = None
    """Cells of a cvt archive; None is as many as the grid has."""
    objective_range: tuple[float, float] | None = None
    """Min and max objective, instead of the task's."""
    max_steps: int | None = None
    """Longest episode, instead of the task's."""
    hidden: tuple[int, ...] | None = None
    """Hidden layers of the policy, instead of the task's."""


CHANGEABLE = tuple(field.name for field in dataclasses.fields(Changes))


def make_changes(values: Mapping[str, Any]) -> Changes:
    """Changes by name, lists as the tuples they stand for."""
    for name in values:
        lookup("changeable field of a task", name, dict.fromkeys(CHANGEABLE))
    plain: dict[str, Any] = {name: value if np.ndim(value) == 0 else tuple(value) for name, value in values.items()}
    return Changes(**plain)


@dataclass(frozen=True)
class Task:
    """What is solved, the measures that tell behaviours apart, and the archive over them.

    Attributes:
        problem: What is solved: a robot, an environment, a function. It knows how to be played and shown.
        measure_names: One name per measure.
        grid: Cells along each measure.
        objective_range: (min, max) objective: the QD score's offset, and the top of colour scales.
        measure_range: (low, high) of every measure, or one such pair per measure.
        max_steps: Longest episode.
        hidden: Widths of the policy's hidden layers.
        archive: How measures are divided into cells: "grid", or "cvt" for cells of about equal size around centroids.
        cells: Number of cells of a CVT, as many as the grid's if not given; None for the grid itself.
    """

    name: str
    title: str
    measure_names: tuple[str, ...]
    grid: tuple[int, ...]
    objective_range: Range
    problem: Problem
    measure_range: Range | tuple[Range, ...] = (0.0, 1.0)
    obs_dim: int = 0
    action_dim: int = 0
    max_steps: int = 1000
    hidden: tuple[int, ...] = (128, 128)
    archive: str = "grid"
    cells: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", self.name):
            raise ValueError(
                f"A task's name becomes part of folder names: letters, digits and _ . - only; got {self.name!r}."
            )
        check_label("A task's name", self.name)
        for label in (self.title, *self.measure_names):
            check_label(f"A title or measure of {self.name}", label)
        k = len(self.measure_names)
        if len(self.grid) != k or not all(isinstance(n, (int, np.integer)) and n > 0 for n in self.grid):
            raise ValueError(
                f"{self.name} has {k} measure(s) ({', '.join(self.measure_names)}), so its grid needs {k} positive whole "
                f"number(s) of cells; got {self.grid}."
            )
        if not _is_range(self.objective_range):
            raise ValueError(
                f"objective_range must be two finite numbers (min, max) with min < max; got {self.objective_range}."
            )
        if len(self.ranges) != k or not all(map(_is_range, self.ranges)):
            raise ValueError(
                f"measure_range must be two finite numbers (low, high) with low < high, or {k} such pairs, one per measure; "
                f"got {self.measure_range}."
            )
        # Plain numbers, whatever was given: they are written to files.
        object.__setattr__(self, "grid", tuple(map(int, self.grid)))
        object.__setattr__(self, "objective_range", tuple(map(float, self.objective_range)))
        object.__setattr__(self, "max_steps", whole_number("max_steps", self.max_steps, 1, MAX_STEPS))
        object.__setattr__(self, "hidden", tuple(whole_number("A hidden layer's size", size, 1) for size in self.hidden))
        lookup("archive with fixed cells", self.archive, dict.fromkeys(ARCHIVES))
        object.__setattr__(self, "cells", self._check_cells())
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.total_cells > MAX_CELLS:
            raise ValueError(f"An archive has {MAX_CELLS:,} cells at most; got {self.total_cells:,}. Choose a coarser grid.")
        check_network("policy", self.hidden, self.obs_dim, self.action_dim)

    def _check_cells(self) -> int | None:
        if self.archive == "grid":
            if self.cells is not None:
                raise ValueError(
                    f"cells={self.cells} is for archive cvt. Choose that archive, or the grid's cells by its grid."
                )
            return None
        cells = whole_number("cells", self.total_cells, 1)
        if cells > MAX_CVT_CELLS:
            raise ValueError(
                f"A cvt archive has {MAX_CVT_CELLS:,} cells at most; got {cells:,}. Choose fewer cells, or a grid."
            )
        return cells

    @property
    def total_cells(self) -> int:
        """Cells of the archive."""
        return math.prod(self.grid) if self.cells is None else self.cells

    @classmethod
    def from_env(
        cls,
        env: str | Callable[..., gymnasium.Env],
        *,
        measures: str | Sequence[str] | Callable[[Trajectory], ArrayLike],
        grid: Sequence[int],
        objective_range: Range,
        measure_range: Range | Sequence[Range] = (0.0, 1.0),
        measure_names: Sequence[str] | None = None,
        name: str | None = None,
        title: str | None = None,
        max_steps: int | None = None,
        hidden: Sequence[int] = (128, 128),
        archive: str = "grid",
        cells: int | None = None,
        deadline: float = 600.0,
        **options: Any,
    ) -> Task:
        """A task from any Gymnasium environment.

        Episodes are played in worker processes, which import ``env`` and ``measures``; in the process that trains, where a
        notebook's cell defines them. An evaluation with seed s is the episode that ``reset(seed=s)`` starts.

        Args:
            env: An id that Gymnasium knows, with the module that registers it (``my_robots:MyBiped-v0``) if that is not
                Gymnasium itself, or a function that makes the environment.
            measures: Keys of ``info`` whose values when the episode ends are the measures, or a function from a
                ``Trajectory`` to them.
            grid: Cells along each measure.
            objective_range: (min, max) return: the QD score's offset, and the top of colour scales.
            measure_range: (low, high) of every measure, or one such pair per measure. Beyond counts as the outermost cell.
            measure_names: One name per measure; default: the keys.
            name: What it is called in folders; default: after the environment.
            title: What it is called in figures; default: the same.
            max_steps: Longest episode; default: the environment's own, or 1000.
            hidden: Widths of the policy's hidden layers.
            archive: How measures are divided into cells, as for ``Task``.
            cells: Number of cells of a CVT, as for ``Task``.
            deadline: Seconds after which an episode is given up, and tried again in a new process.
            options: Handed to the environment when it is made.

        Examples:
            >>> def spread(episode):
            ...     return [abs(episode.action).mean(), episode.obs[:, 1].std()]
            >>> swing = gaits.Task.from_env(
            ...     "Pendulum-v1", measures=spread, grid=[10, 10], measure_range=(0, 1), objective_range=(-1800, 0)
            ... )
            >>> swing.name, swing.max_steps
            ('pendulum-v1', 200)
        """
        from gaits.tasks.environment import find_sizes, make_environment, name_measures

        for option in options:  # one that looks like a field of the task was hardly meant for the environment
            if close := difflib.get_close_matches(option, inspect.signature(cls.from_env).parameters, n=1, cutoff=0.8):
                raise ValueError(f"No field of a task is called {option!r}. Did you mean {close[0]!r}?")
        environment = make_environment(env, measures, options, deadline)
        obs_dim, action_dim, limit = find_sizes(environment)
        label = str(name or (env if isinstance(env, str) else getattr(env, "__name__", type(env).__name__)))
        return cls(
            name=name or re.sub(r"[^a-z0-9_.-]+", "_", label.lower()).strip("_.-"),
            title=title or label,
            measure_names=(measure_names,)
            if isinstance(measure_names, str)
            else tuple(measure_names or name_measures(environment, len(grid))),
            grid=tuple(grid),
            objective_range=objective_range,
            measure_range=_plain_ranges(measure_range),
            problem=environment,
            obs_dim=obs_dim,
            action_dim=action_dim,
            max_steps=(limit or 1000) if max_steps is None else max_steps,
            hidden=tuple(hidden),
            archive=archive,
            cells=cells,
        )

    @property
    def ranges(self) -> tuple[Range, ...]:
        """(low, high) of each measure."""
        pairs = np.ndim(self.measure_range) == 2
        return self.measure_range if pairs else (self.measure_range,) * len(self.measure_names)  # type: ignore[return-value]

    @property
    def robot(self) -> Robot:
        """The robot of a task that has one that can be drawn and damaged."""
        return self.problem.find_robot(self)

    @property
    def function(self) -> Function:
        """The function of a task that is one."""
        return self.problem.find_function(self)

    @property
    def policy(self) -> MLP:
        """The network that a solution is the parameters of."""
        return self.problem.make_policy(self)

    @property
    def solution_dim(self) -> int:
        return self.problem.solution_dim(self)

    def init(self, rng: np.random.Generator) -> np.ndarray:
        """The solution a search starts from: a Xavier network, or the origin."""
        return self.problem.first_solution(self, rng)

    @property
    def env_id(self) -> str:
        """The name under which Gymnasium makes this task's environment; - if there is none."""
        return self.problem.env_id(self)

    @property
    def unwatchable(self) -> str:
        """Why its episodes cannot be drawn; empty if they can."""
        return self.problem.unwatchable(self)

    @property
    def changeable(self) -> dict[str, Any]:
        """The fields that a user may change, with the values they have."""
        return {name: getattr(self, name) for name in CHANGEABLE}

    def with_(self, **changes: Any) -> Task:
        """A copy with some of the fields of ``Changes`` changed; ``None`` leaves a field as it is."""
        given = {name: value for name, value in vars(make_changes(changes)).items() if value is not None}
        if "archive" in given:
            given.setdefault("cells", None)
        return dataclasses.replace(self, **given)


def _plain_ranges(given: Range | Sequence[Range]) -> Range | tuple[Range, ...]:
    values = np.asarray(given, float).tolist()
    return tuple(map(tuple, values)) if np.ndim(given) == 2 else tuple(values)


def _is_range(value: Any) -> bool:
    try:
        low, high = value
        return math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(high - low)
    except (TypeError, ValueError, OverflowError):
        return False
