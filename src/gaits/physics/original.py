"""The original environments, as QDGym runs them: what gaits is measured against, and checked against.

QDGym adds the measures to the locomotion environments that the pybullet package still ships. Those are written for
``gym``, long gone; the few names they need from it stand in for it here while they are imported.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

from gaits.physics.bullet import capi
from gaits.tasks.task import Task

CLASSES = {
    "qd_ant": "AntBulletEnv",
    "qd_half_cheetah": "HalfCheetahBulletEnv",
    "qd_hopper": "HopperBulletEnv",
    "qd_walker": "Walker2DBulletEnv",
    "qd_humanoid": "HumanoidBulletEnv",
}


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(contents)
    return module


def _stand_ins() -> dict[str, ModuleType]:
    seeding = _module("gym.utils.seeding", np_random=gymnasium.utils.seeding.np_random)
    utils = _module("gym.utils", seeding=seeding)
    registration = _module("gym.envs.registration", registry=SimpleNamespace(env_specs={}), make=None, spec=None)
    registration.register = lambda *args, **kwargs: None  # type: ignore[attr-defined]
    envs = _module("gym.envs", registration=registration)
    spaces = gymnasium.spaces
    gym = _module("gym", Env=object, spaces=spaces, utils=utils, envs=envs, __version__="0.21.0")
    return {
        "gym": gym,
        "gym.spaces": spaces,
        "gym.utils": utils,
        "gym.utils.seeding": seeding,
        "gym.envs": envs,
        "gym.envs.registration": registration,
        "pkg_resources": _module("pkg_resources", parse_version=lambda text: tuple(map(int, text.split(".")))),
    }


@functools.cache
def original_environments() -> ModuleType:
    """pybullet's own locomotion environments."""
    capi.pybullet()
    before, path = dict(sys.modules), list(sys.path)
    try:
        sys.modules.update(_stand_ins())
        import pybullet_envs.gym_locomotion_envs as environments
    finally:
        sys.path[:] = path  # they add their own folder to it
        for name in _stand_ins():
            sys.modules.pop(name)
        sys.modules.update({name: module for name, module in before.items() if name in _stand_ins()})
    return environments


class QDGymEnv:
    """One of the original environments, with QDGym's measures."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.env = getattr(original_environments(), CLASSES[task.name])()
        with capi.quiet(1):
            self.env.reset()  # the very first episode differs slightly from all later ones

    def reset(self, seed: int) -> np.ndarray:
        self.env.seed(seed)
        self.steps, self.touched = 0, np.zeros(len(self.task.robot.feet))
        return self.env.reset()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, np.ndarray]:
        """Observation, reward, whether the episode is over, measures so far."""
        obs, reward, terminated, _ = self.env.step(action)
        self.steps += 1
        self.touched += self.env.robot.feet_contact
        measures = self.touched[list(self.task.robot.measured_feet)] / self.steps
        return obs, reward, terminated or self.steps == self.task.max_steps, measures

    def close(self) -> None:
        self.env.close()
