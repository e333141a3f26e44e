"""CMA-MEGA: branch from one solution along its gradients, and let CMA-ES learn how far to go along each.

One algorithm, whatever the gradients come from: ``CmaMega`` takes a source for the objective's gradient and one for the
measures'. With evolution strategies for both it is the paper's CMA-MEGA (ES); with a critic for the objective it is
CMA-MEGA (TD3, ES), and the critic's greedy actor joins the branches. With an annealed archive to search with, beside the one
that keeps what is found, it is CMA-MAEGA (``cma_maega.py``). Line numbers are those of Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gaits import memory
from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.emitters import BranchingEmitter
from gaits.algorithms.ribs_state import archive_state, restore_archive, restore_ribs, ribs_state
from gaits.archives import SEED, AnnealingSettings, Insertions, anneal, insert, make_annealed, make_archive
from gaits.checks import positive
from gaits.evaluation.results import Results
from gaits.gradients import (
    TD3,
    CriticGradient,
    EvolutionStrategy,
    ExactGradients,
    GradientSource,
    Lesson,
    TD3Settings,
)
from gaits.tasks.task import Task


@dataclass(frozen=True)
class CmaMegaSettings:
    """Settings of CMA-MEGA with exact gradients; the defaults are the paper's."""

    batch_size: int = 100
    """Solutions inserted per iteration (λ): the solution point and λ - 1 branches."""
    sigma0: float = 1.0
    """Initial step size of CMA-ES over gradient coefficients (σ_g)."""
    learning_rate: float = 1.0
    """Step size of gradient ascent on the solution point (η)."""

    def __post_init__(self) -> None:
        positive(self, "batch_size", "sigma0", "learning_rate")
        if self.batch_size < 5:
            raise ValueError(f"batch_size must be at least 5, so that CMA-ES has two parents; got {self.batch_size}.")


@dataclass(frozen=True)
class CmaMegaEsSettings(CmaMegaSettings):
    """Settings of CMA-MEGA (ES); the defaults are the paper's."""

    es_samples: int = 100
    """Mirrored samples that estimate the gradients (λ_es); an even number."""
    es_sigma: float = 0.02
    """Standard deviation of the samples around the solution point (σ_e)."""
    tie_ranks: Literal["order", "average"] = "order"
    """Ranks of equal values: in order, as released; or averaged, so that a measure all samples share has zero gradient."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self, "es_samples", "es_sigma")
        if self.es_samples % 2:
            raise ValueError(f"es_samples must be even, as samples are mirrored; got {self.es_samples}.")


@dataclass(frozen=True)
class CmaMegaTd3EsSettings(TD3Settings, CmaMegaEsSettings):
    """Settings of CMA-MEGA (TD3, ES); the defaults are the paper's."""

    batch_size: int = 100
    """Solutions inserted per iteration (λ): the solution point, the greedy actor and λ - 2 branches."""
    gradient_states: int = 65_536
    """States of the replay buffer that the objective's gradient is taken over (n_pg)."""

    def __post_init__(self) -> None:
        CmaMegaEsSettings.__post_init__(self)
        TD3Settings.__post_init__(self)
        positive(self, "gradient_states")
        if self.batch_size < 6:
            raise ValueError(f"batch_size must be at least 6, the greedy actor included; got {self.batch_size}.")


class CmaMega:
    """Each iteration asks twice: the solution point with the samples of its gradient source, then the branches."""

    def __init__(
        self,
        task: Task,
        settings: CmaMegaSettings,
        seeds: list[int],
        *,
        objective: GradientSource,
        measures: GradientSource,
        critic: TD3 | None = None,
        annealing: AnnealingSettings | None = None,
    ) -> None:
        init, archive, emitter = seeds
        self.critic = critic
        self.archive = make_archive(task, archive, fields=SEED)
        self.annealed = make_annealed(task, annealing, archive) if annealing else None
        self.emitter = BranchingEmitter(
            self.archive if self.annealed is None else self.annealed,
            x0=task.init(np.random.default_rng(init)),
            sigma0=settings.sigma0,
            lr=settings.learning_rate,
            ranker="2imp" if self.annealed is None else "imp",
            selection_rule="mu",
            restart_rule="no_improvement" if self.annealed is None else "basic",
            grad_opt="gradient_ascent",
            es="cma_es",
            normalize_grad=True,
            epsilon=1e-8,
            batch_size=settings.batch_size - (1 if critic is None else 2),  # λ'; φ* and the greedy actor are the rest
            seed=emitter,
        )
        self.sources = [objective] if objective is measures else [objective, measures]
        self.branching = False

    def ask(self) -> Batch:
        if self.branching:
            branches = self._refine(self.emitter.ask())  # lines 13-15: φ_i = φ* + c_i ∇
            self.asked = branches if self.critic is None else memory.join(self._greedy(self.critic), branches)
        else:
            self.asked, self.group_sizes = around(self.emitter.ask_dqd()[0], self.sources)
        return Batch(self.asked, transitions=self.critic is not None)

    def learn(self) -> None:
        if not self.branching:
            self.emitter.prepare()
        else:
            for source in self.sources:
                getattr(source, "prepare", lambda: None)()
            if self.critic is not None:
                self.critic.learn()

    def tell(self, results: Results) -> Iteration | None:
        self.branching = not self.branching
        if self.branching:
            self._tell_point(results)
            return None
        inserted = [self.inserted_point, *self._tell_branches(results)]
        metrics: dict[str, float] = {"restarts": self.emitter.restarts}
        if self.critic is not None:
            self.critic.remember(self.experience, self._lesson(results))  # lines 28-29
            metrics |= {"greedy_objective": float(results.objective[0]), **self.critic.metrics()}
        return Iteration(inserted, metrics)

    def _tell_point(self, results: Results) -> None:
        """Lines 7-11: insert φ*, and only φ*; estimate the gradients there."""
        point, first = self.asked[:1], results.rows(slice(0, 1))
        self.inserted_point, told = self._insert(point, first)
        self._stand(first.measures[0])
        jacobians, start = [], 1
        for source, size in zip(self.sources, self.group_sizes, strict=True):
            jacobians.append(source.jacobian(point[0], results.rows(slice(start, start + size))))
            start += size
        # The objective's row is the first source's, the measures' rows the last source's; often they are one.
        jacobian = np.concatenate([jacobians[0][:1], jacobians[-1][1:]]).astype(np.float32, copy=False)
        if len(jacobian) != 1 + first.measures.shape[1]:
            raise ValueError(
                f"{type(self.sources[-1]).__name__} gave the gradients of {len(jacobian) - 1} measures, and the task has "
                f"{first.measures.shape[1]}. A critic tells them only if it is given a critic of measures."
            )
        self.emitter.tell_dqd(point, first.objective, first.measures, jacobian[None], told)
        if self.critic is not None:
            self.experience = self._lesson(results)

    def _tell_branches(self, results: Results) -> list[Insertions]:
        """Lines 17-27: insert and rank the branches, step, restart if need be. The greedy actor is not ranked.

        It is inserted first, as released, or last, as in the pseudo-code.
        """
        n_greedy = len(self.asked) - self.emitter.batch_size
        greedy = (self.asked[:n_greedy], results.rows(slice(0, n_greedy)))
        branches = (self.asked[n_greedy:], results.rows(slice(n_greedy, None)))
        first = [self._insert(*greedy)[0]] if self.critic and self.critic.settings.td3_schedule == "overlap" else []
        ranked, told = self._insert(*branches)
        self.emitter.tell(branches[0], branches[1].objective, branches[1].measures, told)
        last = [self._insert(*greedy)[0]] if self.critic and not first else []
        return [*first, ranked, *last]

    def _insert(self, solutions: np.ndarray, results: Results) -> tuple[Insertions, dict[str, np.ndarray]]:
        """Insert in order, and what the emitter is told of it. A failed evaluation is never accepted and ranks last."""
        outcome = (solutions, results.objective, results.measures, results.failed)
        inserted = insert(self.archive, *outcome, results.seed)
        if self.annealed is not None:
            return inserted, anneal(self.annealed, *outcome)
        return inserted, {"status": inserted.status.astype(np.int32), "value": inserted.value}

    # --- what variants do otherwise -----------------------------------------------------------------------------------

    def _lesson(self, results: Results) -> Lesson:
        """What a critic learns from."""
        return Lesson(results.transitions, self.archive.index_of(results.measures))

    def _greedy(self, critic: TD3) -> np.ndarray:
        """The greedy actor, (1, dim)."""
        return critic.greedy[None]

    def _stand(self, measures: np.ndarray) -> None:
        """φ* has these measures."""

    def _refine(self, branches: np.ndarray) -> np.ndarray:
        """Branches as they are evaluated."""
        return branches

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        critic = None if self.critic is None else self.critic.state()
        sources = [source.state() for source in self.sources]
        archive, emitter = archive_state(self.archive), ribs_state(self.emitter)
        annealed = {} if self.annealed is None else {"annealed": archive_state(self.annealed)}
        return {"archive": archive, **annealed, "emitter": emitter, "critic": critic, "sources": sources}

    def restore(self, state: dict[str, Any]) -> None:
        restore_archive(self.archive, state["archive"])
        if self.annealed is not None:
            restore_archive(self.annealed, state["annealed"])
        restore_ribs(self.emitter, state["emitter"])
        if self.critic is not None:
            self.critic.restore(state["critic"])
        for source, its in zip(self.sources, state["sources"], strict=True):
            source.restore(its)


def around(point: np.ndarray, sources: list[GradientSource]) -> tuple[np.ndarray, list[int]]:
    """A point and, behind it, what its sources want played; and how many each wants."""
    if len(sources) == 1 and isinstance(sources[0], EvolutionStrategy):
        asked = sources[0].around(point)  # which need not be copied
        return asked, [len(asked) - 1]
    groups = [source.samples(point) for source in sources]
    return memory.join(point[None], *groups), [len(group) for group in groups]


def cma_mega(task: Task, settings: CmaMegaSettings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MEGA with exact gradients, for tasks that are functions."""
    source = ExactGradients(task.function)
    return CmaMega(task, settings, spawn_ints(seed, 3), objective=source, measures=source)


def cma_mega_es(task: Task, settings: CmaMegaEsSettings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MEGA (ES): evolution strategies for the objective's and the measures' gradients."""
    *seeds, es_seed = spawn_ints(seed, 4)
    source = EvolutionStrategy(settings.es_samples, settings.es_sigma, es_seed, settings.tie_ranks)
    return CmaMega(task, settings, seeds, objective=source, measures=source)


def cma_mega_td3_es(task: Task, settings: CmaMegaTd3EsSettings, seed: np.random.SeedSequence) -> CmaMega:
    """CMA-MEGA (TD3, ES): a critic for the objective's gradient, evolution strategies for the measures'."""
    *seeds, es_seed, td3_seed = spawn_ints(seed, 5)
    td3 = TD3(task.policy, settings, td3_seed)
    source = EvolutionStrategy(settings.es_samples, settings.es_sigma, es_seed, settings.tie_ranks)
    objective = CriticGradient(td3, settings.gradient_states)
    return CmaMega(task, settings, seeds, objective=objective, measures=source, critic=td3)
