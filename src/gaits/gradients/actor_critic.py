"""The equations of TD3 as pure functions in JAX. Networks are flat vectors, in the order of ``gaits.MLP``.

Symbols are the paper's: critics Q_θ1 and Q_θ2, the greedy actor π_φq, targets with a prime. ``td3.py`` holds the state.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from gaits.gradients.td3 import TD3Settings
from gaits.policies import MLP

CHUNK = 8192
"""States per pass of the policy gradient: large ones leave the cache, and 65,536 at once take 1.4 times as long."""


class Networks(NamedTuple):
    """All that training changes."""

    critics: Array  # (2, P): θ1, θ2
    critics_target: Array  # (2, P): θ'1, θ'2
    actor: Array  # (D,): φ_q, the greedy actor
    actor_target: Array  # (D,): φ'_q
    critics_adam: optax.OptState
    actor_adam: optax.OptState
    steps: Array  # () int32, critic steps of the whole run


class Minibatch(NamedTuple):
    """Rows of the replay buffer, taken apart."""

    obs: Array  # (n, obs_dim)
    action: Array  # (n, action_dim)
    next_obs: Array  # (n, obs_dim)
    reward: Array  # (n,)
    terminal: Array  # (n,)


@dataclass(frozen=True)
class ActorCritic:
    """Built from constants only and hashable, so that equal ones share their compiled functions."""

    policy: MLP
    settings: TD3Settings

    @property
    def critic(self) -> MLP:
        """Layer sizes of a critic: (obs, action) -> hidden ReLU layers -> one value."""
        return MLP(self.policy.obs_dim + self.policy.action_dim, self.settings.critic_hidden, 1)

    def init(self, critics: Any, actor: Any) -> Networks:
        """Networks at the beginning: targets equal, Adam's memory empty."""
        critics_adam, actor_adam = (optimizer.init(p) for optimizer, p in zip(self._adams, (critics, actor), strict=True))
        return Networks(critics, critics, actor, actor, critics_adam, actor_adam, jnp.int32(0))

    @property
    def _adams(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        return optax.adam(self.settings.critic_learning_rate), optax.adam(self.settings.actor_learning_rate)

    def split(self, rows: Array) -> Minibatch:
        o, a = self.policy.obs_dim, self.policy.action_dim
        obs, action, next_obs, rest = jnp.split(rows, (o, o + a, 2 * o + a), axis=-1)
        return Minibatch(obs, action, next_obs, rest[..., 0], rest[..., 1])

    def value(self, theta: Array, obs: Array, action: Array) -> Array:
        """Q_θ(s, a), one per state."""
        x = jnp.concatenate([obs, action], axis=-1)
        *hidden, (weights, biases) = self.critic.layers(theta)
        for w, b in hidden:
            x = jax.nn.relu(x @ w.T + b)
        return (x @ weights.T + biases)[..., 0]

    def values(self, critics: Array, obs: Array, action: Array) -> Array:
        """Both critics' values, (2, n)."""
        return jax.vmap(self.value, (0, None, None))(critics, obs, action)

    def target(self, nets: Networks, batch: Minibatch, noise: Array) -> Array:
        """y = r + γ (1 - terminal) min_i Q_θ'i(s', clip(π_φ'q(s') + ε)); the noise is standard normal."""
        clip = self.settings.smoothing_clip
        epsilon = jnp.clip(self.settings.smoothing_noise * noise, -clip, clip)
        action = jnp.clip(self.policy.act_jax(nets.actor_target, batch.next_obs) + epsilon, -1.0, 1.0)
        lowest = self.values(nets.critics_target, batch.next_obs, action).min(axis=0)
        return batch.reward + self.settings.discount * (1.0 - batch.terminal) * lowest

    def critic_loss(self, critics: Array, batch: Minibatch, y: Array) -> Array:
        """Σ_i mean (y - Q_θi(s, a))²."""
        return ((y - self.values(critics, batch.obs, batch.action)) ** 2).mean(axis=1).sum()

    def policy_value(self, actor: Array, theta: Array, obs: Array) -> Array:
        """J(φ) = mean Q_θ(s, π_φ(s)), which policies climb."""
        return self.value(theta, obs, self.policy.act_jax(actor, obs)).mean()

    def step(self, nets: Networks, rows: Array, noise: Array) -> tuple[Networks, Array]:
        """One critic step, and every ``target_delay`` of them a step of the greedy actor and the targets. Also the loss."""
        batch = self.split(rows)
        y = self.target(nets, batch, noise)
        loss, gradient = jax.value_and_grad(self.critic_loss)(nets.critics, batch, y)
        changes, critics_adam = self._adams[0].update(gradient, nets.critics_adam)
        critics = optax.apply_updates(nets.critics, changes)
        nets = nets._replace(critics=critics, critics_adam=critics_adam, steps=nets.steps + 1)
        # Only what may change goes through the branch: XLA copies all that does.
        changed = jax.lax.cond(
            nets.steps % self.settings.target_delay == 0,
            lambda: self.delayed(nets, batch.obs),
            lambda: {name: getattr(nets, name) for name in ("actor", "actor_adam", "critics_target", "actor_target")},
        )
        return nets._replace(**changed), loss

    def delayed(self, nets: Networks, obs: Array) -> dict[str, Any]:
        """The greedy actor climbs Q_θ1; the targets move a little towards what they follow."""
        gradient = jax.grad(self.policy_value)(nets.actor, nets.critics[0], obs)
        changes, actor_adam = self._adams[1].update(-gradient, nets.actor_adam)
        actor = optax.apply_updates(nets.actor, changes)
        return {
            "actor": actor,
            "actor_adam": actor_adam,
            "critics_target": self.follow(nets.critics_target, nets.critics),
            "actor_target": self.follow(nets.actor_target, actor),
        }

    def follow(self, target: Array, leader: Array) -> Array:
        """θ' = τ θ + (1 - τ) θ'."""
        tau = self.settings.target_rate
        return tau * leader + (1.0 - tau) * target

    # --- compiled -----------------------------------------------------------------------------------------------------

    @functools.partial(jax.jit, static_argnums=0)
    def train(self, nets: Networks, rows: Array, noise: Array) -> tuple[Networks, Array]:
        """``step`` for every row of minibatches (steps, n, width) and noise (steps, n, action_dim). Also the losses."""
        return jax.lax.scan(lambda nets, xs: self.step(nets, *xs), nets, (rows, noise))

    @functools.partial(jax.jit, static_argnums=0)
    def gradient(self, solution: Array, theta: Array, obs: Array) -> Array:
        """∇_φ J(φ) at one solution, over all these states (n, obs_dim), a chunk at a time."""
        n, size = len(obs), min(len(obs), CHUNK)
        whole = n // size * size

        def add(total: Array, states: Array) -> tuple[Array, None]:
            return total + len(states) * jax.grad(self.policy_value)(solution, theta, states), None

        total, _ = jax.lax.scan(add, jnp.zeros_like(solution), obs[:whole].reshape(-1, size, obs.shape[1]))
        return (total if whole == n else add(total, obs[whole:])[0]) / n

    @functools.partial(jax.jit, static_argnums=(0, 4))
    def vary(self, parents: Array, theta: Array, obs: Array, learning_rate: float) -> Array:
        """PG variation: parents (n, D) climb J, a step of a fresh Adam per minibatch of states (n, steps, m, obs_dim)."""
        optimizer = optax.adam(learning_rate)

        def climb(carry: tuple[Array, optax.OptState], states: Array) -> tuple[tuple[Array, optax.OptState], None]:
            solution, adam = carry
            gradient = jax.grad(self.policy_value)(solution, theta, states)
            changes, adam = optimizer.update(-gradient, adam)
            return (optax.apply_updates(solution, changes), adam), None

        def one(parent: Array, states: Array) -> Array:
            (offspring, _), _ = jax.lax.scan(climb, (parent, optimizer.init(parent)), states)
            return offspring

        return jax.vmap(one)(parents, obs)
