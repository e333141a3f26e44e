"""The replay buffer: the last transitions of all policies, for a critic to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.compiling import compiled, entry
from gaits.evaluation.results import Transitions
from gaits.states import Misfit, Rows


@compiled
def all_finite(values):
    """Whether they all are, as float32."""
    finite = True
    for value in values:
        finite &= np.isfinite(np.float32(value))
    return finite


@entry("the replay buffer", 3)
def write(rows, place, obs, action, next_obs, reward, terminal):
    """Write transitions that are finite as rows, from a place on and around. Returns how many, and the next place."""
    kept = 0
    obs_dim, action_dim = obs.shape[1], action.shape[1]
    pair = obs_dim + action_dim
    for i in range(len(reward)):
        if not (
            all_finite(obs[i]) and all_finite(action[i]) and all_finite(next_obs[i]) and np.isfinite(np.float32(reward[i]))
        ):
            continue
        row = rows[place]
        for k in range(obs_dim):
            row[k] = obs[i, k]
            row[pair + k] = next_obs[i, k]
        for k in range(action_dim):
            row[obs_dim + k] = action[i, k]
        row[pair + obs_dim], row[pair + obs_dim + 1] = reward[i], terminal[i]
        kept, place = kept + 1, (place + 1) % len(rows)
    return kept, place


class ReplayBuffer:
    """A ring of transitions. One row each, so that a sample is one gather: obs, action, next_obs, reward, terminal."""

    def __init__(self, capacity: int, obs_dim: int, action_dim: int) -> None:
        self.obs_dim, self.action_dim = obs_dim, action_dim
        # Zeros take memory only once they are written to, so a short run never pays for the whole ring.
        self.rows = np.zeros((capacity, 2 * obs_dim + action_dim + 2), np.float32)
        self.size = 0
        self.next = 0
        """Where the next transition goes."""

    def add(self, steps: Transitions, timeout_terminal: bool = True) -> int:
        """Append transitions in order, over the oldest when full. Returns how many were refused as not finite.

        ``timeout_terminal``: whether the step limit ends an episode for good, with no value beyond it.
        """
        terminal = steps.terminated | steps.truncated if timeout_terminal else steps.terminated
        parts = steps.obs, steps.action, steps.next_obs, steps.reward, terminal
        kept, self.next = write(self.rows, self.next, *parts)
        self.size = min(self.size + kept, len(self.rows))
        return len(terminal) - kept

    def draw(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Places (*shape) of transitions, uniformly with replacement."""
        return rng.integers(self.size, size=shape)

    def state(self) -> dict[str, Any]:
        return {"rows": Rows(self.rows[: self.size], len(self.rows)), "next": self.next}

    def restore(self, state: dict[str, Any]) -> None:
        size, capacity = len(state["rows"]), len(self.rows)
        if state["next"] != size % capacity and not (size == capacity and state["next"] < capacity):
            raise Misfit(f"its replay buffer goes on at {state['next']} after {size} of {capacity} transitions")
        if not np.isfinite(state["rows"]).all():
            raise Misfit("its replay buffer has transitions that are not finite")
        self.size, self.next = size, state["next"]
        self.rows[: self.size] = state["rows"]
