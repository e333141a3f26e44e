"""Whole episodes of Gymnasium's MuJoCo robots without Python, compiled by Numba with the interpreter's lock released.

MuJoCo is reached through its public C functions, by symbol name, so ``gaits.physics.mujoco.load()`` must run before
anything here is called. Its state is read and written through NumPy views of MuJoCo's own memory.

The policy is that of all robots, ``policy.py``.
The arithmetic follows Gymnasium's to the bit under NumPy 2, where the cost of an action is a float32.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from gaits.compiling import compiled, entry
from gaits.episodes.episode import NON_FINITE, TERMINATED, TRUNCATED
from gaits.lanes import ONE, lanes
from gaits.physics.policy import choose_action, lay_out, view_network
from gaits.physics.walking import pairwise_sum


@compiled
def copy(source, target):
    """target[:] = source, without the shape check whose error message takes Numba three seconds to compile."""
    for i in range(target.size):
        target[i] = source[i]


# MuJoCo reports a warning, on stdout and in a file, when it counts the first of its kind. Counters start here instead of
# at zero, so it stays quiet; and they leave here when MuJoCo resets an unstable simulation, which clears them.
COUNTED = 1 << 20


class Body(NamedTuple):
    """A robot in a simulation of its own: F feet. Arrays marked * are views of MuJoCo's memory."""

    model: int
    data: int
    qpos: np.ndarray  # *
    qvel: np.ndarray  # *
    ctrl: np.ndarray  # *
    x: np.ndarray  # * (1,) the position that is rewarded
    forces: np.ndarray  # * (bodies, 6); no rows for a robot that does not observe them
    warnings: np.ndarray  # * counters
    floor: int
    feet: np.ndarray  # (F,) geoms
    reach: np.ndarray  # (F,) distance to the floor below which MuJoCo has a contact
    frame_skip: int
    seconds: float  # per step
    hidden: int
    velocity_clip: float
    healthy: np.ndarray  # (3, 2) ranges of height, pitch, and state from the pitch on
    healthy_reward: float
    control_cost: np.float32
    contact_cost: float


class State(NamedTuple):
    """What an episode writes at every step."""

    obs: np.ndarray  # (obs_dim,) float32
    touching: np.ndarray  # (F,) contact flags of the step just made
    square: np.ndarray  # (actions,) float32 scratch
    forces: np.ndarray  # (6 * bodies,) scratch


_pointer, _int, _double = types.intp, types.int32, types.float64

mj_step = types.ExternalFunction("mj_step", types.void(_pointer, _pointer))
mj_forward = types.ExternalFunction("mj_forward", types.void(_pointer, _pointer))
mj_reset = types.ExternalFunction("mj_resetData", types.void(_pointer, _pointer))
mj_contact_forces = types.ExternalFunction("mj_rnePostConstraint", types.void(_pointer, _pointer))
mj_distance = types.ExternalFunction("mj_geomDistance", _double(_pointer, _pointer, _int, _int, _double, _pointer))


@compiled
def reset(body, state, qpos, qvel):
    """Start an episode at these positions and velocities."""
    mj_reset(body.model, body.data)
    body.warnings[:] = COUNTED
    copy(qpos, body.qpos)
    copy(qvel, body.qvel)
    mj_forward(body.model, body.data)
    observe(body, state)


@compiled
def simulate(body, action):
    """What Gymnasium asks of MuJoCo in a step. Returns whether the simulation stayed stable."""
    for j in range(action.size):
        body.ctrl[j] = action[j]
    for _ in range(body.frame_skip):
        mj_step(body.model, body.data)
    if body.forces.shape[0] > 0:
        mj_contact_forces(body.model, body.data)
    return body.warnings[0] == COUNTED


@compiled
def observe(body, state):
    obs, clip = state.obs, body.velocity_clip
    n = 0
    for i in range(body.hidden, body.qpos.size):
        obs[n] = body.qpos[i]
        n += 1
    for i in range(body.qvel.size):
        obs[n] = min(max(body.qvel[i], -clip), clip)
        n += 1
    for b in range(1, body.forces.shape[0]):  # the first is the world
        for i in range(6):
            obs[n] = min(max(body.forces[b, i], -1.0), 1.0)
            n += 1


@compiled
def touch(body, state):
    """Contacts with the floor, as they stand in MuJoCo's list after the step."""
    for f in range(body.feet.size):
        reach = body.reach[f]
        state.touching[f] = mj_distance(body.model, body.data, body.floor, body.feet[f], reach, 0) < reach


@compiled
def is_finite(body):
    finite = True
    for i in range(body.qpos.size):
        finite &= math.isfinite(body.qpos[i])
    for i in range(body.qvel.size):
        finite &= math.isfinite(body.qvel[i])
    for b in range(body.forces.shape[0]):
        for i in range(6):
            finite &= math.isfinite(body.forces[b, i])
    return finite


@compiled
def is_healthy(body):
    height, pitch = body.hidden, body.hidden + 1
    low, high = body.healthy[2, 0], body.healthy[2, 1]
    healthy = body.healthy[0, 0] < body.qpos[height] < body.healthy[0, 1]
    healthy &= body.healthy[1, 0] < body.qpos[pitch] < body.healthy[1, 1]
    for i in range(pitch, body.qpos.size):
        healthy &= low < body.qpos[i] < high
    for i in range(body.qvel.size):
        healthy &= low < body.qvel[i] < high
    return healthy


@compiled
def costs(body, state, action):
    """The cost of using the motors, in float32 as Gymnasium has it, and of touching things."""
    for j in range(action.size):
        state.square[j] = action[j] * action[j]
    motors = np.float64(body.control_cost * pairwise_sum(state.square, state.square.size))
    if body.forces.shape[0] == 0:
        return motors
    for b in range(body.forces.shape[0]):
        for i in range(6):
            force = min(max(body.forces[b, i], -1.0), 1.0)
            state.forces[6 * b + i] = force * force
    return motors + body.contact_cost * pairwise_sum(state.forces, state.forces.size)


@compiled
def step(body, state, action):
    """One step of the environment. Returns (reward, how it ended or TRUNCATED)."""
    for j in range(action.size):
        if not math.isfinite(action[j]):
            return 0.0, NON_FINITE
    before = body.x[0]
    if not simulate(body, action) or not is_finite(body):
        return 0.0, NON_FINITE
    observe(body, state)
    touch(body, state)
    healthy = is_healthy(body)
    reward = (body.x[0] - before) / body.seconds + (body.healthy_reward if healthy else 0.0)
    return reward - costs(body, state, action), TRUNCATED if healthy else TERMINATED


@entry("MuJoCo's episodes", 10)
def rollout(
    body,
    state,
    qpos,
    qvel,
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

    Fills ``measures``; fills ``obs`` (length + 1 rows), ``actions`` and ``rewards`` if they have room for max_steps, and so
    ``positions`` (length + 1 rows) and ``contacts``. A step whose numbers are not finite is not part of the episode.
    """
    net, laid_out = view_network(network), lanes(weights, ONE)
    lay_out(net, lanes(solution, ONE), laid_out)
    action = np.empty(state.square.size, np.float32)
    record, trace = rewards.size >= max_steps, contacts.shape[0] >= max_steps

    reset(body, state, qpos, qvel)
    if record:
        copy(state.obs, obs[0])
    if trace:
        copy(body.qpos, positions[0])
    touched = np.zeros(body.feet.size)
    objective, length, end = 0.0, 0, TRUNCATED
    while length < max_steps and end == TRUNCATED:
        choose_action(net, laid_out, lanes(state.obs, ONE), lanes(mean, ONE), lanes(std, ONE), lanes(action, ONE))
        if length < noise.shape[0]:
            action += noise[length]
        reward, end = step(body, state, action)
        if end == NON_FINITE:
            break
        if record:
            copy(action, actions[length])
            rewards[length] = reward
            copy(state.obs, obs[length + 1])
        if trace:
            copy(body.qpos, positions[length + 1])
            copy(state.touching, contacts[length])
        objective += reward
        for f in range(touched.size):
            touched[f] += state.touching[f]
        length += 1
    for m in range(measures.size):
        measures[m] = touched[m] / max(length, 1)
    return objective, length, end
