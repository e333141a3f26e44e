"""Whole episodes without Python, several side by side; a lane whose episode ends takes the next one at once.

Compiled with the interpreter's lock released. All threads draw from one counter, and an episode knows nothing of its
neighbours, so results depend on nobody's pace.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.typing.templates import signature

from gaits.compiling import compiled, entry, inline
from gaits.episodes.episode import NON_FINITE, TRUNCATED
from gaits.lanes import ONE, intrinsic, lanes, one_lane, part, width
from gaits.physics.engine.model import view_memory, view_model
from gaits.physics.engine.reading import quaternion, read
from gaits.physics.engine.seeds import start_angles
from gaits.physics.engine.step import place, step
from gaits.physics.policy import choose_action, lay_out, view_network
from gaits.physics.walking import begin, judge, state_of, view_body, view_states

IDLE, TAKEN, PLAYING, LOST = 0, 1, 2, 3
UNCOVERED = 3  # how an episode ends that went where only Bullet knows on
FINISHED, NOISE_WANTED, ROOM_WANTED, STEPPED = -1, 0, 1, 2
START_ANGLE = 0.1


class Orders(NamedTuple):
    """A job as compiled code sees it: N episodes, ``each`` of them for every solution."""

    n: int
    each: int
    max_steps: int
    by_hand: bool  # one step for the actions on the desk, or a reset, and back to Python
    noisy: bool
    recording: bool
    tracing: bool
    n_mean: int  # rows of mean and std: one for all solutions, or one each
    n_solution: int
    solutions: np.ndarray
    seeds: np.ndarray
    record: np.ndarray
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
    n_weights: int
    n_positions: int
    stage: np.ndarray  # (W,)
    episode: np.ndarray  # (W,)
    length: np.ndarray  # (W,)
    objective: np.ndarray  # (W,)
    touched: np.ndarray  # (W, feet)
    action: np.ndarray  # (W, joints)
    angles: np.ndarray  # (joints,) to start from
    weights: np.ndarray  # (W, n_weights)
    noise: np.ndarray  # (W, max_steps, joints); no rows without noise
    obs: np.ndarray  # (W, max_steps + 1, n_obs), as are the next four; no rows unless they are wanted
    actions: np.ndarray
    rewards: np.ndarray
    positions: np.ndarray
    contacts: np.ndarray


class Shelf(NamedTuple):
    """Where episodes whose steps are wanted are put, one after another."""

    rows: int
    used: np.ndarray  # (2,) rows, episodes
    episode: np.ndarray
    first: np.ndarray  # row of an episode
    obs: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    positions: np.ndarray
    contacts: np.ndarray


@inline
def view_orders(o):
    return Orders(
        *(
            o.n,
            o.each,
            o.max_steps,
            o.by_hand,
            o.noisy,
            o.recording,
            o.tracing,
            o.n_mean,
            o.n_solution,
            lanes(o.solutions, ONE),
        ),
        *(lanes(o.seeds, ONE), lanes(o.record, ONE), lanes(o.mean, ONE), lanes(o.std, ONE), lanes(o.next, ONE)),
        *(lanes(o.objective, ONE), lanes(o.measures, ONE), lanes(o.length, ONE), lanes(o.end, ONE)),
    )


@inline
def view_desk(d):
    return Desk(
        *(d.side_by_side, d.n_weights, d.n_positions, lanes(d.stage, ONE), lanes(d.episode, ONE), lanes(d.length, ONE)),
        *(lanes(d.objective, ONE), lanes(d.touched, ONE), lanes(d.action, ONE), lanes(d.angles, ONE), lanes(d.weights, ONE)),
        *(lanes(d.noise, ONE), lanes(d.obs, ONE), lanes(d.actions, ONE), lanes(d.rewards, ONE)),
        *(lanes(d.positions, ONE), lanes(d.contacts, ONE)),
    )


@inline
def view_shelf(s):
    return Shelf(
        *(s.rows, lanes(s.used, ONE), lanes(s.episode, ONE), lanes(s.first, ONE), lanes(s.obs, ONE), lanes(s.actions, ONE)),
        *(lanes(s.rewards, ONE), lanes(s.positions, ONE), lanes(s.contacts, ONE)),
    )


@intrinsic
def fetch_add(typingctx, view, amount):
    """view[0] += amount, whoever else does so at the same time. Returns what was there."""
    number = types.int64
    return signature(number, view, number), lambda context, builder, sig, args: builder.atomic_rmw("add", *args, "monotonic")


@inline
def copy(source, target, n):
    for i in range(n):
        target[i] = source[i]


@compiled
def reset_lane(robot, work, lane, body, start, angles):
    """Clear a lane, for numbers that are not finite would outlive their episode, and put the robot where it starts (8.4)."""
    n = width(work.q)
    everything = lanes(work.all, ONE)
    for i in range(lane, work.all.size, n):
        everything[i] = 0.0
    for manifold in range(robot.manifolds):
        work.points[n * manifold + lane] = 0
    work.lives[lane], work.uncovered[lane] = robot.first_lives, 0
    for i in range(robot.first_lives):
        manifold = robot.first_live[i]
        work.live[robot.manifolds * lane + i] = manifold
        if manifold >= robot.shapes:
            one_lane(work.alive, lane)[manifold - robot.shapes] = 1.0
    pose, before = one_lane(work.pose, lane), one_lane(work.before, lane)
    for i in range(0, 12 * (robot.links + 1), 12):
        pose[i], pose[i + 4], pose[i + 8] = 1.0, 1.0, 1.0
        before[i], before[i + 4], before[i + 8] = 1.0, 1.0, 1.0
    copy(start, one_lane(work.base, lane), 7)
    q = one_lane(work.q, lane)
    for j in range(body.n_joints):
        q[body.coordinate[j]] = angles[j]


@compiled
def begin_lane(robot, work, lane, body, state):
    """The first observation, once links were placed."""
    copy(one_lane(work.pose, lane), one_lane(work.before, lane), 12 * (robot.links + 1))
    read(robot, work, lane, body, state)
    begin(body, state)


@compiled
def apply_torques(body, action, tau):
    """Returns whether all actions are finite; if not, none is applied."""
    for j in range(body.n_joints):
        if not math.isfinite(action[j]):
            return False
    for j in range(body.n_joints):
        tau[body.coordinate[j]] = body.torques[j] * min(max(np.float64(action[j]), -1.0), 1.0)
    return True


@compiled
def read_positions(robot, work, lane, out):
    """Base position, base quaternion, joints: what a trace keeps, in Bullet's order."""
    pose = one_lane(work.pose, lane)
    first = 0 if robot.planar else 6
    copy(part(pose, 9), out, 3)
    out[3], out[4], out[5], out[6] = quaternion(pose)
    copy(part(one_lane(work.q, lane), first), part(out, 7), robot.n - first)


# ---------------------------------------------------------------------------------------------------------------------
# A lane's episode, from the queue to the shelf
# ---------------------------------------------------------------------------------------------------------------------


@compiled
def take(orders, desk, lane, body, network):
    """The next episode of the job, if there is one."""
    if orders.next[0] >= orders.n:
        return False
    episode = fetch_add(orders.next, 1)
    if episode >= orders.n:
        return False
    desk.stage[lane], desk.episode[lane], desk.length[lane], desk.objective[lane] = TAKEN, episode, 0, 0.0
    for f in range(body.n_feet):
        desk.touched[lane * body.n_feet + f] = 0.0
    solution = part(orders.solutions, episode // orders.each * orders.n_solution)
    lay_out(network, solution, part(desk.weights, lane * desk.n_weights))
    return True


@compiled
def act(orders, desk, lane, body, network, obs, tau):
    """The policy's action, as torques. Returns whether all its numbers are finite."""
    solution, t, joints = desk.episode[lane] // orders.each, desk.length[lane], body.n_joints
    at = solution % orders.n_mean * network.sizes[0]
    action = part(desk.action, lane * joints)
    choose_action(
        network, part(desk.weights, lane * desk.n_weights), obs, part(orders.mean, at), part(orders.std, at), action
    )
    if orders.noisy:
        noise = part(desk.noise, (lane * orders.max_steps + t) * joints)
        for j in range(joints):
            action[j] = action[j] + noise[j]
    return apply_torques(body, action, tau)


@compiled
def keep_start(robot, work, orders, desk, lane, network, obs):
    """What was there before the first step."""
    at = lane * (orders.max_steps + 1)
    if orders.recording and orders.record[desk.episode[lane] // orders.each]:
        copy(obs, part(desk.obs, at * network.sizes[0]), network.sizes[0])
    if orders.tracing:
        read_positions(robot, work, lane, part(desk.positions, at * desk.n_positions))


@compiled
def keep_step(robot, work, orders, desk, lane, body, network, state, reward):
    """Add a step to what is known of an episode."""
    t, joints, n_obs = desk.length[lane], body.n_joints, network.sizes[0]
    at = lane * (orders.max_steps + 1) + t
    if orders.recording and orders.record[desk.episode[lane] // orders.each]:
        copy(part(desk.action, lane * joints), part(desk.actions, at * joints), joints)
        desk.rewards[at] = reward
        copy(state.obs, part(desk.obs, (at + 1) * n_obs), n_obs)
    if orders.tracing:
        copy(state.contact, part(desk.contacts, at * body.n_feet), body.n_feet)
        read_positions(robot, work, lane, part(desk.positions, (at + 1) * desk.n_positions))
    desk.objective[lane] = desk.objective[lane] + reward
    for f in range(body.n_feet):
        desk.touched[lane * body.n_feet + f] = desk.touched[lane * body.n_feet + f] + state.contact[f]
    desk.length[lane] = t + 1


@compiled
def finish(orders, desk, lane, shelf, body, network, end):
    """Hand an episode back."""
    episode, length = desk.episode[lane], desk.length[lane]
    recorded = orders.recording and orders.record[episode // orders.each]
    if (recorded or orders.tracing) and end != UNCOVERED:
        n_obs, joints, feet, positions = network.sizes[0], body.n_joints, body.n_feet, desk.n_positions
        at, row, number = lane * (orders.max_steps + 1), shelf.used[0], shelf.used[1]
        shelf.episode[number], shelf.first[number] = episode, row
        if recorded:
            copy(part(desk.obs, at * n_obs), part(shelf.obs, row * n_obs), (length + 1) * n_obs)
            copy(part(desk.actions, at * joints), part(shelf.actions, row * joints), length * joints)
            copy(part(desk.rewards, at), part(shelf.rewards, row), length)
        if orders.tracing:
            copy(part(desk.positions, at * positions), part(shelf.positions, row * positions), (length + 1) * positions)
            copy(part(desk.contacts, at * feet), part(shelf.contacts, row * feet), length * feet)
        shelf.used[0], shelf.used[1] = row + length + 1, number + 1
    for m in range(body.n_measured):
        share = desk.touched[lane * body.n_feet + body.measured_feet[m]] / max(length, 1)
        orders.measures[episode * body.n_measured + m] = share
    orders.objective[episode], orders.length[episode] = desk.objective[lane], length
    orders.end[episode] = end
    desk.stage[lane] = IDLE


@entry("the physics", 35)
def play(model, memory, body, states, start, network, orders, desk, shelf):
    """Play the job's episodes until none is left, or until something is wanted that only Python has.

    Returns what, and for which lane; called again, it goes on.
    """
    robot, work = view_model(model), view_memory(memory, desk.side_by_side)
    body, states, network, start = view_body(body), view_states(states), view_network(network), lanes(start, ONE)
    orders, desk, shelf = view_orders(orders), view_desk(desk), view_shelf(shelf)
    n = width(work.q)
    while True:
        fresh = False
        for lane in range(n):
            if desk.stage[lane] == IDLE and not orders.by_hand:
                if 0 < shelf.rows < shelf.used[0] + n * (orders.max_steps + 1):
                    return ROOM_WANTED, lane
                if take(orders, desk, lane, body, network) and orders.noisy:
                    return NOISE_WANTED, lane
            if desk.stage[lane] == TAKEN:
                if not orders.by_hand:
                    start_angles(orders.seeds[desk.episode[lane]], -START_ANGLE, START_ANGLE, desk.angles, body.n_joints)
                reset_lane(robot, work, lane, body, start, desk.angles)
                fresh = True
        if fresh:
            place(robot, work, work.pose)
        playing = 0
        for lane in range(n):
            if desk.stage[lane] == IDLE:
                continue
            playing += 1
            state = state_of(body, states, lane)
            if desk.stage[lane] == TAKEN:
                begin_lane(robot, work, lane, body, state)
                keep_start(robot, work, orders, desk, lane, network, state.obs)
                if orders.by_hand:
                    desk.stage[lane] = PLAYING
                    return STEPPED, lane
            tau = one_lane(work.tau, lane)
            if orders.by_hand:
                finite = apply_torques(body, part(desk.action, lane * body.n_joints), tau)
            else:
                finite = act(orders, desk, lane, body, network, state.obs, tau)
            desk.stage[lane] = PLAYING if finite else LOST
        if playing == 0:
            return FINISHED, 0
        step(robot, work)
        for lane in range(n):
            if desk.stage[lane] == IDLE:
                continue
            end = NON_FINITE
            if desk.stage[lane] == PLAYING:
                state = state_of(body, states, lane)
                read(robot, work, lane, body, state)
                reward, end = judge(body, state, part(desk.action, lane * body.n_joints))
                end = UNCOVERED if work.uncovered[lane] else end
                if orders.by_hand:
                    desk.objective[lane], desk.episode[lane] = reward, end
                    continue
                if end < NON_FINITE:
                    keep_step(robot, work, orders, desk, lane, body, network, state, reward)
            if end != TRUNCATED or desk.length[lane] >= orders.max_steps:
                finish(orders, desk, lane, shelf, body, network, end)
        if orders.by_hand:
            return STEPPED, 0
