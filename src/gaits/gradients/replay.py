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
def write(rows, cells, place, obs, action, next_obs, reward, terminal, bound, cell, wide):
    """Write transitions that are finite as rows, from a place on and around. Returns how many, and the next place.

    ``wide`` rows have their bound at the end.
    """
    kept = 0
    obs_dim, action_dim = obs.shape[1], action.shape[1]
    pair = obs_dim + action_dim
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
        kept, place = kept + 1, (place + 1) % len(rows)
    return kept, place


class ReplayBuffer:
    """A ring of transitions, one row each, so that a sample is one gather: obs, action, next_obs, reward, terminal.

    With ``bounds``, rows end with what their value is at least. With ``cells``, each has the cell of its episode.
    """

    def __init__(self, capacity: int, obs_dim: int, action_dim: int, bounds: bool = False, cells: bool = False) -> None:
        self.obs_dim, self.action_dim, self.bounds = obs_dim, action_dim, bounds
        # Zeros take memory only once they are written to, so a short run never pays for the whole ring.
        self.rows = np.zeros((capacity, 2 * obs_dim + action_dim + 2 + bounds), np.float32)
        self.cells = np.zeros(capacity if cells else 0, np.int32)
        self.size = 0
        self.next = 0
        """Where the next transition goes."""

    def add(self, rows: Experience, cells: np.ndarray | None = None) -> int:
        """Append transitions in order, over the oldest when full. Returns how many were refused as not finite."""
        bound = rows.reward if rows.bound is None else rows.bound
        cells = np.zeros(len(rows.obs), np.int32) if cells is None else cells.astype(np.int32)
        kept, self.next = write(self.rows, self.cells, self.next, *rows[:5], bound, cells, self.bounds)
        self.size = min(self.size + kept, len(self.rows))
        return len(rows.reward) - kept

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
        cells = {"cells": Rows(self.cells[: self.size], len(self.cells))} if self.cells.size else {}
        return {"rows": Rows(self.rows[: self.size], len(self.rows)), "next": self.next, **cells}

    def restore(self, state: dict[str, Any]) -> None:
        size, capacity = len(state["rows"]), len(self.rows)
        if state["next"] != size % capacity and not (size == capacity and state["next"] < capacity):
            raise Misfit(f"its replay buffer goes on at {state['next']} after {size} of {capacity} transitions")
        if not np.isfinite(state["rows"]).all():
            raise Misfit("its replay buffer has transitions that are not finite")
        self.size, self.next = size, state["next"]
        self.rows[: self.size] = state["rows"]
        if self.cells.size:
            if len(state["cells"]) != size or state["cells"].min(initial=0) < 0:
                raise Misfit("its replay buffer has not a cell for every transition")
            self.cells[: self.size] = state["cells"]
