"""What plays an episode: one per thread or process, made for one task."""

from __future__ import annotations

from typing import Protocol

from gaits.physics import make_simulator
from gaits.physics.world import Episode, Setup, start_angles
from gaits.tasks.task import Task


class Player(Protocol):
    """Plays episodes of one task, one at a time. An episode depends on its setup alone."""

    def play(self, setup: Setup) -> Episode:
        """One episode, with its steps if they are to be recorded."""

    def close(self) -> None:
        """Free what it holds."""


class EpisodeFailed(ValueError):
    """An episode that could not be played: the user's environment raised, or its process died."""


class RobotPlayer:
    """Plays one of QDGym's robots."""

    def __init__(self, task: Task) -> None:
        self.simulator = make_simulator(task)
        self.joints = task.action_dim

    def play(self, setup: Setup) -> Episode:
        solution, seed, mean, std, noise, record = setup
        return self.simulator.rollout(solution, start_angles(seed, self.joints), mean, std, noise, record)

    def close(self) -> None:
        self.simulator.close()


def make_player(task: Task) -> Player:
    """Plays in this process; any number may play at once, in threads."""
    if task.mujoco is not None:
        from gaits.physics.mujoco import MujocoPlayer

        return MujocoPlayer(task)
    if task.env is not None:
        from gaits.evaluation.environment import EnvironmentPlayer

        return EnvironmentPlayer(task)
    return RobotPlayer(task)


def make_local_player(task: Task) -> Player:
    """What a thread of this machine plays on. Environments in Python get a process each: they would share one lock."""
    if task.env is not None:
        from gaits.evaluation.process import ProcessPlayer

        return ProcessPlayer(task)
    return make_player(task)
