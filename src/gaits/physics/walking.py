"""QDGym's observation and reward, from a State that some physics filled.

The arithmetic follows QDGym's to the bit where it can show: float32 where NumPy used float32, and sums in the order of
NumPy's pairwise summation.

In compiled code a Body's and a State's arrays are views (``view_body``, ``view_states``): a slice of an array counts its
references, which takes longer than what is done with it here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaits.compiling import compiled, inline
from gaits.episodes.episode import NON_FINITE, TERMINATED, TRUNCATED
from gaits.lanes import ONE, lanes, part

SECONDS_PER_STEP = 0.0165
TARGET_DISTANCE = 1000.0
OBS_CLIP = np.float32(5.0)


class Body(NamedTuple):
    """A robot that walks: J joints, F feet, P parts, M measured feet, K feet that must not touch the ground."""

    n_joints: int
    n_feet: int
    n_parts: int
    n_measured: int
    n_no_touch: int
    torso: int  # link index; -1 is the base
    coordinate: np.ndarray  # (J,) of the actuated joints
    middle: np.ndarray  # (J,) float64, middle of the joint range
    width: np.ndarray  # (J,) float64, width of the joint range
    torques: np.ndarray  # (J,) float64, torque at full action
    feet: np.ndarray  # (F,) link indices
    parts: np.ndarray  # (P,) link indices, in QDGym's order; -2 is the floor
    measured_feet: np.ndarray  # (M,) positions in feet
    no_touch: np.ndarray  # (K,) positions in feet
    alive_bonus: float
    min_height: float
    max_pitch: float
    terminates: bool
    initial_height: float  # NaN: the torso's
    electricity_cost: float
    stall_cost: float

    @property
    def n_obs(self) -> int:
        return 8 + 2 * self.n_joints + self.n_feet


class State(NamedTuple):
    """What is seen of a robot after a step, and what is remembered between steps."""

    q: np.ndarray  # (J,) joint angles
    qd: np.ndarray  # (J,) joint velocities
    torso: np.ndarray  # (10,) position, quaternion (x, y, z, w), velocity
    parts_x: np.ndarray  # (P,)
    parts_y: np.ndarray  # (P,)
    touching: np.ndarray  # (F,) float32 contact flags of the step just made
    contact: np.ndarray  # (F,) float32 contact flags one step older: those that are observed
    memory: np.ndarray  # (2,) initial height, potential
    obs: np.ndarray  # (n_obs,) float32
    speeds: np.ndarray  # (J,) float32 scaled joint velocities
    power: np.ndarray  # (J,) float32 scratch
    square: np.ndarray  # (J,) float32 scratch
    terms: np.ndarray  # (4,) alive, progress, electricity, joints at limit


def make_states(body: Body, n: int) -> State:
    """Room for n robots, one after another."""
    joints = body.n_joints

    def numbers(size: int, kind: type = np.float64) -> np.ndarray:
        return np.zeros((n, size), kind)

    return State(
        q=numbers(joints),
        qd=numbers(joints),
        torso=numbers(10),
        parts_x=numbers(body.n_parts),
        parts_y=numbers(body.n_parts),
        touching=numbers(body.n_feet, np.float32),
        contact=numbers(body.n_feet, np.float32),
        memory=numbers(2),
        obs=numbers(body.n_obs, np.float32),
        speeds=numbers(joints, np.float32),
        power=numbers(joints, np.float32),
        square=numbers(joints, np.float32),
        terms=numbers(4),
    )


def take_state(states: State, i: int) -> State:
    """The i-th of several robots."""
    return State(*(array[i] for array in states))


@inline
def view_body(b):
    return Body(
        *(
            b.n_joints,
            b.n_feet,
            b.n_parts,
            b.n_measured,
            b.n_no_touch,
            b.torso,
            lanes(b.coordinate, ONE),
            lanes(b.middle, ONE),
        ),
        *(lanes(b.width, ONE), lanes(b.torques, ONE), lanes(b.feet, ONE), lanes(b.parts, ONE), lanes(b.measured_feet, ONE)),
        *(lanes(b.no_touch, ONE), b.alive_bonus, b.min_height, b.max_pitch, b.terminates, b.initial_height),
        *(b.electricity_cost, b.stall_cost),
    )


@inline
def view_states(s):
    return State(
        *(lanes(s.q, ONE), lanes(s.qd, ONE), lanes(s.torso, ONE), lanes(s.parts_x, ONE), lanes(s.parts_y, ONE)),
        *(lanes(s.touching, ONE), lanes(s.contact, ONE), lanes(s.memory, ONE), lanes(s.obs, ONE), lanes(s.speeds, ONE)),
        *(lanes(s.power, ONE), lanes(s.square, ONE), lanes(s.terms, ONE)),
    )


@inline
def state_of(body, states, i):
    """The i-th of several robots."""
    joints, feet, parts = i * body.n_joints, i * body.n_feet, i * body.n_parts
    return State(
        *(part(states.q, joints), part(states.qd, joints), part(states.torso, 10 * i)),
        *(part(states.parts_x, parts), part(states.parts_y, parts)),
        *(part(states.touching, feet), part(states.contact, feet), part(states.memory, 2 * i)),
        *(part(states.obs, i * (8 + 2 * body.n_joints + body.n_feet)), part(states.speeds, joints)),
        *(part(states.power, joints), part(states.square, joints), part(states.terms, 4 * i)),
    )


@compiled
def pairwise_sum(values, n):
    """The sum of fewer than 128 numbers, in the order in which NumPy adds them."""
    if n < 8:
        total = values[0]
        for i in range(1, n):
            total += values[i]
        return total
    a, b, c, d = values[0], values[1], values[2], values[3]
    e, f, g, h = values[4], values[5], values[6], values[7]
    whole = n - n % 8
    for i in range(8, whole, 8):
        a, b, c, d = a + values[i], b + values[i + 1], c + values[i + 2], d + values[i + 3]
        e, f, g, h = e + values[i + 4], f + values[i + 5], g + values[i + 6], h + values[i + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, n):
        total += values[i]
    return total


@inline
def atan2(y, x):
    """Half of the robots live in a plane, where y is an exact zero."""
    return y if y == 0.0 and x > 0.0 else math.atan2(y, x)


@inline
def sincos(x):
    return (x, 1.0) if x == 0.0 else (math.sin(x), math.cos(x))


@compiled
def euler(x, y, z, w):
    """Roll, pitch and yaw as pybullet defines them: at ±90° of pitch the roll is 0."""
    sine = -2.0 * (x * z - w * y)
    if sine <= -0.99999:
        return 0.0, -0.5 * math.pi, 2.0 * math.atan2(x, -y)
    if sine >= 0.99999:
        return 0.0, 0.5 * math.pi, 2.0 * math.atan2(-x, y)
    roll = atan2(2.0 * (y * z + w * x), w * w - x * x - y * y + z * z)
    yaw = atan2(2.0 * (x * y + w * z), w * w + x * x - y * y - z * z)
    return roll, math.asin(sine), yaw


@compiled
def observe(body, state):
    """Fill state.obs and state.speeds. Returns the potential, the pitch, the number of joints at their limit, and whether
    all observations are finite."""
    joints = body.n_joints
    x = pairwise_sum(state.parts_x, body.n_parts) / body.n_parts
    y = pairwise_sum(state.parts_y, body.n_parts) / body.n_parts
    t = state.torso
    roll, pitch, yaw = euler(t[3], t[4], t[5], t[6])
    dx = TARGET_DISTANCE - x
    sin_angle, cos_angle = sincos(atan2(-y, dx) - yaw)
    sin, cos = sincos(-yaw)

    obs = state.obs
    obs[0] = np.float32(t[2] - state.memory[0])
    obs[1] = np.float32(sin_angle)
    obs[2] = np.float32(cos_angle)
    obs[3] = np.float32(0.3 * (cos * t[7] - sin * t[8]))
    obs[4] = np.float32(0.3 * (sin * t[7] + cos * t[8]))
    obs[5] = np.float32(0.3 * t[9])
    obs[6] = np.float32(roll)
    obs[7] = np.float32(pitch)
    at_limit = 0
    for j in range(joints):
        position = np.float32(2.0 * (state.q[j] - body.middle[j]) / body.width[j])
        speed = np.float32(0.1 * state.qd[j])
        state.speeds[j] = speed
        obs[8 + 2 * j] = position
        obs[9 + 2 * j] = speed
        if abs(position) > np.float32(0.99):
            at_limit += 1
    for f in range(body.n_feet):
        obs[8 + 2 * joints + f] = state.contact[f]
    finite = True
    for i in range(8 + 2 * joints + body.n_feet):
        value = obs[i]
        if value > OBS_CLIP:
            value = OBS_CLIP
        elif value < -OBS_CLIP:
            value = -OBS_CLIP
        obs[i] = value
        finite &= value == value
    return -math.sqrt(y * y + dx * dx) / SECONDS_PER_STEP, pitch, at_limit, finite


@compiled
def begin(body, state):
    """The first observation of an episode, once the state at the start was read."""
    for f in range(body.n_feet):
        state.contact[f] = np.float32(0.0)
    state.memory[0] = state.torso[2] if math.isnan(body.initial_height) else body.initial_height
    state.memory[1] = observe(body, state)[0]
    for i in range(4):
        state.terms[i] = 0.0


@compiled
def judge(body, state, action):
    """Observation and reward of the step just made. Returns (reward, how it ended or TRUNCATED)."""
    potential, pitch, at_limit, finite = observe(body, state)
    if not (finite and math.isfinite(potential)):
        return 0.0, NON_FINITE

    alive = state.obs[0] + state.memory[0] > body.min_height and abs(pitch) < body.max_pitch
    for i in range(body.n_no_touch):
        alive &= state.contact[body.no_touch[i]] == 0.0  # flags of the step before, as in QDGym
    for f in range(body.n_feet):
        state.contact[f] = state.touching[f]

    n = np.float32(body.n_joints)
    state.terms[0] = body.alive_bonus if alive else -1.0
    state.terms[1] = potential - state.memory[1]
    for j in range(body.n_joints):
        state.power[j] = abs(action[j] * state.speeds[j])
        state.square[j] = action[j] * action[j]
    state.terms[2] = body.electricity_cost * (pairwise_sum(state.power, body.n_joints) / n)
    state.terms[2] = state.terms[2] + body.stall_cost * (pairwise_sum(state.square, body.n_joints) / n)
    state.terms[3] = -0.1 * at_limit
    state.memory[1] = potential
    reward = ((state.terms[0] + state.terms[1]) + state.terms[2]) + state.terms[3]
    return reward, TERMINATED if body.terminates and not alive else TRUNCATED
