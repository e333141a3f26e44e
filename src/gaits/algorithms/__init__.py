"""The algorithms by name. Each is one file: a composition of emitters and sources of gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gaits.algorithms.base import Algorithm, Batch, Iteration
from gaits.algorithms.cma_mega import (
    CmaMegaEsSettings,
    CmaMegaSettings,
    CmaMegaTd3EsSettings,
    cma_mega,
    cma_mega_es,
    cma_mega_td3_es,
)
from gaits.algorithms.cma_mega_td3 import CmaMegaTd3, CmaMegaTd3Settings
from gaits.algorithms.dcrl_me import DcrlMe, DcrlMeSettings
from gaits.algorithms.map_elites import MapElites, MapElitesSettings
from gaits.algorithms.me_es import MeEs, MeEsSettings
from gaits.algorithms.pga_me import PgaBudgetSettings, PgaMe, PgaMeSettings


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
    "cma_mega_td3_es": AlgorithmEntry(
        "CMA-MEGA (TD3, ES)",
        "the same, with a critic's gradient for the objective",
        cma_mega_td3_es,
        CmaMegaTd3EsSettings,
    ),
    "cma_mega_td3": AlgorithmEntry(
        "CMA-MEGA (TD3)", "the same, with a critic for the measures too", CmaMegaTd3, CmaMegaTd3Settings
    ),
    "pga_me": AlgorithmEntry("PGA-MAP-Elites", "crosses elites, and lets elites climb a critic", PgaMe, PgaMeSettings),
    "pga_budget": AlgorithmEntry(
        "PGA-MAP-Elites with a learning budget", "the same, with four times the critic's steps", PgaMe, PgaBudgetSettings
    ),
    "dcrl_me": AlgorithmEntry(
        "DCRL-MAP-Elites", "elites climb critics that are told their measures", DcrlMe, DcrlMeSettings
    ),
    "me_es": AlgorithmEntry("ME-ES", "evolution strategies from elites, towards return or novelty", MeEs, MeEsSettings),
    "map_elites": AlgorithmEntry("MAP-Elites", "Gaussian noise on random elites", MapElites, MapElitesSettings),
    "cma_mega": AlgorithmEntry(
        "CMA-MEGA", "branches along exact gradients; for functions such as lp_sphere", cma_mega, CmaMegaSettings
    ),
}

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmEntry", "Batch", "Iteration"]
