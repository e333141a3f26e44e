"""PGA-MAP-Elites: half the offspring by crossing elites, half by letting elites climb a critic (Nilsson and Cully, 2021).

The paper's strongest baseline, with its TD3 trained on the experience of every evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gaits import memory
from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.emitters import IsoLineEmitter
from gaits.algorithms.luck import LuckSettings
from gaits.algorithms.ribs_state import archive_state, restore_archive
from gaits.archives import SEED, Archive, insert, make_archive, sample_solutions
from gaits.checks import between, positive
from gaits.evaluation.results import Results
from gaits.gradients import TD3, Lesson, TD3Settings
from gaits.states import generator_state, restore_generator
from gaits.tasks.task import Task

INITIAL_SIGMA = 0.02
"""Noise on the first network in the first iteration's other half, as released."""


@dataclass(frozen=True)
class PgaMeSettings(LuckSettings, TD3Settings):
    """Settings of PGA-MAP-Elites; the defaults are the paper's."""

    batch_size: int = 100
    """Solutions per iteration (λ): iso-line offspring, the greedy actor, and policy-gradient offspring."""
    iso_sigma: float = 0.005
    """Standard deviation of the noise on every parameter of iso-line offspring (σ_1)."""
    line_sigma: float = 0.05
    """Standard deviation of the step of iso-line offspring along the line between two elites (σ_2)."""
    pg_steps: int = 10
    """Steps of Adam that a policy-gradient offspring takes (n_grad)."""
    pg_learning_rate: float = 0.001
    """Step size of that Adam (α_grad)."""
    pg_batch: int = 256
    """States per step (n_pg)."""
    shared_states: bool = False
    """Whether all offspring of an iteration climb over the same states, or each over its own."""
    iso_share: float = 0.5
    """Share of iso-line offspring in an iteration."""
    critic_steps: int = 300
    """Critic training steps per iteration (n_crit)."""

    def __post_init__(self) -> None:
        TD3Settings.__post_init__(self)
        LuckSettings.__post_init__(self)
        positive(self, "batch_size", "iso_sigma", "line_sigma", "pg_steps", "pg_learning_rate", "pg_batch")
        between(self, 0, 1, "iso_share")
        if self.batch_size < 4 or self.batch_size % 2:
            raise ValueError(f"batch_size must be even and at least 4, as it is split in two; got {self.batch_size}.")
        if self.iso_line not in range(1, self.batch_size - 1):
            raise ValueError(
                f"iso_share must leave one iso-line and two other offspring of batch_size {self.batch_size}; got "
                f"{self.iso_share}."
            )

    @property
    def iso_line(self) -> int:
        """Iso-line offspring of an iteration."""
        return round(self.iso_share * self.batch_size)


@dataclass(frozen=True)
class PgaBudgetSettings(PgaMeSettings):
    """PGA-MAP-Elites with more learning from every evaluation; only the defaults are others."""

    pg_steps: int = 100
    """Steps of Adam that a policy-gradient offspring takes (n_grad)."""
    pg_learning_rate: float = 0.003
    """Step size of that Adam (α_grad)."""
    pg_batch: int = 100
    """States per step (n_pg)."""
    shared_states: bool = True
    """Whether all offspring of an iteration climb over the same states, or each over its own."""
    critic_steps: int = 4800
    """Critic training steps per iteration (n_crit)."""
    critic_batch: int = 100
    """Transitions per critic training step (n_q)."""
    critic_hidden: tuple[int, ...] = (128, 128)
    """Hidden layers of each critic."""
    timeout_terminal: bool = False
    """Whether the step limit counts as an end beyond which there is no value."""
    layer_norm: bool = True
    """Whether the units of a critic's hidden layers are normalized before their ReLU (LayerNorm without parameters)."""
    return_bound: bool = True
    """Whether a target is at least the return that its episode went on to have, which nothing but the policy decided."""


class PolicyGradientEmitter:
    """Copies random elites and lets them climb the critic; the first time, when there are none, noise on one network."""

    def __init__(self, archive: Archive, td3: TD3, settings: PgaMeSettings, x0: np.ndarray, seed: int) -> None:
        self.archive, self.td3, self.settings, self.x0 = archive, td3, settings, x0
        self.rng = np.random.default_rng(seed)

    def ask(self, n: int) -> np.ndarray:
        if self.archive.empty:
            return self.x0 + np.float32(INITIAL_SIGMA) * self.rng.standard_normal((n, self.x0.size), np.float32)
        parents = sample_solutions(self.archive, n)
        s = self.settings
        return self.td3.vary(parents, s.pg_steps, s.pg_batch, s.pg_learning_rate, shared=s.shared_states)


class PgaMe:
    """One iteration: iso-line offspring, the greedy actor, policy-gradient offspring, inserted in this order."""

    def __init__(self, task: Task, settings: PgaMeSettings, seed: np.random.SeedSequence) -> None:
        init, archive, iso_line, pg, td3 = spawn_ints(seed, 5)
        x0 = task.init(np.random.default_rng(init))
        self.settings = settings
        self.archive = make_archive(task, archive, fields=SEED)
        self.td3 = TD3(task.policy, settings, td3)
        self.iso_line = IsoLineEmitter(
            self.archive,
            sigma=settings.iso_sigma,
            line_sigma=settings.line_sigma,
            x0=x0,
            batch_size=settings.iso_line,
            seed=iso_line,
        )
        self.pg = PolicyGradientEmitter(self.archive, self.td3, settings, x0, pg)

    def ask(self) -> Batch:
        first = self.archive.empty  # then there is no critic to speak of, and no greedy actor either
        greedy = self.td3.greedy[None][: 0 if first else 1]
        n = self.settings.batch_size - self.settings.iso_line - len(greedy)
        self.solutions = memory.join(self.iso_line.ask(), greedy, self.pg.ask(n))
        return Batch(self.solutions, transitions=True)

    def learn(self) -> None:
        self.iso_line.prepare()
        self.td3.learn()

    def tell(self, results: Results) -> Iteration:
        has_greedy = not self.archive.empty
        inserted = insert(self.archive, self.solutions, results.objective, results.measures, results.failed, results.seed)
        self.td3.remember(Lesson(results.transitions, inserted.cell))
        greedy = float(results.objective[self.settings.iso_line]) if has_greedy else float("nan")
        return Iteration([inserted], {"greedy_objective": greedy, **self.td3.metrics()})

    def state(self) -> dict[str, Any]:
        pg = {"x0": self.pg.x0, "rng": generator_state(self.pg.rng)}
        archive, iso_line = archive_state(self.archive), self.iso_line.state()
        return {"archive": archive, "iso_line": iso_line, "pg": pg, "td3": self.td3.state()}

    def restore(self, state: dict[str, Any]) -> None:
        restore_archive(self.archive, state["archive"])
        self.iso_line.restore(state["iso_line"])
        self.pg.x0 = state["pg"]["x0"]
        restore_generator(self.pg.rng, state["pg"]["rng"])
        self.td3.restore(state["td3"])
