"""Gradients by evolution strategies (OpenAI-ES): mirrored Gaussian samples and ranks instead of values."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy  # whose statistics come when they are used

from gaits import memory, rows
from gaits.evaluation.results import Results
from gaits.normals import Normals

TieRanks = Literal["order", "average"]


def centred_ranks(values: np.ndarray, ties: TieRanks = "order") -> np.ndarray:
    """Ranks along the last axis, scaled to [-0.5, 0.5]: the lowest value gets -0.5.

    Equal values rank in the order they come ("order", as in the released code but with a stable sort), or share their
    mean rank ("average": where all are equal, all get 0 and so does the gradient).
    """
    ranks = scipy.stats.rankdata(values, method="ordinal" if ties == "order" else "average", axis=-1) - 1.0
    return ranks / max(values.shape[-1] - 1, 1) - 0.5


def mirrored(solution: np.ndarray, noise: np.ndarray, sigma: float, itself: bool = False) -> np.ndarray:
    """Samples solution + σε for every row ε of the noise, then solution - σε, as float32; first the solution ``itself``."""
    samples = memory.empty((itself + 2 * len(noise), solution.size))
    samples[:itself] = solution
    rows.mirror(samples[itself:], solution, noise, np.float32(sigma))
    return samples


class EvolutionStrategy:
    """Objective and measure gradients from the same n mirrored samples: ∇ = 1 / (n/2 · σ) Σ ε_i (R_i⁺ - R_i⁻)."""

    def __init__(self, samples: int, sigma: float, seed: int, ties: TieRanks = "order") -> None:
        self.half, self.sigma, self.ties = samples // 2, sigma, ties
        self.normals = Normals(np.random.default_rng(seed))

    def prepare(self) -> None:
        self.normals.prepare()

    def samples(self, solution: np.ndarray) -> np.ndarray:
        return self.around(solution)[1:]

    def around(self, solution: np.ndarray) -> np.ndarray:
        """The solution and, behind it, its samples, (1 + n, dim)."""
        self.noise = self.normals.take(self.half, solution.size)
        return mirrored(solution, self.noise, self.sigma, itself=True)

    def jacobian(self, solution: np.ndarray, results: Results) -> np.ndarray:
        # A failed episode has a return cut short; as a sample it must rank last.
        objective = np.where(results.failed, -np.inf, results.objective)
        ranks = centred_ranks(np.concatenate([objective[None], results.measures.T]), self.ties)
        weights = (ranks[:, : self.half] - ranks[:, self.half :]) / (self.half * self.sigma)
        jacobian = np.zeros((len(weights), solution.size), np.float32)
        for gradient, weight in zip(jacobian, weights.astype(np.float32), strict=True):  # BLAS's order is the machine's own
            rows.add_weighted(gradient, self.noise, np.arange(self.half), weight)
        return jacobian

    def state(self) -> dict[str, Any]:
        return {"rng": self.normals.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.normals.restore(state["rng"])
