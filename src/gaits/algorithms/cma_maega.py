"""CMA-MAEGA: CMA-MEGA that searches with an annealed archive (Fontaine and Nikolaidis, 2023).

A branch is worth how far it is above its cell's threshold, which follows slowly what the cell accepts. So a new cell is
worth no more than an improvement of the same height, and the search does not leave what it has only just found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaits.algorithms.base import spawn_ints
from gaits.algorithms.cma_mega import CmaMega, CmaMegaEsSettings, CmaMegaSettings, CmaMegaTd3EsSettings
from gaits.algorithms.cma_mega_td3 import CmaMegaTd3, CmaMegaTd3Settings
from gaits.archives import AnnealingSettings
from gaits.gradients import TD3, CriticGradient, EvolutionStrategy, ExactGradients
from gaits.tasks.task import Task


@dataclass(frozen=True)
class CmaMaegaSettings(AnnealingSettings, CmaMegaSettings):
    """Settings of CMA-MAEGA with exact gradients."""

    def __post_init__(self) -> None:
        CmaMegaSettings.__post_init__(self)
        AnnealingSettings.__post_init__(self)


@dataclass(frozen=True)
class CmaMaegaEsSettings(AnnealingSettings, CmaMegaEsSettings):
    """Settings of CMA-MAEGA (ES): those of CMA-MEGA (ES) and of the archive."""

    def __post_init__(self) -> None:
        CmaMegaEsSettings.__post_init__(self)
        AnnealingSettings.__post_init__(self)


@dataclass(frozen=True)
class CmaMaegaTd3EsSettings(AnnealingSettings, CmaMegaTd3EsSettings):
    """Settings of CMA-MAEGA (TD3, ES): those of CMA-MEGA (TD3, ES) and of the archive."""

    def __post_init__(self) -> None:
        CmaMegaTd3EsSettings.__post_init__(self)
        AnnealingSettings.__post_init__(self)


@dataclass(frozen=True)
class CmaMaegaTd3Settings(AnnealingSettings, CmaMegaTd3Settings):
    """Settings of CMA-MAEGA (TD3): those of CMA-MEGA (TD3) and of the archive."""

    def __post_init__(self) -> None:
        CmaMegaTd3Settings.__post_init__(self)
        AnnealingSettings.__post_init__(self)


def cma_maega(task: Task, settings: CmaMaegaSettings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MAEGA with exact gradients, for tasks that are functions."""
    source = ExactGradients(task.function)
    return CmaMega(task, settings, spawn_ints(seed, 3), objective=source, measures=source, annealing=settings)


def cma_maega_es(task: Task, settings: CmaMaegaEsSettings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MAEGA (ES): evolution strategies for the objective's and the measures' gradients."""
    *seeds, es_seed = spawn_ints(seed, 4)
    source = EvolutionStrategy(settings.es_samples, settings.es_sigma, es_seed, settings.tie_ranks)
    return CmaMega(task, settings, seeds, objective=source, measures=source, annealing=settings)


def cma_maega_td3_es(task: Task, settings: CmaMaegaTd3EsSettings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MAEGA (TD3, ES): a critic for the objective's gradient, evolution strategies for the measures'."""
    *seeds, es_seed, td3_seed = spawn_ints(seed, 5)
    td3 = TD3(task.policy, settings, td3_seed)
    source = EvolutionStrategy(settings.es_samples, settings.es_sigma, es_seed, settings.tie_ranks)
    objective = CriticGradient(td3, settings.gradient_states)
    return CmaMega(task, settings, seeds, objective=objective, measures=source, critic=td3, annealing=settings)


def cma_maega_td3(task: Task, settings: CmaMaegaTd3Settings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MAEGA (TD3): critics for the objective and for the measures."""
    return CmaMegaTd3(task, settings, seed, annealing=settings)
