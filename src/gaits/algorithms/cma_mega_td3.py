"""CMA-MEGA with critics for the objective and for the measures: no sample is spent on gradients.

The paper's CMA-MEGA (TD3, ES) plays half of its episodes to estimate the measures' gradients. Foot contacts have critics too
(``gradients/measures.py``), and critics that are told the measures of the point know how it gets better where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gaits.algorithms.base import Iteration, spawn_ints
from gaits.algorithms.cma_mega import CmaMega, CmaMegaSettings
from gaits.archives import AnnealingSettings
from gaits.checks import positive, whole_number
from gaits.evaluation.results import Results
from gaits.gradients import TD3, CriticGradient, Displacement, Lesson, MeasureCritic, TD3Settings
from gaits.gradients.experience import last_steps
from gaits.gradients.goals import fold, scaled, told
from gaits.tasks.task import Task


@dataclass(frozen=True)
class CmaMegaTd3Settings(TD3Settings, CmaMegaSettings):
    """Settings of CMA-MEGA (TD3)."""

    batch_size: int = 100
    """Solutions per iteration (λ), all of them inserted: the solution point, the injected actor and λ - 2 branches."""
    critic_steps: int = 1200
    """Critic training steps per iteration."""
    critic_batch: int = 100
    """Transitions per training step, of both critics."""
    measure_steps: int = 600
    """Training steps of the critic of measures per iteration."""
    timeout_terminal: bool = False
    """Whether the step limit counts as an end beyond which there is no value."""
    gradients: Literal["displacement", "plain"] = "displacement"
    """What rows of the Jacobian are: where the point gets to by climbing, or the critics' gradients at the point."""
    gradient_states: int = 65_536
    """States of the replay buffer that plain gradients are taken over (n_pg)."""
    climb_steps: int = 30
    """Steps of Adam from the point, whose displacement stands for a gradient."""
    climb_batch: int = 256
    """States per step."""
    climb_learning_rate: float = 0.001
    """Step size of that Adam."""
    refine_steps: int = 0
    """Steps of the same Adam by which every branch climbs the critic before it is evaluated."""

    def __post_init__(self) -> None:
        CmaMegaSettings.__post_init__(self)
        TD3Settings.__post_init__(self)
        positive(self, "measure_steps", "gradient_states", "climb_steps", "climb_batch", "climb_learning_rate")
        whole_number("refine_steps", self.refine_steps, 0)
        if self.discount == 1:
            raise ValueError("discount must be below 1 here: the critic of measures counts what is left by it; got 1.")
        if self.batch_size < 6:
            raise ValueError(f"batch_size must be at least 6, the injected actor included; got {self.batch_size}.")


class CmaMegaTd3(CmaMega):
    """Each iteration asks twice: the solution point alone, then the branches."""

    def __init__(
        self,
        task: Task,
        settings: CmaMegaTd3Settings,
        seed: np.random.SeedSequence,
        annealing: AnnealingSettings | None = None,
    ) -> None:
        *seeds, td3_seed, measure_seed = spawn_ints(seed, 5)
        k = len(task.ranges)
        empty = np.zeros(0, np.int64)
        task.problem.step_measures(task, np.zeros((0, task.obs_dim)), empty, np.zeros((0, k)))  # or say that it cannot
        td3 = TD3(task.policy, settings, td3_seed, goal_dim=k, sums=1 + k)
        self.measure_critic = MeasureCritic(task.policy, td3, k, settings.measure_steps, measure_seed)
        source = make_source(td3, self.measure_critic, settings)
        super().__init__(task, settings, seeds, objective=source, measures=source, critic=td3, annealing=annealing)
        self.task, self.settings, self.td3, self.ranges = task, settings, td3, np.array(task.ranges)

    def tell(self, results: Results) -> Iteration | None:
        done = super().tell(results)
        return done and replace(done, metrics={**done.metrics, "measure_loss": self.measure_critic.loss})

    def _lesson(self, results: Results) -> Lesson:
        """Steps that are told what their episode reached, and what they added to it."""
        steps, plain = results.transitions, super()._lesson(results)
        if steps is None:
            return plain
        measures = results.measures[steps.solution]
        flags = self.task.problem.step_measures(self.task, steps.next_obs, last_steps(steps.solution), measures)
        return Lesson(told(steps, scaled(measures, self.ranges)), plain.cells, flags)

    def _greedy(self, critic: TD3) -> np.ndarray:
        return fold(critic.actor, critic.greedy, critic.goal[None])

    def _stand(self, measures: np.ndarray) -> None:
        self.td3.goal = scaled(measures[None], self.ranges)[0]

    def _refine(self, branches: np.ndarray) -> np.ndarray:
        s = self.settings
        if not (s.refine_steps and self.td3.buffer.size):
            return branches
        goals = np.repeat(self.td3.goal[None], len(branches), axis=0)
        return self.td3.vary(branches, s.refine_steps, s.climb_batch, s.climb_learning_rate, goals, shared=True)


def make_source(td3: TD3, critic: MeasureCritic, settings: CmaMegaTd3Settings) -> Displacement | CriticGradient:
    """Gradients of the objective and of the measures, from their critics."""
    if settings.gradients == "plain":
        return CriticGradient(td3, settings.gradient_states, critic)
    return Displacement(td3, settings.climb_steps, settings.climb_batch, settings.climb_learning_rate, critic)
