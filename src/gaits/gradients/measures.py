"""A critic of measures that are shares of an episode's steps, such as the time that a foot is on the ground.

What each step adds to a measure is known, so the sums to the end of an episode are too: a policy's actions have values for
its measures as they have for its return. Nothing here is bootstrapped: what was not played, because of the step limit, is
not in the sums.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gaits.compiling import entry
from gaits.gradients.hands import most, together
from gaits.gradients.layers import PARAMETERS, adam, backward, forward, make_net, output, room
from gaits.gradients.learner import blank, make_desk, mean_gradient, vary
from gaits.gradients.td3 import TD3, Diverged, init_uniform
from gaits.policies import MLP
from gaits.states import generator_state, restore_generator


@entry("the critic of measures", 10)
def regress(net, vector, m, v, x, values, deltas, gradient, rows, sums, which, rate, before, losses, counters):
    """Adam's steps down mean ‖ψ(s, a) - sums‖² over minibatches ``which`` (steps, n); alone, so it counts nothing."""
    n, heads = which.shape[1], sums.shape[1]
    for step in range(len(which)):
        for j in range(n):
            x[j] = rows[which[step, j], : x.shape[1]]
        value = forward(net, vector, x, values)
        delta = output(net, deltas, net.sizes.size - 1, n)
        for j in range(n):
            for k in range(heads):
                error = value[j, k] - sums[which[step, j], k]
                losses[step] += error * error / n
                delta[j, k] = np.float32(2.0 / n) * error
        backward(net, vector, x, values, deltas, PARAMETERS, gradient, x)
        adam(vector, gradient, m, v, rate, before + step + 1)


class MeasureCritic:
    """ψ(s, goal, a), the discounted time left and, of each measure, the time that counts: learnt from a TD3's buffer.

    The share that one is of the other is what a measure becomes from here on; policies can climb it.
    """

    def __init__(self, policy: MLP, td3: TD3, measures: int, steps: int, seed: int) -> None:
        self.td3, self.steps = td3, steps
        self.rng = np.random.default_rng(seed)
        shape = MLP(td3.critic.obs_dim, td3.settings.critic_hidden, 1 + measures)
        self.policy, self.net = make_net(policy, relu=False), make_net(shape, relu=True, norm=td3.settings.layer_norm)
        self.psi = init_uniform(shape, self.rng)
        self.m, self.v = np.zeros((2, self.psi.size), np.float32)
        self.trained = 0
        self.loss = float("nan")

    @property
    def measures(self) -> int:
        return int(self.net.sizes[-1]) - 1

    @property
    def least(self) -> float:
        """What the time left is at least: that of one step."""
        return 1 - self.td3.settings.discount

    def train(self) -> None:
        """Learn from minibatches of the buffer, if there is anything in it."""
        buffer, n = self.td3.buffer, self.td3.settings.critic_batch
        if not buffer.size:
            return
        which, losses = buffer.draw(self.rng, self.steps, n), np.zeros(self.steps)
        fixed = self.net, self.psi, self.m, self.v, blank(n, self.net.sizes[0]), *blank(2, room(self.net, n))
        learnt = blank(self.psi.size), buffer.rows, buffer.sums
        rate = self.td3.settings.critic_learning_rate
        together(partial(regress, *fixed, *learnt, which, rate, self.trained, losses), hands=1)
        self.loss, self.trained = float(losses.mean()), self.trained + self.steps
        if not np.isfinite(self.loss):
            raise Diverged(f"The critic of measures diverged: its loss is {self.loss}.")

    def gradients(self, solution: np.ndarray, states: int) -> np.ndarray:
        """Of each measure at a solution, (k, dim), all over the same so many states of the buffer."""
        buffer, which = self.td3.buffer, self.td3.buffer.draw(self.rng, states)
        fixed = self.policy, self.net, solution, self.psi, self.td3.goal
        return np.stack([mean_gradient(*fixed, 1 + j, self.least, buffer.rows, which) for j in range(self.measures)])

    def vary(self, parents: np.ndarray, heads: np.ndarray, steps: int, batch: int, learning_rate: float) -> np.ndarray:
        """Parents (n, dim) climb the measures ``heads`` (n,), the first of which is 1, all over the same states."""
        buffer = self.td3.buffer
        offspring = np.array(parents, np.float32)
        goals = np.repeat(self.td3.goal[None], len(parents), axis=0)
        which = buffer.draw(self.rng, 1, steps, batch)
        fixed = self.policy, self.net, offspring, self.psi, goals, heads, self.least, buffer.rows, which, learning_rate
        desk = partial(make_desk, self.policy, self.net, batch)
        together(lambda counters: vary(desk(), *fixed, counters), most(len(parents)))
        return offspring

    def state(self) -> dict[str, Any]:
        learnt = {name: getattr(self, name) for name in ("psi", "m", "v", "trained", "loss")}
        return {**learnt, "rng": generator_state(self.rng)}

    def restore(self, state: dict[str, Any]) -> None:
        for name in ("psi", "m", "v", "trained", "loss"):
            setattr(self, name, state[name])
        restore_generator(self.rng, state["rng"])
