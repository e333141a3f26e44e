"""Playing episodes of QDGym's robots in Bullet."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gaits.episodes import Episode, Job, Player, Setup, play_each
from gaits.physics.world import Simulator, start_angles


class BulletSimulator(Simulator, Protocol):
    """A robot that can be rolled out, too."""

    def rollout(self, setup: Setup, q0: np.ndarray) -> Episode:
        """One whole episode of a policy, with joints at ``q0`` at its start."""


class BulletPlayer(Player):
    """One robot in a simulator of its own. Not to be shared between threads; any number may play at once."""

    def __init__(self, simulator: BulletSimulator) -> None:
        self.simulator = simulator

    def play(self, job: Job) -> None:
        play_each(job, lambda i: self._play(job.setup(i)))

    def _play(self, setup: Setup) -> Episode:
        return self.simulator.rollout(setup, start_angles(setup.seed, self.simulator.task.action_dim))

    def close(self) -> None:
        self.simulator.close()
