"""The algorithms by name. Each is one file: a composition of emitters and sources of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaits.algorithms.base import Algorithm, Batch, Iteration
from gaits.algorithms.map_elites import MapElites, MapElitesSettings


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm of the registry."""

    title: str
    summary: str
    make: Any  # (task, settings, seed) -> Algorithm
    settings: type


ALGORITHMS = {
    "map_elites": AlgorithmEntry("MAP-Elites", "Gaussian noise on random elites", MapElites, MapElitesSettings),
}

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmEntry", "Batch", "Iteration"]
