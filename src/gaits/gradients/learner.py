"""TD3 on the CPU, compiled: training critics, the gradient of a policy, the variation of many parents.

The equations are those of ``actor_critic.py``, where derivatives are JAX's; here they are written out. Symbols are the
paper's: critics Q_θ1 and Q_θ2, the greedy actor π_φq, targets with a prime.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from gaits.compiling import compiled, entry
from gaits.gradients.hands import Pace, await_units, draw, most, report, together
from gaits.gradients.layers import INPUT, PARAMETERS, Net, adam, backward, follow, forward, make_net, output, room, size
from gaits.gradients.networks import NO_GOAL, Networks
from gaits.gradients.td3 import TD3Settings
from gaits.policies import MLP

CHUNK = 512
"""States per pass of the policy gradient: with what all layers give for them, they fit into a core's cache."""
GROUPS = 16
"""Sums that the policy gradient is made of, each the work of one thread: as many on any machine."""


class Desk(NamedTuple):
    """What it takes to climb a critic: room for some states, and for what every layer makes of them."""

    obs: np.ndarray  # (n, obs_dim)
    pair: np.ndarray  # (n, obs_dim + action_dim): states with the policy's actions
    slope: np.ndarray  # (n, obs_dim + action_dim): dJ/d(pair)
    actor_values: np.ndarray
    actor_deltas: np.ndarray
    critic_values: np.ndarray
    critic_deltas: np.ndarray
    gradient: np.ndarray  # (D,)
    m: np.ndarray  # (D,) Adam's memory
    v: np.ndarray  # (D,)


class Bench(NamedTuple):
    """What training needs besides networks: the minibatch taken apart, and room for what the critics make of it."""

    pair: np.ndarray  # (n, obs_dim + action_dim): s, a
    next_pair: np.ndarray  # (n, obs_dim + action_dim): s', a'
    reward: np.ndarray  # (n,)
    terminal: np.ndarray  # (n,)
    bound: np.ndarray  # (n,): what y is at least
    target: np.ndarray  # (2, n): Q_θ'i(s', a')
    values: np.ndarray  # (2, ...): what every layer of Q_θi gives
    deltas: np.ndarray  # (2, ...)
    slope: np.ndarray  # not wanted, but it needs a form
    gradient: np.ndarray  # (2, P)


class Rates(NamedTuple):
    """Settings as compiled code takes them."""

    critic: float
    actor: float
    discount: float
    target: float
    noise: float
    clip: float
    delay: int


@compiled
def climb(actor, critic, phi, theta, goal, head, least, desk, n, weight):
    """weight Σ ∇_φ Q_θ(s, goal, π_φ(s)) over the desk's first n states, left in its gradient.

    Of a critic with several outputs, it is the share ``head`` of what is at ``least`` that, see ``aim``.
    """
    if n == 0:
        desk.gradient[:] = 0
        return
    obs, pair, slope = desk.obs[:n], desk.pair[:n], desk.slope[:n]
    obs_dim = actor.sizes[0]
    state = obs_dim + goal.size
    action = forward(actor, phi, obs, desk.actor_values)
    pair[:, :obs_dim] = obs
    pair[:, obs_dim:state] = goal
    pair[:, state:] = action
    value = forward(critic, theta, pair, desk.critic_values)
    aim(output(critic, desk.critic_deltas, critic.sizes.size - 1, n), value, head, np.float32(least), np.float32(weight))
    backward(critic, theta, pair, desk.critic_values, desk.critic_deltas, INPUT, desk.gradient, slope)
    output(actor, desk.actor_deltas, actor.sizes.size - 1, n)[:] = slope[:, state:]
    backward(actor, phi, obs, desk.actor_values, desk.actor_deltas, PARAMETERS, desk.gradient, slope)


@compiled
def aim(delta, value, head, least, weight):
    """Derivatives of weight times the only output; or of the share that output ``head`` is of the first one.

    The first one is known to be at least so much. Where a critic says less, that much it is, and does not change.
    """
    delta[:] = weight if head == 0 else np.float32(0)
    if head > 0:
        for j in range(len(delta)):
            whole = max(value[j, 0], least)
            delta[j, head] = weight / whole
            delta[j, 0] = -weight * value[j, head] / (whole * whole) if value[j, 0] > least else np.float32(0)


# --- training -----------------------------------------------------------------------------------------------------------
# A step has five parts of two units each. Units of the same part do not touch what the other one changes, and a part begins
# when all before it is done; so two threads, or one, compute the same.

PARTS, UNITS = 5, 2


@entry("the critics", 20)
def train(actor, critic, nets, bench, desks, rates, before, rows, which, noise, losses, counters):
    """A critic step for every minibatch ``which`` (steps, n) of the buffer's rows, after ``before`` earlier steps."""
    while True:
        unit = draw(counters)
        step, part, i = unit // (PARTS * UNITS), unit // UNITS % PARTS, unit % UNITS
        if step >= len(which):
            return
        await_units(counters, unit // UNITS * UNITS)
        t = before + step + 1
        if part == 0:
            gather(actor, nets, bench, desks[i], rates, rows, which[step], noise[step], i)
        elif part == 1:
            look(critic, nets, bench, i)
        elif part == 2:
            losses[step, i] = correct(critic, nets, bench, rates, i, t)
            if t % rates.delay == 0:
                follow(nets.critics_target[i], nets.critics[i], rates.target)
        elif t % rates.delay == 0 and part == 3:
            first, last = half(len(bench.pair), i)
            climb(
                actor, critic, nets.actor, nets.critics[0], NO_GOAL, 0, 0.0, desks[i], last - first, -1.0 / len(bench.pair)
            )
        elif t % rates.delay == 0:
            improve(nets, desks, rates, i, t // rates.delay)
        report(counters)


@compiled
def half(n, i):
    return i * (n // 2), n // 2 if i == 0 else n


@compiled
def gather(actor, nets, bench, desk, rates, rows, which, noise, i):
    """Half of a minibatch: s, a, r, whether it ends, s', and a' = clip(π_φ'q(s') + ε)."""
    obs_dim, action_dim = actor.sizes[0], actor.sizes[-1]
    pairs = obs_dim + action_dim
    first, last = half(len(which), i)
    if first == last:
        return
    obs = desk.obs[: last - first]
    for j in range(first, last):
        row = rows[which[j]]
        for k in range(pairs):
            bench.pair[j, k] = row[k]
        for k in range(obs_dim):
            bench.next_pair[j, k] = row[pairs + k]
            obs[j - first, k] = row[pairs + k]
        end = pairs + obs_dim
        bench.reward[j], bench.terminal[j] = row[end], row[end + 1]
        bench.bound[j] = row[end + 2] if row.size > end + 2 else np.float32(-np.inf)
    action = forward(actor, nets.actor_target, obs, desk.actor_values)
    for j in range(first, last):
        for k in range(action_dim):
            epsilon = min(max(np.float32(rates.noise) * noise[j, k], np.float32(-rates.clip)), np.float32(rates.clip))
            a = action[j - first, k] + epsilon
            bench.next_pair[j, obs_dim + k] = min(max(a, np.float32(-1)), np.float32(1))
        for k in range(obs_dim):
            obs[j - first, k] = bench.pair[j, k]  # from here on the desk has the states themselves


@compiled
def look(critic, nets, bench, i):
    """Q_θ'i(s', a') and Q_θi(s, a)."""
    bench.target[i] = forward(critic, nets.critics_target[i], bench.next_pair, bench.values[i])[:, 0]
    forward(critic, nets.critics[i], bench.pair, bench.values[i])


@compiled
def correct(critic, nets, bench, rates, i, t):
    """Adam's step t of critic i towards y = r + γ (1 - terminal) min_i Q_θ'i(s', a'), or towards what y is at least.

    Returns mean (y - Q_θi(s, a))².
    """
    n, end = len(bench.pair), critic.sizes.size - 1
    value, delta = output(critic, bench.values[i], end, n), output(critic, bench.deltas[i], end, n)
    loss = 0.0
    for j in range(n):
        lowest = min(bench.target[0, j], bench.target[1, j])
        y = bench.reward[j] + np.float32(rates.discount) * (np.float32(1) - bench.terminal[j]) * lowest
        y = bench.bound[j] if bench.bound[j] > y else y
        error = value[j, 0] - y
        delta[j, 0] = np.float32(2.0 / n) * error
        loss += error * error
    gradient = bench.gradient[i]
    backward(critic, nets.critics[i], bench.pair, bench.values[i], bench.deltas[i], PARAMETERS, gradient, bench.slope)
    adam(nets.critics[i], gradient, nets.critics_m[i], nets.critics_v[i], rates.critic, t)
    return loss / n


@compiled
def improve(nets, desks, rates, i, t):
    """Adam's step t of half the greedy actor's parameters up Q_θ1, and the target after it."""
    first, last = half(nets.actor.size, i)
    one, other = desks[0].gradient[first:last], desks[1].gradient[first:last]
    if i == 0:  # each half in an array that nobody else reads any more
        for k in range(one.size):
            one[k] += other[k]
        gradient = one
    else:
        for k in range(one.size):
            other[k] += one[k]
        gradient = other
    adam(nets.actor[first:last], gradient, nets.actor_m[first:last], nets.actor_v[first:last], rates.actor, t)
    follow(nets.actor_target[first:last], nets.actor[first:last], rates.target)


# --- climbing -----------------------------------------------------------------------------------------------------------


@entry("the policy gradient", 10)
def ascend(desk, actor, critic, phi, theta, goal, head, least, rows, which, totals, counters):
    """Σ ∇_φ Q_θ(s, goal, π_φ(s)) over the states ``which``, as so many sums as there are totals."""
    while True:
        group = draw(counters)
        if group >= len(totals):
            return
        first, last = group * len(which) // len(totals), (group + 1) * len(which) // len(totals)
        while first < last:
            n = min(last - first, len(desk.obs))
            take_states(rows, which[first : first + n], desk.obs)
            climb(actor, critic, phi, theta, goal, head, least, desk, n, 1.0)
            for k in range(phi.size):
                totals[group, k] += desk.gradient[k]
            first += n


@entry("the variation of policies", 10)
def vary(desk, actor, critic, offspring, theta, goals, heads, least, rows, which, rate, counters):
    """Parents climb Q_θ, each with its goal, where they stand: a step of a fresh Adam per minibatch.

    Minibatches ``which`` are (parents, steps, n), or (1, steps, n) if all have the same.
    """
    lots, steps, n = which.shape
    while True:
        k = draw(counters)
        if k >= len(offspring):
            return
        desk.m[:] = 0
        desk.v[:] = 0
        for step in range(steps):
            take_states(rows, which[k % lots, step], desk.obs)
            climb(actor, critic, offspring[k], theta, goals[k], heads[k], least, desk, n, -1.0 / n)
            adam(offspring[k], desk.gradient, desk.m, desk.v, rate, step + 1)


@compiled
def take_states(rows, which, obs):
    for j in range(len(which)):
        row = rows[which[j]]
        for k in range(obs.shape[1]):
            obs[j, k] = row[k]


class CompiledLearner:
    """TD3's ``Learner`` on the CPU. Its sums are the same for any number of cores."""

    def __init__(self, policy: MLP, actor: MLP, critic: MLP, settings: TD3Settings) -> None:
        self.policy, self.actor = make_net(policy, relu=False), make_net(actor, relu=False)
        self.critic = make_net(critic, relu=True, norm=settings.layer_norm)
        self.rates = Rates(
            settings.critic_learning_rate,
            settings.actor_learning_rate,
            settings.discount,
            settings.target_rate,
            settings.smoothing_noise,
            settings.smoothing_clip,
            settings.target_delay,
        )
        self.pace = Pace()
        n, pairs = settings.critic_batch, critic.obs_dim
        self.bench = Bench(
            pair=blank(n, pairs),
            next_pair=blank(n, pairs),
            reward=blank(n),
            terminal=blank(n),
            bound=blank(n),
            target=blank(2, n),
            values=blank(2, room(self.critic, n)),
            deltas=blank(2, room(self.critic, n)),
            slope=blank(n, pairs),
            gradient=blank(2, critic.solution_dim),
        )
        self.halves = tuple(make_desk(self.actor, self.critic, -(-n // 2)) for _ in range(2))

    def train(
        self, nets: Networks, before: int, rows: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> tuple[Networks, np.ndarray]:
        """Networks after a step for every minibatch ``which`` (steps, n) of rows, and the losses."""
        nets = Networks(*(np.array(one) for one in nets))
        losses = np.zeros((len(which), 2))
        fixed = self.actor, self.critic, nets, self.bench, self.halves, self.rates
        for part, hands in self.pace.plan(len(which)):
            batches = before + part.start, rows, which[part], noise[part], losses[part]
            together(partial(train, *fixed, *batches), hands)
        return nets, losses.sum(axis=1)

    def gradient(
        self, solution: np.ndarray, theta: np.ndarray, goal: np.ndarray, rows: np.ndarray, which: np.ndarray
    ) -> np.ndarray:
        """∇_φ J(φ) at a solution, J the mean of Q_θ(s, goal, π_φ(s)) over the states of these rows."""
        return mean_gradient(self.policy, self.critic, solution, theta, goal, 0, 0.0, rows, which)

    def vary(
        self, parents: np.ndarray, theta: np.ndarray, goals: np.ndarray, rows: np.ndarray, which: np.ndarray, rate: float
    ) -> np.ndarray:
        """PG variation: parents (n, D) climb J, a step of a fresh Adam per minibatch of rows, (n or 1, steps, m)."""
        offspring = np.array(parents, np.float32)
        heads = np.zeros(len(parents), np.int64)
        fixed = self.policy, self.critic, offspring, theta, goals, heads, 0.0, rows, which, rate
        desk = partial(make_desk, self.policy, self.critic, which.shape[2])
        together(lambda counters: vary(desk(), *fixed, counters), most(len(parents)))
        return offspring


def mean_gradient(
    policy: Net,
    critic: Net,
    phi: np.ndarray,
    theta: np.ndarray,
    goal: np.ndarray,
    head: int,
    least: float,
    rows: np.ndarray,
    which: np.ndarray,
) -> np.ndarray:
    """Mean of ∇_φ Q_θ(s, goal, π_φ(s)), or of the share ``head`` (see ``aim``), over the states of these rows."""
    totals = np.zeros((GROUPS, phi.size), np.float32)
    fixed = policy, critic, phi, theta, goal, head, least, rows, which, totals
    desk = partial(make_desk, policy, critic, min(CHUNK, len(which)))
    together(lambda counters: ascend(desk(), *fixed, counters), most(GROUPS))
    return totals.sum(axis=0) / np.float32(len(which))


def make_desk(policy: Net, critic: Net, n: int) -> Desk:
    """For so many states of a policy and a critic of these forms."""
    states = blank(n, policy.sizes[0]), blank(n, critic.sizes[0]), blank(n, critic.sizes[0])
    return Desk(*states, *blank(2, room(policy, n)), *blank(2, room(critic, n)), *blank(3, size(policy)))


def blank(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)
