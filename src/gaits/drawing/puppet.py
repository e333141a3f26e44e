"""A robot that can be drawn, whoever moves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaits.drawing.figure import Figure


@dataclass(frozen=True)
class Puppet:
    """What a robot of S capsules looks like, and where an episode's trace puts them. The torso's capsule comes first."""

    figure: Figure
    parts: tuple[str, ...]  # (S,) the name of what each capsule belongs to
    find_ends: Callable[[np.ndarray], np.ndarray]
    """From the positions (T, Q) of a trace to both ends of every capsule in the world (T, S, 2, 3)."""
    seconds_per_step: float
