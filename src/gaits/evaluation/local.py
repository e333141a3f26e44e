"""Evaluation on this machine's cores: threads, each with a player of its own."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor

from numpy.typing import ArrayLike

from gaits.checks import whole_number
from gaits.episodes import Batch, Job, Pool, make_job
from gaits.evaluation.results import CLOSED, Evaluator, Results, assemble
from gaits.tasks.task import Task


class LocalEvaluator(Evaluator):
    """Plays episodes on threads. The physics runs outside the interpreter's lock; environments written in Python run in a
    process per thread.

    Threads take the next episode whenever they are free. An episode depends only on its solution and seed, so results
    do not depend on the number of threads, the order of the solutions, or what ran before.

    Args:
        task: What is evaluated.
        workers: Threads; default: one per core.

    Examples:
        >>> task = gaits.make_task("lp_sphere")
        >>> with gaits.LocalEvaluator(task) as evaluator:
        ...     results = evaluator.evaluate(np.zeros((3, task.solution_dim)), seeds=[1, 2, 3])
        >>> results.objective.shape, results.measures.shape
        ((3,), (3, 2))
    """

    def __init__(self, task: Task, workers: int | None = None) -> None:
        if not isinstance(task, Task):
            raise ValueError(f"task must be a Task, as gaits.make_task({str(task)!r}) gives; got {task!r}.")
        self.workers = available_cores() if workers is None else whole_number("workers", workers, 1)
        task.problem.check()
        self.task = task
        self._closed = False
        self._pool = Pool(self.workers, task.problem.make_local_player)
        self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="gaits-rollout")
        try:
            self._pool.fill(task, self._threads.map if task.problem.own_process else map)  # a process takes seconds to start
        except BaseException:
            self.close()
            raise

    def submit(self, batch: Batch, seeds: ArrayLike) -> LocalPending:
        """Start evaluating a batch; ``result()`` of what it returns waits for it."""
        if self._closed:
            raise RuntimeError("This evaluator is closed; make a new one.")
        job = make_job(self.task, batch, seeds)
        threads = range(min(self.workers, job.n_episodes))
        return LocalPending(job, [self._threads.submit(self._pool.play, self.task, job) for _ in threads])

    def close(self) -> None:
        """Stop after the episodes under way, at once where they are played in processes; free all threads and players."""
        self._closed = True
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)


class LocalPending:
    """A job that threads are working on."""

    def __init__(self, job: Job, futures: list[Future[float]]) -> None:
        self.job, self._futures = job, futures

    def result(self) -> Results:
        for future in self._futures:
            with contextlib.suppress(CancelledError):
                future.result()
        if not self.job.complete:
            raise RuntimeError(CLOSED)
        return assemble(self.job)


def available_cores() -> int:
    """Cores this process may use, which on a cluster can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
