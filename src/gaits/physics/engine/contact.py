"""Contact with the floor: the lowest point of every shape, and the points that a manifold remembers (ENGINE 5.3 to 5.8).

The floor is the plane z = 0 with its normal up, so of Bullet's arithmetic only what is not an exact zero is left. The
search for the lowest point runs in all lanes; adding a point and forgetting one branch, and run on one lane.
"""

from __future__ import annotations

from gaits.compiling import compiled, inline
from gaits.lanes import any_lane, like, one_lane, part, select, width
from gaits.physics.engine.algebra import add, cross, dot, get3, get9, mtv, mv, neg, put3, row, scale, sub, unit, vm
from gaits.physics.engine.constants import POINTS
from gaits.physics.engine.gjk import BALLS, CAPSULE

SHAPE = 24  # constants of a shape: child rotation 9, place 3, reach, threshold, margin, half height, 2 x (centre 3, radius)
POINT = 9  # numbers of a point: on the link 3, on the floor x and y, distance, in the world 3


@compiled
def collide_floor(robot, work, pose):
    """Bring every floor manifold up to date (ENGINE 5.3)."""
    for shape in range(robot.shapes):
        constants = part(robot.shape, SHAPE * shape)
        link = robot.shape_link[shape]
        height = pose[12 * link + 11]
        known = 0
        for lane in range(width(pose)):
            known += work.points[width(pose) * shape + lane]
        if known == 0 and not any_lane(height - constants[12] <= constants[13]):
            continue
        x, y, distance = _lowest(robot.shape_kind[shape], constants, part(pose, 12 * link))
        near = distance < constants[13]
        if known == 0 and not any_lane(near):
            continue
        put3(work.lowest, 0, (x, y, distance))
        points = part(work.point, POINT * POINTS * shape)
        for lane in range(width(pose)):
            at = width(pose) * shape + lane
            low = one_lane(work.lowest, lane)
            if work.points[at] > 0 or low[2] < constants[13]:
                work.points[at] = update(
                    one_lane(points, lane),
                    work.points[at],
                    one_lane(part(pose, 12 * link), lane),
                    get3(low, 0),
                    constants[13],
                    robot.shape_bare[shape],
                )


@inline
def _lowest(kind, shape, pose):
    """The point of a shape that is lowest (ENGINE 5.3, 5.4); its height is its distance from the floor."""
    link, origin = get9(pose, 0), get3(pose, 9)
    child = get9(shape, 0)
    r0, r1, r2 = vm(row(link, 0), child), vm(row(link, 1), child), vm(row(link, 2), child)
    place = add(mv(link, get3(shape, 9)), origin)
    e = unit(neg(r2))
    margin = shape[14]
    if kind == BALLS:
        a = sub(add(get3(shape, 16), scale(e, shape[19])), scale(e, margin))
        b = sub(add(get3(shape, 20), scale(e, shape[23])), scale(e, margin))
        second = dot(b, e) > dot(a, e)
        core = (select(second, b[0], a[0]), select(second, b[1], a[1]), select(second, b[2], a[2]))
    elif kind == CAPSULE:
        up, down = dot(e, (0.0, 0.0, shape[15])), dot(e, (0.0, 0.0, -shape[15]))
        core = (like(e[0], 0.0), like(e[0], 0.0), select(down > up, like(e[0], -shape[15]), shape[15]))
    else:
        core = (like(e[0], 0.0), like(e[0], 0.0), like(e[0], 0.0))
    v = add(core, scale(e, margin))
    return dot(r0, v) + place[0], dot(r1, v) + place[1], dot(r2, v) + place[2]


@compiled
def update(points, count, pose, lowest, threshold, bare):
    """A manifold after its shape's lowest point was found. Returns how many points it has. One lane."""
    if not bare:
        count = refresh(points, count, pose, threshold)
    if lowest[2] < threshold:
        count = _insert(points, count, pose, lowest, threshold)
    return refresh(points, count, pose, threshold)


@compiled
def refresh(points, count, pose, threshold):
    """Move points with their link, and forget those that came apart (ENGINE 5.6)."""
    rotation, origin = get9(pose, 0), get3(pose, 9)
    for i in range(count):
        p = add(mv(rotation, get3(points, POINT * i)), origin)
        points[POINT * i + 5] = p[2]
        put3(points, POINT * i + 6, p)
    for i in range(count - 1, -1, -1):
        at = POINT * i
        dx, dy = points[at + 3] - points[at + 6], points[at + 4] - points[at + 7]
        if not points[at + 5] <= threshold or dx * dx + dy * dy > threshold * threshold:
            count -= 1
            for k in range(POINT):
                points[at + k] = points[POINT * count + k]
    return count


@compiled
def _insert(points, count, pose, lowest, threshold):
    """ENGINE 5.5: in the place of a point nearby, else as a new one, else for the one that matters least."""
    local = mtv(get9(pose, 0), sub(lowest, get3(pose, 9)))
    nearest, best = -1, threshold * threshold
    for i in range(count):
        away = sub(get3(points, POINT * i), local)
        if dot(away, away) < best:
            nearest, best = i, dot(away, away)
    if nearest < 0:
        nearest = count if count < POINTS else least_useful(points, POINT, 5, local, lowest[2])
        count = min(count + 1, POINTS)
    at = POINT * nearest
    put3(points, at, local)
    points[at + 3], points[at + 4], points[at + 5] = lowest[0], lowest[1], lowest[2]
    put3(points, at + 6, lowest)
    return count


@compiled
def least_useful(points, stride, depth, local, distance):
    """Which of four points a fifth replaces: keep the deepest, and the largest area (ENGINE 5.7)."""
    deepest = -1
    for i in range(POINTS):
        if points[stride * i + depth] < distance:
            deepest, distance = i, points[stride * i + depth]
    chosen, best = 0, -1.0
    for slot in range(POINTS):
        area = 0.0
        if slot != deepest:
            a, b, c = _others(slot)
            away = sub(local, get3(points, stride * a))
            normal = cross(away, sub(get3(points, stride * b), get3(points, stride * c)))
            area = dot(normal, normal)
        if area > best:
            chosen, best = slot, area
    return chosen


@inline
def _others(slot):
    if slot == 0:
        return 1, 3, 2
    if slot == 1:
        return 0, 3, 2
    if slot == 2:
        return 0, 3, 1
    return 0, 2, 1
