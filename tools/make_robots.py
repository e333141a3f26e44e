"""Write the robots that ship with gaits, src/gaits/physics/robots/*.json, from the model files that pybullet installs.

Usage: python tools/make_robots.py [FOLDER]     (needs Bullet: pip install 'gaits[bullet]')

Bullet loads each model and tells what it made of its links: masses, inertias, frames, axes, limits, friction. It does not
tell about shapes (getCollisionShapeData crashes on these capsules), nor what follows from them, so that part is computed
here from the model file, with Bullet's arithmetic in Bullet's order: the results are equal to the bit. Numbers of a model
file are rounded to single precision where Bullet's importer does so. Formulas after Bullet (zlib licence).
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gaits.physics.bullet import capi, scene
from gaits.physics.robots import (
    BASE,
    CAPSULE,
    FIXED,
    MODELS,
    PRISMATIC,
    REVOLUTE,
    SPHERE,
    SPHERES,
    Base,
    Collider,
    Link,
    RobotData,
    Shape,
    Vector,
)

SHIPPED = Path(__file__).parents[1] / "src" / "gaits" / "physics" / "robots"

IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
MARGIN = 0.04  # of shapes that are not round themselves
THRESHOLD_FACTOR = 0.02  # gContactBreakingThreshold
DAMPING = float(np.float32(0.04))
KINDS = {0: REVOLUTE, 1: PRISMATIC, 4: FIXED}  # as getJointInfo numbers them

Matrix = tuple[Vector, ...]
Frame = tuple[Matrix, Vector]
"""A rotation and an origin."""


def main(folder: Path = SHIPPED) -> None:
    for name in MODELS:
        (folder / f"{name}.json").write_text(format_robot(make_robot(name)), "utf-8", newline="\n")


def make_robot(name: str) -> RobotData:
    path = scene.model_path(name)
    p = capi.pybullet()
    client = p.connect(p.DIRECT)
    here = {"physicsClientId": client}
    try:
        (body,) = p.loadMJCF(path, flags=scene.MODEL_FLAGS, **here)
        indices = range(BASE, p.getNumJoints(body, **here))
        joints = [p.getJointInfo(body, link, **here) for link in indices[1:]]
        dynamics = {link: p.getDynamicsInfo(body, link, **here) for link in indices}
        pose = p.getBasePositionAndOrientation(body, **here)
        numbers = {p.getBodyInfo(body, **here)[0].decode(): BASE} | {joint[12].decode(): joint[0] for joint in joints}
    finally:
        p.disconnect(client)

    model = ET.parse(path).getroot()
    elements = {
        numbers[element.attrib["name"]]: element for element in model.iter("body") if element.find("geom") is not None
    }
    links = tuple(make_link(joint, dynamics[joint[0]]) for joint in joints)
    colliders = tuple(make_collider(link, dynamics[link], read_shapes(elements[link], model)) for link in sorted(elements))
    return RobotData(
        name=name,
        damping=DAMPING,
        base=make_base(pose, dynamics[BASE]),
        links=links,
        colliders=colliders,
        limit_order=tuple(order_limits(links)),
        self_pairs=tuple(find_self_pairs(links, colliders, {link: read_filter(elements[link], model) for link in elements})),
    )


def make_base(pose: tuple[Vector, Vector], dynamics: Any) -> Base:
    position, (x, y, z, w) = pose
    mass, inertia = dynamics[0], dynamics[2]
    return Base(fixed=mass == 0.0, mass=mass, inertia=inertia, position=position, rotation=(-x, -y, -z, w))


def make_link(joint: Any, dynamics: Any) -> Link:
    """The link that a joint (getJointInfo) carries (getDynamicsInfo)."""
    kind, axis, zero = KINDS[joint[2]], joint[13], (0.0, 0.0, 0.0)
    d = tuple(-x for x in inverse(inertial_frame(dynamics))[1])
    return Link(
        name=joint[12].decode(),
        joint=joint[1].decode() if kind != FIXED else "",  # Bullet numbers those through all models it ever loaded
        kind=kind,
        parent=joint[16],
        dof=joint[4] - 6 if kind != FIXED else -1,
        mass=dynamics[0],
        inertia=dynamics[2],
        rotation=joint[15],
        d=d,
        e=joint[14],
        axis_top=axis if kind == REVOLUTE else zero,
        axis_bottom={REVOLUTE: cross(axis, d), PRISMATIC: axis, FIXED: zero}[kind],
        lower=joint[8],
        upper=joint[9],
    )


def inertial_frame(dynamics: Any) -> Frame:
    """Where a link's mass centre is in the frame of its model file; Bullet's own frame of the link."""
    position, turn = dynamics[3], dynamics[4]
    return to_matrix(turn), position


# Shapes, from the model file.


def read_shapes(body: ET.Element, model: ET.Element) -> list[Shape]:
    """The shapes of a body in the model file, in the body's frame."""
    compiler = model.find("compiler")
    unit = 1.0 if compiler is not None and compiler.get("angle") == "radian" else math.pi / 180
    return [read_shape(geom, unit) for geom in body.findall("geom")]


def read_shape(geom: ET.Element, unit: float) -> Shape:
    position = singles(geom.get("pos", "0 0 0"))
    match geom.get("type"), geom.get("fromto"):
        case "sphere", None:
            radius = float(geom.attrib["size"])  # in double precision, unlike a capsule's
            return Shape(SPHERE, IDENTITY, position, ((0.0, 0.0, 0.0),), radius, margin=radius)
        case "capsule", None:
            radius, half = singles(geom.attrib["size"])
            *axis, angle = singles(geom.attrib["axisangle"])
            rotation = to_matrix(turn_about(axis, angle * unit))
            return Shape(CAPSULE, rotation, position, ((0.0, 0.0, -half), (0.0, 0.0, half)), radius, margin=radius)
        case "capsule", str(ends):
            numbers = singles(ends)
            return Shape(SPHERES, IDENTITY, position, (numbers[:3], numbers[3:]), singles(geom.attrib["size"])[0], MARGIN)
        case kind, _:
            raise ValueError(f"Shapes must be spheres or capsules; this model has a {kind}.")


def make_collider(link: int, dynamics: Any, shapes: Iterable[Shape]) -> Collider:
    """Shapes of a link's frame, moved to that of its mass centre."""
    back = inverse(inertial_frame(dynamics))
    moved = []
    for shape in shapes:
        rotation, position = multiply(back, (shape.rotation, shape.position))
        moved.append(dataclasses.replace(shape, rotation=rotation, position=position))
    # Bullet drops the compound around a single shape that is not moved.
    compound = len(moved) > 1 or (moved[0].rotation, moved[0].position) != (IDENTITY, (0.0, 0.0, 0.0))
    return Collider(link, dynamics[1], find_threshold(moved, compound), compound, tuple(moved))


def find_threshold(shapes: list[Shape], compound: bool) -> float:
    """angularMotionDisc x 0.02: the reach of the sphere around the box around a link's shapes."""
    lows, highs = zip(*map(find_box, shapes), strict=True)
    low, high = tuple(map(min, zip(*lows, strict=True))), tuple(map(max, zip(*highs, strict=True)))
    if compound:  # a box around the box, which rounds
        half = tuple(0.5 * (b - a) for a, b in zip(low, high, strict=True))
        middle = tuple(0.5 * (b + a) for a, b in zip(low, high, strict=True))
        low, high = subtract(middle, half), add(middle, half)
    radius = length(subtract(high, low)) * 0.5
    centre = tuple(x * 0.5 for x in add(low, high))
    return (radius + length(centre)) * THRESHOLD_FACTOR


def find_box(shape: Shape) -> tuple[Vector, Vector]:
    """Lowest and highest corner of Bullet's box around a shape; larger than need be around two spheres."""
    if shape.kind == SPHERE:
        half = 3 * (shape.radius,)
        return subtract(shape.position, half), add(shape.position, half)
    if shape.kind == CAPSULE:
        half, centre = (shape.radius, shape.radius, shape.radius + shape.centres[1][2]), shape.position
    else:
        r, m = shape.radius, shape.margin
        low = [min((x - r) + m for x in xs) - m for xs in zip(*shape.centres, strict=True)]
        high = [max((x + r) - m for x in xs) + m for xs in zip(*shape.centres, strict=True)]
        half = tuple(0.5 * (b - a) + m for a, b in zip(low, high, strict=True))
        centre = transform((shape.rotation, shape.position), tuple(0.5 * (b + a) for a, b in zip(low, high, strict=True)))
    extent = tuple(dot(half, tuple(map(abs, row))) for row in shape.rotation)
    return subtract(centre, extent), add(centre, extent)


# In which order Bullet visits what it made.


def order_limits(links: tuple[Link, ...]) -> Iterator[int]:
    """Links with limits, as Bullet's quicksort leaves them: limits first, then motors, all with equal keys, get permuted."""
    moving = [index for index, link in enumerate(links) if link.kind != FIXED]
    rows = [(index, True) for index in moving if links[index].lower <= links[index].upper]
    rows += [(index, False) for index in moving]

    def sort(low: int, high: int) -> None:
        i, j = low, high
        while i <= j:  # nothing is less than the pivot: every pair is swapped
            rows[i], rows[j] = rows[j], rows[i]
            i, j = i + 1, j - 1
        if low < j:
            sort(low, j)
        if i < high:
            sort(i, high)

    sort(0, len(rows) - 1)
    return (index for index, is_limit in rows if is_limit)


def read_filter(body: ET.Element, model: ET.Element) -> tuple[int, int]:
    """What group a body is in, and which groups it collides with. All geoms of a body agree in these models."""
    geom, default = body.find("geom"), model.find("default/geom")
    group, mask = (
        int(geom.get(key) or default.get(key) or 1)  # type: ignore[union-attr]
        for key in ("contype", "conaffinity")
    )
    return group, mask


def find_self_pairs(
    links: tuple[Link, ...], colliders: tuple[Collider, ...], filters: dict[int, tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Links that may touch, none of them the other's ancestor, from the highest numbers to the lowest."""
    for a in reversed(colliders):
        for b in reversed(colliders):
            (group_a, mask_a), (group_b, mask_b) = filters[a.link], filters[b.link]
            if a.link < b.link and (group_a & mask_b or group_b & mask_a) and a.link not in ancestors(links, b.link):
                # Where only one is a compound, it is body A.
                yield (b.link, a.link) if b.compound and not a.compound else (a.link, b.link)


def ancestors(links: tuple[Link, ...], link: int) -> Iterator[int]:
    while link != BASE:
        link = links[link].parent
        yield link


# Bullet's algebra: sums from left to right, as written.


def singles(words: str) -> Vector:
    return tuple(float(np.float32(word)) for word in words.split())


def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def length(a: Vector) -> float:
    return math.sqrt(dot(a, a))


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a: Vector, b: Vector) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def subtract(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def transpose(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))


def transform(frame: Frame, vector: Vector) -> Vector:
    rotation, origin = frame
    return tuple(dot(row, vector) + x for row, x in zip(rotation, origin, strict=True))


def inverse(frame: Frame) -> Frame:
    back = transpose(frame[0])
    return back, tuple(dot(row, tuple(-x for x in frame[1])) for row in back)


def multiply(a: Frame, b: Frame) -> Frame:
    columns = transpose(b[0])
    return tuple(tuple(dot(column, row) for column in columns) for row in a[0]), transform(a, b[1])


def turn_about(axis: list[float], angle: float) -> Vector:
    s = math.sin(angle * 0.5) / length(tuple(axis))
    return (axis[0] * s, axis[1] * s, axis[2] * s, math.cos(angle * 0.5))


def to_matrix(quaternion: Vector) -> Matrix:
    x, y, z, w = quaternion
    s = 2.0 / (x * x + y * y + z * z + w * w)
    xs, ys, zs = x * s, y * s, z * s
    wx, wy, wz, xx, xy, xz, yy, yz, zz = w * xs, w * ys, w * zs, x * xs, x * ys, x * zs, y * ys, y * zs, z * zs
    return (1.0 - (yy + zz), xy - wz, xz + wy), (xy + wz, 1.0 - (xx + zz), yz - wx), (xz - wy, yz + wx, 1.0 - (xx + yy))


# The file.


def format_robot(robot: RobotData) -> str:
    """JSON with one record to a line. Python writes a float so that it reads back as the same one."""
    fields = (f'"{key}": {format_field(value)}' for key, value in dataclasses.asdict(robot).items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def format_field(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(record) for record in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    try:
        main(*map(Path, sys.argv[1:]))
    except (ValueError, OSError) as error:
        print(f"make_robots: {error}", file=sys.stderr)
        sys.exit(2)
