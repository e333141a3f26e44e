"""Whole episodes without Python, several side by side; a lane whose episode ends takes the next one at once.

Compiled with the interpreter's lock released. All threads draw from one counter, so results depend on nobody's pace.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from gaits.physics.engine.lanes import compiled, merged, one_lane, width
from gaits.physics.engine.model import view_memory, view_model
from gaits.physics.engine.reading import quaternion, read
from gaits.physics.engine.seeds import start_angles
from gaits.physics.engine.step import place, step
from gaits.physics.kernel import NON_FINITE, TRUNCATED, State, begin, choose_action, copy, judge, transpose_weights

IDLE, TAKEN, PLAYING, LOST = 0, 1, 2, 3
UNCOVERED = 3  # how an episode ends that went where only Bullet knows on
FINISHED, NOISE_WANTED, ROOM_WANTED = -1, 0, 1
START_ANGLE = 0.1


class Orders(NamedTuple):
    """A job's arrays: N episodes of n solutions."""

    each: int
    noisy: bool
    max_steps: int
    solutions: np.ndarray
    seeds: np.ndarray  # (N,)
    record: np.ndarray
    trace: bool
    mean: np.ndarray
    std: np.ndarray
    next: np.ndarray
    objective: np.ndarray
    measures: np.ndarray
    length: np.ndarray
    end: np.ndarray


class Desk(NamedTuple):
    """What a thread keeps by lane: W of them."""

    side_by_side: tuple[int, ...]  # as many items as there are lanes
    stage: np.ndarray  # (W,)
    episode: np.ndarray  # (W,)
    length: np.ndarray  # (W,)
    objective: np.ndarray  # (W,)
    touched: np.ndarray  # (W, feet)
    action: np.ndarray  # (W, action_dim)
    weights: np.ndarray  # (W, solution_dim)
    noise: np.ndarray  # (W, max_steps or 0, action_dim)
    sizes: np.ndarray
    buffer: np.ndarray
    normalized: np.ndarray
    angles: np.ndarray
    obs: np.ndarray  # (W, max_steps + 1 or 0, obs_dim), as are the next four
    actions: np.ndarray
    rewards: np.ndarray
    positions: np.ndarray
    contacts: np.ndarray


class Shelf(NamedTuple):
    """Where recorded episodes are put, one after another."""

    rows: int
    used: np.ndarray  # (2,) rows, episodes
    episode: np.ndarray
    first: np.ndarray
    obs: np.ndarray  # (R, obs_dim)
    actions: np.ndarray
    rewards: np.ndarray
    positions: np.ndarray
    contacts: np.ndarray


@intrinsic
def fetch_add(typingctx, array, amount):
    """array[0] += amount, whoever else does so at the same time. Returns what was there."""

    def codegen(context, builder, sig, args):
        data = context.make_array(array)(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, args[1], "monotonic")

    return signature(types.int64, array, types.int64), codegen


@merged
def state_of(states, lane):
    """One lane's row of the arrays of all."""
    return State(
        *(states.q[lane], states.qd[lane], states.torso[lane], states.parts_xy[lane], states.touching[lane]),
        *(states.contact[lane], states.memory[lane], states.obs[lane], states.speeds[lane], states.power[lane]),
        *(states.square[lane], states.terms[lane], states.pointers[lane]),
    )


@compiled
def reset_lane(robot, work, lane, body, start, angles):
    """Clear a lane, and put the robot where an episode starts (ENGINE 8.4)."""
    n = width(work.q)
    for i in range(lane, work.all.size, n):
        work.all[i] = 0.0
    for manifold in range(robot.manifolds):
        work.count[n * manifold + lane] = 0
    work.lives[lane], work.uncovered[lane] = robot.first_lives, 0
    for i in range(robot.first_lives):
        manifold = robot.first_live[i]
        work.live[robot.manifolds * lane + i] = manifold
        if manifold >= robot.shapes:
            one_lane(work.alive, lane)[manifold - robot.shapes] = 1.0
    for pose in (one_lane(work.pose, lane), one_lane(work.before, lane)):
        for i in range(robot.links + 1):
            pose[12 * i], pose[12 * i + 4], pose[12 * i + 8] = 1.0, 1.0, 1.0
    base, q = one_lane(work.base, lane), one_lane(work.q, lane)
    for i in range(7):
        base[i] = start[i]
    for j in range(angles.size):
        q[body.q_index[j]] = angles[j]


@compiled
def forget_before(robot, work, lane):
    """After a reset, where links were is where they are."""
    pose, before = one_lane(work.pose, lane), one_lane(work.before, lane)
    for i in range(12 * (robot.links + 1)):
        before[i] = pose[i]


@compiled
def read_positions(robot, work, lane, out):
    """Base position, base quaternion, joints: what a trace keeps, in Bullet's order."""
    pose, q = one_lane(work.pose, lane), one_lane(work.q, lane)
    first = 0 if robot.planar else 6
    out[0], out[1], out[2] = pose[9], pose[10], pose[11]
    out[3], out[4], out[5], out[6] = quaternion(pose)
    for d in range(robot.n - first):
        out[7 + d] = q[first + d]


@compiled
def take(orders, desk, lane):
    """The next episode of the job, if there is one."""
    if orders.next[0] >= orders.seeds.size:
        return False
    episode = fetch_add(orders.next, 1)
    if episode >= orders.seeds.size:
        return False
    solution = orders.solutions[episode // orders.each]
    desk.stage[lane], desk.episode[lane], desk.length[lane], desk.objective[lane] = TAKEN, episode, 0, 0.0
    for f in range(desk.touched.shape[1]):
        desk.touched[lane, f] = 0.0
    transpose_weights(desk.sizes, solution, desk.weights[lane])
    return True


@compiled
def act(orders, desk, lane, body, state, tau):
    """The policy's action, as torques. Returns whether all its numbers are finite."""
    row, action = desk.episode[lane] // orders.each, desk.action[lane]
    noise = desk.noise[lane, : desk.noise.shape[1] if orders.noisy else 0]
    mean, std = orders.mean[row % orders.mean.shape[0]], orders.std[row % orders.std.shape[0]]
    choose_action(
        desk.sizes, desk.weights[lane], state, mean, std, noise, desk.length[lane], desk.normalized, desk.buffer, action
    )
    return apply_torques(body, action, tau)


@compiled
def apply_torques(body, action, tau):
    """Returns whether all actions are finite; if not, none is applied."""
    for j in range(action.size):
        if not math.isfinite(action[j]):
            return False
    for j in range(action.size):
        tau[body.q_index[j]] = body.torques[j] * min(max(np.float64(action[j]), -1.0), 1.0)
    return True


@compiled
def keep_step(orders, desk, lane, state, reward):
    """Add a step to what is known of an episode."""
    t = desk.length[lane]
    if orders.record[desk.episode[lane] // orders.each]:
        copy(desk.action[lane], desk.actions[lane, t])
        desk.rewards[lane, t] = reward
        copy(state.obs, desk.obs[lane, t + 1])
    if orders.trace:
        copy(state.contact, desk.contacts[lane, t])
    desk.objective[lane] += reward
    for f in range(desk.touched.shape[1]):
        desk.touched[lane, f] += state.contact[f]
    desk.length[lane] = t + 1


@compiled
def finish(orders, desk, lane, shelf, body, end):
    """Hand an episode back."""
    episode, length = desk.episode[lane], desk.length[lane]
    if orders.record[episode // orders.each] or orders.trace:
        row, number = shelf.used[0], shelf.used[1]
        shelf.episode[number], shelf.first[number] = episode, row
        if orders.record[episode // orders.each]:
            for t in range(length):
                copy(desk.obs[lane, t], shelf.obs[row + t])
                copy(desk.actions[lane, t], shelf.actions[row + t])
                shelf.rewards[row + t] = desk.rewards[lane, t]
            copy(desk.obs[lane, length], shelf.obs[row + length])
        if orders.trace:
            for t in range(length):
                copy(desk.positions[lane, t], shelf.positions[row + t])
                copy(desk.contacts[lane, t], shelf.contacts[row + t])
            copy(desk.positions[lane, length], shelf.positions[row + length])
        shelf.used[0], shelf.used[1] = row + length + 1, number + 1
    for m in range(body.measured_feet.size):
        orders.measures[episode, m] = desk.touched[lane, body.measured_feet[m]] / max(length, 1)
    orders.objective[episode], orders.length[episode] = desk.objective[lane], length
    orders.end[episode] = end
    desk.stage[lane] = IDLE


@compiled
def play(model, memory, body, states, start, orders, desk, shelf):
    """Play the job's episodes until none is left, or until something is wanted that only Python has.

    Returns what, and for which lane; called again, it goes on.
    """
    robot, work = view_model(model), view_memory(memory, desk.side_by_side)
    n = width(work.q)
    rows = orders.max_steps + 1
    while True:
        fresh = False
        for lane in range(n):
            if desk.stage[lane] == IDLE:
                if 0 < shelf.rows < shelf.used[0] + n * rows:
                    return ROOM_WANTED, lane
                if take(orders, desk, lane) and orders.noisy:
                    return NOISE_WANTED, lane
            if desk.stage[lane] == TAKEN:
                start_angles(orders.seeds[desk.episode[lane]], -START_ANGLE, START_ANGLE, desk.angles)
                reset_lane(robot, work, lane, body, start, desk.angles)
                fresh = True
        if fresh:
            place(robot, work, work.pose)
        playing = 0
        for lane in range(n):
            if desk.stage[lane] == TAKEN:
                forget_before(robot, work, lane)
                state = state_of(states, lane)
                read(robot, work, lane, body, state)
                begin(body, state)
                if orders.record[desk.episode[lane] // orders.each]:
                    copy(state.obs, desk.obs[lane, 0])
                if orders.trace:
                    read_positions(robot, work, lane, desk.positions[lane, 0])
                desk.stage[lane] = PLAYING
            if desk.stage[lane] == PLAYING:
                playing += 1
                if not act(orders, desk, lane, body, state_of(states, lane), one_lane(work.tau, lane)):
                    desk.stage[lane] = LOST
        if playing == 0:
            return FINISHED, 0
        step(robot, work)
        for lane in range(n):
            end = TRUNCATED
            if desk.stage[lane] == LOST:
                end = NON_FINITE
            elif desk.stage[lane] == PLAYING:
                state = state_of(states, lane)
                read(robot, work, lane, body, state)
                reward, end = judge(body, state, desk.action[lane])
                end = UNCOVERED if work.uncovered[lane] else end
                if end < NON_FINITE:
                    keep_step(orders, desk, lane, state, reward)
                    if orders.trace:
                        read_positions(robot, work, lane, desk.positions[lane, desk.length[lane]])
            if desk.stage[lane] != IDLE and (end != TRUNCATED or desk.length[lane] >= orders.max_steps):
                finish(orders, desk, lane, shelf, body, end)
