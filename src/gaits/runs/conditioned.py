"""The policy of a run that can be asked for a gait: it takes the wanted measures, and is kept in the run's checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits.algorithms import CONDITIONED
from gaits.gradients.goals import fold, scaled
from gaits.policies import MLP
from gaits.runs import Run, checkpoint
from gaits.runs.directory import RunDirectory
from gaits.search import Search
from gaits.states import Misfit


@dataclass(frozen=True)
class Conditioned:
    """A network on observations and goals, which are measures scaled from their ranges (k, 2) to [-1, 1]."""

    network: MLP
    vector: np.ndarray
    ranges: np.ndarray

    def solution(self, measures: Any) -> np.ndarray:
        """The policy that walks as it is asked to, as far as it can."""
        return fold(self.network, self.vector, scaled(self._check(measures)[None], self.ranges))[0]

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights and biases of a network on observations and plain measures: scaling is part of its first layer."""
        (weights, biases), *others = self.network.layers(self.vector)
        low, high = self.ranges.T
        n = weights.shape[1] - len(low)
        told = weights[:, n:] * (2 / (high - low))
        first = np.concatenate([weights[:, :n], told], axis=1), biases - told @ ((low + high) / 2)
        return [(w.astype(np.float32), b.astype(np.float32)) for w, b in (first, *others)]

    def _check(self, measures: Any) -> np.ndarray:
        """Measures (k,) as numbers within their ranges: for others the network was never trained."""
        try:
            wanted = np.asarray(measures, float)
        except (TypeError, ValueError):
            wanted = np.array(np.nan)
        low, high = self.ranges.T
        if wanted.shape != low.shape or not ((low <= wanted) & (wanted <= high)).all():
            each = ", ".join(f"from {a:g} to {b:g}" for a, b in self.ranges)
            raise ValueError(f"The wanted measures must be one number each: {each}; got {measures!r}.")
        return wanted


def load_conditioned(run: Run) -> Conditioned:
    """Of the newest checkpoint."""
    if run.config.algorithm not in CONDITIONED:
        raise ValueError(
            f"{run.folder} has no policy that takes measures; only runs of {', '.join(CONDITIONED)} have one, and this "
            f"one is of {run.config.algorithm}."
        )
    algorithm: Any = run.config.make_algorithm()
    found = checkpoint.available(run.folder / "checkpoint")
    if not found:
        raise ValueError(
            f"{run.folder} has no checkpoint, which is where its policy that takes measures is kept. "
            "If it was pruned, it has to be trained again."
        )
    directory, search = RunDirectory(run.folder, run.config), Search(algorithm, None, seed_key=0)  # type: ignore[arg-type]
    try:
        directory.take(search, checkpoint.load(found[0], run.config.id, directory.state(search)))
    except Misfit as error:
        raise ValueError(f"{found[0]} cannot be used: {error}.") from None
    return Conditioned(algorithm.td3.actor, algorithm.td3.greedy, np.array(run.task.ranges))
