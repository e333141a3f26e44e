"""How far apart two shapes are, and where: the algorithm of Gilbert, Johnson and Keerthi, as in Bullet (ENGINE 5.11, 5.12).

It looks at the difference of both shapes' cores, points of one minus points of the other: how close that comes to the origin
is their distance. It is sought in a *simplex* of up to four corners, each of them an extreme point of the difference.

A shape's core is the shape without its margin. One lane: everything here branches.
"""

from __future__ import annotations

import numpy as np

from gaits.compiling import compiled
from gaits.lanes import sqrt
from gaits.physics.engine.algebra import EPS, add, cross, dot, get3, mv, neg, put3, scale, sub, unit, vm

BALLS, CAPSULE, BALL = 0, 1, 2  # two spheres and what is between them; a capsule along its z axis; a sphere
MARGIN = 14  # place among the constants of a shape, as are the next two: each has a centre 3 and a radius
FIRST, SECOND = 16, 20

CORNER = 9  # numbers of a corner: in the difference 3, in the first shape 3, in the second 3
RESULT = 4 * CORNER  # closest points, of the first shape 3 and of the second 3
SIMPLEX = RESULT + 6
APART, NEAR, UNKNOWN = 0, 1, 2
SAME = float(np.float32(1e-12))  # squared distance at which corners are one
CLEAR = 1e-4  # cores as close as this are left to Bullet: its test for overlapping ones may have a say
TRIES = 1000


@compiled
def extreme(kind, shape, rotation, origin, direction):
    """The farthest point of a core in a direction (ENGINE 5.4)."""
    if kind == BALL:
        return origin
    e = unit(vm(direction, rotation))
    a = sub(add(get3(shape, FIRST), scale(e, shape[FIRST + 3])), scale(e, shape[MARGIN]))
    b = sub(add(get3(shape, SECOND), scale(e, shape[SECOND + 3])), scale(e, shape[MARGIN]))
    if dot(b, e) > dot(a, e):
        a = b
    return add(mv(rotation, a), origin)


@compiled
def closest_points(kind_a, a, turn_a, at_a, kind_b, b, turn_b, at_b, threshold, simplex):
    """ENGINE 5.11. Returns APART, NEAR or UNKNOWN; if NEAR also the normal from b to a, the point of b, and the distance."""
    middle = scale(add(at_a, at_b), 0.5)
    at_a, at_b = sub(at_a, middle), sub(at_b, middle)
    margin = a[MARGIN] + b[MARGIN]
    farthest = (margin + threshold) * (margin + threshold)
    axis, square, corners = (0.0, 1.0, 0.0), 1e18, 0
    last = (1e18, 1e18, 1e18)
    none = (0.0, 0.0, 0.0)
    for _ in range(TRIES):
        p = extreme(kind_a, a, turn_a, at_a, neg(axis))
        q = extreme(kind_b, b, turn_b, at_b, axis)
        w = sub(p, q)
        delta = dot(axis, w)
        if delta > 0.0 and delta * delta > square * farthest:
            break
        if _has_corner(simplex, corners, w) or (w[0] == last[0] and w[1] == last[1] and w[2] == last[2]):
            break
        if square - delta <= square * 1e-12:
            break
        last = w
        put3(simplex, CORNER * corners, w)
        put3(simplex, CORNER * corners + 3, p)
        put3(simplex, CORNER * corners + 6, q)
        corners = reduce(simplex, corners + 1)
        if corners == 0:
            break
        v = sub(get3(simplex, RESULT), get3(simplex, RESULT + 3))
        before, square = square, dot(v, v)
        if square < CLEAR * CLEAR or before - square <= EPS * before or corners == 4:
            return UNKNOWN, none, none, 0.0
        axis = v
    else:
        return UNKNOWN, none, none, 0.0
    inverse = 1.0 / sqrt(dot(axis, axis))
    n = scale(axis, inverse)
    distance = 1.0 / inverse - margin
    if not (distance < 0.0 or distance * distance < farthest):
        return APART, none, none, 0.0
    point = add(get3(simplex, RESULT + 3), scale(axis, b[MARGIN] / sqrt(square)))
    back = sub(extreme(kind_a, a, turn_a, at_a, n), extreme(kind_b, b, turn_b, at_b, neg(n)))
    forth = sub(extreme(kind_a, a, turn_a, at_a, neg(n)), extreme(kind_b, b, turn_b, at_b, n))
    if dot(neg(n), back) - margin > dot(n, forth) - margin:
        n = neg(n)
    return NEAR, n, add(point, middle), distance


@compiled
def _has_corner(simplex, corners, w):
    for k in range(corners):
        away = sub(get3(simplex, CORNER * k), w)
        if dot(away, away) <= SAME:
            return True
    return False


@compiled
def reduce(simplex, corners):
    """Find the point of a simplex that is closest to the origin, and drop the corners it does not need (ENGINE 5.12).

    Returns how many corners are left, or 0 if there is no answer; then the closest points may be those of before.
    """
    used, good = 1, True
    if corners == 1:
        put3(simplex, RESULT, get3(simplex, 3))
        put3(simplex, RESULT + 3, get3(simplex, 6))
    elif corners == 2:
        start = get3(simplex, 0)
        along = sub(get3(simplex, CORNER), start)
        t, used = dot(along, sub((0.0, 0.0, 0.0), start)), 1
        if t > 0.0:
            length = dot(along, along)
            t, used = (t / length, 3) if t < length else (1.0, 2)
        else:
            t = 0.0
        for side in (3, 6):
            start = get3(simplex, side)
            put3(simplex, RESULT + side - 3, add(start, scale(sub(get3(simplex, CORNER + side), start), t)))
    elif corners == 3:
        used, w0, w1, w2, _ = triangle(get3(simplex, 0), get3(simplex, CORNER), get3(simplex, 2 * CORNER))
        good = _mix(simplex, w0, w1, w2, 0.0, 3)
    else:
        used, w0, w1, w2, w3 = _tetrahedron(simplex)
        good = used > 0
        if good:
            good = _mix(simplex, w0, w1, w2, w3, 4)
    left = corners
    for k in range(3, -1, -1):
        if k < left and not used & (1 << k):
            left -= 1
            for i in range(CORNER):
                simplex[CORNER * k + i] = simplex[CORNER * left + i]
    return left if good else 0


@compiled
def _mix(simplex, w0, w1, w2, w3, corners):
    """Closest points from the weights of the corners. Returns whether these are possible."""
    for side in (3, 6):
        total = add(scale(get3(simplex, side), w0), scale(get3(simplex, CORNER + side), w1))
        total = add(total, scale(get3(simplex, 2 * CORNER + side), w2))
        if corners == 4:
            total = add(total, scale(get3(simplex, 3 * CORNER + side), w3))
        put3(simplex, RESULT + side - 3, total)
    return w0 >= 0.0 and w1 >= 0.0 and w2 >= 0.0 and w3 >= 0.0


@compiled
def triangle(a, b, c):
    """The point of a triangle closest to the origin: which corners it needs (a 1, b 2, c 4), their weights, the point."""
    ab, ac = sub(b, a), sub(c, a)
    d1, d2 = dot(ab, neg(a)), dot(ac, neg(a))
    if d1 <= 0.0 and d2 <= 0.0:
        return 1, 1.0, 0.0, 0.0, a
    d3, d4 = dot(ab, neg(b)), dot(ac, neg(b))
    if d3 >= 0.0 and d4 <= d3:
        return 2, 0.0, 1.0, 0.0, b
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
        return 3, 1.0 - v, v, 0.0, add(a, scale(ab, v))
    d5, d6 = dot(ab, neg(c)), dot(ac, neg(c))
    if d6 >= 0.0 and d5 <= d6:
        return 4, 0.0, 0.0, 1.0, c
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6)
        return 5, 1.0 - w, 0.0, w, add(a, scale(ac, w))
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 6, 0.0, 1.0 - w, w, add(b, scale(sub(c, b), w))
    share = 1.0 / (va + vb + vc)
    v, w = vb * share, vc * share
    return 7, 1.0 - v - w, v, w, add(add(a, scale(ab, v)), scale(ac, w))


@compiled
def _tetrahedron(simplex):
    """The same for four corners: of the faces that the origin is outside of, the closest. Needs no corner if it is flat.

    A tetrahedron around the origin has no weights, and needs all four: cores overlap.
    """
    used, best, out = 0, float(np.finfo(np.float32).max), 0
    w0 = w1 = w2 = w3 = 0.0
    for face in range(4):
        i, j, k, opposite = _face(face)
        a, b, c = get3(simplex, CORNER * i), get3(simplex, CORNER * j), get3(simplex, CORNER * k)
        normal = cross(sub(b, a), sub(c, a))
        here, there = dot(neg(a), normal), dot(sub(get3(simplex, CORNER * opposite), a), normal)
        if there * there < 1e-8 * 1e-8:
            return 0, w0, w1, w2, w3
        if here * there < 0.0:
            out += 1
            which, u, v, w, point = triangle(a, b, c)
            if dot(point, point) < best:
                best = dot(point, point)
                used = (which & 1) << i | (which >> 1 & 1) << j | (which >> 2 & 1) << k
                w0 = u if i == 0 else 0.0
                w1 = u if i == 1 else w if k == 1 else v if j == 1 else 0.0
                w2 = v if j == 2 else w if k == 2 else 0.0
                w3 = v if j == 3 else w if k == 3 else 0.0
    return used if out > 0 else 15, w0, w1, w2, w3


@compiled
def _face(number):
    """Three corners, and the one that is not among them."""
    if number == 0:
        return 0, 1, 2, 3
    if number == 1:
        return 0, 2, 3, 1
    if number == 2:
        return 0, 3, 1, 2
    return 1, 3, 2, 0
