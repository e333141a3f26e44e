"""Robots and the engine's memory as flat arrays, and the named views that compiled code has of them.

``Model`` is constant and shared by all threads; ``Memory`` belongs to one thread and has ``width`` numbers wherever one episode
needs one, side by side. In compiled code they become ``Robot`` and ``Work``, whose fields are the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaits.physics.compiling import inline
from gaits.physics.engine.constants import POINTS
from gaits.physics.engine.contact import BALL, BALLS, CAPSULE, POINT
from gaits.physics.lanes import ONE, lanes
from gaits.physics.robots import BASE, FIXED, Collider, Link, RobotData, Shape

FLOOR_FRICTION = 0.8
KINDS = {"spheres": BALLS, "capsule": CAPSULE, "sphere": BALL}


class Model(NamedTuple):
    """A robot. A *tip* is a set of coordinates that move something: that of a limb or link, or a joint's own."""

    planar: int
    n: int  # coordinates that the solver moves: a floating base's six, then the joints
    links: int
    slide: np.ndarray  # planar: offsets of both slides
    limbs: int
    limb: np.ndarray  # constants of the limbs; of the links, if spatial
    dof: np.ndarray  # spatial: coordinate of a hinge; -1 for a link that is fixed
    parent: np.ndarray
    path: np.ndarray  # (tips, links) what leads from the root to each tip
    depth: np.ndarray  # (tips,) how many those are
    climbs: int
    climb: np.ndarray  # spatial: links that lead to a hinge, which is what a response visits on its way up
    forks: np.ndarray  # spatial: links that something other than the next one hangs on
    base: np.ndarray  # spatial: mass, inertia
    shapes: int
    shape: np.ndarray
    shape_kind: np.ndarray
    shape_link: np.ndarray  # pose it moves with: 0 is the base
    shape_bare: np.ndarray
    groups: int
    group_first: np.ndarray
    group_shape: np.ndarray
    group_link: np.ndarray
    group_tip: np.ndarray
    friction: np.ndarray  # by tip
    rows_per_spot: int
    limits: int
    limit_dof: np.ndarray
    limit_link: np.ndarray  # limb or link that the joint carries
    limit_tip: np.ndarray
    limit_range: np.ndarray  # (limits, 2)
    moves_first: np.ndarray
    moves: np.ndarray


class Memory(NamedTuple):
    """What episodes side by side are computed in. Numbers first, then what all of them share or is counted by lane."""

    q: np.ndarray  # (n,) positions of the coordinates; a floating base has its own
    u: np.ndarray  # (n,) velocities
    tau: np.ndarray  # (n,) torques
    base: np.ndarray  # position, quaternion from world to base
    pose: np.ndarray  # of the base and each link: rotation matrix to the world 9, position 3
    before: np.ndarray  # the same, a substep ago
    slide: np.ndarray  # arms of a planar robot's slides
    joint: np.ndarray  # rotation and arm of every joint
    world: np.ndarray  # quaternion from the world to every link
    frame: np.ndarray  # the same as matrix, by another way of rounding
    velocity: np.ndarray  # of every link, in its own coordinates, as are the next three
    coriolis: np.ndarray
    inertia: np.ndarray
    force: np.ndarray
    hinge: np.ndarray  # h, 1 / D and Y of every hinge
    root: np.ndarray  # the same of the slides; or the inverse inertia of a floating base
    acceleration: np.ndarray
    y: np.ndarray  # (3, n) Y of up to three rows
    point: np.ndarray  # points of all manifolds, and room to put some of them in order
    lowest: np.ndarray  # point of a shape
    spot: np.ndarray  # points that act: position, distance
    present: np.ndarray  # 1 in lanes where a spot is
    jacobian: np.ndarray  # (rows, n) limits, then spots
    response: np.ndarray  # (rows, n)
    row: np.ndarray  # (rows, 4)
    dv: np.ndarray  # (n,) what the impulses change
    cone: np.ndarray  # a friction cone
    all: np.ndarray  # all numbers above, one after another
    points: np.ndarray  # (shapes, lanes) how many a manifold has
    spot_tip: np.ndarray
    limit: np.ndarray  # joints with a row
    order: np.ndarray  # room to sort in


def make_model(robot: RobotData, friction: dict[int, float] | None = None) -> Model:
    """``friction`` replaces that of some links."""
    planar = robot.base.fixed
    shapes = [(c, s) for c in reversed(robot.colliders) for s in reversed(c.shapes)]  # as manifolds are created (5.2, 5.8)
    links, limits = robot.links, robot.limit_order
    paths = [_path(robot, link) for link in (range(3, len(links), 2) if planar else range(-1, len(links)))]
    first = 0 if planar else 6
    moves = [[*range(first), *(first + links[i].dof for i in path if links[i].dof >= 0)] for path in paths]
    moves += [[first + links[i].dof] for i in limits]
    steps = [[i // 2 - 1 for i in path if i > 1 and i % 2] if planar else path for path in paths]
    climb = [i for i in range(len(links)) if any(i in _path(robot, j) for j in robot.moving)]
    rub = np.zeros(len(paths))
    for c in robot.colliders:
        rub[_tip(robot, c.link)] = FLOOR_FRICTION * (friction or {}).get(c.link, c.friction)
    return Model(
        planar=int(planar),
        n=first + len(robot.moving),
        links=len(links),
        slide=np.array([x for link in links[: 2 * planar] for x in _plane(_arm(link))]),
        limbs=len(links) // 2 - 1 if planar else len(links),
        limb=np.array(
            [_limb(*links[i : i + 2]) for i in range(2, len(links), 2)] if planar else list(map(_link, links))
        ).ravel(),
        dof=np.array([6 + link.dof if link.dof >= 0 else -1 for link in links]),
        parent=np.array([link.parent // 2 - 1 for link in links[2::2]] if planar else [link.parent for link in links]),
        path=np.array([[*path, *[0] * (len(links) - len(path))] for path in steps]).ravel(),
        depth=np.array(list(map(len, steps))),
        climbs=len(climb),
        climb=np.array(climb),
        forks=np.array([int(any(other.parent == i for other in links[i + 2 :])) for i in range(len(links))]),
        base=np.array([robot.base.mass, *robot.base.inertia]),
        shapes=len(shapes),
        shape=np.array([_shape(c, s) for c, s in shapes]).ravel(),
        shape_kind=np.array([KINDS[s.kind] for _, s in shapes]),
        shape_link=np.array([1 + c.link for c, _ in shapes]),
        shape_bare=np.array([int(not c.compound) for c, _ in shapes]),
        groups=len(robot.colliders),
        group_first=np.cumsum([0, *(len(c.shapes) for c in robot.colliders)]),
        group_shape=np.array([i for c in robot.colliders for i, (owner, _) in enumerate(shapes) if owner is c]),
        group_link=np.array([1 + c.link for c in robot.colliders]),
        group_tip=np.array([_tip(robot, c.link) for c in robot.colliders]),
        friction=rub,
        rows_per_spot=2 if planar else 3,
        limits=len(limits),
        limit_dof=np.array([first + links[i].dof for i in limits]),
        limit_link=np.array([_tip(robot, i) for i in limits]),
        limit_tip=len(paths) + np.arange(len(limits)),
        limit_range=np.array([(links[i].lower, links[i].upper) for i in limits]).ravel(),
        moves_first=np.cumsum([0, *map(len, moves)]),
        moves=np.array([m for own in moves for m in own]),
    )


def _path(robot: RobotData, link: int) -> list[int]:
    """Links from the root to this one."""
    return [] if link == BASE else [*_path(robot, robot.links[link].parent), link]


def _tip(robot: RobotData, link: int) -> int:
    return link // 2 - 1 if robot.base.fixed else 1 + link


def _arm(link: Link) -> tuple[float, ...]:
    """From the parent's mass centre to this one's, where nothing turns between them."""
    return tuple(d + e for d, e in zip(link.d, link.e, strict=True))


def _plane(vector: tuple[float, ...]) -> tuple[float, float]:
    x, y, z = vector
    assert y == 0.0
    return x, z


def _limb(hinge: Link, body: Link) -> list[float]:
    assert not any(hinge.d) and not any(hinge.axis_bottom) and abs(hinge.axis_top[1]) == 1.0 and hinge.mass == 0.0
    return [*_plane(hinge.e), hinge.axis_top[1], *_plane(_arm(body)), body.mass, body.inertia[1]]


def _link(link: Link) -> list[float]:
    if link.kind == FIXED:
        return [*_arm(link), link.mass, *link.inertia, *[0.0] * 4]
    assert not any(link.d) and not any(link.axis_bottom) and link.mass == 0.0
    return [*link.e, math.sqrt(sum(a * a for a in link.axis_top)), *link.axis_top, *link.rotation]


def _shape(collider: Collider, shape: Shape) -> list[float]:
    centres = np.array(shape.centres) @ np.array(shape.rotation).T + shape.position
    reach = np.linalg.norm(centres, axis=1).max() + shape.radius + 1e-6
    a, b = shape.centres[0], shape.centres[-1]
    rotation = [x for row in shape.rotation for x in row]
    return [*rotation, *shape.position, reach, collider.threshold, shape.margin, b[2], *a, shape.radius, *b, shape.radius]


def make_memory(model: Model, width: int) -> Memory:
    """Room for ``width`` episodes side by side."""
    limbs, links, n = model.limbs, model.links, model.n
    spots = POINTS * model.shapes
    rows = model.limits + model.rows_per_spot * spots
    sizes = {
        **dict.fromkeys(("q", "u", "tau", "dv"), n),
        **dict.fromkeys(("pose", "before"), 12 * (1 + links)),
        **dict.fromkeys(("velocity", "coriolis", "force"), 6 * (1 + limbs)),
        **dict.fromkeys(("jacobian", "response"), n * rows),
        **{"y": 3 * n, "acceleration": 18 * (1 + limbs)},
        **{"base": 7, "slide": 4, "root": 36, "lowest": 3, "cone": 3},
        **{"joint": 12 * limbs, "world": 4 * (1 + limbs), "frame": 9 * (1 + limbs), "inertia": 27 * (1 + limbs)},
        **{"hinge": 8 * limbs, "point": POINT * 2 * spots, "spot": 4 * spots, "present": spots, "row": 4 * rows},
    }
    names = [name for name in Memory._fields if name in sizes]
    everything = np.zeros(width * sum(sizes.values()))
    numbers = np.split(everything, np.cumsum([width * sizes[name] for name in names])[:-1])
    return Memory(
        **dict(zip(names, numbers, strict=True)),
        all=everything,
        points=np.zeros(model.shapes * width, np.int64),
        spot_tip=np.zeros(spots, np.int64),
        limit=np.zeros(model.limits, np.int64),
        order=np.zeros(4 * model.shapes + 8, np.int64),
    )


@inline
def view_model(m):
    """The model as compiled code wants it: pointers, which know neither lengths nor negative indices."""
    return Model(
        *(m.planar, m.n, m.links, lanes(m.slide, ONE), m.limbs, lanes(m.limb, ONE), lanes(m.dof, ONE)),
        *(
            lanes(m.parent, ONE),
            lanes(m.path, ONE),
            lanes(m.depth, ONE),
            m.climbs,
            lanes(m.climb, ONE),
            lanes(m.forks, ONE),
            lanes(m.base, ONE),
        ),
        *(m.shapes, lanes(m.shape, ONE), lanes(m.shape_kind, ONE), lanes(m.shape_link, ONE), lanes(m.shape_bare, ONE)),
        *(m.groups, lanes(m.group_first, ONE), lanes(m.group_shape, ONE), lanes(m.group_link, ONE), lanes(m.group_tip, ONE)),
        *(lanes(m.friction, ONE), m.rows_per_spot, m.limits, lanes(m.limit_dof, ONE), lanes(m.limit_link, ONE)),
        *(lanes(m.limit_tip, ONE), lanes(m.limit_range, ONE), lanes(m.moves_first, ONE), lanes(m.moves, ONE)),
    )


@inline
def view_memory(m, w):
    """The memory, for as many episodes side by side as the tuple w has items."""
    return Memory(
        *(lanes(m.q, w), lanes(m.u, w), lanes(m.tau, w), lanes(m.base, w), lanes(m.pose, w), lanes(m.before, w)),
        *(lanes(m.slide, w), lanes(m.joint, w), lanes(m.world, w), lanes(m.frame, w), lanes(m.velocity, w)),
        *(lanes(m.coriolis, w), lanes(m.inertia, w), lanes(m.force, w), lanes(m.hinge, w), lanes(m.root, w)),
        *(lanes(m.acceleration, w), lanes(m.y, w), lanes(m.point, w), lanes(m.lowest, w), lanes(m.spot, w)),
        *(lanes(m.present, w), lanes(m.jacobian, w), lanes(m.response, w), lanes(m.row, w), lanes(m.dv, w)),
        *(lanes(m.cone, w), m.all, lanes(m.points, ONE), lanes(m.spot_tip, ONE), lanes(m.limit, ONE), lanes(m.order, ONE)),
    )
