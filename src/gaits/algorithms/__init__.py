"""The algorithms by name. Each is one file: a composition of emitters and sources of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaits.algorithms.base import Algorithm, Batch, Iteration
from gaits.algorithms.cma_mega import CmaMegaEsSettings, CmaMegaSettings, cma_mega, cma_mega_es
from gaits.algorithms.map_elites import MapElites, MapElitesSettings
from gaits.algorithms.me_es import MeEs, MeEsSettings


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm of the registry."""

    title: str
    summary: str
    make: Any  # (task, settings, seed) -> Algorithm
    settings: type


ALGORITHMS = {
    "cma_mega_es": AlgorithmEntry(
        "CMA-MEGA (ES)", "branches along gradients estimated by evolution strategies", cma_mega_es, CmaMegaEsSettings
    ),
    "me_es": AlgorithmEntry("ME-ES", "evolution strategies from elites, towards return or novelty", MeEs, MeEsSettings),
    "map_elites": AlgorithmEntry("MAP-Elites", "Gaussian noise on random elites", MapElites, MapElitesSettings),
    "cma_mega": AlgorithmEntry(
        "CMA-MEGA", "branches along exact gradients; for functions such as lp_sphere", cma_mega, CmaMegaSettings
    ),
}

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmEntry", "Batch", "Iteration"]
