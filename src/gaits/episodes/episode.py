"""What an episode is: what it depends on, how it can end, and what is kept of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TRUNCATED, TERMINATED, NON_FINITE = 0, 1, 2
"""How an episode ended: by the step limit, by the robot's fall, or just before numbers that are not finite."""

MAX_SEED = 2**63 - 1


class Setup(NamedTuple):
    """Everything an episode depends on, besides its task."""

    solution: np.ndarray  # (solution_dim,) float32
    seed: int
    """The episode is that of ``reset(seed=seed)``."""
    obs_mean: np.ndarray  # (obs_dim,) float32; policies see (obs - mean) / std
    obs_std: np.ndarray  # (obs_dim,) float32
    action_noise: np.ndarray  # (max_steps, action_dim) float32, or no rows
    record: bool = False
    """Whether its steps are wanted."""
    trace: bool = False
    """Whether it is to be drawn."""


class Steps(NamedTuple):
    """The T steps of a recorded episode."""

    obs: np.ndarray  # (T + 1, obs_dim) float32
    actions: np.ndarray  # (T, action_dim) float32
    rewards: np.ndarray  # (T,) float64


class Trace(NamedTuple):
    """Where a robot was in T steps, to be drawn by its puppet."""

    positions: np.ndarray  # (T + 1, Q) float64, as its physics has them
    contacts: np.ndarray  # (T, feet) float32: whether each foot is on the ground after a step


class Pictures(NamedTuple):
    """An episode as its environment drew it."""

    images: tuple[bytes, ...]  # JPEG, of one size: of the start, and after every ``every`` steps
    every: int
    seconds_per_step: float


class Episode(NamedTuple):
    """The outcome of an episode, and what of it was asked for."""

    objective: float
    measures: np.ndarray  # (k,) float64
    length: int
    end: int  # TRUNCATED, TERMINATED or NON_FINITE
    steps: Steps | None = None
    trace: Trace | Pictures | None = None


def check_seed(seed: Any) -> int:
    """The seed as an int, if an episode can have it."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"A seed must be a whole number from 0 to 2**63 - 1; got {seed}.")
    return int(seed)


def draw_noise(seed: int, std: float, max_steps: int, action_dim: int) -> np.ndarray:
    """Action noise of one episode (max_steps, action_dim), from a stream apart from the start's; no rows without noise."""
    if std == 0.0:
        return np.zeros((0, action_dim), np.float32)
    stream = np.random.SeedSequence(seed, spawn_key=(1,))
    rng = np.random.Generator(np.random.PCG64(stream))
    return np.float32(std) * rng.standard_normal((max_steps, action_dim), np.float32)
