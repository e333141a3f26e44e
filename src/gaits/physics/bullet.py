"""Playing episodes of QDGym's robots in Bullet."""

from __future__ import annotations

from gaits.episodes import Episode, Job, Player, Setup, play_each
from gaits.physics import make_simulator
from gaits.physics.world import start_angles
from gaits.tasks.task import Task


class BulletPlayer(Player):
    """One robot in a simulator of its own. Not to be shared between threads; any number may play at once."""

    def __init__(self, task: Task) -> None:
        self.simulator = make_simulator(task)

    def play(self, job: Job) -> None:
        play_each(job, lambda i: self._play(job.setup(i)))

    def _play(self, setup: Setup) -> Episode:
        return self.simulator.rollout(setup, start_angles(setup.seed, self.simulator.task.action_dim))

    def close(self) -> None:
        self.simulator.close()
