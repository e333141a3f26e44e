"""What TD3 learns, as plain arrays, whatever computes it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NO_GOAL = np.zeros(0, np.float32)
"""Of policies that have none, or are told it with their states."""


class Networks(NamedTuple):
    """All that training changes. Networks are flat vectors, in the order of ``gaits.MLP``; m and v are Adam's memory."""

    critics: Any  # (2, P): θ1, θ2
    critics_target: Any  # (2, P): θ'1, θ'2
    critics_m: Any
    critics_v: Any
    actor: Any  # (D,): φ_q, the greedy actor
    actor_target: Any  # (D,): φ'_q
    actor_m: Any
    actor_v: Any


def begin(critics: np.ndarray, actor: np.ndarray) -> Networks:
    """Networks at the beginning: targets equal, Adam's memory empty."""
    blank = np.zeros_like
    return Networks(
        *(critics, critics.copy(), blank(critics), blank(critics)), *(actor, actor.copy(), blank(actor), blank(actor))
    )
