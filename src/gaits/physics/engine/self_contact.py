"""Contact of a robot with itself: which shapes touch, and the manifolds that come and go with that (ENGINE 5.8 to 5.10).

Two links that may touch are a *pair*; a shape of one and a shape of the other are a *meeting*, and have a manifold of their
own for as long as their boxes overlap. Boxes are compared in all lanes, since most are far from each other. What is left
then runs on one lane.

Bullet keeps its manifolds in one array, where a new one comes last, and the last one fills a gap. Of two manifolds between
the same links, this array decides which goes first in the solver. So it is kept here too: work.live, for each lane.
"""

from __future__ import annotations

from gaits.compiling import compiled, inline
from gaits.lanes import any_lane, like, one_lane, part, select, sqrt, width
from gaits.physics.engine.algebra import EPS, add, dot, get3, get9, mm, mtv, mv, neg, put3, row, scale, sub, transpose
from gaits.physics.engine.constants import POINTS
from gaits.physics.engine.contact import SHAPE, least_useful
from gaits.physics.engine.gjk import BALL, MARGIN, NEAR, UNKNOWN, closest_points
from gaits.physics.engine.pairs import BOX

TOUCH = 16  # numbers of a point: on A's link 3, on B's link 3, distance, in the world A's 3 and B's 3, normal from B to A 3
DISTANCE, IN_WORLD, NORMAL = 6, 7, 13


@compiled
def collide_self(robot, work, pose):
    """Bring all manifolds between links up to date, in the order in which Bullet visits pairs (ENGINE 5.2)."""
    visits = _find_near(robot, work, pose)
    work.touches[0] = 0
    for lane in range(width(pose)):
        near, alive = one_lane(work.near, lane), one_lane(work.alive, lane)
        for i in range(visits):
            pair = work.visit[i]
            dying = 0
            for k in range(robot.pair_first[pair], robot.pair_first[pair + 1]):
                if near[k] + alive[k] > 0.0:
                    work.touches[0] += _meet(robot, work, lane, k, one_lane(pose, lane))
                    dying += near[k] == 0.0
            if dying > 0:
                _bury(robot, work, lane, pair)


# ---------------------------------------------------------------------------------------------------------------------
# Boxes, in all lanes
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def _find_near(robot, work, pose):
    """work.near = 1 where boxes overlap. Returns how many pairs have such a meeting or a manifold; work.visit says which."""
    for shape in range(robot.shapes):
        centre, half = _box(robot, shape, part(pose, 12 * robot.shape_link[shape]))
        put3(work.box, 6 * shape, sub(centre, half))
        put3(work.box, 6 * shape + 3, add(centre, half))
    visits = 0
    for pair in range(robot.pairs):
        wanted = False
        for k in range(robot.pair_first[pair], robot.pair_first[pair + 1]):
            a, b = part(work.box, 6 * robot.meeting_a[k]), part(work.box, 6 * robot.meeting_b[k])
            over = (a[0] <= b[3]) & (a[3] >= b[0]) & (a[1] <= b[4]) & (a[4] >= b[1]) & (a[2] <= b[5]) & (a[5] >= b[2])
            near = select(over, like(a[0], 1.0), 0.0)  # 0 where a box is not a number: in lanes that nobody plays in
            work.near[k] = near
            wanted = wanted or any_lane(near + work.alive[k] > 0.0)
        if wanted:
            work.visit[visits] = pair
            visits += 1
    return visits


@inline
def _box(robot, shape, pose):
    """Centre and half extents of a shape's box in the world (ENGINE 5.10)."""
    constants, box = part(robot.shape, SHAPE * shape), part(robot.box, BOX * shape)
    rotation = get9(pose, 0)
    place = add(mv(rotation, get3(constants, 9)), get3(pose, 9))
    if robot.shape_kind[shape] == BALL:
        radius = like(place[0], constants[MARGIN])
        return place, (radius, radius, radius)
    return add(mv(rotation, get3(box, 0)), place), _extent(rotation, get3(box, 3))


@inline
def _extent(rotation, half):
    """Half extents of a box that is turned."""
    return (
        dot(_magnitude(row(rotation, 0)), half),
        dot(_magnitude(row(rotation, 1)), half),
        dot(_magnitude(row(rotation, 2)), half),
    )


@inline
def _magnitude(v):
    return (select(v[0] < 0.0, -v[0], v[0]), select(v[1] < 0.0, -v[1], v[1]), select(v[2] < 0.0, -v[2], v[2]))


# ---------------------------------------------------------------------------------------------------------------------
# One lane
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def _meet(robot, work, lane, k, pose):
    """A meeting's manifold (ENGINE 5.9). Returns how many points it has."""
    a, b, manifold = robot.meeting_a[k], robot.meeting_b[k], robot.shapes + k
    shape_a, shape_b = part(robot.shape, SHAPE * a), part(robot.shape, SHAPE * b)
    pose_a, pose_b = part(pose, 12 * robot.shape_link[a]), part(pose, 12 * robot.shape_link[b])
    points, counts = part(one_lane(work.touch, lane), TOUCH * POINTS * k), part(work.points, width(work.near) * manifold)
    alive = one_lane(work.alive, lane)
    threshold = min(shape_a[13], shape_b[13])
    counts[lane] = _refresh(points, counts[lane], pose_a, pose_b, threshold)
    if one_lane(work.near, lane)[k] == 0.0:
        return counts[lane]
    at_a, at_b = _place(shape_a, pose_a), _place(shape_b, pose_b)
    balls = robot.shape_kind[a] == BALL and robot.shape_kind[b] == BALL
    limit = robot.box[BOX * a + 18] + robot.box[BOX * b + 18] + threshold
    far = not balls and _far(shape_a, pose_a, at_a, shape_b, pose_b, at_b, limit)
    if far and alive[k] > 0.0:
        return counts[lane]
    if not _overlap_for_a(part(robot.box, BOX * a), part(robot.box, BOX * b), pose_a, pose_b):
        return counts[lane]
    if alive[k] == 0.0:
        alive[k] = 1.0
        work.live[robot.manifolds * lane + work.lives[lane]] = manifold
        work.lives[lane] += 1
    if far:
        return counts[lane]
    if balls:
        away = sub(at_a, at_b)
        length = sqrt(dot(away, away))
        radii = shape_a[MARGIN] + shape_b[MARGIN]
        counts[lane] = 0
        if not length > radii:
            n = scale(away, 1.0 / length) if length > EPS else (1.0, 0.0, 0.0)
            at = add(at_b, scale(n, shape_b[MARGIN]))
            counts[lane] = _insert(points, 0, pose_a, pose_b, n, at, length - radii, threshold)
        return counts[lane]
    found, n, at, distance = closest_points(
        *(robot.shape_kind[a], shape_a, get9(pose_a, 0), at_a),
        *(robot.shape_kind[b], shape_b, get9(pose_b, 0), at_b),
        *(threshold, work.simplex),
    )
    if found == UNKNOWN:
        work.uncovered[lane] = 1
    if found == NEAR and not distance > threshold:
        counts[lane] = _insert(points, counts[lane], pose_a, pose_b, n, at, distance, threshold)
        counts[lane] = _refresh(points, counts[lane], pose_a, pose_b, threshold)
    return counts[lane]


@compiled
def _place(shape, pose):
    """Where a shape is. It is turned as its link is."""
    return add(mv(get9(pose, 0), get3(shape, 9)), get3(pose, 9))


@compiled
def _far(shape_a, pose_a, at_a, shape_b, pose_b, at_b, limit):
    """Whether shapes are certainly too far apart for a point: there is a direction in which their axes are.

    Taken from the closest points of the axes; if those are not exact, the answer is still safe.
    """
    turn_a, turn_b = get9(pose_a, 0), get9(pose_b, 0)
    a, b = add(mv(turn_a, get3(shape_a, 16)), at_a), add(mv(turn_b, get3(shape_b, 16)), at_b)
    u, v = sub(add(mv(turn_a, get3(shape_a, 20)), at_a), a), sub(add(mv(turn_b, get3(shape_b, 20)), at_b), b)
    r = sub(a, b)
    uu, vv, uv, ur, vr = dot(u, u), dot(v, v), dot(u, v), dot(u, r), dot(v, r)
    s = _share(uv * vr - ur * vv, uu * vv - uv * uv)
    t = _share(uv * s + vr, vv)
    s = _share(uv * t - ur, uu)
    d = sub(add(r, scale(u, s)), scale(v, t))
    gap = dot(d, r) + min(dot(d, u), 0.0) - max(dot(d, v), 0.0)
    return gap > 0.0 and gap * gap > (limit * limit + 1e-6) * dot(d, d)


@compiled
def _share(part_of, whole):
    return min(max(part_of / whole, 0.0), 1.0) if whole > 1e-12 else 0.0


@compiled
def _overlap_for_a(box_a, box_b, pose_a, pose_b):
    """Whether boxes also overlap along the axes of A's link (ENGINE 5.9)."""
    back = transpose(get9(pose_a, 0))
    turn = mm(back, get9(pose_b, 0))
    at = add(mv(back, get3(pose_b, 9)), mv(back, neg(get3(pose_a, 9))))
    centre, half = add(mv(turn, get3(box_b, 12)), at), _extent(turn, get3(box_b, 15))
    apart = False
    for i in range(3):
        apart = apart or box_a[6 + i] > centre[i] + half[i] or box_a[9 + i] < centre[i] - half[i]
    return not apart


@compiled
def _refresh(points, count, pose_a, pose_b, threshold):
    """Move points with their links, and forget those that came apart (ENGINE 5.6)."""
    for i in range(count - 1, -1, -1):
        at = TOUCH * i
        a = add(mv(get9(pose_a, 0), get3(points, at)), get3(pose_a, 9))
        b = add(mv(get9(pose_b, 0), get3(points, at + 3)), get3(pose_b, 9))
        n = get3(points, at + NORMAL)
        distance = dot(sub(a, b), n)
        points[at + DISTANCE] = distance
        put3(points, at + IN_WORLD, a)
        put3(points, at + IN_WORLD + 3, b)
        away = sub(b, sub(a, scale(n, distance)))
        if not distance <= threshold or dot(away, away) > threshold * threshold:
            count -= 1
            for k in range(TOUCH):
                points[at + k] = points[TOUCH * count + k]
    return count


@compiled
def _insert(points, count, pose_a, pose_b, n, b, distance, threshold):
    """ENGINE 5.5: in the place of a point nearby, else as a new one, else for the one that matters least."""
    a = add(b, scale(n, distance))
    local = mtv(get9(pose_a, 0), sub(a, get3(pose_a, 9)))
    nearest, best = -1, threshold * threshold
    for i in range(count):
        away = sub(get3(points, TOUCH * i), local)
        if dot(away, away) < best:
            nearest, best = i, dot(away, away)
    if nearest < 0:
        nearest = count if count < POINTS else least_useful(points, TOUCH, DISTANCE, local, distance)
        count = min(count + 1, POINTS)
    at = TOUCH * nearest
    put3(points, at, local)
    put3(points, at + 3, mtv(get9(pose_b, 0), sub(b, get3(pose_b, 9))))
    points[at + DISTANCE] = distance
    put3(points, at + IN_WORLD, a)
    put3(points, at + IN_WORLD + 3, b)
    put3(points, at + NORMAL, n)
    return count


@compiled
def _bury(robot, work, lane, pair):
    """Take a pair's manifolds whose boxes came apart out of the array, in the array's order (ENGINE 5.8, 5.9)."""
    near, alive = one_lane(work.near, lane), one_lane(work.alive, lane)
    live, gone = part(work.live, robot.manifolds * lane), 0
    for i in range(work.lives[lane]):
        k = live[i] - robot.shapes
        if robot.pair_first[pair] <= k < robot.pair_first[pair + 1] and near[k] == 0.0:
            work.order[gone] = live[i]
            gone += 1
    for i in range(gone):
        at = 0
        while live[at] != work.order[i]:
            at += 1
        work.lives[lane] -= 1
        live[at] = live[work.lives[lane]]
        alive[work.order[i] - robot.shapes] = 0.0
        work.points[width(work.near) * work.order[i] + lane] = 0
