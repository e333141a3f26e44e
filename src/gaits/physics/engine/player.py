"""Playing a job's episodes in the engine."""

from __future__ import annotations

from collections.abc import Callable

from gaits.episodes import Job, Player, Steps, Trace
from gaits.episodes.episode import draw_noise
from gaits.physics.engine.desk import Workplace, write_orders
from gaits.physics.engine.episodes import FINISHED, NOISE_WANTED, UNCOVERED, Shelf
from gaits.tasks.task import Task


class EnginePlayer(Player):
    """Four episodes side by side. One player per thread; any number may play at once."""

    def __init__(self, task: Task, elsewhere: Callable[[Task, Job], None] | None = None) -> None:
        """``elsewhere`` ends the episodes of a job that went beyond what the engine covers: those that ended UNCOVERED."""
        self.workplace, self.elsewhere = Workplace(task), elsewhere

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
        if self.elsewhere and (job.end == UNCOVERED).any():
            self.elsewhere(self.workplace.task, job)


def hand_over(shelf: Shelf, job: Job) -> None:
    """Give a job the episodes on a shelf: views of it, so nothing is copied and the shelf lives as long as they do."""
    recorded = job.record.repeat(job.episodes_each)
    for i, first in zip(shelf.episode[: shelf.used[1]].tolist(), shelf.first.tolist(), strict=False):
        end = first + int(job.length[i])
        if recorded[i]:
            job.steps[i] = Steps(shelf.obs[first : end + 1], shelf.actions[first:end], shelf.rewards[first:end])
        if job.trace:
            job.traces[i] = Trace(shelf.positions[first : end + 1], shelf.contacts[first:end])
