"""Gymnasium's MuJoCo robots as pictures show them: their geoms, which are capsules and spheres, where MuJoCo has them."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np

from gaits.drawing import Figure, Puppet, find_limbs
from gaits.physics.mujoco import load_model, load_mujoco
from gaits.tasks.mujoco import MujocoRobot
from gaits.tasks.task import Task

TORSO = 1
"""The first body that is not the world: what the others hang on."""


def make_puppet(task: Task, robot: MujocoRobot) -> Puppet:
    """Of a task's robot. Damage does not change how it looks."""
    mujoco = load_mujoco(task, robot)
    model = _load(mujoco, robot.model)
    geoms = np.flatnonzero(model.geom_bodyid >= TORSO)
    names = tuple(model.geom(geom).name for geom in geoms)
    _check(mujoco, task, model, geoms)
    bodies = model.geom_bodyid[geoms]
    figure = Figure(
        radii=model.geom_size[geoms, 0].copy(),
        limbs=find_limbs((model.body_parentid[TORSO + 1 :] - TORSO - 1).tolist(), (bodies - TORSO - 1).tolist()),
        feet=np.array([robot.feet.index(name) if name in robot.feet else -1 for name in names]),
        labels=tuple(name.removesuffix(" contact") for name in task.measure_names),
        flat=bool((model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE)).any()),
    )
    ends = functools.partial(find_ends, mujoco, model, geoms)
    return Puppet(figure, names, ends, model.opt.timestep * robot.frame_skip)


@functools.cache
def _load(mujoco: ModuleType, name: str) -> Any:
    return load_model(mujoco, name)


def _check(mujoco: ModuleType, task: Task, model: Any, geoms: np.ndarray) -> None:
    round_ones = (int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_SPHERE))
    others = [model.geom(geom).name for geom in geoms if model.geom_type[geom] not in round_ones]
    if others:
        raise ValueError(
            f"{task.name} cannot be drawn: {', '.join(others)} of this Gymnasium's model are neither capsules nor spheres. "
            "Those of Gymnasium 1 are: pip install 'gymnasium<2'"
        )


def find_ends(mujoco: ModuleType, model: Any, geoms: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Both ends of the geoms (T, S, 2, 3) for T rows of MuJoCo's positions."""
    data = mujoco.MjData(model)
    centres, axes = np.empty((len(positions), len(geoms), 3)), np.empty((len(positions), len(geoms), 3))
    for t, row in enumerate(positions):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        centres[t] = data.geom_xpos[geoms]
        axes[t] = data.geom_xmat[geoms].reshape(-1, 3, 3)[:, :, 2]  # capsules lie along their z
    capsule = model.geom_type[geoms] == int(mujoco.mjtGeom.mjGEOM_CAPSULE)
    arms = axes * np.where(capsule, model.geom_size[geoms, 1], 0.0)[:, None]
    return np.stack([centres - arms, centres + arms], axis=2)
