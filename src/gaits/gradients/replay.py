"""The replay buffer: the last transitions of all policies, for a critic to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.compiling import compiled, entry
from gaits.gradients.experience import Experience
from gaits.states import Misfit, Rows


@compiled
def all_finite(values):
    """Whether they all are, as float32."""
    finite = True
    for value in values:
        finite &= np.isfinite(np.float32(value))
    return finite


@entry("the replay buffer", 3)
def write(rows, cells, sums, place, obs, action, next_obs, reward, terminal, bound, cell, its_sums):
    """Write transitions that are finite as rows, from a place on and around. Returns how many, and the next place."""
    kept = 0
    obs_dim, action_dim = obs.shape[1], action.shape[1]
    pair = obs_dim + action_dim
    wide = rows.shape[1] > pair + obs_dim + 2
    for i in range(len(reward)):
        if not (
            all_finite(obs[i]) and all_finite(action[i]) and all_finite(next_obs[i]) and np.isfinite(np.float32(reward[i]))
        ) or (wide and not np.isfinite(np.float32(bound[i]))):
            continue
        row = rows[place]
        for k in range(obs_dim):
            row[k] = obs[i, k]
            row[pair + k] = next_obs[i, k]
        for k in range(action_dim):
            row[obs_dim + k] = action[i, k]
        row[pair + obs_dim], row[pair + obs_dim + 1] = reward[i], terminal[i]
        if wide:
            row[pair + obs_dim + 2] = bound[i]
        if cells.size:
            cells[place] = cell[i]
        if sums.size:
            sums[place] = its_sums[i]
        kept, place = kept + 1, (place + 1) % len(rows)
    return kept, place


class ReplayBuffer:
    """A ring of transitions, one row each, so that a sample is one gather: obs, action, next_obs, reward, terminal.

    With ``bounds``, rows end with what their value is at least. With ``cells``, each has the cell of its episode, and with
    ``sums``, so many sums of what was measured.
    """

    def __init__(
        self, capacity: int, obs_dim: int, action_dim: int, *, bounds: bool = False, cells: bool = False, sums: int = 0
    ) -> None:
        self.obs_dim, self.action_dim = obs_dim, action_dim
        # Zeros take memory only once they are written to, so a short run never pays for the whole ring.
        self.rows = np.zeros((capacity, 2 * obs_dim + action_dim + 2 + bounds), np.float32)
        self.cells = np.zeros(capacity if cells else 0, np.int32)
        self.sums = np.zeros((capacity if sums else 0, sums), np.float32)
        self.size = 0
        self.next = 0
        """Where the next transition goes."""

    def add(self, new: Experience) -> int:
        """Append transitions in order, over the oldest when full. Returns how many were refused as not finite."""
        n = len(new.reward)
        bound = new.reward if new.bound is None else new.bound
        cell = np.zeros(n, np.int64) if new.cell is None else new.cell.astype(np.int64)
        sums = np.zeros((n, 0)) if new.sums is None else new.sums
        kept, self.next = write(self.rows, self.cells, self.sums, self.next, *new[:5], bound, cell, sums)
        self.size = min(self.size + kept, len(self.rows))
        return n - kept

    def draw(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Places (*shape) of transitions, with replacement: uniformly, or uniformly from a cell drawn uniformly."""
        if not self.cells.size:
            return rng.integers(self.size, size=shape)
        order = np.argsort(self.cells[: self.size], kind="stable")
        starts = np.flatnonzero(np.diff(self.cells[order], prepend=-1))
        counts = np.diff(starts, append=self.size)
        cell = rng.integers(len(starts), size=shape)
        return order[starts[cell] + (rng.random(shape) * counts[cell]).astype(np.int64)]

    def state(self) -> dict[str, Any]:
        return {"rows": Rows(self.rows[: self.size], len(self.rows)), "next": self.next, **self._beside()}

    def _beside(self) -> dict[str, Rows]:
        """What transitions have besides their rows."""
        arrays = {"cells": self.cells, "sums": self.sums}
        return {name: Rows(array[: self.size], len(array)) for name, array in arrays.items() if array.size}

    def restore(self, state: dict[str, Any]) -> None:
        size, capacity = len(state["rows"]), len(self.rows)
        if state["next"] != size % capacity and not (size == capacity and state["next"] < capacity):
            raise Misfit(f"its replay buffer goes on at {state['next']} after {size} of {capacity} transitions")
        self.size, self.next = size, state["next"]
        for name in ("rows", *self._beside()):
            if len(state[name]) != size or not np.isfinite(state[name]).all():
                raise Misfit(f"its replay buffer has transitions whose {name} are missing or not finite")
            getattr(self, name)[: self.size] = state[name]
