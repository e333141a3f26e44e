"""The replay buffer: the last transitions of all policies, for a critic to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.evaluation.results import Transitions
from gaits.states import Misfit, Rows


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
        columns = (steps.obs, steps.action, steps.next_obs, steps.reward[:, None], terminal[:, None])
        with np.errstate(over="ignore"):
            rows = np.concatenate(columns, axis=1, dtype=np.float32, casting="unsafe")
        finite = np.isfinite(rows).all(axis=1)
        refused = len(rows) - int(finite.sum())
        self._append(rows[finite] if refused else rows)
        return refused

    def _append(self, rows: np.ndarray) -> None:
        capacity = len(self.rows)
        skipped = max(len(rows) - capacity, 0)  # those would be overwritten at once
        start = (self.next + skipped) % capacity
        self.next = (self.next + len(rows)) % capacity
        self.size = min(self.size + len(rows), capacity)
        kept = rows[skipped:]
        until_end = capacity - start
        self.rows[start : start + len(kept)] = kept[:until_end]
        self.rows[: max(len(kept) - until_end, 0)] = kept[until_end:]

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
