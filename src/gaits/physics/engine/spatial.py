"""The dynamics of robots that move freely in space: Ant and Humanoid (ENGINE 3, 4, 7).

The base floats. Every other link is a hinge without mass, or a body fixed to its parent; a fixed link turns nothing (12.1).
Spatial motions are (top, bot) = (angular, linear), spatial forces (top, bot) = (linear, angular), as in Bullet. An
articulated inertia is three matrices: top left, top right, bottom left.

In all arrays by link, 0 is the base and 1 + i is link i.
"""

from __future__ import annotations

from gaits.compiling import compiled, inline, merged
from gaits.lanes import cos, like, part, select, sin, sqrt
from gaits.physics.engine.algebra import (
    EPS,
    add,
    add3,
    add9,
    conjugate,
    cross,
    dot,
    get3,
    get4,
    get9,
    inverse,
    m_skew,
    madd,
    mm,
    mneg,
    msub,
    mtv,
    mv,
    neg,
    norm,
    outer,
    put3,
    put4,
    put6,
    put9,
    qdot,
    qmul,
    rotate,
    scale,
    skew_m,
    sub,
    times,
    to_matrix,
    transpose,
)
from gaits.physics.engine.constants import DAMPING, DT, GRAVITY
from gaits.physics.engine.planar import clamp

LINK = (
    11  # constants of a hinge: e 3, length of its axis, axis 3, rotation at zero 4; of a fixed link: arm 3, mass, inertia 3
)
JOINT = 12  # of a link's joint: rotation from its parent 9, arm 3
HINGE = 8  # h's top and bottom, 1 / D, Y


@compiled
def place(robot, work, pose):
    """Joint transforms, and where every link is (ENGINE 3.1, 7.2)."""
    turned = get4(work.base, 3)
    put4(work.world, 0, turned)
    put9(pose, 0, to_matrix(conjugate(turned)))
    put3(pose, 9, get3(work.base, 0))
    for link in range(robot.links):
        at, joint, parent = LINK * link, JOINT * link, robot.parent[link] + 1
        turned = get4(work.world, 4 * parent)
        if robot.dof[link] >= 0:
            half = (-work.q[robot.dof[link]]) * 0.5
            s = sin(half) / robot.limb[at + 3]
            axis, zero = get3(robot.limb, at + 4), get4(robot.limb, at + 7)
            turn = qmul((axis[0] * s, axis[1] * s, axis[2] * s, cos(half)), zero)
            arm = rotate(turn, get3(robot.limb, at))
            put9(work.joint, joint, to_matrix(turn))
            put3(work.joint, joint + 9, arm)
            turned = qmul(turn, turned)
            put9(pose, 12 * (1 + link), to_matrix(conjugate(turned)))
        else:
            arm = (like(turned[0], robot.limb[at]), like(turned[0], robot.limb[at + 1]), like(turned[0], robot.limb[at + 2]))
            put9(pose, 12 * (1 + link), get9(pose, 12 * parent))
        put4(work.world, 4 * (1 + link), turned)
        put3(pose, 12 * (1 + link) + 9, add(get3(pose, 12 * parent + 9), rotate(conjugate(turned), arm)))


@inline
def motion_dot(top, bot, force_top, force_bot):
    """⟨motion, force⟩ (ENGINE 0.12)"""
    return dot(bot, force_top) + dot(top, force_bot)


@inline
def at_rest(mass, inertia, gravity, top, bot):
    """The force on a body that would not accelerate: weight, damping, gyroscopic terms (ENGINE 3.2)."""
    linear = scale(gravity, GRAVITY * mass)
    linear = add(neg(linear), scale(scale(bot, mass), DAMPING + DAMPING * norm(bot)))
    spin = times(inertia, top)
    angular = add(scale(spin, DAMPING + DAMPING * norm(top)), cross(top, spin))
    return add(linear, scale(cross(top, bot), mass)), angular


@compiled
def accelerate(robot, work):
    """The articulated body algorithm: u += dt * acceleration (ENGINE 3.2 to 3.5)."""
    _velocities(robot, work)
    for link in range(robot.links - 1, -1, -1):
        if robot.dof[link] >= 0:
            _gather_hinge(robot, work, link)
        else:
            _gather_fixed(robot, work, link)
    _invert_base(work)
    top, bot = solve_base(work, get3(work.force, 0), get3(work.force, 3))
    put3(work.acceleration, 0, top)
    put3(work.acceleration, 3, bot)
    for link in range(robot.links):
        _accelerate_link(robot, work, link)
    frame, u = get9(work.frame, 0), work.u
    angular = mtv(frame, top)
    linear = mtv(frame, add(bot, cross(get3(work.velocity, 0), get3(work.velocity, 3))))
    for i in range(3):
        u[i] = clamp(u[i] + angular[i] * DT)
        u[3 + i] = clamp(u[3 + i] + linear[i] * DT)


@merged
def _fill_inertia(work, link, mass, inertia):
    """A rigid body's own: 0, mass, inertia."""
    zero = like(work.u[0], 0.0)
    for k in range(27):
        work.inertia[27 * link + k] = zero
    for k in range(3):
        work.inertia[27 * link + 9 + 4 * k] = zero + mass
        work.inertia[27 * link + 18 + 4 * k] = zero + inertia[k]


@merged
def _velocities(robot, work):
    """Upward pass: velocities, Coriolis terms, forces without acceleration (ENGINE 3.2)."""
    zero = like(work.u[0], 0.0)
    frame = to_matrix(get4(work.base, 3))
    put9(work.frame, 0, frame)
    top, bot = mv(frame, get3(work.u, 0)), mv(frame, get3(work.u, 3))
    put3(work.velocity, 0, top)
    put3(work.velocity, 3, bot)
    mass, inertia = robot.base[0], get3(robot.base, 1)
    linear, angular = at_rest(mass, inertia, (frame[2], frame[5], frame[8]), top, bot)
    put3(work.force, 0, linear)
    put3(work.force, 3, angular)
    _fill_inertia(work, 0, mass, inertia)
    for link in range(robot.links):
        at, joint, parent, n = LINK * link, JOINT * link, robot.parent[link] + 1, 1 + link
        top, bot = get3(work.velocity, 6 * parent), get3(work.velocity, 6 * parent + 3)
        frame = get9(work.frame, 9 * parent)
        if robot.dof[link] >= 0:
            turn, arm = get9(work.joint, joint), get3(work.joint, joint + 9)
            top = mv(turn, top)
            bot = add(neg(cross(arm, top)), mv(turn, bot))
            spin = scale(get3(robot.limb, at + 4), work.u[robot.dof[link]])
            top = add(top, spin)
            put3(work.coriolis, 6 * link, cross(top, spin))
            put3(work.coriolis, 6 * link + 3, cross(bot, spin))
            frame = mm(turn, frame)
            for k in range(6):
                work.force[6 * n + k] = zero
            for k in range(27):
                work.inertia[27 * n + k] = zero
        else:
            bot = add(neg(cross(get3(robot.limb, at), top)), bot)
            mass, inertia = robot.limb[at + 3], get3(robot.limb, at + 4)
            linear, angular = at_rest(mass, inertia, (frame[2], frame[5], frame[8]), top, bot)
            put3(work.force, 6 * n, linear)
            put3(work.force, 6 * n + 3, angular)
            _fill_inertia(work, n, mass, inertia)
        put3(work.velocity, 6 * n, top)
        put3(work.velocity, 6 * n + 3, bot)
        put9(work.frame, 9 * n, frame)


@merged
def _gather_fixed(robot, work, link):
    """Downward pass for a fixed link: its inertia and force, as seen by its parent (ENGINE 3.3, 12.1)."""
    n, parent = 27 * (1 + link), 27 * (robot.parent[link] + 1)
    arm = get3(robot.limb, LINK * link)
    tl, tr, bl = get9(work.inertia, n), get9(work.inertia, n + 9), get9(work.inertia, n + 18)
    a = msub(tl, m_skew(tr, arm))
    add9(work.inertia, parent, a)
    add9(work.inertia, parent + 9, tr)
    add9(work.inertia, parent + 18, msub(madd(skew_m(arm, a), bl), m_skew(transpose(tl), arm)))
    n, parent = 6 * (1 + link), 6 * (robot.parent[link] + 1)
    top, bot = get3(work.force, n), get3(work.force, n + 3)
    add3(work.force, parent, top)
    add3(work.force, parent + 3, add(bot, cross(arm, top)))


@merged
def _gather_hinge(robot, work, link):
    """Downward pass for a hinge (ENGINE 3.3)."""
    n, parent, joint = 27 * (1 + link), 27 * (robot.parent[link] + 1), JOINT * link
    axis = get3(robot.limb, LINK * link + 4)
    turn, arm = get9(work.joint, joint), get3(work.joint, joint + 9)
    tl, tr, bl = get9(work.inertia, n), get9(work.inertia, n + 9), get9(work.inertia, n + 18)
    c_top, c_bot = get3(work.coriolis, 6 * link), get3(work.coriolis, 6 * link + 3)
    f_top, f_bot = get3(work.force, 6 * (1 + link)), get3(work.force, 6 * (1 + link) + 3)
    h_top, h_bot = mv(tl, axis), mv(bl, axis)
    y = (work.tau[robot.dof[link]] - dot(axis, f_bot)) - motion_dot(c_top, c_bot, h_top, h_bot)
    d = dot(axis, h_bot)
    inv = select(d >= EPS, 1.0 / d, 0.0)
    put3(work.hinge, HINGE * link, h_top)
    put3(work.hinge, HINGE * link + 3, h_bot)
    work.hinge[HINGE * link + 6], work.hinge[HINGE * link + 7] = inv, y
    push = inv * y
    f_top = add(add(f_top, add(mv(tl, c_top), mv(tr, c_bot))), scale(h_top, push))
    f_bot = add(add(f_bot, add(mv(bl, c_top), mtv(tl, c_bot))), scale(h_bot, push))
    t_top, t_bot = scale(h_top, inv), scale(h_bot, inv)
    tl, tr, bl = msub(tl, outer(h_top, t_bot)), msub(tr, outer(h_top, t_top)), msub(bl, outer(h_bot, t_bot))
    back = transpose(turn)
    a = msub(tl, m_skew(tr, arm))
    add9(work.inertia, parent, mm(mm(back, a), turn))
    add9(work.inertia, parent + 9, mm(mm(back, tr), turn))
    add9(work.inertia, parent + 18, mm(mm(back, msub(madd(skew_m(arm, a), bl), m_skew(transpose(tl), arm))), turn))
    parent = 6 * (robot.parent[link] + 1)
    add3(work.force, parent, mv(back, f_top))
    add3(work.force, parent + 3, mv(back, add(f_bot, cross(arm, f_top))))


@merged
def _invert_base(work):
    """What a force on the base does to it, once per substep (ENGINE 3.6, 12.4)."""
    tl, tr, bl = get9(work.inertia, 0), get9(work.inertia, 9), get9(work.inertia, 18)
    lower = transpose(tl)
    b = mneg(inverse(tr))
    ur = inverse(madd(mm(mm(lower, b), tl), bl))
    ul = mm(mm(ur, lower), b)
    p = mm(tl, ul)
    p = (p[0] - 1.0, p[1], p[2], p[3], p[4] - 1.0, p[5], p[6], p[7], p[8] - 1.0)
    put9(work.root, 0, ul)
    put9(work.root, 9, ur)
    put9(work.root, 18, mm(b, p))
    put9(work.root, 27, transpose(ul))


@inline
def solve_base(work, top, bot):
    """The base's acceleration under a force."""
    ul, ur, ll, lr = get9(work.root, 0), get9(work.root, 9), get9(work.root, 18), get9(work.root, 27)
    return neg(add(mv(ul, top), mv(ur, bot))), neg(add(mv(ll, top), mv(lr, bot)))


@merged
def _accelerate_link(robot, work, link):
    """ENGINE 3.5"""
    n, parent, joint = 6 * (1 + link), 6 * (robot.parent[link] + 1), JOINT * link
    top, bot = get3(work.acceleration, parent), get3(work.acceleration, parent + 3)
    if robot.dof[link] >= 0:
        turn, arm = get9(work.joint, joint), get3(work.joint, joint + 9)
        top = mv(turn, top)
        bot = add(neg(cross(arm, top)), mv(turn, bot))
        h_top, h_bot = get3(work.hinge, HINGE * link), get3(work.hinge, HINGE * link + 3)
        inv, y = work.hinge[HINGE * link + 6], work.hinge[HINGE * link + 7]
        qdd = inv * (y - motion_dot(top, bot, h_top, h_bot))
        top = add(add(top, get3(work.coriolis, 6 * link)), scale(get3(robot.limb, LINK * link + 4), qdd))
        bot = add(bot, get3(work.coriolis, 6 * link + 3))
        d = robot.dof[link]
        work.u[d] = clamp(work.u[d] + qdd * DT)
    else:
        bot = add(neg(cross(get3(robot.limb, LINK * link), top)), bot)
    put3(work.acceleration, n, top)
    put3(work.acceleration, n + 3, bot)


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def floor_jacobians(robot, work, tip, point, up, across, along):
    """How a point of a link moves up, along -y and along x (ENGINE 4.1)."""
    zero, one = like(point[0], 0.0), like(point[0], 1.0)
    x, y, z = sub(point, get3(work.base, 0))
    put3(up, 0, (y, -x, zero))
    put3(up, 3, (zero, zero, one))
    put3(across, 0, (z, zero, -x))
    put3(across, 3, (zero, -one, zero))
    put3(along, 0, (zero, z, -y))
    put3(along, 3, (one, zero, zero))
    p = mv(get9(work.frame, 0), (x, y, z))
    for i in range(robot.depth[tip]):
        link = robot.path[tip * robot.links + i]
        d, joint = robot.dof[link], JOINT * link
        if d < 0:
            p = sub(p, get3(robot.limb, LINK * link))
            continue
        p = sub(mv(get9(work.joint, joint), p), get3(work.joint, joint + 9))
        moved = cross(get3(robot.limb, LINK * link + 4), p)
        frame = get9(work.frame, 9 * (1 + link))  # its columns are the three directions, seen from the link
        up[d] = dot((frame[2], frame[5], frame[8]), moved)
        across[d] = -dot((frame[1], frame[4], frame[7]), moved)
        along[d] = dot((frame[0], frame[3], frame[6]), moved)


@compiled
def jacobian(robot, work, tip, point, direction, out):
    """How a point of a link moves along a direction of the world (ENGINE 4.1)."""
    away = sub(point, get3(work.base, 0))
    put3(out, 0, cross(away, direction))
    put3(out, 3, direction)
    frame = get9(work.frame, 0)
    p, n = mv(frame, away), mv(frame, direction)
    for i in range(robot.depth[tip]):
        link = robot.path[tip * robot.links + i]
        joint = JOINT * link
        if robot.dof[link] < 0:
            p = sub(p, get3(robot.limb, LINK * link))
            continue
        turn = get9(work.joint, joint)
        p, n = sub(mv(turn, p), get3(work.joint, joint + 9)), mv(turn, n)
        out[robot.dof[link]] = dot(n, cross(get3(robot.limb, LINK * link + 4), p))


@inline
def sink(turn, arm, axis, h_top, h_bot, inv, j, top, bot):
    """A force from a hinge down to its parent. Returns Y and the force."""
    y = j - dot(axis, bot)
    push = inv * y
    top, bot = add(top, scale(h_top, push)), add(bot, scale(h_bot, push))
    return y, mtv(turn, top), mtv(turn, add(bot, cross(arm, top)))


@inline
def rise(turn, arm, axis, h_top, h_bot, inv, y, top, bot):
    """A motion from the parent up to a hinge. Returns the joint's share and the motion."""
    top = mv(turn, top)
    bot = add(neg(cross(arm, top)), mv(turn, bot))
    change = inv * (y - motion_dot(top, bot, h_top, h_bot))
    return change, add(top, scale(axis, change)), bot


@inline
def move_base(work, jacobian, response, top, bot):
    """The base's motion under a row's force and what sank down to it."""
    frame = get9(work.frame, 0)
    top = add(mv(frame, neg(get3(jacobian, 3))), top)
    bot = add(mv(frame, neg(get3(jacobian, 0))), bot)
    top, bot = solve_base(work, top, bot)
    put3(response, 0, mtv(frame, top))
    put3(response, 3, mtv(frame, bot))
    return top, bot


@compiled
def respond(robot, work, tip, jacobian, response):
    """Change of all velocities by a unit impulse along ``jacobian``, which is zero off the path to ``tip`` (ENGINE 4.2)."""
    zero = like(work.u[0], 0.0)
    for d in range(6, robot.n):
        work.y[d] = zero
    top, bot = (zero, zero, zero), (zero, zero, zero)
    for i in range(robot.depth[tip] - 1, -1, -1):
        link = robot.path[tip * robot.links + i]
        d, hinge, joint = robot.dof[link], HINGE * link, JOINT * link
        if d < 0:
            bot = add(bot, cross(get3(robot.limb, LINK * link), top))
            continue
        turn, arm, axis = get9(work.joint, joint), get3(work.joint, joint + 9), get3(robot.limb, LINK * link + 4)
        h_top, h_bot, inv = get3(work.hinge, hinge), get3(work.hinge, hinge + 3), work.hinge[hinge + 6]
        work.y[d], top, bot = sink(turn, arm, axis, h_top, h_bot, inv, jacobian[d], top, bot)
    top, bot = move_base(work, jacobian, response, top, bot)
    save = work.acceleration
    put6(save, 0, top, bot)
    for i in range(robot.climbs):
        link = robot.climb[i]
        d, hinge, joint = robot.dof[link], HINGE * link, JOINT * link
        if robot.parent[link] != link - 1:
            top, bot = get3(save, 6 * robot.parent[link] + 6), get3(save, 6 * robot.parent[link] + 9)
        if d < 0:
            bot = add(neg(cross(get3(robot.limb, LINK * link), top)), bot)
        else:
            turn, arm, axis = get9(work.joint, joint), get3(work.joint, joint + 9), get3(robot.limb, LINK * link + 4)
            h_top, h_bot, inv = get3(work.hinge, hinge), get3(work.hinge, hinge + 3), work.hinge[hinge + 6]
            response[d], top, bot = rise(turn, arm, axis, h_top, h_bot, inv, work.y[d], top, bot)
        if robot.forks[link]:
            put6(save, 6 * link + 6, top, bot)


@compiled
def respond_to_contact(robot, work, tip, jacobians, responses):
    """``respond`` for the three rows of a contact at once: they share their path, and all that is read on it (12.5)."""
    zero, n = like(work.u[0], 0.0), robot.n
    nothing = (zero, zero, zero)
    for d in range(3 * n):
        work.y[d] = zero
    up_t, up_b, across_t, across_b, along_t, along_b = nothing, nothing, nothing, nothing, nothing, nothing
    for i in range(robot.depth[tip] - 1, -1, -1):
        link = robot.path[tip * robot.links + i]
        d, hinge, joint = robot.dof[link], HINGE * link, JOINT * link
        if d < 0:
            arm = get3(robot.limb, LINK * link)
            up_b, across_b = add(up_b, cross(arm, up_t)), add(across_b, cross(arm, across_t))
            along_b = add(along_b, cross(arm, along_t))
            continue
        turn, arm, axis = get9(work.joint, joint), get3(work.joint, joint + 9), get3(robot.limb, LINK * link + 4)
        h_top, h_bot, inv = get3(work.hinge, hinge), get3(work.hinge, hinge + 3), work.hinge[hinge + 6]
        work.y[d], up_t, up_b = sink(turn, arm, axis, h_top, h_bot, inv, jacobians[d], up_t, up_b)
        work.y[n + d], across_t, across_b = sink(turn, arm, axis, h_top, h_bot, inv, jacobians[n + d], across_t, across_b)
        work.y[2 * n + d], along_t, along_b = sink(
            turn, arm, axis, h_top, h_bot, inv, jacobians[2 * n + d], along_t, along_b
        )
    up_t, up_b = move_base(work, jacobians, responses, up_t, up_b)
    across_t, across_b = move_base(work, part(jacobians, n), part(responses, n), across_t, across_b)
    along_t, along_b = move_base(work, part(jacobians, 2 * n), part(responses, 2 * n), along_t, along_b)
    save = work.acceleration
    put6(save, 0, up_t, up_b)
    put6(save, 6, across_t, across_b)
    put6(save, 12, along_t, along_b)
    for i in range(robot.climbs):
        link = robot.climb[i]
        d, hinge, joint, at = robot.dof[link], HINGE * link, JOINT * link, 18 * (robot.parent[link] + 1)
        if robot.parent[link] != link - 1:
            up_t, up_b, across_t = get3(save, at), get3(save, at + 3), get3(save, at + 6)
            across_b, along_t, along_b = get3(save, at + 9), get3(save, at + 12), get3(save, at + 15)
        if d < 0:
            arm = get3(robot.limb, LINK * link)
            up_b, across_b = add(neg(cross(arm, up_t)), up_b), add(neg(cross(arm, across_t)), across_b)
            along_b = add(neg(cross(arm, along_t)), along_b)
        else:
            turn, arm, axis = get9(work.joint, joint), get3(work.joint, joint + 9), get3(robot.limb, LINK * link + 4)
            h_top, h_bot, inv = get3(work.hinge, hinge), get3(work.hinge, hinge + 3), work.hinge[hinge + 6]
            y = work.y
            responses[d], up_t, up_b = rise(turn, arm, axis, h_top, h_bot, inv, y[d], up_t, up_b)
            responses[n + d], across_t, across_b = rise(turn, arm, axis, h_top, h_bot, inv, y[n + d], across_t, across_b)
            responses[2 * n + d], along_t, along_b = rise(turn, arm, axis, h_top, h_bot, inv, y[2 * n + d], along_t, along_b)
        if robot.forks[link]:
            at = 18 * (link + 1)
            put6(save, at, up_t, up_b)
            put6(save, at + 6, across_t, across_b)
            put6(save, at + 12, along_t, along_b)


@inline
def integrate(robot, work):
    """ENGINE 7.1"""
    u = work.u
    for i in range(3):
        work.base[i] = work.base[i] + DT * u[3 + i]
    w = get3(u, 0)
    a = sqrt(dot(w, w))
    slow = (0.5 * DT) - (((DT * DT * DT) * 0.020833333333) * a) * a
    axis = scale(w, select(a < 0.001, slow, sin((0.5 * a) * DT) / a))
    turned = qmul(get4(work.base, 3), (-axis[0], -axis[1], -axis[2], cos((a * DT) * 0.5)))
    s = 1.0 / sqrt(qdot(turned, turned))
    put4(work.base, 3, (turned[0] * s, turned[1] * s, turned[2] * s, turned[3] * s))
    for d in range(6, robot.n):
        work.q[d] = work.q[d] + DT * u[d]
