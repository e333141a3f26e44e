"""Gymnasium's MuJoCo robots: loads their models, and plays episodes in compiled code."""

from __future__ import annotations

import functools
import os
import threading
from glob import escape, glob
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

from gaits.episodes import Episode, Job, Player, Setup, Trace, play_each
from gaits.physics import mujoco_kernel as kernel
from gaits.physics.policy import make_network, room
from gaits.physics.world import Recorder, cut_trace
from gaits.tasks.mujoco import MujocoRobot
from gaits.tasks.task import Task

LIBRARY_NAMES = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")
NEEDED = "mj_geomDistance"
"""The newest of the C functions that the kernel calls."""

_warning_lock = threading.Lock()


@functools.cache
def load() -> ModuleType:
    """The mujoco module, its C library visible to Numba by symbol name."""
    import mujoco
    import mujoco._structs
    from llvmlite import binding

    folder = os.path.dirname(mujoco._structs.__file__)
    paths = [path for name in LIBRARY_NAMES for path in glob(os.path.join(escape(folder), name))]
    if not paths:
        raise OSError(f"MuJoCo's library is not in {folder}. Install it again: pip install --force-reinstall mujoco")
    if not hasattr(mujoco, NEEDED):
        raise ValueError(f"MuJoCo {mujoco.__version__} is too old: it has no {NEEDED}. Run: pip install -U 'gaits[mujoco]'")
    binding.load_library_permanently(paths[0])
    return mujoco


def load_mujoco(task: Task, robot: MujocoRobot) -> ModuleType:
    """The same, or an error that says which task needs it and how to get it."""
    try:
        return load()
    except ModuleNotFoundError as error:
        raise ValueError(f"{task.name} needs {robot.remedy}") from error


class MujocoPlayer(Player):
    """One robot in a simulation of its own. Not to be shared between threads; any number may play at once."""

    def __init__(self, task: Task, robot: MujocoRobot) -> None:
        self.mujoco = load_mujoco(task, robot)
        self.task, self.robot = task, robot
        self.network = make_network(task.policy.sizes)
        self.weights = np.zeros(room(self.network.sizes)[0], np.float32)
        self.recorder = Recorder(task)
        self.model = load_model(self.mujoco, robot.model)
        damage(self.model, robot)
        self.data = self.mujoco.MjData(self.model)
        self.body = make_body(self.mujoco, robot, self.model, self.data)
        self.state = kernel.State(
            obs=np.zeros(task.obs_dim, np.float32),
            touching=np.zeros(self.body.feet.size, np.bool_),
            square=np.zeros(task.action_dim, np.float32),
            forces=np.zeros(self.body.forces.size),
        )

    def play(self, job: Job) -> None:
        """The episodes that ``reset(seed=seed)`` of Gymnasium's environment starts, with these policies."""
        play_each(job, lambda i: self.rollout(job.setup(i)))

    def rollout(self, setup: Setup) -> Episode:
        measures = np.zeros(self.body.feet.size)
        steps = self.task.max_steps if setup.trace else 0
        trace = Trace(np.zeros((steps + 1, self.model.nq)), np.zeros((steps, self.body.feet.size), np.float32))
        objective, length, end = kernel.rollout(
            *(self.body, self.state, *draw_start(self.robot, self.model, setup.seed)),
            *(self.task.max_steps, self.network, self.weights, setup.solution, setup.obs_mean, setup.obs_std),
            *(setup.action_noise, measures),
            *self.recorder.arrays(setup.record),
            *trace,
        )
        kept = cut_trace(trace, length) if setup.trace else None
        return Episode(objective, measures, length, end, self.recorder.copy(setup.record, length), kept)

    def close(self) -> None:
        """Let MuJoCo's memory go."""
        del self.body, self.data, self.model


def draw_start(robot: MujocoRobot, model: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities that an episode with this seed starts with: Gymnasium's draws, in its order."""
    rng = np.random.Generator(np.random.PCG64(seed))
    noise = robot.reset_noise
    qpos = model.qpos0 + rng.uniform(-noise, noise, model.nq)
    if robot.normal_velocities:
        return qpos, noise * rng.standard_normal(model.nv)
    return qpos, rng.uniform(-noise, noise, model.nv)


def load_model(mujoco: ModuleType, name: str) -> Any:
    """A model from Gymnasium's assets. What MuJoCo finds old-fashioned in them is not the user's business."""
    path = os.path.join(os.path.dirname(gymnasium.__file__), "envs", "mujoco", "assets", name)
    with _warning_lock:
        handler = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda message: None)  # else it goes to the terminal and to a file
        try:
            return mujoco.MjModel.from_xml_path(path)
        finally:
            mujoco.set_mju_user_warning(handler)


def damage(model: Any, robot: MujocoRobot) -> None:
    """Weaken motors and change the grip of feet, as the robot's damage says; one without damage stays as it is."""
    strength = dict(robot.strength)
    for actuator in range(model.nu):
        model.actuator_gear[actuator] *= strength.get(model.joint(model.actuator_trnid[actuator, 0]).name, 1.0)
    floor = model.geom("floor").id
    for name, factor in robot.friction:
        foot = model.geom(name).id
        # MuJoCo takes the larger friction of the two that touch, so a foot alone could not become slippery. With a higher
        # priority, the foot decides about its contacts: it gets what the two would have had, but for its friction.
        model.geom_priority[foot] = model.geom_priority[floor] + 1
        model.geom_condim[foot] = max(model.geom_condim[foot], model.geom_condim[floor])
        model.geom_friction[foot] = factor * np.maximum(model.geom_friction[foot], model.geom_friction[floor])


def make_body(mujoco: ModuleType, robot: MujocoRobot, model: Any, data: Any) -> kernel.Body:
    floor, *feet = (model.geom(name).id for name in ("floor", *robot.feet))
    return kernel.Body(
        model=model._address,
        data=data._address,
        qpos=data.qpos,
        qvel=data.qvel,
        ctrl=data.ctrl,
        x=data.xpos[1, :1] if robot.contact_forces else data.qpos[:1],
        forces=data.cfrc_ext if robot.contact_forces else data.cfrc_ext[:0],
        warnings=data.warning.number,
        floor=floor,
        feet=np.array(feet, np.int32),
        reach=contact_reach(mujoco, robot, model, floor, feet),
        frame_skip=robot.frame_skip,
        seconds=model.opt.timestep * robot.frame_skip,
        hidden=robot.hidden_positions,
        velocity_clip=robot.velocity_clip,
        healthy=np.array([robot.healthy_height, robot.healthy_pitch, robot.healthy_state]),
        healthy_reward=robot.healthy_reward,
        control_cost=np.float32(robot.control_cost),
        contact_cost=robot.contact_cost,
    )


def contact_reach(mujoco: ModuleType, robot: MujocoRobot, model: Any, floor: int, feet: list[int]) -> np.ndarray:
    """Distance from the floor at which MuJoCo lets each foot touch it.

    How it follows from the margins in the model depends on MuJoCo's version, so it is read from actual contacts: those
    of a robot sunk into the ground.
    """
    data = mujoco.MjData(model)
    data.qpos[robot.hidden_positions] = -10.0
    mujoco.mj_fwdPosition(model, data)
    reach = {contact.geom[1]: contact.includemargin for contact in data.contact if contact.geom[0] == floor}
    return np.array([reach[foot] for foot in feet])
