"""The world all episodes happen in: its constants, how a robot's parts are numbered, and the Simulator protocol."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from gaits.episodes import Steps, Trace
from gaits.physics.robots import BASE, load_robot
from gaits.physics.walking import Body, State
from gaits.tasks.qdgym import Robot
from gaits.tasks.task import Task

ELECTRICITY_COST, STALL_COST = -2.0, -0.1


def make_trace(task: Task, wanted: bool = True) -> Trace:
    """Room for the task's longest episode; for no step if it is not wanted."""
    steps = task.max_steps if wanted else 0
    n_positions = max(find_layout(task.robot).q_index) + 1
    return Trace(np.zeros((steps + 1, n_positions)), np.zeros((steps, len(task.robot.feet)), np.float32))


def cut_trace(trace: Trace, length: int) -> Trace:
    """What an episode of so many steps has written."""
    return Trace(trace.positions[: length + 1], trace.contacts[:length])


class Simulator(Protocol):
    """A robot that can be reset and stepped."""

    task: Task
    body: Body
    state: State

    def reset(self, q0: np.ndarray) -> None:
        """Start an episode with joints at ``q0`` (J,), at rest."""

    def step(self, action: np.ndarray) -> tuple[float, int]:
        """Apply a float32 action (J,). Returns (reward, how the episode ended; TRUNCATED if it goes on)."""

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Base position and quaternion (7,), and the position of every moving joint: enough to draw the robot."""

    def close(self) -> None:
        """Free what it holds."""


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


def name_observations(robot: Robot) -> list[str]:
    """What the numbers of an observation are, in order; each is clipped to [-5, 5]."""
    sideways = "velocity sideways" if find_layout(robot).torso < 0 else "yaw rate"  # QDGym's slip, see engine/reading.py
    body = ["height above the start", "sin of the angle to the goal", "cos of the angle to the goal"]
    body += [f"0.3 * {speed}" for speed in ("velocity forward", sideways, "velocity up")] + ["roll", "pitch"]
    joints = [f"{what} of {joint}" for joint in robot.joints for what in ("position", "0.1 * speed")]
    return body + joints + [f"contact of {foot}" for foot in robot.feet]


def make_body(robot: Robot) -> Body:
    """What walking needs to know of a robot."""
    layout, data = find_layout(robot), load_robot(robot.model)
    actuated = [data.links[layout.moving[i]] for i in layout.actuated]
    lower, upper = np.array(layout.limits).T
    first = 0 if data.base.fixed else 6
    return Body(
        n_joints=len(actuated),
        n_feet=len(robot.feet),
        n_parts=len(layout.parts),
        n_measured=len(robot.measured_feet),
        n_no_touch=len(robot.no_touch),
        torso=layout.torso,
        coordinate=np.array([first + link.dof for link in actuated]),
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


class Recorder:
    """Arrays an episode's steps are written into: full size when they are wanted, else empty. Kept between episodes."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.full: Steps | None = None
        self.empty = self._allocate(0)

    def _allocate(self, steps: int) -> Steps:
        task = self.task
        return Steps(
            np.zeros((steps + 1, task.obs_dim), np.float32),
            np.zeros((steps, task.action_dim), np.float32),
            np.zeros(steps),
        )

    def arrays(self, record: bool) -> Steps:
        if not record:
            return self.empty
        if self.full is None:
            self.full = self._allocate(self.task.max_steps)
        return self.full

    def copy(self, record: bool, length: int) -> Steps | None:
        """The episode just written, in arrays of its own, if it was to be recorded."""
        if not record:
            return None
        obs, actions, rewards = self.arrays(record)
        return Steps(obs[: length + 1].copy(), actions[:length].copy(), rewards[:length].copy())
