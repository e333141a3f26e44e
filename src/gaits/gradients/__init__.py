"""Where gradients come from. CMA-MEGA takes them from any source; a new source needs no change anywhere else."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gaits.evaluation.results import Results
from gaits.gradients.critics import CriticGradient, Displacement
from gaits.gradients.es import EvolutionStrategy
from gaits.gradients.exact import ExactGradients
from gaits.gradients.experience import Lesson
from gaits.gradients.measures import MeasureCritic
from gaits.gradients.td3 import TD3, Diverged, TD3Settings


class GradientSource(Protocol):
    """Estimates the gradients of the objective and of every measure at a solution.

    It may need other solutions evaluated first: those of ``samples``, whose results come back to ``jacobian``. If it has a
    method ``prepare``, that is called while episodes run, to do what of the next samples does not depend on their outcome.
    """

    def samples(self, solution: np.ndarray) -> np.ndarray:
        """Solutions (n, dim) float32 to evaluate around this one; n may be 0."""

    def jacobian(self, solution: np.ndarray, results: Results) -> np.ndarray:
        """Gradients (1 + k, dim): the objective's, then each measure's. ``results`` are those of the last samples.

        A source of the objective alone gives one row.
        """

    def state(self) -> dict[str, Any]:
        """What it knows between iterations."""

    def restore(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""


__all__ = [
    "TD3",
    "CriticGradient",
    "Displacement",
    "Diverged",
    "EvolutionStrategy",
    "ExactGradients",
    "GradientSource",
    "Lesson",
    "MeasureCritic",
    "TD3Settings",
]
