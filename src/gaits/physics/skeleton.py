"""What a robot looks like, and where its parts are for given joint positions.

Bullet could tell the poses of links itself, but those it keeps between steps are a substep older than its joint positions,
and bringing them up to date in the middle of an episode would be a way to change it. So they are computed here, for all
steps at once.

The robots are made of capsules and spheres. Their sizes come from the model file: pybullet's ``getCollisionShapeData``
crashes on MuJoCo's capsules, and its ``getVisualShapeData`` does not say which way they point.
"""

from __future__ import annotations

import functools
import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gaits.physics import capi, world
from gaits.tasks.qdgym import Robot

BASE = -1
"""Link number of a robot's base."""


class Capsule(NamedTuple):
    """All points within ``radius`` of the line from ``start`` to ``end``; a sphere where the two are one."""

    link: int
    start: tuple[float, ...]  # (3,) from the link's mass centre, along its axes
    end: tuple[float, ...]
    radius: float


class Joint(NamedTuple):
    """How a link sits on its parent. Vectors are along the axes of the parent's mass centre."""

    parent: int
    slides: bool
    place: int  # of its position among all; -1 for a joint that cannot move
    axis: np.ndarray  # (3,)
    pivot: np.ndarray  # (3,) from the parent's mass centre to the joint
    offset: np.ndarray  # (3,) from the joint to the link's mass centre, when the joint is at zero
    turn: np.ndarray  # (4,) orientation of the link's mass centre, when the joint is at zero


@dataclass(frozen=True)
class Skeleton:
    """A robot of L links and S capsules."""

    joints: tuple[Joint, ...]  # (L,); parents come before their children
    capsules: tuple[Capsule, ...]  # (S,)

    def poses(self, positions: np.ndarray) -> np.ndarray:
        """From T rows of Bullet's positions to those of mass centres, base first: position and quaternion, (T, 1 + L, 7)."""
        poses = np.empty((len(positions), 1 + len(self.joints), 7))
        poses[:, 0] = positions[:, :7]
        for link, joint in enumerate(self.joints):
            at, turned = poses[:, 1 + joint.parent, :3], poses[:, 1 + joint.parent, 3:]
            angle = positions[:, joint.place, None] if joint.place >= 0 else np.zeros((len(positions), 1))
            if joint.slides:
                arm, turn = joint.pivot + joint.offset + angle * joint.axis, joint.turn
            else:
                hinge = np.concatenate([np.sin(angle / 2) * joint.axis, np.cos(angle / 2)], axis=1)
                arm, turn = joint.pivot + rotate(hinge, joint.offset), multiply(hinge, joint.turn)
            poses[:, 1 + link, :3], poses[:, 1 + link, 3:] = at + rotate(turned, arm), multiply(turned, turn)
        return poses

    def ends(self, positions: np.ndarray) -> np.ndarray:
        """Both ends of every capsule in the world: (T, S, 2, 3)."""
        pose = self.poses(positions)[:, [1 + capsule.link for capsule in self.capsules], None]
        local = np.array([(capsule.start, capsule.end) for capsule in self.capsules])
        return pose[..., :3] + rotate(pose[..., 3:], local)


def make_skeleton(robot: Robot) -> Skeleton:
    return _read(robot.model)


@functools.cache
def _read(model: str) -> Skeleton:
    """Load the model once, through the pybullet module."""
    module = capi.pybullet()
    client = module.connect(module.DIRECT)
    here = {"physicsClientId": client}
    try:
        (body,) = module.loadMJCF(world.model_path(model), flags=world.MODEL_FLAGS, **here)
        links = range(module.getNumJoints(body, **here))
        joints = tuple(_find_joint(module, body, link, here) for link in links)
        names = {module.getBodyInfo(body, **here)[0].decode(): BASE}
        names |= {module.getJointInfo(body, link, **here)[12].decode(): link for link in links}
        frames = {name: module.getDynamicsInfo(body, link, **here)[3:5] for name, link in names.items()}
    finally:
        module.disconnect(client)
    return Skeleton(joints, tuple(_find_capsules(world.model_path(model), names, frames)))


def _find_joint(module: Any, body: int, link: int, here: dict[str, int]) -> Joint:
    """A joint of a robot whose joints are all at zero, as after loading."""
    info = module.getJointInfo(body, link, **here)
    parent = info[16]
    position, turn = map(np.array, _mass_centre(module, body, link, here))
    origin, turned = map(np.array, _mass_centre(module, body, parent, here))
    back = turned * (-1, -1, -1, 1)
    turn, pivot = multiply(back, turn), np.array(info[14])
    axis = rotate(turn, np.array(info[13]))
    return Joint(
        parent=parent,
        slides=info[2] == module.JOINT_PRISMATIC,
        place=info[3],
        axis=axis / (np.linalg.norm(axis) or 1.0),
        pivot=pivot,
        offset=rotate(back, position - origin) - pivot,
        turn=turn,
    )


def _mass_centre(module: Any, body: int, link: int, here: dict[str, int]) -> Any:
    if link == BASE:
        return module.getBasePositionAndOrientation(body, **here)
    return module.getLinkState(body, link, computeForwardKinematics=1, **here)[:2]


def _find_capsules(path: str, links: dict[str, int], frames: dict[str, Any]) -> list[Capsule]:
    """Every shape in the model file, in the frame of its link's mass centre."""
    model = ET.parse(path).getroot()
    compiler = model.find("compiler")
    unit = 1.0 if compiler is not None and compiler.get("angle") == "radian" else math.pi / 180
    found = []
    for body in model.iter("body"):
        name = body.get("name", "")
        offset, turn = map(np.array, frames[name])
        for geom in body.findall("geom"):
            start, end = rotate(turn * (-1, -1, -1, 1), _ends_of(geom, unit) - offset)
            found.append(Capsule(links[name], tuple(start.tolist()), tuple(end.tolist()), float(_numbers(geom, "size")[0])))
    return found


def _ends_of(geom: ET.Element, unit: float) -> np.ndarray:
    """Both ends (2, 3) of a capsule or sphere in its body's frame."""
    kind = geom.get("type", "sphere")
    if kind not in ("sphere", "capsule"):
        raise ValueError(f"This robot has a {kind}; only capsules and spheres can be drawn.")
    if geom.get("fromto"):
        return _numbers(geom, "fromto").reshape(2, 3)
    middle = _numbers(geom, "pos", "0 0 0")
    if kind == "sphere":
        return np.stack([middle, middle])
    *axis, angle = _numbers(geom, "axisangle", "0 0 1 0")
    half = np.array([0.0, 0.0, _numbers(geom, "size")[1]])
    direction = np.array(axis) / np.linalg.norm(axis)
    turn = np.array([*math.sin(angle * unit / 2) * direction, math.cos(angle * unit / 2)])
    return middle + rotate(turn, np.stack([-half, half]))


def _numbers(element: ET.Element, name: str, default: str = "") -> np.ndarray:
    return np.array([float(word) for word in element.get(name, default).split()])


def rotate(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) turned by unit quaternions (..., 4) in the order x, y, z, w; shapes are broadcast."""
    axis, w = quaternion[..., :3], quaternion[..., 3:]
    twice = 2.0 * np.cross(axis, vector)
    return vector + w * twice + np.cross(axis, twice)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The turn b, then the turn a; shapes are broadcast."""
    xyz = a[..., 3:] * b[..., :3] + b[..., 3:] * a[..., :3] + np.cross(a[..., :3], b[..., :3])
    w = a[..., 3:] * b[..., 3:] - np.sum(a[..., :3] * b[..., :3], axis=-1, keepdims=True)
    return np.concatenate([xyz, w], axis=-1)
