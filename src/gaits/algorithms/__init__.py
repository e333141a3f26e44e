"""The algorithms by name. Each is one file: a composition of emitters and sources of gradients."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
from gaits.algorithms.map_elites import MapElites, MapElitesSettings
from gaits.algorithms.me_es import MeEs, MeEsSettings
from gaits.algorithms.pga_me import PgaMe, PgaMeSettings
from gaits.checks import lookup, make_settings
from gaits.tasks.task import Task


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
    "pga_me": AlgorithmEntry("PGA-MAP-Elites", "crosses elites, and lets elites climb a critic", PgaMe, PgaMeSettings),
    "me_es": AlgorithmEntry("ME-ES", "evolution strategies from elites, towards return or novelty", MeEs, MeEsSettings),
    "map_elites": AlgorithmEntry("MAP-Elites", "Gaussian noise on random elites", MapElites, MapElitesSettings),
    "cma_mega": AlgorithmEntry(
        "CMA-MEGA", "branches along exact gradients; for functions such as lp_sphere", cma_mega, CmaMegaSettings
    ),
}


def settings_for(task: Task, algorithm: str, given: dict[str, Any]) -> Any:
    """A checked settings record: what is given, else what suits the task, else the algorithm's defaults."""
    kind = lookup("algorithm", algorithm, ALGORITHMS).settings
    names = {field.name for field in fields(kind)}
    suited = {name: value for name, value in task.problem.suited.items() if name in names}
    return make_settings(kind, algorithm, {**suited, **given})


__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmEntry", "Batch", "Iteration", "settings_for"]
