"""The algorithms by name. Each is one file: a composition of emitters and sources of gradients."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gaits.algorithms.base import Algorithm, Batch, Iteration
from gaits.algorithms.cma_maega import (
    CmaMaegaEsSettings,
    CmaMaegaSettings,
    CmaMaegaTd3EsSettings,
    CmaMaegaTd3Settings,
    cma_maega,
    cma_maega_es,
    cma_maega_td3,
    cma_maega_td3_es,
)
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
from gaits.algorithms.luck import against_luck
from gaits.algorithms.map_elites import MapElites, MapElitesLine, MapElitesLineSettings, MapElitesSettings
from gaits.algorithms.me_es import MeEs, MeEsSettings
from gaits.algorithms.pga_me import PgaBudgetSettings, PgaMe, PgaMeSettings
from gaits.algorithms.sep_cma_mae import SepCmaMae, SepCmaMaeSettings
from gaits.checks import lookup, make_settings
from gaits.tasks.task import Task


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm of the registry."""

    title: str
    summary: str
    make: Any  # (task, settings, seed) -> Algorithm
    settings: type
    conditioned: bool = False
    """Whether its runs have one policy that takes the wanted measures."""


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
        "CMA-MEGA (TD3)", "the same, with a critic for the measures too", CmaMegaTd3, CmaMegaTd3Settings, True
    ),
    "pga_me": AlgorithmEntry(
        "PGA-MAP-Elites", "crosses elites, and lets elites climb a critic", against_luck(PgaMe), PgaMeSettings
    ),
    "pga_budget": AlgorithmEntry(
        "PGA-MAP-Elites (budget)",
        "the same, with more learning from every evaluation",
        against_luck(PgaMe),
        PgaBudgetSettings,
    ),
    "dcrl_me": AlgorithmEntry(
        "DCRL-MAP-Elites", "elites climb critics that are told their measures", against_luck(DcrlMe), DcrlMeSettings, True
    ),
    "me_es": AlgorithmEntry("ME-ES", "evolution strategies from elites, towards return or novelty", MeEs, MeEsSettings),
    "map_elites": AlgorithmEntry(
        "MAP-Elites", "Gaussian noise on random elites", against_luck(MapElites), MapElitesSettings
    ),
    "map_elites_line": AlgorithmEntry(
        "MAP-Elites (line)",
        "crosses random elites, along the line between two",
        against_luck(MapElitesLine),
        MapElitesLineSettings,
    ),
    "sep_cma_mae": AlgorithmEntry(
        "sep-CMA-MAE", "diagonal Gaussians that climb an annealed archive", SepCmaMae, SepCmaMaeSettings
    ),
    "cma_maega_es": AlgorithmEntry(
        "CMA-MAEGA (ES)", "CMA-MEGA (ES) that searches with an annealed archive", cma_maega_es, CmaMaegaEsSettings
    ),
    "cma_maega_td3_es": AlgorithmEntry(
        "CMA-MAEGA (TD3, ES)",
        "CMA-MEGA (TD3, ES) that searches with an annealed archive",
        cma_maega_td3_es,
        CmaMaegaTd3EsSettings,
    ),
    "cma_maega_td3": AlgorithmEntry(
        "CMA-MAEGA (TD3)",
        "CMA-MEGA (TD3) that searches with an annealed archive",
        cma_maega_td3,
        CmaMaegaTd3Settings,
        True,
    ),
    "cma_mega": AlgorithmEntry(
        "CMA-MEGA", "branches along exact gradients; for functions such as lp_sphere", cma_mega, CmaMegaSettings
    ),
    "cma_maega": AlgorithmEntry(
        "CMA-MAEGA", "the same with an annealed archive; for functions", cma_maega, CmaMaegaSettings
    ),
}
"""By the name that ``train`` takes: title, summary, settings, and how each is made."""
CONDITIONED = sorted(name for name, entry in ALGORITHMS.items() if entry.conditioned)
"""Those whose runs have one policy that takes the wanted measures."""


def settings_for(task: Task, algorithm: str, given: dict[str, Any]) -> Any:
    """A checked settings record: what is given, else what suits the task, else the algorithm's defaults."""
    kind = lookup("algorithm", algorithm, ALGORITHMS).settings
    names = {field.name for field in fields(kind)}
    suited = {name: value for name, value in task.problem.suited.items() if name in names}
    return make_settings(kind, algorithm, {**suited, **given})


__all__ = ["ALGORITHMS", "CONDITIONED", "Algorithm", "AlgorithmEntry", "Batch", "Iteration", "settings_for"]
