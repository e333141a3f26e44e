"""Three-vectors, 3x3 matrices and quaternions as tuples, in Bullet's order of operations (ENGINE 0).

Items are doubles or lanes of doubles. A matrix is its nine items, row by row. The order of a sum decides the last bit of a
step, so none of this is left to a library.
"""

from __future__ import annotations

from gaits.compiling import inline
from gaits.lanes import select, sqrt

EPS = 2.220446049250313e-16


@inline
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def neg(a):
    return (-a[0], -a[1], -a[2])


@inline
def scale(a, s):
    return (a[0] * s, a[1] * s, a[2] * s)


@inline
def times(a, b):
    """Component by component."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@inline
def dot(a, b):
    return (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]


@inline
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def norm(a):
    """The length, or 0 where its square is next to nothing."""
    square = dot(a, a)
    return select(square > EPS, sqrt(square), 0.0)


@inline
def unit(a):
    return scale(a, 1.0 / sqrt(dot(a, a)))


# ---------------------------------------------------------------------------------------------------------------------
# Matrices
# ---------------------------------------------------------------------------------------------------------------------


@inline
def row(m, i):
    return (m[3 * i], m[3 * i + 1], m[3 * i + 2])


@inline
def mv(m, v):
    """m v"""
    return (
        (m[0] * v[0] + m[1] * v[1]) + m[2] * v[2],
        (m[3] * v[0] + m[4] * v[1]) + m[5] * v[2],
        (m[6] * v[0] + m[7] * v[1]) + m[8] * v[2],
    )


@inline
def mtv(m, v):
    """mᵀ v"""
    return (
        (m[0] * v[0] + m[3] * v[1]) + m[6] * v[2],
        (m[1] * v[0] + m[4] * v[1]) + m[7] * v[2],
        (m[2] * v[0] + m[5] * v[1]) + m[8] * v[2],
    )


@inline
def transpose(m):
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@inline
def vm(v, m):
    """v m, v a row: the same sums as mᵀ v."""
    return mtv(m, v)


@inline
def mm(a, b):
    """a b"""
    r, s, t = vm((a[0], a[1], a[2]), b), vm((a[3], a[4], a[5]), b), vm((a[6], a[7], a[8]), b)
    return (r[0], r[1], r[2], s[0], s[1], s[2], t[0], t[1], t[2])


@inline
def madd(a, b):
    return (
        *(a[0] + b[0], a[1] + b[1], a[2] + b[2]),
        *(a[3] + b[3], a[4] + b[4], a[5] + b[5]),
        *(a[6] + b[6], a[7] + b[7], a[8] + b[8]),
    )


@inline
def msub(a, b):
    return (
        *(a[0] - b[0], a[1] - b[1], a[2] - b[2]),
        *(a[3] - b[3], a[4] - b[4], a[5] - b[5]),
        *(a[6] - b[6], a[7] - b[7], a[8] - b[8]),
    )


@inline
def mneg(a):
    return (-a[0], -a[1], -a[2], -a[3], -a[4], -a[5], -a[6], -a[7], -a[8])


@inline
def outer(a, b):
    """a bᵀ"""
    return (
        *(a[0] * b[0], a[0] * b[1], a[0] * b[2]),
        *(a[1] * b[0], a[1] * b[1], a[1] * b[2]),
        *(a[2] * b[0], a[2] * b[1], a[2] * b[2]),
    )


@inline
def m_skew(a, r):
    """a [r]×"""
    return (
        *(a[1] * r[2] - a[2] * r[1], a[2] * r[0] - a[0] * r[2], a[0] * r[1] - a[1] * r[0]),
        *(a[4] * r[2] - a[5] * r[1], a[5] * r[0] - a[3] * r[2], a[3] * r[1] - a[4] * r[0]),
        *(a[7] * r[2] - a[8] * r[1], a[8] * r[0] - a[6] * r[2], a[6] * r[1] - a[7] * r[0]),
    )


@inline
def skew_m(r, a):
    """[r]× a"""
    return (
        *(r[1] * a[6] - r[2] * a[3], r[1] * a[7] - r[2] * a[4], r[1] * a[8] - r[2] * a[5]),
        *(r[2] * a[0] - r[0] * a[6], r[2] * a[1] - r[0] * a[7], r[2] * a[2] - r[0] * a[8]),
        *(r[0] * a[3] - r[1] * a[0], r[0] * a[4] - r[1] * a[1], r[0] * a[5] - r[1] * a[2]),
    )


@inline
def inverse(m):
    """By cofactors (ENGINE 0.10)."""
    c0 = m[4] * m[8] - m[5] * m[7]
    c1 = m[5] * m[6] - m[3] * m[8]
    c2 = m[3] * m[7] - m[4] * m[6]
    s = 1.0 / ((m[0] * c0 + m[1] * c1) + m[2] * c2)
    return (
        *(c0 * s, (m[2] * m[7] - m[1] * m[8]) * s, (m[1] * m[5] - m[2] * m[4]) * s),
        *(c1 * s, (m[0] * m[8] - m[2] * m[6]) * s, (m[2] * m[3] - m[0] * m[5]) * s),
        *(c2 * s, (m[1] * m[6] - m[0] * m[7]) * s, (m[0] * m[4] - m[1] * m[3]) * s),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Quaternions (x, y, z, w)
# ---------------------------------------------------------------------------------------------------------------------


@inline
def qmul(a, b):
    """a b (ENGINE 0.5)"""
    return (
        ((a[3] * b[0] + a[0] * b[3]) + a[1] * b[2]) - a[2] * b[1],
        ((a[3] * b[1] + a[1] * b[3]) + a[2] * b[0]) - a[0] * b[2],
        ((a[3] * b[2] + a[2] * b[3]) + a[0] * b[1]) - a[1] * b[0],
        ((a[3] * b[3] - a[0] * b[0]) - a[1] * b[1]) - a[2] * b[2],
    )


@inline
def conjugate(q):
    return (-q[0], -q[1], -q[2], q[3])


@inline
def qdot(a, b):
    return ((a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]) + a[3] * b[3]


@inline
def rotate(q, v):
    """v turned by q (ENGINE 0.6)"""
    t = (
        (q[3] * v[0] + q[1] * v[2]) - q[2] * v[1],
        (q[3] * v[1] + q[2] * v[0]) - q[0] * v[2],
        (q[3] * v[2] + q[0] * v[1]) - q[1] * v[0],
        (-q[0] * v[0] - q[1] * v[1]) - q[2] * v[2],
    )
    turned = qmul(t, conjugate(q))
    return (turned[0], turned[1], turned[2])


@inline
def to_matrix(q):
    """ENGINE 0.4; q need not have length 1."""
    x, y, z, w = q
    s = 2.0 / qdot(q, q)
    xs, ys, zs = x * s, y * s, z * s
    wx, wy, wz = w * xs, w * ys, w * zs
    xx, xy, xz = x * xs, x * ys, x * zs
    yy, yz, zz = y * ys, y * zs, z * zs
    return (1.0 - (yy + zz), xy - wz, xz + wy, xy + wz, 1.0 - (xx + zz), yz - wx, xz - wy, yz + wx, 1.0 - (xx + yy))


# ---------------------------------------------------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------------------------------------------------


@inline
def get3(view, k):
    return (view[k], view[k + 1], view[k + 2])


@inline
def put3(view, k, v):
    view[k] = v[0]
    view[k + 1] = v[1]
    view[k + 2] = v[2]


@inline
def put6(view, k, a, b):
    put3(view, k, a)
    put3(view, k + 3, b)


@inline
def get4(view, k):
    return (view[k], view[k + 1], view[k + 2], view[k + 3])


@inline
def put4(view, k, v):
    put3(view, k, v)
    view[k + 3] = v[3]


@inline
def get9(view, k):
    return (*get3(view, k), *get3(view, k + 3), *get3(view, k + 6))


@inline
def put9(view, k, m):
    put3(view, k, (m[0], m[1], m[2]))
    put3(view, k + 3, (m[3], m[4], m[5]))
    put3(view, k + 6, (m[6], m[7], m[8]))


@inline
def add3(view, k, v):
    put3(view, k, add(get3(view, k), v))


@inline
def add9(view, k, m):
    put9(view, k, madd(get9(view, k), m))
