"""Evaluation on this machine's cores: threads, each with a player of its own."""

from __future__ import annotations

import contextlib
import os
import queue
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any

from numpy.typing import ArrayLike

from gaits.checks import whole_number
from gaits.evaluation.job import Job, make_job
from gaits.evaluation.player import Player, make_local_player
from gaits.evaluation.results import Evaluator, Results
from gaits.physics.world import Episode
from gaits.tasks.task import Task


class LocalEvaluator(Evaluator):
    """Plays episodes on ``workers`` threads (default: one per core). The physics runs outside the interpreter's lock;
    environments written in Python run in a process per thread.

    Threads take the next episode whenever they are free. An episode depends only on its solution and seed, so results
    do not depend on the number of threads, the order of the solutions, or what ran before.
    """

    def __init__(self, task: Task, workers: int | None = None) -> None:
        if not isinstance(task, Task):
            raise ValueError(f"task must be a Task, as gaits.make_task({str(task)!r}) gives; got {task!r}.")
        workers = available_cores() if workers is None else whole_number("workers", workers, 1)
        if task.env is not None:
            task.env.check()
        self.task = task
        self.workers = workers
        self._closed = False
        self._players: queue.SimpleQueue[Player] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="gaits-rollout")
        try:
            starting = self._threads.map if task.env is not None else map  # a process takes seconds to start
            for player in starting(make_local_player, [task] * workers):
                self._players.put(player)
        except BaseException:
            self.close()
            raise

    def submit(self, solutions: ArrayLike, seeds: ArrayLike, transitions: ArrayLike = False, **options: Any) -> LocalPending:
        if self._closed:
            raise RuntimeError("This evaluator is closed; make a new one.")
        job = make_job(self.task, solutions, seeds, transitions, **options)
        episodes: list[Episode | None] = [None] * job.n_episodes
        turns = iter(range(job.n_episodes))
        futures = [self._threads.submit(self._work, job, turns, episodes) for _ in range(min(self.workers, job.n_episodes))]
        return LocalPending(self.task, job, episodes, futures)

    def _work(self, job: Job, turns: Iterator[int], episodes: list[Episode | None]) -> None:
        player = self._players.get()
        try:
            while not self._closed and (turn := next(turns, len(episodes))) < len(episodes):
                episodes[turn] = job.play(turn, player, self.task)
        except BaseException:
            for _ in turns:  # the others need not go on
                pass
            raise
        finally:
            self._players.put(player)

    def close(self) -> None:
        """Stop after the episodes under way, and free all threads and players."""
        self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._players.empty():
            self._players.get().close()


class LocalPending:
    """A job that threads are working on."""

    def __init__(self, task: Task, job: Job, episodes: list[Episode | None], futures: list[Future[None]]) -> None:
        self._task, self._job, self._episodes, self._futures = task, job, episodes, futures

    def result(self) -> Results:
        for future in self._futures:
            with contextlib.suppress(CancelledError):
                future.result()
        played = [episode for episode in self._episodes if episode is not None]
        if len(played) < len(self._episodes):
            raise RuntimeError("The evaluator was closed while this job was being evaluated.")
        return self._job.assemble(played, self._task)


def available_cores() -> int:
    """Cores this process may use, which on a cluster can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
