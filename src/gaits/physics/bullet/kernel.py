"""Whole episodes in Bullet without Python: policy, torques, physics, observation, reward, contacts, measures, termination.

Compiled by Numba with the interpreter's lock released. Bullet is reached through its C API, by symbol name, so
``capi.load()`` must run before anything here is called.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import carray, types

from gaits.compiling import compiled, entry
from gaits.episodes.episode import NON_FINITE, TRUNCATED
from gaits.lanes import ONE, intrinsic, lanes
from gaits.physics.policy import choose_action, lay_out, view_network
from gaits.physics.walking import begin, judge

TORQUE_CONTROL = 1
LIFT_HEIGHT = 1000.0


class Ids(NamedTuple):
    """Where Bullet keeps a robot."""

    body: int
    floor: int
    all_q_index: np.ndarray  # of every joint that moves, actuated or not
    q_index: np.ndarray  # (J,) into Bullet's joint positions
    u_index: np.ndarray  # (J,) into Bullet's joint velocities
    pointers: np.ndarray  # (13,) scratch for Bullet's out-arguments


@compiled
def copy(source, target):
    """target[:] = source, without the shape check whose error message takes Numba three seconds to compile."""
    for i in range(target.size):
        target[i] = source[i]


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
def request_body(client, ids, body):
    """Ask for the robot's state; ids.pointers then holds where Bullet put it."""
    command = request_state(client, ids.body)
    if body.torso >= 0:
        compute_velocity(command, 1)
    status = submit(client, command)
    at = ids.pointers.ctypes.data
    get_state(status, at, at + 8, at + 16, at + 24, at + 32, at + 40, at + 48, at + 56, at + 64, at + 72, at + 80, at + 88)


@entry("Bullet's positions", 2)
def read_positions(client, ids, body, out):
    """The first generalized positions: base position, base quaternion, joints."""
    request_body(client, ids, body)
    copy(carray(_pointer(ids.pointers[5]), out.size, np.float64), out)


@compiled
def read_bullet(client, ids, body, state):
    """Joints, torso, parts and floor contacts, after a step or a reset."""
    request_body(client, ids, body)
    p = ids.pointers
    n_links = (p[1] & 0xFFFFFFFF) + 1
    base_q = carray(_pointer(p[5]), 7 + n_links, np.float64)
    base_u = carray(_pointer(p[6]), 6 + n_links, np.float64)
    link = carray(_pointer(p[10]), (n_links, 7), np.float64)
    link_velocity = carray(_pointer(p[11]), (n_links, 6), np.float64)

    for j in range(body.n_joints):
        state.q[j] = base_q[ids.q_index[j]]
        state.qd[j] = base_u[ids.u_index[j]]
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
        if part >= 0:
            state.parts_x[i], state.parts_y[i] = link[part, 0], link[part, 1]
        elif part == -1:
            state.parts_x[i], state.parts_y[i] = base_q[0], base_q[1]
        else:
            state.parts_x[i], state.parts_y[i] = 0.0, 0.0

    command = request_contacts(client)
    contacts_of(command, ids.body)
    contacts_with(command, ids.floor)
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
def pose_joints(command, q_index, angles):
    """Put joints at these angles, at rest, with the pose command."""
    n = q_index.max() + 1
    q, has_q = np.zeros(n), np.zeros(n, np.int32)
    for j in range(q_index.size):
        q[q_index[j]] = angles[j]
        has_q[q_index[j]] = 1
    pose_q(command, n, q.ctypes.data, has_q.ctypes.data)


@entry("Bullet's reset", 5)
def reset_bullet(client, saved, ids, body, state, q0):
    """Start an episode: forget the last one, restore the saved state, put the actuated joints at ``q0``, at rest.

    Bullet's saved states leave contact points alone. Points from the end of the last episode that happen to fit the
    start of this one would survive and change its first step (about 1 in 500 on Hopper, in QDGym too). So the robot is
    first lifted off the ground, straight, for one collision pass, which drops them all.
    """
    command = create_pose(client, ids.body)
    pose_base(command, 0.0, 0.0, LIFT_HEIGHT)
    pose_joints(command, ids.all_q_index, np.zeros(ids.all_q_index.size))
    submit(client, command)
    submit(client, detect_collisions(client))

    command = load_state(client)
    load_state_id(command, saved)
    submit(client, command)
    command = create_pose(client, ids.body)
    pose_joints(command, ids.q_index, q0)
    submit(client, command)
    read_bullet(client, ids, body, state)
    begin(body, state)


@compiled
def apply_torques(client, ids, body, action):
    command = joint_control(client, ids.body, TORQUE_CONTROL)
    for j in range(action.size):
        joint_torque(command, ids.u_index[j], body.torques[j] * min(max(np.float64(action[j]), -1.0), 1.0))
    submit(client, command)


@entry("Bullet's step", 5)
def step_bullet(client, ids, body, state, action):
    """One step of the environment. Returns (reward, how it ended or TRUNCATED)."""
    for j in range(action.size):
        if not math.isfinite(action[j]):
            return 0.0, NON_FINITE
    apply_torques(client, ids, body, action)
    submit(client, step_simulation(client))
    read_bullet(client, ids, body, state)
    return judge(body, state, action)


@entry("Bullet's replay", 5)
def replay(client, saved, ids, body, state, q0, actions):
    """Bullet alone, to be measured: the torques of a recorded episode, and stepSimulation."""
    reset_bullet(client, saved, ids, body, state, q0)
    for t in range(actions.shape[0]):
        apply_torques(client, ids, body, actions[t])
        submit(client, step_simulation(client))


# ---------------------------------------------------------------------------------------------------------------------
# Episodes
# ---------------------------------------------------------------------------------------------------------------------


@entry("Bullet's episodes", 15)
def rollout(
    client,
    saved,
    ids,
    body,
    state,
    q0,
    max_steps,
    network,
    weights,
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
    net, laid_out = view_network(network), lanes(weights, ONE)
    lay_out(net, lanes(solution, ONE), laid_out)
    action = np.empty(body.n_joints, np.float32)
    record, trace = rewards.size >= max_steps, contacts.shape[0] >= max_steps

    reset_bullet(client, saved, ids, body, state, q0)
    if record:
        copy(state.obs, obs[0])
    if trace:
        read_positions(client, ids, body, positions[0])
    touched = np.zeros(body.n_feet)
    objective, length, end = 0.0, 0, TRUNCATED
    while length < max_steps and end == TRUNCATED:
        choose_action(net, laid_out, lanes(state.obs, ONE), lanes(mean, ONE), lanes(std, ONE), lanes(action, ONE))
        if length < noise.shape[0]:
            action += noise[length]
        reward, end = step_bullet(client, ids, body, state, action)
        if end == NON_FINITE:
            break
        if record:
            copy(action, actions[length])
            rewards[length] = reward
            copy(state.obs, obs[length + 1])
        if trace:
            read_positions(client, ids, body, positions[length + 1])
            copy(state.contact, contacts[length])
        objective += reward
        touched += state.contact
        length += 1
    for m in range(measures.size):
        measures[m] = touched[body.measured_feet[m]] / max(length, 1)
    return objective, length, end
