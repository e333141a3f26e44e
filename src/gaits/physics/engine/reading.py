"""What QDGym sees of a robot, out of the engine's state: as Bullet reports it (ENGINE 7.3, 7.4)."""

from __future__ import annotations

import numpy as np

from gaits.compiling import compiled
from gaits.lanes import one_lane, part, sqrt, width
from gaits.physics.engine import planar
from gaits.physics.engine.algebra import get3, get9, mv


@compiled
def quaternion(m):
    """Of a rotation matrix (ENGINE 0.9)."""
    trace = m[0] + m[4] + m[8]
    if trace > 0.0:
        s = sqrt(trace + 1.0)
        t = 0.5 / s
        return (m[7] - m[5]) * t, (m[2] - m[6]) * t, (m[3] - m[1]) * t, s * 0.5
    if m[0] < m[4]:
        if m[4] < m[8]:
            return _largest(m[8], m[0], m[4], m[3] - m[1], m[6] + m[2], m[7] + m[5], 2)
        return _largest(m[4], m[8], m[0], m[2] - m[6], m[7] + m[5], m[3] + m[1], 1)
    if m[0] < m[8]:
        return _largest(m[8], m[0], m[4], m[3] - m[1], m[6] + m[2], m[7] + m[5], 2)
    return _largest(m[0], m[4], m[8], m[7] - m[5], m[3] + m[1], m[6] + m[2], 0)


@compiled
def _largest(ii, jj, kk, w, j, k, i):
    """With the largest diagonal item first, and x, y, z in cyclic order from it."""
    s = sqrt(((ii - jj) - kk) + 1.0)
    t = 0.5 / s
    if i == 0:
        return s * 0.5, j * t, k * t, w * t
    if i == 1:
        return k * t, s * 0.5, j * t, w * t
    return j * t, k * t, s * 0.5, w * t


@compiled
def read(robot, work, lane, body, state):
    """Fill a State of the step just made: joints are current, links are where they were a substep ago."""
    q, u = one_lane(work.q, lane), one_lane(work.u, lane)
    for j in range(body.n_joints):
        state.q[j] = q[body.coordinate[j]]
        state.qd[j] = u[body.coordinate[j]]
    now, before = one_lane(work.pose, lane), one_lane(work.before, lane)
    torso = now if body.torso < 0 else part(before, 12 * (1 + body.torso))
    rotation = get9(torso, 0)
    state.torso[0], state.torso[1], state.torso[2] = get3(torso, 9)
    state.torso[3], state.torso[4], state.torso[5], state.torso[6] = quaternion(rotation)
    if body.torso < 0:
        state.torso[7], state.torso[8], state.torso[9] = get3(u, 3)
    else:
        joint = one_lane(work.joint, lane)
        vx, vz = planar.turn(joint[0], joint[1], u[0], u[1])
        spin = robot.limb[2] * u[2]
        vx, vz = robot.limb[4] * spin + vx, vz - robot.limb[3] * spin
        velocity = mv(rotation, (vx, 0.0, vz))
        state.torso[7], state.torso[8], state.torso[9] = velocity[0], 0.0, velocity[2]
    for i in range(body.n_parts):
        link = body.parts[i]
        at = part(now if link == -1 else before, 12 * (1 + max(link, -1)) + 9)
        state.parts_x[i] = at[0] if link >= -1 else 0.0
        state.parts_y[i] = at[1] if link >= -1 else 0.0
    for f in range(body.n_feet):
        state.touching[f] = np.float32(0.0)
    for shape in range(robot.shapes):
        if work.points[width(work.q) * shape + lane] > 0:
            for f in range(body.n_feet):
                if robot.shape_link[shape] == 1 + body.feet[f]:
                    state.touching[f] = np.float32(1.0)
