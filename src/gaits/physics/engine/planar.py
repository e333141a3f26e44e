"""The dynamics of robots that live in the xz plane: Hopper, Walker, Half-Cheetah (ENGINE 3, 4, 7 by way of 12.2).

Such a robot hangs on two slides, along x and z, and is then a tree of *limbs*: a hinge about ±y without mass, and the body
fixed to it. Every rotation is about y, so of Bullet's spatial vectors only (angular y, linear x, linear z) is ever anything
but an exact zero, and leaving the zeros out changes no bit. A rotation is (c, s) for the matrix (c 0 s; 0 1 0; -s 0 c);
vectors are (x, z).

Motions are (w, x, z); forces are (n, x, z): torque, then force. An articulated inertia is (tx, tz, xx, xz, zx, zz, n): what
Bullet keeps in its top left, top right and bottom left blocks.
"""

from __future__ import annotations

from gaits.compiling import compiled, inline, merged
from gaits.lanes import cos, like, select, sin, sqrt
from gaits.physics.engine.algebra import EPS, get3, put3
from gaits.physics.engine.constants import DAMPING, DT, GRAVITY

LIMB = 7  # constants of a limb: hinge to body's hinge ex, ez; axis; body bx, bz, mass, inertia


@inline
def turn(c, s, x, z):
    return c * x + s * z, c * z - s * x


@inline
def turn_back(c, s, x, z):
    return c * x - s * z, s * x + c * z


@inline
def rotate(y, w, x, z):
    """ENGINE 0.6 for the quaternion (0, y, 0, w)."""
    tx, tz = w * x + y * z, w * z - y * x
    return tx * w + tz * y, tz * w - tx * y


@inline
def matrix(y, w):
    """ENGINE 0.4 for the quaternion (0, y, 0, w)."""
    ys = y * (2.0 / (y * y + w * w))
    return 1.0 - y * ys, w * ys


@compiled
def place(robot, work, pose):
    """Joint transforms, and where every link is (ENGINE 3.1, 7.2)."""
    x, z = robot.slide[0] + work.q[0], like(work.q[0], robot.slide[1])
    rx, rz = like(x, robot.slide[2]), robot.slide[3] + work.q[1]
    work.slide[0], work.slide[1], work.slide[2], work.slide[3] = x, z, rx, rz
    pose[12 + 9], pose[12 + 11] = x, z
    x, z = x + rx, z + rz
    pose[24 + 9], pose[24 + 11] = x, z
    for limb in range(robot.limbs):
        k = LIMB * limb
        half = (-work.q[2 + limb]) * 0.5
        y, w = robot.limb[k + 2] * sin(half), cos(half)
        c, s = matrix(y, w)
        rx, rz = rotate(y, w, robot.limb[k], robot.limb[k + 1])
        work.joint[4 * limb], work.joint[4 * limb + 1] = c, s
        work.joint[4 * limb + 2], work.joint[4 * limb + 3] = rx, rz
        parent = robot.parent[limb]
        if parent >= 0:
            py, pw = work.world[2 * parent], work.world[2 * parent + 1]
            y, w = w * py + y * pw, w * pw - y * py
            x, z = pose[12 * (4 + 2 * parent) + 9], pose[12 * (4 + 2 * parent) + 11]
        work.world[2 * limb], work.world[2 * limb + 1] = y, w
        c, s = matrix(-y, w)
        for link in range(3 + 2 * limb, 5 + 2 * limb):  # the hinge, the body
            dx, dz = rotate(-y, w, rx, rz)
            x, z = x + dx, z + dz
            at = 12 * link
            pose[at], pose[at + 2], pose[at + 6], pose[at + 8] = c, s, -s, c
            pose[at + 9], pose[at + 11] = x, z
            rx, rz = like(x, robot.limb[k + 3]), like(x, robot.limb[k + 4])
        if limb == 0:  # beyond 90 degrees, the sign of a zero decides whether the torso's roll and yaw are π or -π (7.3)
            zero = select((y < 0.0) & (w > 0.0), like(x, -0.0), 0.0)
            pose[at + 3], pose[at + 7] = zero, zero


@compiled
def accelerate(robot, work):
    """The articulated body algorithm: u += dt * acceleration (ENGINE 3.2 to 3.5)."""
    _velocities(robot, work)
    for limb in range(robot.limbs - 1, -1, -1):
        _gather(robot, work, limb)
    _gather_slides(work)
    # Upward: accelerations.
    root, u = work.root, work.u
    ax = root[3] * root[4]
    az = root[1] * (root[2] - ax * root[0])
    u[0], u[1] = clamp(u[0] + ax * DT), clamp(u[1] + az * DT)
    put3(work.acceleration, 0, (like(ax, 0.0), ax, az))
    for limb in range(robot.limbs):
        _accelerate_limb(robot, work, limb)


@inline
def clamp(x):
    """ENGINE 1.6"""
    return select(x < -100.0, -100.0, select(x > 100.0, 100.0, x))


@merged
def _velocities(robot, work):
    """Upward pass: velocities, Coriolis terms, forces without acceleration (ENGINE 3.2)."""
    u = work.u
    zero = like(u[0], 0.0)
    for limb in range(robot.limbs):
        k = LIMB * limb
        parent = robot.parent[limb]
        if parent >= 0:
            w, vx, vz = get3(work.velocity, 3 * parent)
            gx, gz = work.frame[4 * parent], work.frame[4 * parent + 1]
            ux, uz = work.frame[4 * parent + 2], work.frame[4 * parent + 3]
        else:
            w, vx, vz = zero, u[0], u[1]
            gx, gz, ux, uz = zero, zero + 1.0, zero + 1.0, zero
        c, s, rx, rz = work.joint[4 * limb], work.joint[4 * limb + 1], work.joint[4 * limb + 2], work.joint[4 * limb + 3]
        # The hinge.
        tx, tz = turn(c, s, vx, vz)
        vx, vz = rz * w + tx, tz - rx * w
        spin = robot.limb[k + 2] * u[2 + limb]
        w = w + spin
        work.coriolis[2 * limb], work.coriolis[2 * limb + 1] = -(vz * spin), vx * spin
        gx, gz = turn(c, s, gx, gz)
        ux, uz = turn(c, s, ux, uz)
        work.frame[4 * limb], work.frame[4 * limb + 1] = gx, gz
        work.frame[4 * limb + 2], work.frame[4 * limb + 3] = ux, uz
        # The body.
        bx, bz, mass, inertia = robot.limb[k + 3], robot.limb[k + 4], robot.limb[k + 5], robot.limb[k + 6]
        vx, vz = bz * w + vx, vz - bx * w
        put3(work.velocity, 3 * limb, (w, vx, vz))
        weight = GRAVITY * mass
        drag = DAMPING + DAMPING * _norm((vx * vx) + vz * vz)
        fx = (-(gx * weight) + (vx * mass) * drag) + (w * vz) * mass
        fz = (-(gz * weight) + (vz * mass) * drag) + (-(w * vx)) * mass
        torque = (w * inertia) * (DAMPING + DAMPING * _norm(w * w))
        put3(work.force, 3 * limb, (torque, fx, fz))
        at = 7 * limb
        work.inertia[at], work.inertia[at + 1] = zero, zero
        work.inertia[at + 2], work.inertia[at + 3] = zero + mass, zero
        work.inertia[at + 4], work.inertia[at + 5] = zero, zero + mass
        work.inertia[at + 6] = zero + inertia


@inline
def _norm(square):
    return select(square > EPS, sqrt(square), 0.0)


@inline
def _shift(inertia, rx, rz):
    """An inertia seen from r away, before it is turned (ENGINE 3.3)."""
    tx, tz, xx, xz, zx, zz, n = inertia
    ax, az = tx - (rx * xz - rz * xx), tz - (rx * zz - rz * zx)
    return ax, az, xx, xz, zx, zz, ((ax * rz - az * rx) + n) - (rx * tz - rz * tx)


@merged
def _gather(robot, work, limb):
    """Downward pass: what the parent carries of this limb (ENGINE 3.3)."""
    k, at = LIMB * limb, 7 * limb
    own = work.inertia
    body = (own[at], own[at + 1], own[at + 2], own[at + 3], own[at + 4], own[at + 5], own[at + 6])
    n, fx, fz = get3(work.force, 3 * limb)
    bx, bz, axis = robot.limb[k + 3], robot.limb[k + 4], robot.limb[k + 2]
    tx, tz, xx, xz, zx, zz, bl = _shift(body, bx, bz)
    n = n + (bz * fx - bx * fz)
    # The hinge.
    hx, hz, hn = tx * axis, tz * axis, bl * axis
    cx, cz = work.coriolis[2 * limb], work.coriolis[2 * limb + 1]
    y = (work.tau[2 + limb] - axis * n) - (cx * hx + cz * hz)
    d = axis * hn
    inv = select(d >= EPS, 1.0 / d, 0.0)
    sx, sz, sn = hx * inv, hz * inv, hn * inv
    push = inv * y
    fx, fz, n = (
        (fx + (xx * cx + xz * cz)) + hx * push,
        (fz + (zx * cx + zz * cz)) + hz * push,
        (n + (tx * cx + tz * cz)) + hn * push,
    )
    tx, tz, bl = tx - hx * sn, tz - hz * sn, bl - hn * sn
    xx, xz, zx, zz = xx - hx * sx, xz - hx * sz, zx - hz * sx, zz - hz * sz
    h = 5 * limb
    put3(work.hinge, h, (hn, hx, hz))
    work.hinge[h + 3], work.hinge[h + 4] = inv, y
    # Over to the parent.
    c, s, rx, rz = work.joint[4 * limb], work.joint[4 * limb + 1], work.joint[4 * limb + 2], work.joint[4 * limb + 3]
    ax, az, xx, xz, zx, zz, bl = _shift((tx, tz, xx, xz, zx, zz, bl), rx, rz)
    ax, az = turn_back(c, s, ax, az)
    m = (xx * c - zx * s, xz * c - zz * s, xx * s + zx * c, xz * s + zz * c)
    xx, xz, zx, zz = m[0] * c - m[1] * s, m[0] * s + m[1] * c, m[2] * c - m[3] * s, m[2] * s + m[3] * c
    n = n + (rz * fx - rx * fz)
    fx, fz = turn_back(c, s, fx, fz)
    parent = robot.parent[limb]
    if parent >= 0:
        p = 7 * parent
        own[p], own[p + 1] = own[p] + ax, own[p + 1] + az
        own[p + 2], own[p + 3] = own[p + 2] + xx, own[p + 3] + xz
        own[p + 4], own[p + 5] = own[p + 4] + zx, own[p + 5] + zz
        own[p + 6] = own[p + 6] + bl
        pn, px, pz = get3(work.force, 3 * parent)
        put3(work.force, 3 * parent, (pn + n, px + fx, pz + fz))
    else:
        root = work.root
        put3(root, 5, (xx, xz, zz))
        root[8], root[9] = fx, fz


@merged
def _gather_slides(work):
    """The same for the slides, along z (h, 1/D and Y) and along x (1/D and Y): the base that carries them never moves."""
    root = work.root
    xx, xz, zz = get3(root, 5)
    inv = select(zz >= EPS, 1.0 / zz, 0.0)
    y = 0.0 - root[9]
    xx = xx - xz * (xz * inv)
    put3(root, 0, (xz, inv, y))
    root[3] = select(xx >= EPS, 1.0 / xx, 0.0)
    root[4] = 0.0 - (root[8] + xz * (inv * y))


@merged
def _accelerate_limb(robot, work, limb):
    """ENGINE 3.5"""
    k, parent = LIMB * limb, robot.parent[limb]
    w, ax, az = get3(work.acceleration, 3 * (1 + parent))
    c, s, rx, rz = work.joint[4 * limb], work.joint[4 * limb + 1], work.joint[4 * limb + 2], work.joint[4 * limb + 3]
    tx, tz = turn(c, s, ax, az)
    ax, az = rz * w + tx, tz - rx * w
    hn, hx, hz = get3(work.hinge, 5 * limb)
    inv, y = work.hinge[5 * limb + 3], work.hinge[5 * limb + 4]
    qdd = inv * (y - ((ax * hx + az * hz) + w * hn))
    ax, az = ax + work.coriolis[2 * limb], az + work.coriolis[2 * limb + 1]
    w = w + robot.limb[k + 2] * qdd
    bx, bz = robot.limb[k + 3], robot.limb[k + 4]
    put3(work.acceleration, 3 * (1 + limb), (w, bz * w + ax, az - bx * w))
    work.u[2 + limb] = clamp(work.u[2 + limb] + qdd * DT)


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def contact_jacobians(robot, work, limb, x, z, normal, friction):
    """How the point (x, z) of a limb's body moves up, and along x (ENGINE 4.1); y moves nothing (12.7)."""
    zero = like(x, 0.0)
    normal[0], normal[1], friction[0], friction[1] = zero, zero + 1.0, zero + 1.0, zero
    x, z = (x - work.slide[0]) - work.slide[2], (z - work.slide[1]) - work.slide[3]
    for i in range(robot.depth[limb]):
        at = robot.path[limb * robot.links + i]
        c, s, rx, rz = work.joint[4 * at], work.joint[4 * at + 1], work.joint[4 * at + 2], work.joint[4 * at + 3]
        x, z = turn(c, s, x, z)
        x, z = x - rx, z - rz
        axis = robot.limb[LIMB * at + 2]
        mx, mz = axis * z, -(axis * x)
        normal[2 + at] = work.frame[4 * at] * mx + work.frame[4 * at + 1] * mz
        friction[2 + at] = work.frame[4 * at + 2] * mx + work.frame[4 * at + 3] * mz
        x, z = x - robot.limb[LIMB * at + 3], z - robot.limb[LIMB * at + 4]


@compiled
def respond(robot, work, limb, jacobian, response):
    """Change of all velocities by a unit impulse along ``jacobian``, which is zero off the path to ``limb`` (ENGINE 4.2)."""
    zero = like(work.u[0], 0.0)
    y = work.y
    for i in range(robot.limbs):
        y[2 + i] = zero
    n, fx, fz = zero, zero, zero
    for i in range(robot.depth[limb] - 1, -1, -1):
        at = robot.path[limb * robot.links + i]
        bx, bz, axis = robot.limb[LIMB * at + 3], robot.limb[LIMB * at + 4], robot.limb[LIMB * at + 2]
        n = n + (bz * fx - bx * fz)
        hn, hx, hz = get3(work.hinge, 5 * at)
        bias = jacobian[2 + at] - axis * n
        y[2 + at] = bias
        push = work.hinge[5 * at + 3] * bias
        n, fx, fz = n + hn * push, fx + hx * push, fz + hz * push
        c, s, rx, rz = work.joint[4 * at], work.joint[4 * at + 1], work.joint[4 * at + 2], work.joint[4 * at + 3]
        n = n + (rz * fx - rx * fz)
        fx, fz = turn_back(c, s, fx, fz)
    root = work.root
    bias = jacobian[1] - fz
    ax = root[3] * (jacobian[0] - (fx + root[0] * (root[1] * bias)))
    az = root[1] * (bias - ax * root[0])
    response[0], response[1] = ax, az
    put3(work.acceleration, 0, (zero, ax, az))
    for i in range(robot.limbs):
        w, ax, az = get3(work.acceleration, 3 * (1 + robot.parent[i]))
        c, s, rx, rz = work.joint[4 * i], work.joint[4 * i + 1], work.joint[4 * i + 2], work.joint[4 * i + 3]
        tx, tz = turn(c, s, ax, az)
        ax, az = rz * w + tx, tz - rx * w
        hn, hx, hz = get3(work.hinge, 5 * i)
        change = work.hinge[5 * i + 3] * (y[2 + i] - ((ax * hx + az * hz) + w * hn))
        response[2 + i] = change
        w = w + robot.limb[LIMB * i + 2] * change
        bx, bz = robot.limb[LIMB * i + 3], robot.limb[LIMB * i + 4]
        put3(work.acceleration, 3 * (1 + i), (w, bz * w + ax, az - bx * w))


@inline
def integrate(robot, work):
    """ENGINE 7.1"""
    for d in range(2 + robot.limbs):
        work.q[d] = work.q[d] + DT * work.u[d]
