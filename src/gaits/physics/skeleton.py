"""What a robot looks like, and where its parts are for given joint positions.

Bullet could tell the poses of links itself, but those it keeps between steps are a substep older than its joint positions,
and bringing them up to date in the middle of an episode would be a way to change it. So they are computed here, for all
steps at once.

The robots are made of capsules and spheres: those that collide.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gaits.physics.robots import PRISMATIC, Collider, Link, load_robot
from gaits.tasks.qdgym import Robot


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
    axis: np.ndarray  # (3,) of length 1
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
    return _make_skeleton(robot.model)


@functools.cache  # damage does not change how a robot looks
def _make_skeleton(model: str) -> Skeleton:
    data = load_robot(model)
    joints = tuple(map(_make_joint, data.links))
    return Skeleton(joints, tuple(capsule for collider in data.colliders for capsule in _make_capsules(collider)))


def _make_joint(link: Link) -> Joint:
    turn = np.array(link.rotation) * (-1, -1, -1, 1)
    slides = link.kind == PRISMATIC
    axis = rotate(turn, np.array(link.axis_bottom if slides else link.axis_top))
    return Joint(
        parent=link.parent,
        slides=slides,
        place=7 + link.dof if link.dof >= 0 else -1,
        axis=axis / (np.linalg.norm(axis) or 1.0),
        pivot=np.array(link.e),
        offset=rotate(turn, np.array(link.d)),
        turn=turn,
    )


def _make_capsules(collider: Collider) -> list[Capsule]:
    capsules = []
    for shape in collider.shapes:
        ends = (np.array(shape.centres) @ np.array(shape.rotation).T + shape.position).tolist()
        capsules.append(Capsule(collider.link, tuple(ends[0]), tuple(ends[-1]), shape.radius))
    return capsules


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
