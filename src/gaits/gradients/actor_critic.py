"""TD3 on a GPU: its equations as pure functions in JAX, which also finds the derivatives.

Symbols are the paper's: critics Q_θ1 and Q_θ2, the greedy actor π_φq, targets with a prime. ``learner.py`` computes the same
on the CPU.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gaits.gradients.networks import Networks
from gaits.gradients.td3 import TD3Settings
from gaits.policies import MLP

CHUNK = 8192
"""States per pass of the policy gradient."""


class Minibatch(NamedTuple):
    """Rows of the replay buffer, taken apart."""

    obs: Array  # (n, obs_dim)
    action: Array  # (n, action_dim)
    next_obs: Array  # (n, obs_dim)
    reward: Array  # (n,)
    terminal: Array  # (n,)
    bound: Array  # (n,): what y is at least


@dataclass(frozen=True)
class ActorCritic:
    """TD3's ``Learner`` in JAX. Built from constants only and hashable, so that equal ones share compiled functions."""

    policy: MLP
    actor: MLP
    critic: MLP
    settings: TD3Settings

    # --- the equations ------------------------------------------------------------------------------------------------

    def split(self, rows: Array) -> Minibatch:
        o, a = self.actor.obs_dim, self.actor.action_dim
        obs, action, next_obs, rest = jnp.split(rows, (o, o + a, 2 * o + a), axis=-1)
        reward, terminal, *bound = jnp.moveaxis(rest, -1, 0)
        return Minibatch(obs, action, next_obs, reward, terminal, bound[0] if bound else jnp.full_like(reward, -jnp.inf))

    def value(self, theta: Array, obs: Array, action: Array) -> Array:
        """Q_θ(s, a), one per state."""
        x = jnp.concatenate([obs, action], axis=-1)
        *hidden, (weights, biases) = self.critic.layers(theta)
        for w, b in hidden:
            x = jax.nn.relu(self.normalize(x @ w.T + b))
        return (x @ weights.T + biases)[..., 0]

    def normalize(self, z: Array) -> Array:
        return jax.nn.standardize(z, epsilon=1e-5) if self.settings.layer_norm else z

    def values(self, critics: Array, obs: Array, action: Array) -> Array:
        """Both critics' values, (2, n)."""
        return jax.vmap(self.value, (0, None, None))(critics, obs, action)

    def target(self, nets: Networks, batch: Minibatch, noise: Array) -> Array:
        """y = r + γ (1 - terminal) min_i Q_θ'i(s', clip(π_φ'q(s') + ε)), or its bound; the noise is standard normal."""
        clip = self.settings.smoothing_clip
        epsilon = jnp.clip(self.settings.smoothing_noise * noise, -clip, clip)
        action = jnp.clip(self.actor.act_jax(nets.actor_target, batch.next_obs) + epsilon, -1.0, 1.0)
        lowest = self.values(nets.critics_target, batch.next_obs, action).min(axis=0)
        return jnp.maximum(batch.reward + self.settings.discount * (1.0 - batch.terminal) * lowest, batch.bound)

    def critic_loss(self, critics: Array, batch: Minibatch, y: Array) -> Array:
        """Σ_i mean (y - Q_θi(s, a))²."""
        return ((y - self.values(critics, batch.obs, batch.action)) ** 2).mean(axis=1).sum()

    def actor_value(self, actor: Array, theta: Array, obs: Array) -> Array:
        """Mean Q_θ(s, π_φq(s)), which the greedy actor climbs."""
        return self.value(theta, obs, self.actor.act_jax(actor, obs)).mean()

    def policy_value(self, solution: Array, theta: Array, goal: Array, obs: Array) -> Array:
        """J(φ) = mean Q_θ(s, goal, π_φ(s)), which solutions climb."""
        state = jnp.concatenate([obs, jnp.broadcast_to(goal, (*obs.shape[:-1], goal.size))], axis=-1)
        return self.value(theta, state, self.policy.act_jax(solution, obs)).mean()

    def step(self, nets: Networks, t: Array, rows: Array, noise: Array) -> tuple[Networks, Array]:
        """Critic step t, and every ``target_delay`` of them a step of the greedy actor and the targets. Also the loss."""
        batch = self.split(rows)
        y = self.target(nets, batch, noise)
        loss, gradient = jax.value_and_grad(self.critic_loss)(nets.critics, batch, y)
        memory = nets.critics_m, nets.critics_v
        critics, m, v = adam(nets.critics, gradient, *memory, self.settings.critic_learning_rate, t)
        nets = nets._replace(critics=critics, critics_m=m, critics_v=v)
        delay = self.settings.target_delay
        return jax.lax.cond(t % delay == 0, lambda: self.delayed(nets, batch.obs, t // delay), lambda: nets), loss

    def delayed(self, nets: Networks, obs: Array, t: Array) -> Networks:
        """The greedy actor climbs Q_θ1; the targets move a little towards what they follow."""
        gradient = jax.grad(self.actor_value)(nets.actor, nets.critics[0], obs)
        actor, m, v = adam(nets.actor, -gradient, nets.actor_m, nets.actor_v, self.settings.actor_learning_rate, t)
        follow = functools.partial(
            lambda tau, target, leader: tau * leader + (1.0 - tau) * target, self.settings.target_rate
        )
        return nets._replace(
            actor=actor,
            actor_m=m,
            actor_v=v,
            critics_target=follow(nets.critics_target, nets.critics),
            actor_target=follow(nets.actor_target, actor),
        )

    # --- compiled -----------------------------------------------------------------------------------------------------

    def train(
        self, nets: Networks, before: int, rows: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> tuple[Networks, np.ndarray]:
        trained, losses = self._train(nets, jnp.int32(before), rows.take(which, axis=0), noise)
        return Networks(*map(np.asarray, trained)), np.asarray(losses)

    def gradient(
        self, solution: np.ndarray, theta: np.ndarray, goal: np.ndarray, rows: np.ndarray, which: np.ndarray
    ) -> np.ndarray:
        return np.asarray(self._gradient(solution, theta, goal, self._states(rows, which)))

    def vary(
        self, parents: np.ndarray, theta: np.ndarray, goals: np.ndarray, rows: np.ndarray, which: np.ndarray, rate: float
    ) -> np.ndarray:
        return np.asarray(self._vary(parents, theta, goals, self._states(rows, which), rate))

    def _states(self, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
        return rows.take(which, axis=0)[..., : self.policy.obs_dim]  # taking from a view would copy the whole buffer first

    @functools.partial(jax.jit, static_argnums=0)
    def _train(self, nets: Networks, before: Array, rows: Array, noise: Array) -> tuple[Networks, Array]:
        t = before + 1 + jnp.arange(len(rows))
        return jax.lax.scan(lambda nets, xs: self.step(nets, *xs), nets, (t, rows, noise))

    @functools.partial(jax.jit, static_argnums=0)
    def _gradient(self, solution: Array, theta: Array, goal: Array, obs: Array) -> Array:
        n, size = len(obs), min(len(obs), CHUNK)
        whole = n // size * size

        def add(total: Array, states: Array) -> tuple[Array, None]:
            return total + len(states) * jax.grad(self.policy_value)(solution, theta, goal, states), None

        total, _ = jax.lax.scan(add, jnp.zeros_like(solution), obs[:whole].reshape(-1, size, obs.shape[1]))
        return (total if whole == n else add(total, obs[whole:])[0]) / n

    @functools.partial(jax.jit, static_argnums=(0, 5))
    def _vary(self, parents: Array, theta: Array, goals: Array, obs: Array, rate: float) -> Array:
        Climber = tuple[Array, Array, Array]

        def one(parent: Array, goal: Array, states: Array) -> Array:
            def climb(climber: Climber, xs: tuple[Array, Array]) -> tuple[Climber, None]:
                (solution, m, v), (t, states) = climber, xs
                gradient = jax.grad(self.policy_value)(solution, theta, goal, states)
                return adam(solution, -gradient, m, v, rate, t), None

            climber = parent, jnp.zeros_like(parent), jnp.zeros_like(parent)
            return jax.lax.scan(climb, climber, (1 + jnp.arange(len(states)), states))[0][0]

        return jax.vmap(one)(parents, goals, jnp.broadcast_to(obs, (len(parents), *obs.shape[1:])))


def adam(vector: Array, gradient: Array, m: Array, v: Array, rate: float, t: Array) -> tuple[Array, Array, Array]:
    """Step t of Adam down a gradient (Kingma and Ba, 2015, algorithm 1, with its defaults)."""
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return vector - rate * m_hat / (jnp.sqrt(v_hat) + 1e-8), m, v
