"""Whole episodes without Python: policy, torques, physics, observation, reward, contacts, measures, termination.

Compiled by Numba with the interpreter's lock released, and cached on disk. Bullet is reached through its C API, by
symbol name, so ``capi.load()`` must run before anything here is called. All of it stays in this one file: Numba's
cache notices a change of the file a function is in, not of the files it calls into (``mujoco_kernel.py`` and
``bench/rollout.py`` call into this one).

The arithmetic follows QDGym's to the bit where it can show: float32 where NumPy used float32, and sums in the order of
NumPy's pairwise summation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

from gaits.episodes.episode import NON_FINITE, TERMINATED, TRUNCATED

SECONDS_PER_STEP = 0.0165
TARGET_DISTANCE = 1000.0
OBS_CLIP = np.float32(5.0)
TORQUE_CONTROL = 1
LIFT_HEIGHT = 1000.0

# Without the numpy error model every division checks for zero and raises, which keeps loops from being vectorized.
compiled = njit(nogil=True, cache=True, error_model="numpy")


class Body(NamedTuple):
    """A robot as the kernel needs it: J joints, F feet, P parts, M measured feet."""

    body: int
    floor: int
    torso: int  # link index; -1 is the base
    all_q_index: np.ndarray  # of every joint that moves, actuated or not
    q_index: np.ndarray  # (J,) into Bullet's joint positions
    u_index: np.ndarray  # (J,) into Bullet's joint velocities
    middle: np.ndarray  # (J,) float64, middle of the joint range
    width: np.ndarray  # (J,) float64, width of the joint range
    torques: np.ndarray  # (J,) float64, torque at full action
    feet: np.ndarray  # (F,) link indices
    parts: np.ndarray  # (P,) link indices, in QDGym's order; -2 is the floor
    measured_feet: np.ndarray  # (M,) positions in feet
    no_touch: np.ndarray  # positions in feet
    alive_bonus: float
    min_height: float
    max_pitch: float
    terminates: bool
    initial_height: float
    electricity_cost: float
    stall_cost: float


class State(NamedTuple):
    """What a simulator reads from Bullet after a step, and what it remembers between steps."""

    q: np.ndarray  # (J,) joint angles
    qd: np.ndarray  # (J,) joint velocities
    torso: np.ndarray  # (10,) position, quaternion (x, y, z, w), velocity
    parts_xy: np.ndarray  # (2, P)
    touching: np.ndarray  # (F,) float32 contact flags of the step just made
    contact: np.ndarray  # (F,) float32 contact flags one step older: those that are observed
    memory: np.ndarray  # (2,) initial height, potential
    obs: np.ndarray  # (obs_dim,) float32
    speeds: np.ndarray  # (J,) float32 scaled joint velocities
    power: np.ndarray  # (J,) float32 scratch
    square: np.ndarray  # (J,) float32 scratch
    terms: np.ndarray  # (4,) alive, progress, electricity, joints at limit
    pointers: np.ndarray  # (13,) scratch for Bullet's out-arguments


@compiled
def copy(source, target):
    """target[:] = source, without the shape check whose error message takes Numba three seconds to compile."""
    for i in range(target.size):
        target[i] = source[i]


# ---------------------------------------------------------------------------------------------------------------------
# Policy
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def transpose_weights(sizes, solution, out):
    """Lay every weight matrix out by input, so that the forward pass is a sum of whole rows."""
    start = 0
    for layer in range(sizes.size - 1):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        for block in range(0, n_out, 8):  # eight rows are read side by side, so that writes come in runs
            for i in range(n_in):
                for o in range(block, min(block + 8, n_out)):
                    out[start + i * n_out + o] = solution[start + o * n_in + i]
        start += n_in * n_out
        copy(solution[start : start + n_out], out[start : start + n_out])
        start += n_out


# tanh(x) = x P(x²) / Q(x²) for |x| <= 8, beyond which float32 cannot tell it from ±1. A minimax fit of our own: 6e-9
# relative, a few ulp once rounded, never beyond ±1. Only sums, products and a division, so it vectorizes and gives the
# same bits with every maths library.
P0 = np.float32(0.999999993630459)
P1 = np.float32(0.13444518826086832)
P2 = np.float32(0.0035716226405614047)
P3 = np.float32(2.189506403526273e-05)
P4 = np.float32(1.523097549824462e-08)
Q1 = np.float32(0.46777846167117476)
Q2 = np.float32(0.026164536919594375)
Q3 = np.float32(0.00034113321099019594)
Q4 = np.float32(8.522674396874253e-07)
TANH_EDGE = np.float32(8.0)


@compiled
def tanh32(x):
    if x < -TANH_EDGE:  # not min and max: they would turn NaN into a number
        x = -TANH_EDGE
    if x > TANH_EDGE:
        x = TANH_EDGE
    y = x * x
    p = (((P4 * y + P3) * y + P2) * y + P1) * y + P0
    q = (((Q4 * y + Q3) * y + Q2) * y + Q1) * y + np.float32(1.0)
    return x * p / q


@compiled
def forward(sizes, weights, x, buffer, action):
    """action = policy(x). ``weights`` come from transpose_weights, ``buffer`` has room for two of the widest layer."""
    half = buffer.size // 2
    start = 0
    source = x
    for layer in range(sizes.size - 1):
        n_in, n = sizes[layer], sizes[layer + 1]
        offset = half * (layer % 2)
        target = buffer[offset : offset + n]
        copy(weights[start + n_in * n :], target)
        i = 0
        while i + 4 <= n_in:  # four rows at a time, added in order: the target is loaded and stored a quarter as often
            row = weights[start + i * n : start + (i + 4) * n]
            x0, x1, x2, x3 = source[i], source[i + 1], source[i + 2], source[i + 3]
            for o in range(n):
                target[o] = (((target[o] + row[o] * x0) + row[n + o] * x1) + row[2 * n + o] * x2) + row[3 * n + o] * x3
            i += 4
        while i < n_in:
            row = weights[start + i * n : start + (i + 1) * n]
            x0 = source[i]
            for o in range(n):
                target[o] += row[o] * x0
            i += 1
        for o in range(n):
            target[o] = tanh32(target[o])
        start += n_in * n + n
        source = target
    copy(source, action)


# ---------------------------------------------------------------------------------------------------------------------
# QDGym's observation and reward, from a State that somebody filled
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def pairwise_sum(values):
    """The sum of fewer than 128 numbers, in the order in which NumPy adds them."""
    n = values.size
    if n < 8:
        total = values[0]
        for i in range(1, n):
            total += values[i]
        return total
    r = values[:8].copy()
    whole = n - n % 8
    for i in range(8, whole, 8):
        r += values[i : i + 8]
    total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    for i in range(whole, n):
        total += values[i]
    return total


@compiled
def euler(x, y, z, w):
    """Roll, pitch and yaw as pybullet defines them: at ±90° of pitch the roll is 0."""
    sine = -2.0 * (x * z - w * y)
    if sine <= -0.99999:
        return 0.0, -0.5 * math.pi, 2.0 * math.atan2(x, -y)
    if sine >= 0.99999:
        return 0.0, 0.5 * math.pi, 2.0 * math.atan2(-x, y)
    roll = math.atan2(2.0 * (y * z + w * x), w * w - x * x - y * y + z * z)
    yaw = math.atan2(2.0 * (x * y + w * z), w * w + x * x - y * y - z * z)
    return roll, math.asin(sine), yaw


@compiled
def observe(body, state):
    """Fill state.obs and state.speeds. Returns the potential, the pitch, and the number of joints at their limit."""
    n_joints = body.torques.size
    n_parts = body.parts.size
    x = pairwise_sum(state.parts_xy[0]) / n_parts
    y = pairwise_sum(state.parts_xy[1]) / n_parts
    t = state.torso
    roll, pitch, yaw = euler(t[3], t[4], t[5], t[6])
    angle = math.atan2(-y, TARGET_DISTANCE - x) - yaw
    cos, sin = math.cos(-yaw), math.sin(-yaw)

    obs = state.obs
    obs[0] = t[2] - state.memory[0]
    obs[1] = math.sin(angle)
    obs[2] = math.cos(angle)
    obs[3] = 0.3 * (cos * t[7] - sin * t[8])
    obs[4] = 0.3 * (sin * t[7] + cos * t[8])
    obs[5] = 0.3 * t[9]
    obs[6] = roll
    obs[7] = pitch
    at_limit = 0
    for j in range(n_joints):
        position = np.float32(2.0 * (state.q[j] - body.middle[j]) / body.width[j])
        state.speeds[j] = 0.1 * state.qd[j]
        obs[8 + 2 * j] = position
        obs[9 + 2 * j] = state.speeds[j]
        if abs(position) > np.float32(0.99):
            at_limit += 1
    for f in range(body.feet.size):
        obs[8 + 2 * n_joints + f] = state.contact[f]
    for i in range(obs.size):
        if obs[i] > OBS_CLIP:
            obs[i] = OBS_CLIP
        elif obs[i] < -OBS_CLIP:
            obs[i] = -OBS_CLIP
    dx = TARGET_DISTANCE - x
    return -math.sqrt(y * y + dx * dx) / SECONDS_PER_STEP, pitch, at_limit


@compiled
def begin(body, state):
    """The first observation of an episode, once Bullet's state at the start was read."""
    state.contact[:] = 0.0
    state.memory[0] = state.torso[2] if math.isnan(body.initial_height) else body.initial_height
    state.memory[1] = observe(body, state)[0]
    state.terms[:] = 0.0


@compiled
def judge(body, state, action):
    """Observation and reward of the step just made. Returns (reward, how it ended or TRUNCATED)."""
    potential, pitch, at_limit = observe(body, state)
    finite = True
    for i in range(state.obs.size):
        finite &= math.isfinite(state.obs[i])
    if not (finite and math.isfinite(potential)):
        return 0.0, NON_FINITE

    alive = state.obs[0] + state.memory[0] > body.min_height and abs(pitch) < body.max_pitch
    for f in body.no_touch:
        alive &= state.contact[f] == 0.0  # flags of the step before, as in QDGym
    copy(state.touching, state.contact)

    n = np.float32(action.size)
    state.terms[0] = body.alive_bonus if alive else -1.0
    state.terms[1] = potential - state.memory[1]
    for j in range(action.size):
        state.power[j] = abs(action[j] * state.speeds[j])
        state.square[j] = action[j] * action[j]
    state.terms[2] = body.electricity_cost * (pairwise_sum(state.power) / n)
    state.terms[2] += body.stall_cost * (pairwise_sum(state.square) / n)
    state.terms[3] = -0.1 * at_limit
    state.memory[1] = potential
    reward = ((state.terms[0] + state.terms[1]) + state.terms[2]) + state.terms[3]
    return reward, TERMINATED if body.terminates and not alive else TRUNCATED


# ---------------------------------------------------------------------------------------------------------------------
# Bullet's C API
# ---------------------------------------------------------------------------------------------------------------------

_handle, _int, _double = types.intp, types.int32, types.float64


def _external(name, returns, *arguments):
    return types.ExternalFunction(name, returns(*arguments))


submit = _external("b3SubmitClientCommandAndWaitStatus", _handle, _handle, _handle)
load_state = _external("b3LoadStateCommandInit", _handle, _handle)
load_state_id = _external("b3LoadStateSetStateId", _int, _handle, _int)
create_pose = _external("b3CreatePoseCommandInit", _handle, _handle, _int)
pose_base = _external("b3CreatePoseCommandSetBasePosition", _int, _handle, _double, _double, _double)
pose_q = _external("b3CreatePoseCommandSetQ", _int, _handle, _int, _handle, _handle)
detect_collisions = _external("b3InitPerformCollisionDetectionCommand", _handle, _handle)
joint_control = _external("b3JointControlCommandInit2", _handle, _handle, _int, _int)
joint_torque = _external("b3JointControlSetDesiredForceTorque", _int, _handle, _int, _double)
step_simulation = _external("b3InitStepSimulationCommand", _handle, _handle)
request_state = _external("b3RequestActualStateCommandInit", _handle, _handle, _int)
compute_velocity = _external("b3RequestActualStateCommandComputeLinkVelocity", _int, _handle, _int)
get_state = _external("b3GetStatusActualState2", _int, *([_handle] * 13))
request_contacts = _external("b3InitRequestContactPointInformation", _handle, _handle)
contacts_of = _external("b3SetContactFilterBodyA", types.void, _handle, _int)
contacts_with = _external("b3SetContactFilterBodyB", types.void, _handle, _int)
get_contacts = _external("b3GetContactPointInformation", types.void, _handle, _handle)

CONTACT_INTS = 44  # a b3ContactPointData is 176 bytes
LINK_A = 3  # its fourth int


@intrinsic
def _pointer(typingctx, address):
    """An address as a pointer that carray can read."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.intp), codegen


@compiled
def request_body(client, body, state):
    """Ask for the robot's state; state.pointers then holds where Bullet put it."""
    command = request_state(client, body.body)
    if body.torso >= 0:
        compute_velocity(command, 1)
    status = submit(client, command)
    at = state.pointers.ctypes.data
    get_state(status, at, at + 8, at + 16, at + 24, at + 32, at + 40, at + 48, at + 56, at + 64, at + 72, at + 80, at + 88)


@compiled
def read_positions(client, body, state, out):
    """The first generalized positions: base position, base quaternion, joints."""
    request_body(client, body, state)
    copy(carray(_pointer(state.pointers[5]), out.size, np.float64), out)


@compiled
def read_bullet(client, body, state):
    """Joints, torso, parts and floor contacts, after a step or a reset."""
    request_body(client, body, state)
    p = state.pointers
    n_links = (p[1] & 0xFFFFFFFF) + 1
    base_q = carray(_pointer(p[5]), 7 + n_links, np.float64)
    base_u = carray(_pointer(p[6]), 6 + n_links, np.float64)
    link = carray(_pointer(p[10]), (n_links, 7), np.float64)
    link_velocity = carray(_pointer(p[11]), (n_links, 6), np.float64)

    for j in range(body.q_index.size):
        state.q[j] = base_q[body.q_index[j]]
        state.qd[j] = base_u[body.u_index[j]]
    if body.torso < 0:
        copy(base_q, state.torso[:7])
        copy(base_u, state.torso[7:])
    else:
        copy(link[body.torso], state.torso[:7])
        state.torso[7] = link_velocity[body.torso, 0]
        state.torso[8] = link_velocity[body.torso, 5]  # QDGym puts the angular velocity about z where vy belongs
        state.torso[9] = link_velocity[body.torso, 2]
    for i in range(body.parts.size):
        part = body.parts[i]
        for axis in range(2):
            if part >= 0:
                state.parts_xy[axis, i] = link[part, axis]
            elif part == -1:
                state.parts_xy[axis, i] = base_q[axis]
            else:
                state.parts_xy[axis, i] = 0.0

    command = request_contacts(client)
    contacts_of(command, body.body)
    contacts_with(command, body.floor)
    submit(client, command)
    get_contacts(client, p.ctypes.data)
    state.touching[:] = 0.0
    n_points = p[0] & 0xFFFFFFFF
    if n_points > 0:
        points = carray(_pointer(p[1]), (n_points, CONTACT_INTS), np.int32)
        for i in range(n_points):
            for f in range(body.feet.size):
                if points[i, LINK_A] == body.feet[f]:
                    state.touching[f] = 1.0


@compiled
def pose_joints(command, body, q_index, angles):
    """Put joints at these angles, at rest, with the pose command."""
    n = q_index.max() + 1
    q, has_q = np.zeros(n), np.zeros(n, np.int32)
    for j in range(q_index.size):
        q[q_index[j]] = angles[j]
        has_q[q_index[j]] = 1
    pose_q(command, n, q.ctypes.data, has_q.ctypes.data)


@compiled
def reset_bullet(client, saved, body, state, q0):
    """Start an episode: forget the last one, restore the saved state, put the actuated joints at ``q0``, at rest.

    Bullet's saved states leave contact points alone. Points from the end of the last episode that happen to fit the
    start of this one would survive and change its first step (about 1 in 500 on Hopper, in QDGym too). So the robot is
    first lifted off the ground, straight, for one collision pass, which drops them all.
    """
    command = create_pose(client, body.body)
    pose_base(command, 0.0, 0.0, LIFT_HEIGHT)
    pose_joints(command, body, body.all_q_index, np.zeros(body.all_q_index.size))
    submit(client, command)
    submit(client, detect_collisions(client))

    command = load_state(client)
    load_state_id(command, saved)
    submit(client, command)
    command = create_pose(client, body.body)
    pose_joints(command, body, body.q_index, q0)
    submit(client, command)
    read_bullet(client, body, state)
    begin(body, state)


@compiled
def apply_torques(client, body, action):
    command = joint_control(client, body.body, TORQUE_CONTROL)
    for j in range(action.size):
        joint_torque(command, body.u_index[j], body.torques[j] * min(max(np.float64(action[j]), -1.0), 1.0))
    submit(client, command)


@compiled
def step_bullet(client, body, state, action):
    """One step of the environment. Returns (reward, how it ended or TRUNCATED)."""
    for j in range(action.size):
        if not math.isfinite(action[j]):
            return 0.0, NON_FINITE
    apply_torques(client, body, action)
    submit(client, step_simulation(client))
    read_bullet(client, body, state)
    return judge(body, state, action)


# ---------------------------------------------------------------------------------------------------------------------
# Episodes
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def choose_action(sizes, weights, state, mean, std, noise, t, normalized, buffer, action):
    """action = policy((obs - mean) / std) + noise[t]. Without noise the array has no rows."""
    for i in range(normalized.size):
        normalized[i] = (state.obs[i] - mean[i]) / std[i]
    forward(sizes, weights, normalized, buffer, action)
    if t < noise.shape[0]:
        action += noise[t]


@compiled
def rollout(
    client,
    saved,
    body,
    state,
    q0,
    max_steps,
    sizes,
    solution,
    mean,
    std,
    noise,
    measures,
    obs,
    actions,
    rewards,
    positions,
    contacts,
):
    """Play one episode. Returns (objective, length, how it ended).

    Fills ``measures``; fills ``obs`` (length + 1 rows), ``actions`` and ``rewards`` if they have room for max_steps, and
    so ``positions`` (length + 1 rows) and ``contacts``. A step whose numbers are not finite is not part of the episode.
    """
    weights = np.empty_like(solution)
    transpose_weights(sizes, solution, weights)
    buffer = np.empty(2 * sizes.max(), np.float32)
    normalized = np.empty(sizes[0], np.float32)
    action = np.empty(sizes[-1], np.float32)
    record, trace = rewards.size >= max_steps, contacts.shape[0] >= max_steps

    reset_bullet(client, saved, body, state, q0)
    if record:
        copy(state.obs, obs[0])
    if trace:
        read_positions(client, body, state, positions[0])
    touched = np.zeros(body.feet.size)
    objective, length, end = 0.0, 0, TRUNCATED
    while length < max_steps and end == TRUNCATED:
        choose_action(sizes, weights, state, mean, std, noise, length, normalized, buffer, action)
        reward, end = step_bullet(client, body, state, action)
        if end == NON_FINITE:
            break
        if record:
            copy(action, actions[length])
            rewards[length] = reward
            copy(state.obs, obs[length + 1])
        if trace:
            read_positions(client, body, state, positions[length + 1])
            copy(state.contact, contacts[length])
        objective += reward
        touched += state.contact
        length += 1
    for m in range(measures.size):
        measures[m] = touched[body.measured_feet[m]] / max(length, 1)
    return objective, length, end
