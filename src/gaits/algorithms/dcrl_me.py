"""DCRL-MAP-Elites: PGA-MAP-Elites whose critics are told the wanted measures (Faldor et al., 2024).

A third kind of offspring comes with it: the critics' own policy, told an elite's measures, is a solution for its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gaits import memory
from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.emitters import IsoLineEmitter
from gaits.algorithms.luck import LuckSettings
from gaits.algorithms.pga_me import INITIAL_SIGMA
from gaits.algorithms.ribs_state import archive_state, restore_archive
from gaits.archives import SEED, insert, make_archive, sample_rows
from gaits.checks import between, positive
from gaits.evaluation.results import Results
from gaits.gradients import TD3, Lesson, TD3Settings
from gaits.gradients.goals import fold, scaled, towards, unfold
from gaits.states import generator_state, restore_generator
from gaits.tasks.task import Task

GOAL_WEIGHT = 0.1
"""Standard deviation of the weights that a policy of the shared basin first gives its goal."""


@dataclass(frozen=True)
class DcrlMeSettings(LuckSettings, TD3Settings):
    """Settings of DCRL-MAP-Elites. Where they differ from the released ones, the docs say why."""

    batch_size: int = 100
    """Solutions per iteration (λ): policy-gradient offspring, injected policies, and iso-line offspring."""
    pg_share: float = 0.25
    """Share of policy-gradient offspring."""
    injected_share: float = 0.25
    """Share of policies that are the actor, told an elite's measures."""
    iso_sigma: float = 0.005
    """Standard deviation of the noise on every parameter of iso-line offspring (σ_1)."""
    line_sigma: float = 0.05
    """Standard deviation of the step of iso-line offspring along the line between two elites (σ_2)."""
    pg_steps: int = 100
    """Steps of Adam that a policy-gradient offspring takes."""
    pg_learning_rate: float = 0.003
    """Step size of that Adam."""
    pg_batch: int = 100
    """States per step."""
    shared_states: bool = True
    """Whether all offspring of an iteration climb over the same states, or each over its own."""
    critic_steps: int = 1200
    """Critic training steps per iteration."""
    critic_batch: int = 100
    """Transitions per critic training step."""
    critic_hidden: tuple[int, ...] = (128, 128)
    """Hidden layers of each critic."""
    timeout_terminal: bool = False
    """Whether the step limit counts as an end beyond which there is no value."""
    layer_norm: bool = True
    """Whether the units of a critic's hidden layers are normalized before their ReLU (LayerNorm without parameters)."""
    return_bound: bool = True
    """Whether a target is at least the return that its episode went on to have, which nothing but the policy decided."""
    lengthscale: float = 0.1
    """How far measures may be from the wanted ones, of a range of 2, until the reward counts 1/e (L)."""
    reward_offset: float | Literal["lowest"] | None = "lowest"
    """Added to every reward before those below zero become zero; lowest: what makes the task's lowest objective zero."""
    hindsight: float = 0.5
    """Share of episodes that are told that what was reached had been wanted."""
    shared_basin: bool = True
    """Whether the actor begins as the first solution, so that all kinds of offspring can be crossed, or on its own."""

    def __post_init__(self) -> None:
        TD3Settings.__post_init__(self)
        LuckSettings.__post_init__(self)
        positive(self, "batch_size", "iso_sigma", "line_sigma", "pg_steps", "pg_learning_rate", "pg_batch", "lengthscale")
        between(self, 0, 1, "pg_share", "injected_share", "hindsight")
        if self.reward_offset is None:  # as gaits 0.2.0 had it
            object.__setattr__(self, "reward_offset", "lowest")
        if self.reward_offset != "lowest":
            between(self, -1_000_000, 1_000_000, "reward_offset")
        if self.iso_line < 1:
            raise ValueError(
                f"pg_share and injected_share must leave one iso-line offspring of batch_size {self.batch_size}; got "
                f"{self.pg_share} and {self.injected_share}."
            )

    @property
    def climbing(self) -> int:
        return round(self.pg_share * self.batch_size)

    @property
    def injected(self) -> int:
        return round(self.injected_share * self.batch_size)

    @property
    def iso_line(self) -> int:
        return self.batch_size - self.climbing - self.injected


class DcrlMe:
    """One iteration: elites that climb for their own measures, the actor told measures of others, iso-line offspring."""

    def __init__(self, task: Task, settings: DcrlMeSettings, seed: np.random.SeedSequence) -> None:
        init, archive, iso_line, rng, td3 = spawn_ints(seed, 5)
        self.settings, self.ranges = settings, np.array(task.ranges)
        x0 = task.init(np.random.default_rng(init))
        self.rng = np.random.default_rng(rng)
        self.archive = make_archive(task, archive, fields=SEED)
        self.td3 = TD3(task.policy, settings, td3, goal_dim=len(task.ranges))
        if settings.shared_basin:
            noise = self.rng.normal(0, GOAL_WEIGHT, (task.policy.sizes[1], len(task.ranges)))
            self.td3.begin(unfold(self.td3.actor, x0, noise))
        self.iso_line = IsoLineEmitter(
            self.archive,
            sigma=settings.iso_sigma,
            line_sigma=settings.line_sigma,
            x0=x0,
            batch_size=settings.iso_line,
            seed=iso_line,
        )
        lowest = -task.objective_range[0] / task.max_steps
        self.offset = lowest if settings.reward_offset in ("lowest", None) else float(settings.reward_offset)

    def ask(self) -> Batch:
        n = self.settings.climbing + self.settings.injected
        if self.archive.empty:
            x0 = self.iso_line.x0
            noise = self.rng.standard_normal((n, x0.size), np.float32)
            self.wanted = np.full((n, len(self.ranges)), np.nan, np.float32)
            self.solutions = memory.join(x0 + np.float32(INITIAL_SIGMA) * noise, self.iso_line.ask())
        else:
            solutions, rows = sample_rows(self.archive, n)
            self.wanted = scaled(self.archive._store._fields["measures"][rows], self.ranges)
            parents, theirs = np.split(rows, [self.settings.climbing])[0], np.split(self.wanted, [self.settings.climbing])
            climbed = self._climb(memory.take(solutions, parents), theirs[0])
            self.solutions = memory.join(climbed, fold(self.td3.actor, self.td3.greedy, theirs[1]), self.iso_line.ask())
        return Batch(self.solutions, transitions=True)

    def _climb(self, parents: np.ndarray, goals: np.ndarray) -> np.ndarray:
        s = self.settings
        return self.td3.vary(parents, s.pg_steps, s.pg_batch, s.pg_learning_rate, goals, s.shared_states)

    def learn(self) -> None:
        self.iso_line.prepare()
        self.td3.learn()

    def tell(self, results: Results) -> Iteration:
        injected = slice(self.settings.climbing, len(self.wanted))
        inserted = insert(self.archive, self.solutions, results.objective, results.measures, results.failed, results.seed)
        reached = scaled(results.measures, self.ranges)
        wanted = np.concatenate([self.wanted, reached[len(self.wanted) :]])  # nobody asked anything of iso-line offspring
        missed = np.linalg.norm(reached[injected] - wanted[injected], axis=1)  # NaN of the first ones
        wanted = np.where(np.isnan(wanted), reached, wanted)
        if results.transitions is not None:
            steps = towards(
                results.transitions,
                reached,
                wanted,
                lengthscale=self.settings.lengthscale,
                offset=self.offset,
                hindsight=self.settings.hindsight,
                rng=self.rng,
            )
            self.td3.remember(Lesson(steps, inserted.cell))
        told = {"goal_distance": float(missed.mean()) if missed.size else float("nan")}
        return Iteration([inserted], {**told, **self.td3.metrics()})

    def state(self) -> dict[str, Any]:
        archive, iso_line = archive_state(self.archive), self.iso_line.state()
        return {"archive": archive, "iso_line": iso_line, "rng": generator_state(self.rng), "td3": self.td3.state()}

    def restore(self, state: dict[str, Any]) -> None:
        restore_archive(self.archive, state["archive"])
        self.iso_line.restore(state["iso_line"])
        restore_generator(self.rng, state["rng"])
        self.td3.restore(state["td3"])
