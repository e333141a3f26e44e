"""Gradients from critics: of the return, and of measures if they have a critic too. No solution is played for them.

The TD3 belongs to the algorithm that trains it, which also saves and restores it; the critic of measures is trained and
saved here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaits.evaluation.results import Results
from gaits.gradients.measures import MeasureCritic
from gaits.gradients.td3 import TD3


class CriticSource:
    """A source of the objective's row, and with a critic of measures of theirs."""

    def __init__(self, td3: TD3, critic: MeasureCritic | None) -> None:
        self.td3, self.critic = td3, critic

    def samples(self, solution: np.ndarray) -> np.ndarray:
        return np.zeros((0, solution.size), np.float32)

    def prepare(self) -> None:
        """Learn measures while episodes are played, if that is the schedule."""
        if self.critic is not None and self.td3.settings.td3_schedule == "overlap":
            self.critic.train()

    def jacobian(self, solution: np.ndarray, results: Results) -> np.ndarray:
        if self.critic is not None and self.td3.settings.td3_schedule == "paper":
            self.critic.train()  # on the experience that the TD3 was trained with at the end of the last iteration
        if not self.td3.buffer.size:  # no critic knows anything: random directions
            rng, rows = (self.td3.rng, 1) if self.critic is None else (self.critic.rng, 1 + self.critic.measures)
            return rng.standard_normal((rows, solution.size), np.float32)
        objective = self._objective(solution)
        return objective if self.critic is None else np.concatenate([objective, self._measures(solution, self.critic)])

    def _objective(self, solution: np.ndarray) -> np.ndarray:
        """(1, dim)"""
        raise NotImplementedError

    def _measures(self, solution: np.ndarray, critic: MeasureCritic) -> np.ndarray:
        """(k, dim)"""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        return {} if self.critic is None else self.critic.state()

    def restore(self, state: dict[str, Any]) -> None:
        if self.critic is not None:
            self.critic.restore(state)


class CriticGradient(CriticSource):
    """The critics' gradients at a solution, over so many states of the buffer."""

    def __init__(self, td3: TD3, states: int, critic: MeasureCritic | None = None) -> None:
        super().__init__(td3, critic)
        self.states = states

    def _objective(self, solution: np.ndarray) -> np.ndarray:
        return self.td3.gradient(solution, self.states)[None]

    def _measures(self, solution: np.ndarray, critic: MeasureCritic) -> np.ndarray:
        return critic.gradients(solution, self.states)


class Displacement(CriticSource):
    """Where a solution gets to by climbing: its return up a critic, and each measure up another.

    Steps of Adam lead further than one gradient does, and past its scale (as in PPGA, Batra et al., 2024).
    """

    def __init__(self, td3: TD3, steps: int, batch: int, learning_rate: float, critic: MeasureCritic | None = None) -> None:
        super().__init__(td3, critic)
        self.how = steps, batch, learning_rate

    def _objective(self, solution: np.ndarray) -> np.ndarray:
        return self.td3.vary(solution[None], *self.how, self.td3.goal[None], shared=True) - solution

    def _measures(self, solution: np.ndarray, critic: MeasureCritic) -> np.ndarray:
        k = critic.measures
        return critic.vary(np.repeat(solution[None], k, axis=0), 1 + np.arange(k), *self.how) - solution
