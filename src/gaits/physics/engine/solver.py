"""Rows, and the sequential impulses that satisfy them (ENGINE 6).

Rows come in lanes: the same joint or spot in all of them, absent in some. An absent row has rhs = 1/diagonal = impulse = 0,
so it moves nothing. A lane that has converged is frozen while others go on.
"""

from __future__ import annotations

import math

from gaits.compiling import compiled, inline, merged
from gaits.lanes import any_lane, like, one_lane, opposite, part, select, width
from gaits.physics.engine.algebra import EPS
from gaits.physics.engine.constants import (
    CONTACT_ERP,
    CONTACT_IMPULSE,
    DT,
    FRICTION_ERP,
    ITERATIONS,
    LIMIT_DEPTH,
    LIMIT_ERP,
    LIMIT_IMPULSE,
    RESIDUAL,
    SLOP,
)

RHS, INV, IMPULSE, PRESENT = 0, 1, 2, 3
NOBODY = -1  # a row between a link and the floor, or within a joint


@inline
def product(robot, tip, a, b):
    """Σ a b over the coordinates that move a link, in their order: all others have an exact zero in them."""
    d = robot.moves[robot.moves_first[tip]]
    return _add_products(robot, tip, 1, a, b, a[d] * b[d])


@inline
def add_product(robot, tip, a, b, total):
    """The same, added to ``total`` item by item."""
    return _add_products(robot, tip, 0, a, b, total)


@inline
def _add_products(robot, tip, start, a, b, total):
    for i in range(robot.moves_first[tip] + start, robot.moves_first[tip + 1]):
        d = robot.moves[i]
        total = total + a[d] * b[d]
    return total


@inline
def diagonal(total):
    return select(total > EPS, 1.0 / total, 0.0)


@inline
def normal_row(row, inv, speed, distance, present):
    """Keep a point from sinking in (ENGINE 6.2). The slop is added, as in Bullet."""
    distance = distance + SLOP
    apart = distance > 0.0
    velocity = 0.0 - speed
    velocity = select(apart, velocity - distance / DT, velocity)
    position = select(apart, 0.0, (-distance * CONTACT_ERP) / DT)
    _set(row, position * inv + velocity * inv, inv, present)


@inline
def friction_row(row, inv, speed, present):
    """Keep a point from sliding."""
    _set(row, ((-0.0 * FRICTION_ERP) / DT) * inv + (0.0 - speed) * inv, inv, present)


@inline
def limit_row(row, inv, speed, depth, present):
    """Keep a joint in its range (ENGINE 6.4). Deep violations get no push: in Bullet they belong to a part that is off."""
    velocity = (-speed) * inv
    shallow = depth > LIMIT_DEPTH
    _set(row, select(shallow, ((-depth * LIMIT_ERP) / DT) * inv + velocity, velocity), inv, present)


@inline
def _set(row, rhs, inv, present):
    here = present > 0.0
    row[RHS], row[INV] = select(here, rhs, 0.0), select(here, inv, 0.0)
    row[IMPULSE], row[PRESENT] = like(inv, 0.0), present


# ---------------------------------------------------------------------------------------------------------------------
# Iterations
# ---------------------------------------------------------------------------------------------------------------------


@inline
def larger(a, b):
    """Bullet's maximum, which takes b where either is not a number (ENGINE 6.6)."""
    return select(a > b, a, b)


@inline
def change(robot, work, row, tip, other):
    """What a row asks for now."""
    here = part(work.row, 4 * row)
    x = here[RHS] - product(robot, tip, part(work.jacobian, robot.n * row), work.dv) * here[INV]
    if other != NOBODY:
        x = x - product(robot, other, part(work.jacobian, robot.n * (row + robot.rows_per_spot)), work.dv) * here[INV]
    return x


@inline
def apply(robot, work, row, other, impulse):
    """Add the response to an impulse, of both sides."""
    _add_response(robot, work, row, impulse)
    if other != NOBODY:
        _add_response(robot, work, row + robot.rows_per_spot, impulse)


@inline
def _add_response(robot, work, row, impulse):
    response = part(work.response, robot.n * row)
    for d in range(robot.n):
        work.dv[d] = work.dv[d] + response[d] * impulse


@merged
def settle(robot, work, row, tip, other, high, active, residual):
    """One row with limits 0 and ``high`` (ENGINE 6.5). Returns the largest residual so far."""
    here = part(work.row, 4 * row)
    x, old = change(robot, work, row, tip, other), here[IMPULSE]
    total = old + x
    under, over = total < 0.0, total > high
    x = select(under, 0.0 - old, select(over, high - old, x))
    x = select(active, x, 0.0)
    here[IMPULSE] = select(active, select(under, 0.0, select(over, high, total)), old)
    apply(robot, work, row, other, x)
    error = x / here[INV]
    return select((here[PRESENT] > 0.0) & active, larger(residual, error * error), residual)


@inline
def clip(total, limit, x, old):
    """Change and impulse, held within ±limit."""
    under, over = total < -limit, total > limit
    return (
        select(under, -limit - old, select(over, limit - old, x)),
        select(under, -limit, select(over, limit, total)),
    )


@merged
def slide_along_x(robot, work, row, tip, limit, active):
    """Friction in the plane: the row across it has an exact zero, so the cone is the interval ±limit (ENGINE 6.5, 12.7)."""
    here = part(work.row, 4 * row)
    x, old = change(robot, work, row, tip, NOBODY), here[IMPULSE]
    total = old + x
    outside = total * total >= limit * limit
    clipped, impulse = clip(total, select(limit > 0.0, limit, -limit), x, old)
    x = select(active, select(outside, clipped, x), 0.0)
    here[IMPULSE] = select(active, select(outside, impulse, total), old)
    apply(robot, work, row, NOBODY, x)


@compiled
def shrink(cone):
    """How far each direction may go, where both impulses together leave the cone. One lane."""
    a, b, limit = cone[0], cone[1], cone[2]
    if limit == 0.0:
        cone[0], cone[1] = 0.0, 0.0
    elif a * a + b * b >= limit * limit:
        angle = math.atan2(a, b)
        cone[0], cone[1] = abs(limit * math.sin(angle)), abs(limit * math.cos(angle))


@merged
def slide(robot, work, row, tip, other, limit, active, residual):
    """Friction in space: both directions at once, within a cone (ENGINE 6.5). ``row`` is across, the next one along."""
    a, b = part(work.row, 4 * row), part(work.row, 4 * row + 4)
    xb, xa = change(robot, work, row + 1, tip, other), change(robot, work, row, tip, other)
    old_a, old_b = a[IMPULSE], b[IMPULSE]
    sum_a, sum_b = old_a + xa, old_b + xb
    outside = sum_a * sum_a + sum_b * sum_b >= limit * limit
    if any_lane(outside & active):
        work.cone[0], work.cone[1], work.cone[2] = sum_a, sum_b, limit
        for lane in range(width(work.cone)):
            if one_lane(a, lane)[PRESENT] > 0.0:
                shrink(one_lane(work.cone, lane))
        ca, ia = clip(sum_a, work.cone[0], xa, old_a)
        cb, ib = clip(sum_b, work.cone[1], xb, old_b)
        xa, xb = select(outside, ca, xa), select(outside, cb, xb)
        sum_a, sum_b = select(outside, ia, sum_a), select(outside, ib, sum_b)
    xa, xb = select(active, xa, 0.0), select(active, xb, 0.0)
    a[IMPULSE], b[IMPULSE] = select(active, sum_a, old_a), select(active, sum_b, old_b)
    apply(robot, work, row, other, xa)
    apply(robot, work, row + 1, other, xb)
    error = xa / a[INV] + xb / b[INV]
    return select((a[PRESENT] > 0.0) & active, larger(residual, error * error), residual)


@compiled
def iterate(robot, work, limits, spots):
    """Five sweeps over all rows, fewer in lanes whose residual vanishes (ENGINE 6.5)."""
    zero = like(work.u[0], 0.0)
    for d in range(robot.n):
        work.dv[d] = zero
    active = zero <= 0.0
    for sweep in range(ITERATIONS):
        residual = zero
        for i in range(limits):
            which = work.limit[i if sweep % 2 else limits - 1 - i]
            residual = settle(robot, work, which, robot.limit_tip[which], NOBODY, LIMIT_IMPULSE, active, residual)
        for i in range(spots):
            row, group = work.spot_row[i], work.spot_group[i]
            tip, other = robot.group_tip[group], robot.group_other[group]
            residual = settle(robot, work, row, tip, other, CONTACT_IMPULSE, active, residual)
        for i in range(spots):
            row, group = work.spot_row[i], work.spot_group[i]
            tip, other = robot.group_tip[group], robot.group_other[group]
            limit = -(robot.group_friction[group] * work.row[4 * row + IMPULSE])
            if robot.planar:
                slide_along_x(robot, work, row + 1, tip, limit, active)
                present = work.row[4 * row + PRESENT] > 0.0
                residual = select(present & active, like(zero, math.nan), residual)  # 0 / 0 of the row across (6.6)
            else:
                residual = slide(robot, work, row + 1, tip, other, limit, active, residual)
        active = active & opposite(residual <= RESIDUAL)
        if not any_lane(active):
            break
