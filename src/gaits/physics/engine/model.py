"""Robots and the engine's memory as flat arrays, and the named views that compiled code has of them.

``Model`` is constant and shared by all threads; ``Memory`` belongs to one thread and has as many numbers side by side,
wherever one episode needs one, as episodes are played. In compiled code, where they are called robot and work, their fields
are views.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaits.compiling import inline
from gaits.lanes import ONE, lanes
from gaits.physics.engine.constants import POINTS, TOUCHES
from gaits.physics.engine.contact import POINT
from gaits.physics.engine.gjk import BALL, BALLS, CAPSULE, SIMPLEX
from gaits.physics.engine.pairs import find_meetings, first_live, make_box, visiting_order
from gaits.physics.engine.self_contact import TOUCH
from gaits.physics.engine.spots import SPOT
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
    box: np.ndarray  # of a shape that may touch another
    pairs: int
    pair_first: np.ndarray
    meeting_a: np.ndarray  # shape
    meeting_b: np.ndarray
    manifolds: int  # those of the shapes with the floor, then those of the meetings
    manifold_group: np.ndarray
    first_live: np.ndarray
    first_lives: int
    groups: int
    group_first: np.ndarray
    group_manifold: np.ndarray
    group_tip: np.ndarray
    group_other: np.ndarray  # the other link's tip; -1 for the floor
    group_friction: np.ndarray
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
    point: np.ndarray  # points of all manifolds with the floor
    lowest: np.ndarray  # point of a shape
    alive: np.ndarray  # 1 in lanes where a meeting has a manifold
    present: np.ndarray  # 1 in lanes where a spot is
    dv: np.ndarray  # (n,) what the impulses change
    cone: np.ndarray  # a friction cone
    near: np.ndarray  # 1 in lanes where the boxes of a meeting overlap; from here on, nothing is kept for later
    box: np.ndarray  # low and high corner of every shape's box
    spot: np.ndarray  # points that act
    jacobian: np.ndarray  # (rows, n) limits, then spots; a spot between links has B's after A's
    response: np.ndarray  # (rows, n)
    row: np.ndarray  # (rows, 4)
    all: np.ndarray  # all numbers above before ``near``, one after another
    touch: np.ndarray  # points of all manifolds between links
    points: np.ndarray  # (manifolds, lanes) how many a manifold has
    live: np.ndarray  # (lanes, manifolds) Bullet's array of manifolds
    lives: np.ndarray  # (lanes,) how many there are
    visit: np.ndarray  # pairs to look at
    touches: np.ndarray  # (1,) points between links, of all lanes
    simplex: np.ndarray
    uncovered: np.ndarray  # (lanes,) 1 after something that is left to Bullet
    spot_group: np.ndarray
    spot_row: np.ndarray  # its first row
    limit: np.ndarray  # joints with a row
    order: np.ndarray  # room to sort in


def make_model(robot: RobotData, friction: dict[int, float] | None = None) -> Model:
    """``friction`` replaces that of some links."""
    planar = robot.base.fixed
    shapes = [(c, s) for c in reversed(robot.colliders) for s in visiting_order(c)]  # as manifolds are created (5.2, 5.8)
    links, limits = robot.links, robot.limit_order
    paths = [_path(robot, link) for link in (range(3, len(links), 2) if planar else range(-1, len(links)))]
    first = 0 if planar else 6
    moves = [[*range(first), *(first + links[i].dof for i in path if links[i].dof >= 0)] for path in paths]
    moves += [[first + links[i].dof] for i in limits]
    steps = [[i // 2 - 1 for i in path if i > 1 and i % 2] if planar else path for path in paths]
    climb = [i for i in range(len(links)) if any(i in _path(robot, j) for j in robot.moving)]
    pairs = find_meetings(robot, shapes)
    meetings = [meeting for pair in pairs for meeting in pair]
    touching = [(c.link, None) for c, _ in shapes] + [(shapes[a][0].link, shapes[b][0].link) for a, b in meetings]
    groups = sorted(set(touching), key=_solver_order)
    rub: dict[int | None, float] = {None: FLOOR_FRICTION}
    rub.update({c.link: (friction or {}).get(c.link, c.friction) for c in robot.colliders})
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
        box=np.array([make_box(*shape) for shape in shapes]).ravel(),
        pairs=len(pairs),
        pair_first=np.cumsum([0, *map(len, pairs)]),
        meeting_a=np.array([a for a, _ in meetings], np.int64),
        meeting_b=np.array([b for _, b in meetings], np.int64),
        manifolds=len(touching),
        manifold_group=np.array([groups.index(links) for links in touching]),
        first_live=(live := first_live(robot, shapes, meetings)),
        first_lives=len(live),
        groups=len(groups),
        group_first=np.cumsum([0, *map(touching.count, groups)]),
        group_manifold=np.array([i for group in groups for i, links in enumerate(touching) if links == group]),
        group_tip=np.array([_tip(robot, a) for a, _ in groups]),
        group_other=np.array([-1 if b is None else _tip(robot, b) for _, b in groups]),
        group_friction=np.array([rub[b] * rub[a] for a, b in groups]),
        rows_per_spot=2 if planar else 3,
        limits=len(limits),
        limit_dof=np.array([first + links[i].dof for i in limits]),
        limit_link=np.array([_tip(robot, i) for i in limits]),
        limit_tip=len(paths) + np.arange(len(limits)),
        limit_range=np.array([(links[i].lower, links[i].upper) for i in limits]).ravel(),
        moves_first=np.cumsum([0, *map(len, moves)]),
        moves=np.array([m for own in moves for m in own]),
    )


def _solver_order(links: tuple[int, int | None]) -> tuple[int, int]:
    """By the first body, then by the second; the floor comes before all links (ENGINE 5.8)."""
    return links[0], -2 if links[1] is None else links[1]


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
    assert not any((*hinge.d, *hinge.axis_bottom, hinge.mass))
    assert abs(hinge.axis_top[1]) == 1.0
    return [*_plane(hinge.e), hinge.axis_top[1], *_plane(_arm(body)), body.mass, body.inertia[1]]


def _link(link: Link) -> list[float]:
    if link.kind == FIXED:
        return [*_arm(link), link.mass, *link.inertia, *[0.0] * 4]
    assert not any((*link.d, *link.axis_bottom, link.mass))
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
    meetings, touches = model.manifolds - model.shapes, TOUCHES if model.pairs else 0
    spots = POINTS * model.shapes + touches
    rows = model.limits + model.rows_per_spot * (spots + touches)
    sizes = {
        **dict.fromkeys(("q", "u", "tau", "dv"), n),
        **dict.fromkeys(("pose", "before"), 12 * (1 + links)),
        **dict.fromkeys(("velocity", "coriolis", "force"), 6 * (1 + limbs)),
        **dict.fromkeys(("jacobian", "response"), n * rows),
        **{"y": 3 * n, "acceleration": 18 * (1 + limbs)},
        **{"base": 7, "slide": 4, "root": 36, "lowest": 3, "cone": 3},
        **{"joint": 12 * limbs, "world": 4 * (1 + limbs), "frame": 9 * (1 + limbs), "inertia": 27 * (1 + limbs)},
        **{"hinge": 8 * limbs, "spot": SPOT * spots, "present": spots, "row": 4 * rows, "box": 6 * model.shapes},
        **{"point": POINT * POINTS * model.shapes, "alive": meetings, "near": meetings},
    }
    names = [name for name in Memory._fields if name in sizes]
    everything = np.zeros(width * sum(sizes.values()))
    numbers = np.split(everything, np.cumsum([width * sizes[name] for name in names])[:-1])
    return Memory(
        **dict(zip(names, numbers, strict=True)),
        all=everything[: width * sum(sizes[name] for name in names[: names.index("near")])],
        touch=np.zeros(width * TOUCH * POINTS * meetings),
        **{name: np.zeros(model.manifolds * width, np.int64) for name in ("points", "live")},
        **{name: np.zeros(width, np.int64) for name in ("lives", "uncovered")},
        visit=np.zeros(model.pairs, np.int64),
        touches=np.zeros(1, np.int64),
        simplex=np.zeros(SIMPLEX),
        **{name: np.zeros(spots, np.int64) for name in ("spot_group", "spot_row")},
        limit=np.zeros(model.limits, np.int64),
        order=np.zeros(3 * model.manifolds + 8, np.int64),
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
        *(lanes(m.box, ONE), m.pairs, lanes(m.pair_first, ONE), lanes(m.meeting_a, ONE), lanes(m.meeting_b, ONE)),
        *(m.manifolds, lanes(m.manifold_group, ONE), lanes(m.first_live, ONE), m.first_lives),
        *(m.groups, lanes(m.group_first, ONE), lanes(m.group_manifold, ONE), lanes(m.group_tip, ONE)),
        *(lanes(m.group_other, ONE), lanes(m.group_friction, ONE), m.rows_per_spot, m.limits),
        *(lanes(m.limit_dof, ONE), lanes(m.limit_link, ONE)),
        *(lanes(m.limit_tip, ONE), lanes(m.limit_range, ONE), lanes(m.moves_first, ONE), lanes(m.moves, ONE)),
    )


@inline
def view_memory(m, w):
    """The memory, for as many episodes side by side as the tuple w has items."""
    return Memory(
        *(lanes(m.q, w), lanes(m.u, w), lanes(m.tau, w), lanes(m.base, w), lanes(m.pose, w), lanes(m.before, w)),
        *(lanes(m.slide, w), lanes(m.joint, w), lanes(m.world, w), lanes(m.frame, w), lanes(m.velocity, w)),
        *(lanes(m.coriolis, w), lanes(m.inertia, w), lanes(m.force, w), lanes(m.hinge, w), lanes(m.root, w)),
        *(lanes(m.acceleration, w), lanes(m.y, w), lanes(m.point, w), lanes(m.lowest, w), lanes(m.alive, w)),
        *(lanes(m.present, w), lanes(m.dv, w), lanes(m.cone, w), lanes(m.near, w), lanes(m.box, w), lanes(m.spot, w)),
        *(lanes(m.jacobian, w), lanes(m.response, w), lanes(m.row, w), m.all, lanes(m.touch, w)),
        *(lanes(m.points, ONE), lanes(m.live, ONE), lanes(m.lives, ONE), lanes(m.visit, ONE), lanes(m.touches, ONE)),
        *(lanes(m.simplex, ONE), lanes(m.uncovered, ONE), lanes(m.spot_group, ONE), lanes(m.spot_row, ONE)),
        *(lanes(m.limit, ONE), lanes(m.order, ONE)),
    )
