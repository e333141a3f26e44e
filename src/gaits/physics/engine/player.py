"""Playing a job's episodes in the engine."""

from __future__ import annotations

import functools
import threading

import numpy as np

from gaits.console import say
from gaits.episodes import NON_FINITE, Job, Player, Steps, Trace
from gaits.episodes.episode import draw_noise
from gaits.physics.engine.desk import Workplace, write_orders
from gaits.physics.engine.episodes import FINISHED, NOISE_WANTED, UNCOVERED, Shelf
from gaits.tasks.task import Task

_elsewhere = threading.Lock()


class EnginePlayer(Player):
    """Four episodes side by side. One player per thread; any number may play at once."""

    def __init__(self, task: Task) -> None:
        self.workplace = Workplace(task)

    def play(self, job: Job) -> None:
        orders = write_orders(job)
        desk = self.workplace.make_desk(orders.noisy, orders.recording, orders.tracing)
        shelf = self.workplace.make_shelf(orders.recording, orders.tracing)
        wanted, lane = self.workplace.play(orders, desk, shelf)
        while wanted != FINISHED:
            if wanted == NOISE_WANTED:
                seed = int(job.seeds.flat[desk.episode[lane]])
                desk.noise[lane] = draw_noise(seed, job.action_noise, job.max_steps, job.action_dim)
            else:
                hand_over(shelf, job)
                shelf = self.workplace.make_shelf(orders.recording, orders.tracing)
            wanted, lane = self.workplace.play(orders, desk, shelf)
        hand_over(shelf, job)
        finish_elsewhere(self.workplace.task, job)


def hand_over(shelf: Shelf, job: Job) -> None:
    """Give a job the episodes on a shelf: views of it, so nothing is copied and the shelf lives as long as they do."""
    recorded = job.record.repeat(job.episodes_each)
    for i, first in zip(shelf.episode[: shelf.used[1]].tolist(), shelf.first.tolist(), strict=False):
        end = first + int(job.length[i])
        if recorded[i]:
            job.steps[i] = Steps(shelf.obs[first : end + 1], shelf.actions[first:end], shelf.rewards[first:end])
        if job.trace:
            job.traces[i] = Trace(shelf.positions[first : end + 1], shelf.contacts[first:end])


def finish_elsewhere(task: Task, job: Job) -> None:
    """Have Bullet play what went beyond what is known of it: limbs so deep in each other that their axes cross (5.11)."""
    if not (job.end == UNCOVERED).any():
        return
    with _elsewhere:  # other players of this job come here too
        for i in np.flatnonzero(job.end == UNCOVERED).tolist():
            job.steps.pop(i, None)
            job.traces.pop(i, None)
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
