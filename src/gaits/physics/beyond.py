"""Episodes that go beyond what the engine covers: Bullet plays them where it is installed; else they fail, with a reason."""

from __future__ import annotations

import functools
import threading

import numpy as np

from gaits.console import say
from gaits.episodes import NON_FINITE, Job
from gaits.physics.engine.episodes import UNCOVERED
from gaits.tasks.task import Task

_one_at_a_time = threading.Lock()


def play_beyond(task: Task, job: Job) -> None:
    """Have Bullet play what went beyond what is known of it: limbs so deep in each other that their axes cross (5.11)."""
    with _one_at_a_time:  # other players of this job come here too
        for i in np.flatnonzero(job.end == UNCOVERED).tolist():
            try:
                from gaits.physics.bullet import make_simulator
                from gaits.physics.bullet.player import BulletPlayer

                player = BulletPlayer(make_simulator(task))
            except ModuleNotFoundError:
                tell(
                    f"an episode of {task.name} went beyond our physics and failed. pip install 'gaits[bullet]' plays such."
                )
                job.end[i] = NON_FINITE
                continue
            tell(f"an episode of {task.name} goes beyond our physics: Bullet plays it.")
            one = job.only(i)
            player.play(one)
            player.close()
            job.put(i, one.episode(0))


@functools.cache
def tell(message: str) -> None:
    """Once."""
    say(message)
