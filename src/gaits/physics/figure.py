"""QDGym's robots as pictures show them."""

from __future__ import annotations

import numpy as np

from gaits.drawing import Figure, Puppet, find_limbs
from gaits.physics.skeleton import make_skeleton
from gaits.physics.walking import SECONDS_PER_STEP
from gaits.physics.world import find_layout
from gaits.tasks.qdgym import Robot
from gaits.tasks.task import Task


def make_figure(task: Task) -> Figure:
    """Of a task's robot; its measured feet are called what their measures are."""
    robot, skeleton = task.robot, make_skeleton(task.robot)
    links = find_layout(robot).links
    feet = {links.index(name): flag for flag, name in enumerate(robot.feet)}
    names = dict(zip(robot.measured_feet, task.measure_names, strict=True))
    capsules = skeleton.capsules
    return Figure(
        radii=np.array([capsule.radius for capsule in capsules]),
        limbs=find_limbs([joint.parent for joint in skeleton.joints], [capsule.link for capsule in capsules]),
        feet=np.array([feet.get(capsule.link, -1) for capsule in capsules]),
        labels=tuple(names.get(flag, "").removesuffix(" contact") for flag in range(len(robot.feet))),
        flat=any(joint.slides for joint in skeleton.joints),
    )


def make_puppet(task: Task) -> Puppet:
    skeleton, links = make_skeleton(task.robot), find_layout(task.robot).links
    parts = tuple(links[capsule.link] if capsule.link >= 0 else "torso" for capsule in skeleton.capsules)
    return Puppet(make_figure(task), parts, skeleton.ends, SECONDS_PER_STEP)


def find_ends(robot: Robot, bases: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Both ends of a robot's capsules in the world (T, S, 2, 3), from T poses as ``Simulator.pose`` gives them."""
    places = find_layout(robot).q_index
    positions = np.zeros((len(bases), max(places) + 1))
    positions[:, :7], positions[:, places] = bases, joints
    return make_skeleton(robot).ends(positions)
