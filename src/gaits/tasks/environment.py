"""Any Gymnasium environment as a task: how it is made, how its episodes are measured, what its policies see and do.

A policy gives one number in [-1, 1] per action: it is scaled to the bounds of a Box, and picks the largest of a Discrete.
Observations of any space are flattened to float32.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from gaits.checks import positive
from gaits.tasks.problem import Problem

if TYPE_CHECKING:
    from gaits.episodes.player import Player
    from gaits.tasks.task import Task


DRAWN = "rgb_array"
"""The render mode of environments whose episodes are watched."""


@dataclass(frozen=True)
class Trajectory:
    """An episode of T steps, as a measure function sees it.

    Attributes:
        obs: (T + 1, obs_dim) float32: what the policy saw, and the last observation.
        action: (T, action_dim) float32: as the policy gave it.
        reward: (T,) float64.
        infos: T of them, one per step.
        terminated: Whether the environment ended it, not the step limit.
    """

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    infos: Sequence[dict[str, Any]]
    terminated: bool

    def info(self, key: str) -> np.ndarray:
        """The values of one key of ``info``, (T, ...)."""
        return np.array([_value(info, key) for info in self.infos])


Measures = tuple[str, ...] | Callable[[Trajectory], ArrayLike]


@dataclass(frozen=True)
class Environment(Problem):
    """Where an environment comes from, and how its episodes are measured."""

    make: str | Callable[..., gymnasium.Env]
    """Gymnasium's id, also as MODULE:ID, or a function that makes it."""
    measures: Measures
    """Keys of ``info`` whose values at the last step are the measures, or a function of the trajectory."""
    options: tuple[tuple[str, Any], ...] = ()
    deadline: float = 600.0
    """Seconds after which an episode is given up, and tried again in a new process."""
    source: str | None = None
    own_process: ClassVar = True

    def make_player(self, task: Task) -> Player:
        from gaits.physics.environment import EnvironmentPlayer

        return EnvironmentPlayer(task, self)

    def make_local_player(self, task: Task) -> Player:
        """In a process: environments in Python would take turns at the interpreter's lock. Only what no other process could
        import, such as a class that a notebook's cell defines, is played in this one.
        """
        from gaits.episodes.process import ProcessPlayer

        parts = (self.make, self.measures, *dict(self.options).values())
        return ProcessPlayer(task, self.deadline) if all(map(_importable, parts)) else self.make_player(task)

    def env_id(self, task: Task) -> str:
        return self.make if isinstance(self.make, str) else "-"

    def named(self, source: str) -> Environment:
        return dataclasses.replace(self, source=source)

    def unwatchable(self, task: Task) -> str:
        mode = dict(self.options).get("render_mode")
        if mode is not None:
            return "" if mode == DRAWN else f"{task.title} has render_mode={mode!r}; pictures come from {DRAWN!r} alone."
        if isinstance(self.make, str) or _takes(self.make, "render_mode"):
            return ""  # whether it knows the mode is found out by playing it
        name = getattr(self.make, "__name__", "env")
        return (
            f"{task.title} gives no pictures: {name} takes no render_mode. Give it one, as Gymnasium's environments have, "
            f"and a render() for {DRAWN!r}."
        )

    def make_puppet(self, task: Task) -> None:
        if self.unwatchable(task):
            raise ValueError(self.unwatchable(task))

    def open(self, draw: bool = False) -> gymnasium.Env:
        """A new environment; one to ``draw`` gives pictures."""
        options = {**dict(self.options), **({"render_mode": DRAWN} if draw else {})}
        if self.source is not None:
            importlib.import_module(self.source.partition(":")[0])  # which may register the environment
        if isinstance(self.make, str):
            try:
                return gymnasium.make(self.make, disable_env_checker=True, **options)
            except gymnasium.error.NameNotFound as error:
                raise ValueError(
                    f"Gymnasium cannot make {self.make!r}: {error} If a module of yours registers it, write "
                    f"'MODULE:{self.make}', which worker processes understand too."
                ) from None
        return self.make(**options)

    def measure(self, trajectory: Trajectory, k: int) -> np.ndarray:
        """The k measures of an episode."""
        if callable(self.measures):
            values = np.asarray(self.measures(trajectory), float)
        else:
            last = trajectory.infos[-1]
            values = np.concatenate([np.ravel(np.asarray(_value(last, key), float)) for key in self.measures])
        if values.shape != (k,):
            raise ValueError(f"The grid has {k} measure(s), and an episode gave measures of shape {values.shape}.")
        return values


def _value(info: dict[str, Any], key: str) -> Any:
    try:
        return info[key]
    except KeyError:
        raise ValueError(f"info has no {key!r}; it has: {', '.join(map(str, info)) or 'nothing'}.") from None


def make_environment(
    env: str | Callable[..., gymnasium.Env],
    measures: str | Sequence[str] | Callable[[Trajectory], ArrayLike],
    options: dict[str, Any],
    deadline: float,
) -> Environment:
    """A checked record."""
    if not isinstance(env, str) and not callable(env):
        raise ValueError(f"env must be an id that Gymnasium knows, or a function that makes an environment; got {env!r}.")
    if not callable(measures):
        keys = (measures,) if isinstance(measures, str) else measures
        if not isinstance(keys, Sequence) or not keys or not all(isinstance(key, str) for key in keys):
            raise ValueError(f"measures must be keys of info, or a function of a Trajectory; got {measures!r}.")
        measures = tuple(keys)
    environment = Environment(env, measures, tuple(sorted(options.items())), deadline)
    positive(environment, "deadline")
    return environment


def name_measures(environment: Environment, k: int) -> list[str]:
    keys = () if callable(environment.measures) else environment.measures
    if len(keys) == k:
        return [key.replace("_", " ") for key in keys]
    stem = keys[0] if len(keys) == 1 else "measure"
    return [f"{stem} {i + 1}" for i in range(k)]


def _importable(value: Any) -> bool:
    """Whether another process finds it by its name: what a module or script defines, not what a cell or function does."""
    if isinstance(value, functools.partial):
        return all(map(_importable, (value.func, *value.args, *value.keywords.values())))
    if not callable(value):
        return True
    named = value if hasattr(value, "__qualname__") else type(value)
    module = sys.modules.get(named.__module__)
    if module is None or (module.__name__ == "__main__" and not hasattr(module, "__file__")):
        return False
    try:
        return operator.attrgetter(named.__qualname__)(module) is named
    except AttributeError:
        return False


def find_sizes(environment: Environment) -> tuple[int, int, int | None]:
    """Sizes of the observation and of the policy's output, and the longest episode, from an environment made for this."""
    _check_options(environment)
    try:
        env = environment.open()
    except gymnasium.error.Error as error:
        raise ValueError(f"Gymnasium cannot make {environment.make!r}: {error}") from None
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"env must make a gymnasium.Env; it made {type(env).__name__}.")
    try:
        limit = getattr(env.spec, "max_episode_steps", None)
        return flat_size(env.observation_space), Actions(env.action_space).size, limit
    finally:
        env.close()


def _check_options(environment: Environment) -> None:
    """Raise if what makes the environment does not take the options."""
    if callable(environment.make):
        try:
            signature = inspect.signature(environment.make)
        except ValueError:  # of something built in
            return
        try:
            signature.bind(**dict(environment.options))
        except TypeError as error:
            given = ", ".join(dict(environment.options))
            raise ValueError(f"env must be callable as env({given}), and is env{signature}: {error}.") from None


def _takes(make: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(make).parameters
    except ValueError:  # of something built in
        return False
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def flat_size(space: spaces.Space[Any]) -> int:
    try:
        size = spaces.flatdim(space)
    except (NotImplementedError, ValueError):
        size = 0
    if size < 1:
        raise ValueError(f"Observations of {space} cannot be flattened to a row of numbers. Wrap the environment.")
    return size


class Actions:
    """From what a policy gives, in [-1, 1], to what an environment takes."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        if isinstance(space, spaces.Discrete):
            self.size = int(space.n)
        elif isinstance(space, spaces.Box) and np.isfinite(space.low).all() and np.isfinite(space.high).all():
            self.size = int(np.prod(space.shape))
            self.low, self.high = space.low, space.high
            low, high = self.low.astype(float), self.high.astype(float)  # of small integers, the sums would not fit
            self.middle, self.reach = (high + low) / 2, (high - low) / 2
            self.plain = bool((self.middle == 0).all() and (self.reach == 1).all())
        else:
            raise ValueError(
                f"Actions of {space} have no policy here: a Box with finite bounds, or a Discrete. Wrap the environment "
                "in one whose action space is such."
            )

    def convert(self, action: np.ndarray) -> Any:
        if isinstance(self.space, spaces.Discrete):
            return int(self.space.start + np.argmax(action))
        limited = np.clip(action, -1.0, 1.0).reshape(self.space.shape or ())
        if self.plain:
            return limited.astype(self.space.dtype)
        scaled = self.middle + self.reach * limited
        if np.issubdtype(self.space.dtype, np.integer):
            scaled = np.rint(scaled)
        return np.clip(scaled.astype(self.space.dtype), self.low, self.high)  # rounding may leave the bounds
