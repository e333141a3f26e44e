"""Environments and tasks of a user's own, for tests: importable by worker processes, as a user's module is."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import spaces

import gaits


class Point(gymnasium.Env):
    """A point on a plane, pushed about; it is rewarded for staying near where it started."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = spaces.Box(-0.5, 0.5, (2,), np.float32)

    def __init__(self, trouble: str = "", flag: str = ""):
        self.trouble, self.flag = trouble, flag

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seed = seed
        self.state = np.concatenate([np.zeros(2), self.np_random.uniform(-0.1, 0.1, 2)])
        self.steps = 0
        return self.state.astype(np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.steps += 1
        if self.steps == 3 and self.seed == 3:
            self._misbehave()
        self.state[2:] += 0.1 * action
        self.state[:2] += self.state[2:]
        reward = 1.0 - 0.1 * float(np.abs(self.state[:2]).sum())
        if self.trouble == "reward" and self.seed == 3:
            reward = float("nan")
        return (
            self.state.astype(np.float32),
            reward,
            bool(np.abs(self.state).max() > 5),
            False,
            {"place": self.state[:2].copy()},
        )

    def _misbehave(self):
        if self.trouble == "raise":
            raise ZeroDivisionError("the user's own mistake")
        if self.trouble == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "die once" and not Path(self.flag).exists():
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "hang once" and not Path(self.flag).exists():
            Path(self.flag).touch()
            time.sleep(3600)


class Reusing(Point):
    """The same, in one array and one info for all steps."""

    def reset(self, *, seed=None, options=None):
        self.obs, self.info = np.zeros(4, np.float32), {"place": np.zeros(2)}
        self.obs[:] = super().reset(seed=seed)[0]
        return self.obs, self.info

    def step(self, action):
        self.obs[:], reward, terminated, truncated, info = super().step(action)
        self.info["place"][:] = info["place"]
        return self.obs, reward, terminated, truncated, self.info


class AtTheEnd(Point):
    """The same, but only the last info says where the point is."""

    def step(self, action):
        *step, info = super().step(action)
        return *step, info if self.steps == 30 else {}


class Hangs(Point):
    """The same, until the first step."""

    def step(self, action):
        Path(self.flag).touch()
        time.sleep(3600)


class Drawn(Point):
    """The same, and it can be watched: a black square on white, where the point is."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode=None, **options):
        super().__init__(**options)
        self.render_mode = render_mode

    def render(self):
        picture = np.full((60, 80, 3), 255, np.uint8)
        x, y = np.clip(np.array([40, 30]) + 15 * self.state[:2], 5, 55).astype(int)
        picture[y - 4 : y + 4, x - 4 : x + 4] = 0
        return picture if self.trouble != "render" else None


class Undeclared(Point):
    observation_space = spaces.Box(-1, 1, (3,), np.float32)


def mean_place(trajectory):
    return trajectory.info("place").mean(axis=0)


def point(measures="place", name="point", env=Point, **changes):
    options = {"grid": (10, 8), "objective_range": (-20.0, 30.0), "measure_range": ((-5, 5), (-4, 4)), "hidden": (8,)}
    return gaits.Task.from_env(env, measures=measures, name=name, **{"max_steps": 30, **options, **changes})


def drawn():
    return point(name="drawn", env=Drawn)


def hopper_as_env():
    """A task that gaits has, through its Gymnasium environment."""
    known = gaits.make_task("qd_hopper")
    return gaits.Task.from_env(
        "gaits/QDHopper-v0",
        measures="measures",
        grid=known.grid,
        objective_range=known.objective_range,
        max_steps=60,
    )


not_a_task = 5
