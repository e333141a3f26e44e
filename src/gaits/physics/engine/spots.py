"""Where rows can act: the points of all manifolds, in the solver's order (ENGINE 5.8, 6.1).

A *spot* is the k-th point that two links have, or that a link has with the floor. All lanes have the same spots; in a lane
without such a point the spot is absent. Manifolds of the same links are a *group*; groups are in the solver's order.
"""

from __future__ import annotations

from gaits.compiling import compiled
from gaits.lanes import like, one_lane, part, sqrt, width
from gaits.physics.engine.algebra import get3, put3, unit
from gaits.physics.engine.constants import POINTS, TOUCHES
from gaits.physics.engine.contact import POINT
from gaits.physics.engine.self_contact import DISTANCE, IN_WORLD, NORMAL, TOUCH

SPOT = 16  # numbers of a spot: point of A 3, point of B 3, distance, directions in which its three rows act 9
STEEP = 0.70710678118654752440


@compiled
def find_spots(robot, work):
    """List the points of all lanes in the solver's order. Returns how many spots there are."""
    n = width(work.point)
    spots, touches, row = 0, 0, robot.limits
    for group in range(robot.groups):
        other = robot.group_other[group]
        if other >= 0 and work.touches[0] == 0:
            continue
        first, last = robot.group_first[group], robot.group_first[group + 1]
        most = 0
        for lane in range(n):
            most = max(most, _points(robot, work, group, lane))
        if most == 0:
            continue
        if other >= 0:
            touches += most
            if touches > TOUCHES:
                _give_up(robot, work, group)
                break
        if last - first > 1 or other >= 0:
            _list_group(robot, work, group, spots, most)
        for k in range(most):
            spot = part(work.spot, SPOT * spots)
            if other < 0:
                if last - first == 1:
                    point = part(work.point, POINT * (robot.group_manifold[first] * POINTS + k))
                    put3(spot, 0, get3(point, 6))
                    spot[6] = point[5]
                _point_up(spot)
            for lane in range(n):
                one_lane(work.present, lane)[spots] = 1.0 if k < _points(robot, work, group, lane) else 0.0
            work.spot_group[spots], work.spot_row[spots] = group, row
            row += robot.rows_per_spot if other < 0 else 2 * robot.rows_per_spot
            spots += 1
    return spots


@compiled
def _points(robot, work, group, lane):
    """How many a group has in a lane."""
    total = 0
    for i in range(robot.group_first[group], robot.group_first[group + 1]):
        total += work.points[width(work.point) * robot.group_manifold[i] + lane]
    return total


@compiled
def _give_up(robot, work, group):
    """More self contact than there is room for."""
    for lane in range(width(work.point)):
        for i in range(group, robot.groups):
            if _points(robot, work, i, lane) > 0:
                work.uncovered[lane] = 1


@compiled
def _point_up(spot):
    """Directions of a spot on the floor: up, then across and along x."""
    zero, one = like(spot[0], 0.0), like(spot[0], 1.0)
    put3(spot, 7, (zero, zero, one))
    put3(spot, 10, (zero, -one, zero))
    put3(spot, 13, (one, zero, zero))


@compiled
def _list_group(robot, work, group, spot, most):
    """Fill the spots of a group, one manifold after another, in the order that Bullet's sort leaves them; then zeros."""
    for lane in range(width(work.point)):
        spots = part(one_lane(work.spot, lane), SPOT * spot)
        for i in range(SPOT * most):
            spots[i] = 0.0
        length = sort_manifolds(robot, work, lane)
        to = 0
        for i in range(length):
            manifold = work.order[i]
            if robot.manifold_group[manifold] == group:
                for k in range(work.points[width(work.point) * manifold + lane]):
                    if manifold < robot.shapes:
                        point = part(one_lane(work.point, lane), POINT * (POINTS * manifold + k))
                        put3(spots, SPOT * to, get3(point, 6))
                        spots[SPOT * to + 6] = point[5]
                    else:
                        point = part(one_lane(work.touch, lane), TOUCH * (POINTS * (manifold - robot.shapes) + k))
                        _fill(point, part(spots, SPOT * to))
                    to += 1


@compiled
def _fill(point, spot):
    """A spot between links: it acts along the normal and two directions across (ENGINE 6.3)."""
    put3(spot, 0, get3(point, IN_WORLD))
    put3(spot, 3, get3(point, IN_WORLD + 3))
    spot[6] = point[DISTANCE]
    n = get3(point, NORMAL)
    if abs(n[2]) > STEEP:
        square = n[1] * n[1] + n[2] * n[2]
        k = 1.0 / sqrt(square)
        t = (0.0, -n[2] * k, n[1] * k)
        s = (square * k, -n[0] * t[2], n[0] * t[1])
    else:
        square = n[0] * n[0] + n[1] * n[1]
        k = 1.0 / sqrt(square)
        t = (-n[1] * k, n[0] * k, 0.0)
        s = (-n[2] * t[1], n[2] * t[0], square * k)
    put3(spot, 7, n)
    put3(spot, 10, unit(t))
    put3(spot, 13, unit(s))


# ---------------------------------------------------------------------------------------------------------------------
# Bullet's sort, which is not stable
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def sort_manifolds(robot, work, lane):
    """work.order = manifolds with points, sorted by group (ENGINE 5.8). Returns how many."""
    order, length = work.order, 0
    for i in range(work.lives[lane]):
        manifold = work.live[robot.manifolds * lane + i]
        if work.points[width(work.point) * manifold + lane] > 0:
            order[length] = manifold
            length += 1
    quicksort(order, robot.manifold_group, length, part(order, robot.manifolds))
    return length


@compiled
def quicksort(order, key, length, stack):
    """Hoare's, with the middle as pivot."""
    depth = 0
    stack[0], stack[1] = 0, length - 1
    while depth >= 0:
        low, high = stack[2 * depth], stack[2 * depth + 1]
        depth -= 1
        if low >= high:
            continue
        i, j, pivot = low, high, key[order[(low + high) // 2]]
        while i <= j:
            while key[order[i]] < pivot:
                i += 1
            while pivot < key[order[j]]:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        depth += 2
        stack[2 * depth - 2], stack[2 * depth - 1] = i, high
        stack[2 * depth], stack[2 * depth + 1] = low, j
