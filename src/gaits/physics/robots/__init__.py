"""The robots as data: what Bullet makes of their model files, to the bit.

``tools/make_robots.py`` writes the files beside this one, from the model files that pybullet installs. A file holds exactly
the fields below; its numbers are the doubles that Bullet computes with, most of them rounded to single precision on their
way into it. Vectors are tuples of 3, quaternions of 4 in the order x, y, z, w. Links are numbered from 0; a parent or link
of -1 is the base.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from gaits.checks import lookup

Vector = tuple[float, ...]

BASE = -1
"""Link number of a robot's base."""
REVOLUTE, PRISMATIC, FIXED = "revolute", "prismatic", "fixed"
SPHERE, CAPSULE, SPHERES = "sphere", "capsule", "spheres"

MODELS = {
    "ant": "ant.xml",
    "half_cheetah": "half_cheetah.xml",
    "hopper": "hopper.xml",
    "walker": "walker2d.xml",
    "humanoid": "humanoid_symmetric.xml",
}
"""Each robot's model file in pybullet_data."""


@dataclass(frozen=True)
class Base:
    """The root of a robot. That of a planar robot is fixed, massless and without shape: its first joints move it."""

    fixed: bool
    mass: float
    inertia: Vector  # (3,) about its axes
    position: Vector  # (3,) of its mass centre at the start
    rotation: Vector  # (4,) from world to base coordinates at the start


@dataclass(frozen=True)
class Link:
    """A body and the joint that carries it. Joints that move carry massless links, to which what has mass is fixed."""

    name: str
    joint: str  # "" if fixed
    kind: str  # REVOLUTE, PRISMATIC or FIXED
    parent: int  # comes before its children
    dof: int  # place among the moving joints; -1 if fixed
    mass: float
    inertia: Vector  # (3,)
    rotation: Vector  # (4,) from parent to link coordinates, with the joint at zero
    d: Vector  # (3,) from the joint to this mass centre, in link coordinates
    e: Vector  # (3,) from the parent's mass centre to the joint, in parent coordinates
    axis_top: Vector  # (3,) angular part of the joint's motion, in link coordinates; not normalized
    axis_bottom: Vector  # (3,) linear part
    lower: float  # limits of the joint; none if lower > upper
    upper: float


@dataclass(frozen=True)
class Shape:
    """A convex shape: all points within ``radius`` of its centres, or of the line between them.

    To Bullet it is one of three kinds. Spheres and capsules are a point and a segment along z, with their radius as margin.
    A model file's capsule given by its ends becomes two spheres and their hull, with a margin of its own.
    """

    kind: str  # SPHERE, CAPSULE or SPHERES
    rotation: tuple[Vector, ...]  # (3, 3) rows; from shape to link coordinates
    position: Vector  # (3,) from the link's mass centre
    centres: tuple[
        Vector, ...
    ]  # (1, 3) of a sphere, else (2, 3); in shape coordinates, a capsule's (0, 0, -h) and (0, 0, h)
    radius: float
    margin: float


@dataclass(frozen=True)
class Collider:
    """What may touch of a link; links that are not listed have no shape."""

    link: int
    friction: float
    threshold: float  # contact points farther apart than this are given up
    compound: bool  # whether its shapes are children, which makes a difference to when contacts are refreshed
    shapes: tuple[Shape, ...]

    @property
    def id(self) -> int:
        """Bullet's number for it, which orders contacts: the floor is 1, the base 2."""
        return self.link + 3


@dataclass(frozen=True)
class RobotData:
    """A robot of L links, D of whose joints move."""

    name: str
    damping: float  # of linear and angular velocity
    base: Base
    links: tuple[Link, ...]  # (L,)
    colliders: tuple[Collider, ...]  # base first, then by link
    limit_order: tuple[int, ...]  # links whose joints have limits, in the order in which the solver visits them
    self_pairs: tuple[tuple[int, int], ...]  # links that may touch, in visiting order; the first is body A of the contact

    @functools.cached_property
    def moving(self) -> tuple[int, ...]:
        """Links with a moving joint, by dof: (D,)."""
        return tuple(index for index, link in enumerate(self.links) if link.dof >= 0)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Of the links: (L,)."""
        return tuple(link.name for link in self.links)


@functools.cache
def load_robot(name: str) -> RobotData:
    """A robot by its name, such as "hopper"."""
    lookup("robot", name, MODELS)
    fields = json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8"), object_pairs_hook=_freeze)
    fields["base"] = Base(**fields["base"])
    fields["links"] = tuple(Link(**link) for link in fields["links"])
    fields["colliders"] = tuple(_make_collider(**collider) for collider in fields["colliders"])
    return RobotData(**fields)


def _make_collider(shapes: tuple[dict[str, Any], ...], **fields: Any) -> Collider:
    return Collider(shapes=tuple(Shape(**shape) for shape in shapes), **fields)


def _freeze(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: _as_tuple(value) for key, value in pairs}


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
