"""The world all episodes happen in: its constants, how a robot's parts are numbered, and the Simulator protocol."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Protocol

import numpy as np

from gaits.physics import kernel
from gaits.physics.robots import BASE, MODELS, load_robot
from gaits.tasks.task import Robot, Task

GRAVITY = -9.8
CONTACT_ERP = 0.9
SUBSTEPS = 4
SOLVER_ITERATIONS = 5
FLOOR_FRICTION, FLOOR_RESTITUTION = 0.8, 0.5
MOTOR_GAIN = 0.1
ELECTRICITY_COST, STALL_COST = -2.0, -0.1
MODEL_FLAGS = 8 | 32  # links collide with each other, but not with their ancestors


class Setup(NamedTuple):
    """Everything an episode depends on, besides its task."""

    solution: np.ndarray  # (solution_dim,) float32
    seed: int
    """The episode is that of ``reset(seed=seed)``."""
    obs_mean: np.ndarray  # (obs_dim,) float32; policies see (obs - mean) / std
    obs_std: np.ndarray  # (obs_dim,) float32
    action_noise: np.ndarray  # (max_steps, action_dim) float32, or no rows
    record: bool
    """Whether its steps are wanted."""


class Episode(NamedTuple):
    """The outcome of one rollout; the last three are empty unless they were asked for."""

    objective: float
    measures: np.ndarray  # (M,)
    length: int
    end: int  # kernel.TRUNCATED, TERMINATED or NON_FINITE
    obs: np.ndarray  # (length + 1, obs_dim) float32
    actions: np.ndarray  # (length, action_dim) float32
    rewards: np.ndarray  # (length,) float64


class Trace(NamedTuple):
    """Where an episode is written step by step, to be drawn later."""

    positions: np.ndarray  # (max_steps + 1, Q) float64: Bullet's positions: base position, base quaternion, joints
    contacts: np.ndarray  # (max_steps, feet) float32: whether each foot is on the ground after a step


def make_trace(task: Task, steps: int | None = None) -> Trace:
    """Room for an episode of so many steps; default: the task's longest."""
    steps = task.max_steps if steps is None else steps
    n_positions = max(find_layout(task.body).q_index) + 1
    return Trace(np.zeros((steps + 1, n_positions)), np.zeros((steps, len(task.body.feet)), np.float32))


class Simulator(Protocol):
    """A robot that can be reset, stepped, and rolled out."""

    task: Task
    body: kernel.Body
    state: kernel.State

    def reset(self, q0: np.ndarray) -> None:
        """Start an episode with joints at ``q0`` (J,), at rest."""

    def step(self, action: np.ndarray) -> tuple[float, int]:
        """Apply a float32 action (J,). Returns (reward, how the episode ended; TRUNCATED if it goes on)."""

    def rollout(
        self,
        solution: np.ndarray,
        q0: np.ndarray,
        obs_mean: np.ndarray,
        obs_std: np.ndarray,
        action_noise: np.ndarray,
        record: bool,
        trace: Trace | None = None,
    ) -> Episode:
        """One whole episode of a policy; ``trace`` takes the positions and contacts of its steps."""

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Base position and quaternion (7,), and the position of every moving joint: enough to draw the robot."""

    def close(self) -> None:
        """Free the physics client."""


MAX_SEED = 2**63 - 1


def check_seed(seed: Any) -> int:
    """The seed as an int, if an episode can have it."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"A seed must be a whole number from 0 to 2**63 - 1; got {seed}.")
    return int(seed)


def start_angles(seed: int, n_joints: int) -> np.ndarray:
    """Where an episode with this seed starts: every joint, in observation order, U(-0.1, 0.1)."""
    return np.random.Generator(np.random.PCG64(seed)).uniform(-0.1, 0.1, n_joints)


class Layout(NamedTuple):
    """How a robot's parts are numbered. Indices of joints are those of the links they move."""

    links: tuple[str, ...]
    moving: tuple[int, ...]  # joints that can move
    q_index: tuple[int, ...]  # per moving joint: where Bullet keeps its position
    u_index: tuple[int, ...]  # and its velocity
    actuated: tuple[int, ...]  # joints of Robot.joints, as positions in ``moving``
    limits: tuple[tuple[float, float], ...]  # of the actuated joints
    torso: int
    parts: tuple[int, ...]
    changed_friction: tuple[tuple[int, float], ...]  # (link, lateral friction) where Robot.friction changes it


def find_layout(robot: Robot) -> Layout:
    """Where QDGym looks for a robot's parts, and what its damage makes of their friction."""
    data = load_robot(robot.model)
    moving = [data.links[index] for index in data.moving]
    names = [link.joint for link in moving]
    actuated = tuple(names.index(name) for name in robot.joints)
    colliders = {data.links[collider.link].name: collider for collider in data.colliders if collider.link != BASE}
    # QDGym keeps parts in a dictionary: the base enters as "torso" after the first link; a link of that name replaces it.
    parts: dict[str, int] = {}
    for index, link in enumerate(data.links):
        parts[link.name] = index
        parts.setdefault("torso", BASE)
    return Layout(
        links=data.names,
        moving=data.moving,
        q_index=tuple(7 + link.dof for link in moving),  # after the base's position and quaternion
        u_index=tuple(6 + link.dof for link in moving),  # after its two velocities
        actuated=actuated,
        limits=tuple((moving[i].lower, moving[i].upper) for i in actuated),
        torso=parts["torso"],
        parts=(*parts.values(), -2),
        changed_friction=tuple(
            (colliders[foot].link, float(factor * colliders[foot].friction)) for foot, factor in robot.friction
        ),
    )


def model_path(name: str) -> str:
    """The model file that Bullet loads for a robot."""
    import pybullet_data

    return os.path.join(pybullet_data.getDataPath(), "mjcf", MODELS[name])


def floor_path() -> str:
    import pybullet_data

    return os.path.join(pybullet_data.getDataPath(), "plane_stadium.sdf")


def make_body(robot: Robot, body: int, floor: int) -> kernel.Body:
    layout = find_layout(robot)
    actuated = np.array(layout.actuated)
    lower, upper = np.array(layout.limits).T
    return kernel.Body(
        body=body,
        floor=floor,
        torso=layout.torso,
        all_q_index=np.array(layout.q_index),
        q_index=np.array(layout.q_index)[actuated],
        u_index=np.array(layout.u_index)[actuated],
        middle=0.5 * (lower + upper),
        width=upper - lower,
        torques=np.array(robot.torques),
        feet=np.array([layout.links.index(name) for name in robot.feet]),
        parts=np.array(layout.parts),
        measured_feet=np.array(robot.measured_feet),
        no_touch=np.array(robot.no_touch, dtype=np.int64),
        alive_bonus=robot.alive_bonus,
        min_height=robot.min_height,
        max_pitch=robot.max_pitch,
        terminates=robot.terminates,
        initial_height=np.nan if robot.initial_height is None else robot.initial_height,
        electricity_cost=robot.effort_scale * ELECTRICITY_COST,
        stall_cost=robot.effort_scale * STALL_COST,
    )


def make_state(body: kernel.Body, obs_dim: int) -> kernel.State:
    n_joints, n_feet = body.torques.size, body.feet.size
    return kernel.State(
        q=np.zeros(n_joints),
        qd=np.zeros(n_joints),
        torso=np.zeros(10),
        parts_xy=np.zeros((2, body.parts.size)),
        touching=np.zeros(n_feet, np.float32),
        contact=np.zeros(n_feet, np.float32),
        memory=np.zeros(2),
        obs=np.zeros(obs_dim, np.float32),
        speeds=np.zeros(n_joints, np.float32),
        power=np.zeros(n_joints, np.float32),
        square=np.zeros(n_joints, np.float32),
        terms=np.zeros(4),
        pointers=np.zeros(13, np.intp),
    )


class Recorder:
    """Arrays an episode is written into: full size when transitions are wanted, else empty. Kept between episodes."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.full: tuple[np.ndarray, ...] | None = None
        self.empty = self._allocate(0)

    def _allocate(self, steps: int) -> tuple[np.ndarray, ...]:
        task = self.task
        return (
            np.zeros((steps + 1, task.obs_dim), np.float32),
            np.zeros((steps, task.action_dim), np.float32),
            np.zeros(steps),
        )

    def arrays(self, record: bool) -> tuple[np.ndarray, ...]:
        if not record:
            return self.empty
        if self.full is None:
            self.full = self._allocate(self.task.max_steps)
        return self.full

    def copy(self, record: bool, length: int) -> tuple[np.ndarray, ...]:
        """The episode just written, in arrays of its own."""
        if not record:
            return self.empty
        obs, actions, rewards = self.arrays(record)
        return obs[: length + 1].copy(), actions[:length].copy(), rewards[:length].copy()
