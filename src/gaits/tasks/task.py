"""What is solved: the records every other part of gaits is parameterized by."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gaits.policies import MLP
from gaits.settings import whole_number


@dataclass(frozen=True)
class Robot:
    """One of QDGym's robots: everything about it that is not in its model file.

    ``joints``, ``torques`` (N·m at full action) and the action share one order; ``feet`` is the order of the contact
    flags in the observation, and ``measured_feet`` are the positions in it whose contact time is a measure.
    """

    model: str
    joints: tuple[str, ...]
    torques: tuple[float, ...]
    feet: tuple[str, ...]
    measured_feet: tuple[int, ...]
    alive_bonus: float = 1.0
    min_height: float = -math.inf
    max_pitch: float = math.inf
    no_touch: tuple[int, ...] = ()
    """Positions in ``feet`` whose contact ends the bonus for being alive."""
    terminates: bool = True
    initial_height: float = math.nan
    """Height that the observed height is relative to; NaN takes the torso's height at the start."""
    effort_scale: float = 1.0
    """Factor on both costs of using the motors."""
    friction: tuple[tuple[str, float], ...] = ()
    """Feet whose lateral friction differs from the model file's, each with a factor on it."""


class Function(Protocol):
    """A problem that is computed, not simulated: objective, measures, and their exact gradients."""

    @property
    def dim(self) -> int:
        """Number of parameters of a solution."""

    def evaluate(self, solutions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Objectives (n,) and measures (n, k) of solutions (n, dim)."""

    def jacobian(self, solution: np.ndarray) -> np.ndarray:
        """Gradients (1 + k, dim) of the objective and each measure at a solution (dim,)."""


@dataclass(frozen=True)
class Task:
    """What is solved, the measures that tell behaviours apart, and the archive grid over them.

    A task has either a ``robot``, whose solutions are policies played in episodes, or a ``function`` of its solutions.

    Attributes:
        measure_names: One name per measure.
        grid: Cells along each measure.
        objective_range: (min, max) objective: the QD score's offset, and the top of colour scales.
        measure_range: (low, high) of every measure.
        max_steps: Longest episode.
        hidden: Widths of the policy's hidden layers.
    """

    name: str
    title: str
    measure_names: tuple[str, ...]
    grid: tuple[int, ...]
    objective_range: tuple[float, float]
    measure_range: tuple[float, float] = (0.0, 1.0)
    robot: Robot | None = None
    function: Function | None = None
    obs_dim: int = 0
    action_dim: int = 0
    max_steps: int = 1000
    hidden: tuple[int, ...] = (128, 128)

    def __post_init__(self) -> None:
        k = len(self.measure_names)
        if len(self.grid) != k or not all(isinstance(n, (int, np.integer)) and n > 0 for n in self.grid):
            raise ValueError(
                f"{self.name} has {k} measure(s) ({', '.join(self.measure_names)}), so its grid needs {k} positive whole "
                f"number(s) of cells; got {self.grid}."
            )
        low, high = self.objective_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(
                f"objective_range must be two finite numbers (min, max) with min < max; got {self.objective_range}."
            )
        object.__setattr__(self, "grid", tuple(map(int, self.grid)))
        whole_number("max_steps", self.max_steps, 1)
        for size in self.hidden:
            whole_number("A hidden layer's size", size, 1)

    @property
    def body(self) -> Robot:
        """The robot of a task that has one."""
        if self.robot is None:
            raise ValueError(
                f"{self.name} is a function, not a robot: it has no policies and no episodes. "
                "Choose a task such as qd_hopper."
            )
        return self.robot

    @property
    def policy(self) -> MLP:
        """The network that a solution is the parameters of."""
        assert self.body
        return MLP(self.obs_dim, self.hidden, self.action_dim)

    @property
    def solution_dim(self) -> int:
        return self.policy.solution_dim if self.function is None else self.function.dim

    def init(self, rng: np.random.Generator) -> np.ndarray:
        """The solution a search starts from: a Xavier network, or the origin."""
        return self.policy.init(rng) if self.function is None else np.zeros(self.function.dim, np.float32)

    @property
    def env_id(self) -> str:
        """The name under which Gymnasium makes this task's environment."""
        return "gaits/" + self.title.replace(" ", "").replace("-", "") + "-v0"

    def with_(self, **changes: Any) -> Task:
        """A copy with some fields changed; ``None`` leaves a field as it is."""
        changes = {key: value for key, value in changes.items() if value is not None}
        for key in ("grid", "objective_range", "hidden"):
            if key in changes:
                changes[key] = tuple(changes[key])
        return dataclasses.replace(self, **changes)
