"""Evaluation on a Dask cluster: batches cut into chunks, played by the same players, put together in the same order.

An episode depends only on its solution and seed, so a chunk can be played anywhere, and again: a worker that dies, hangs or
leaves costs time and nothing else. What runs on the workers is in ``chunks.py``; how a cluster is found, in
``schedulers.py``.
"""

from __future__ import annotations

import contextlib
import functools
import math
import queue
import time
import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from gaits.checks import above_zero
from gaits.console import describe, say
from gaits.episodes import Batch, EpisodeFailed, Job, make_job
from gaits.evaluation import schedulers
from gaits.evaluation.chunks import WORTHWHILE, Sizes, cut, play_chunk, take_outcomes
from gaits.evaluation.compute import Compute
from gaits.evaluation.results import CLOSED, Evaluator, Results, assemble
from gaits.evaluation.schedulers import ClusterLost, connect, open_cluster
from gaits.tasks.task import Task
from gaits.versions import episode_versions

ATTEMPTS = 10
"""Times a chunk is sent out before it is taken for the cause of its workers' trouble: they hang, or Dask gives it up, which
it does when more than ``distributed.scheduler.allowed-failures`` (3) of them have died with it."""
ANSWER = 30.0
"""Seconds in which a scheduler that works answers."""
REACH = 3.0
"""Seconds in which a worker on the same network answers."""
SAFETY = 20
"""A chunk is to take this many times less than the deadline."""
POLL = 0.5


class Chunk(NamedTuple):
    """Solutions start .. stop - 1 of a batch, and how often they were sent out."""

    start: int
    stop: int
    sent: int = 1


class ClusterEvaluator(Evaluator):
    """Plays episodes on the workers of a Dask cluster.

    Args:
        task: What is evaluated.
        scheduler: See ``open_cluster``.
        workers: Processes of a local cluster, jobs of a Slurm cluster.
        deadline: Seconds without any chunk coming back, after which the workers that hold the rest are started again,
            or given up if nothing watches over them. Chunks are made small enough for it. It also ends fetching results.
        tls: Files of the authority, the certificate and its key, for a cluster at a tls:// address.
    """

    def __init__(
        self,
        task: Task,
        scheduler: str,
        workers: int | None = None,
        deadline: float = Compute.deadline,
        tls: schedulers.Tls | None = None,
    ) -> None:
        task.problem.check()
        above_zero("deadline", deadline)
        self.task, self.scheduler, self.deadline, self.tls = task, scheduler, deadline, tls
        self.seconds = 0.0  # that an episode took at most, of late; 0: nothing is known yet
        self.usual = 0.0  # that an episode took on average, in the last batch
        self._closed = False
        with contextlib.ExitStack() as stack:
            self.address = stack.enter_context(open_cluster(scheduler, workers, tls))
            self.client = connect(self.address, tls=tls)
            self._resources = stack.pop_all()
        from distributed.protocol import serialize_bytes

        self._task_bytes = serialize_bytes(task)
        if not self.threads:
            say(f"{self.address} has no workers yet; {self._remedy}")

    @property
    def _remedy(self) -> str:
        """How to get workers."""
        return "Slurm starts them in their turn" if self.scheduler == "slurm" else f"run: dask worker {self.address}"

    @property
    def threads(self) -> int:
        """Threads of all workers now. Finds the scheduler again if it is lost."""
        try:
            return sum(self._ask("ncores", workers=None).values())
        except OSError:
            self.reconnect()
            return sum(self._ask("ncores", workers=None).values())

    def sizes(self, each: int) -> Sizes:
        """Of chunks of solutions with ``each`` episodes, as far as it is known how long those take."""
        if not self.seconds:
            return Sizes()
        return Sizes(
            together=math.ceil(self.task.problem.side_by_side / each),
            worthwhile=math.ceil(WORTHWHILE / (max(self.usual, 1e-9) * each)),
            largest=max(1, int(self.deadline / (SAFETY * self.seconds * each))),
        )

    def _ask(self, what: str, **options: Any) -> Any:
        """Ask the scheduler something. It answers, or this is an OSError, as Dask's CommClosedError and TimeoutError are."""
        if self.client.status != "running":
            raise OSError("lost")
        return self.client.sync(getattr(self.client.scheduler, what), callback_timeout=ANSWER, **options)

    def submit(self, batch: Batch, seeds: ArrayLike) -> ClusterPending:
        """Start evaluating a batch; ``result()`` of what it returns waits for it."""
        if self._closed:
            raise RuntimeError("This evaluator is closed; make a new one.")
        return ClusterPending(self, make_job(self.task, batch, seeds))

    def note_seconds(self, slowest: float, usual: float) -> None:
        """Learn what a batch's episodes took. The worst fades, or one hiccup would make chunks small for ever."""
        self.seconds, self.usual = max(slowest, self.seconds / 2), usual

    def send(self, job: Job, chunk: Chunk) -> Any:
        """A future of the chunk's episodes."""
        part = job.part(chunk.start, chunk.stop)
        name = f"gaits-{uuid.uuid4().hex}"  # one of its own, so that nothing is mistaken for another run's
        return self.client.submit(play_chunk, self._task_bytes, part, episode_versions(self.task), key=name, pure=False)

    def give_up_holders(self, futures: Iterable[Any]) -> set[str]:
        """Restart the workers that hold these chunks, which are then played elsewhere; returns the keys of those held."""
        keys = {future.key for future in futures}
        try:
            held = {worker: keys.intersection(names) for worker, names in self._ask("processing", workers=None).items()}
            holders = [worker for worker, names in held.items() if names]
            if not holders and not self.threads:
                self._miss_workers()
            self._restart(holders)
        except OSError:  # it is the scheduler that does not answer
            self.reconnect()
            return set()
        return set().union(*held.values())

    def fetch(self, futures: list[Any]) -> list[Any]:
        """What was played; a TimeoutError if it does not come within the deadline."""
        return self.client.sync(self.client._gather, futures, direct=self._near, callback_timeout=self.deadline)

    @functools.cached_property
    def _near(self) -> bool:
        """Whether workers can be reached from here: else all they hand over has to go through the scheduler."""
        from distributed.comm import connect as open_comm

        async def reach(worker: str) -> None:
            (await open_comm(worker, timeout=REACH, **self.client.connection_args)).abort()

        try:
            self.client.sync(reach, next(iter(self._ask("ncores", workers=None))), callback_timeout=2 * REACH)
        except (OSError, StopIteration):
            return False
        return True

    def give_up_keepers(self, futures: list[Any]) -> None:
        """Restart the workers that keep what was played and do not hand it over."""
        try:
            kept = self._ask("who_has", keys=[future.key for future in futures])
            self._restart(sorted({worker for workers in kept.values() for worker in workers}))
        except OSError:
            self.reconnect()
        with contextlib.suppress(Exception):
            self.client.cancel(futures)

    def _restart(self, workers: list[str]) -> None:
        if workers:
            say(f"no answer for {self.deadline:g} s, so restarting {', '.join(workers)}; others play its episodes.")
            options = {"timeout": ANSWER / 2, "wait_for_workers": False, "on_error": "return"}
            self._ask("restart_workers", workers=workers, stimulus_id="gaits-deadline", **options)

    def _miss_workers(self) -> None:
        told = f"The cluster at {self.address} had no workers to play on for {self.deadline:g} seconds"
        if self.scheduler != "slurm":
            raise ClusterLost(f"{told}. For workers, {self._remedy}; to wait longer for them, raise --deadline.")
        say(f"{told}; {self._remedy}, see squeue. Still waiting.")

    def reconnect(self) -> None:
        """Wait until the scheduler is back, or say that it is gone."""
        say(f"lost the scheduler at {self.address}; looking for it for {schedulers.PATIENCE:g} s ...")
        until = time.monotonic() + schedulers.PATIENCE
        while time.monotonic() < until and self.client.status == "connecting":
            time.sleep(POLL)  # Dask's client is trying by itself
        try:
            self._ask("ncores", workers=None)
        except OSError:
            with contextlib.suppress(Exception):
                self.client.close(timeout=1)
            self.client = connect(self.address, max(until - time.monotonic(), 1.0), self.tls)
        say(f"found the scheduler at {self.address} again; what is missing is played again.")

    def close(self) -> None:
        """Leave the cluster; one that was opened for this evaluator ends."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(Exception):
                self.client.close(timeout=5)
            self._resources.close()


class ClusterPending:
    """A batch that workers are playing."""

    def __init__(self, evaluator: ClusterEvaluator, job: Job) -> None:
        self.evaluator, self.job = evaluator, job
        self.out: dict[Any, Chunk] = {}  # by future
        self.slowest = self.seconds = 0.0  # per episode at most, and of all
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        bounds = cut(len(job.solutions), max(evaluator.threads, 1), evaluator.sizes(job.episodes_each))
        self._send(Chunk(start, stop) for start, stop in bounds)

    def _send(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            future = self.evaluator.send(self.job, chunk)
            self.out[future] = chunk
            future.add_done_callback(self._ended.put)

    def result(self) -> Results:
        heard = time.monotonic()
        try:
            while self.out:
                if self.evaluator._closed:
                    raise RuntimeError(CLOSED)
                if ended := self._wait():
                    self._take(ended)
                    heard = time.monotonic()
                elif time.monotonic() - heard > self.evaluator.deadline:
                    self._move_on()
                    heard = time.monotonic()
        except BaseException:
            with contextlib.suppress(Exception):
                self.evaluator.client.cancel(list(self.out))
            raise
        if self.job.n_episodes:
            self.evaluator.note_seconds(self.slowest, self.seconds / self.job.n_episodes)
        return assemble(self.job)

    def _wait(self) -> list[Any]:
        """Futures that have ended since the last time, if any do within a moment."""
        ended = []
        with contextlib.suppress(queue.Empty):
            ended.append(self._ended.get(timeout=POLL))
            while True:
                ended.append(self._ended.get_nowait())
        return [future for future in ended if future in self.out]

    def _move_on(self) -> None:
        """Nothing came back for too long: let others play what is held, or send all of it again if nobody has it."""
        held = self.evaluator.give_up_holders(self.out)
        if held:
            self.out = {one: self._once_more(chunk) if one.key in held else chunk for one, chunk in self.out.items()}
        else:
            self._send_again()

    def _send_again(self) -> None:
        lost = self.out
        self.out = {}
        with contextlib.suppress(Exception):
            self.evaluator.client.cancel(list(lost))
        self._send(lost.values())

    def _take(self, ended: list[Any]) -> None:
        """Keep what was played, send out again what was lost, and raise what is nobody's misfortune."""
        from distributed import KilledWorker

        chunks = {future: self.out.pop(future) for future in ended}
        finished = [future for future in ended if future.status == "finished"]
        try:
            for future, played in zip(finished, self.evaluator.fetch(finished), strict=True):
                chunk = chunks.pop(future)
                take_outcomes(self.job, chunk.start, played)
                self.slowest = max(self.slowest, played.seconds / len(played.end))
                self.seconds += played.seconds
        except EpisodeFailed:
            raise
        except TimeoutError:  # a worker was stopped between finishing and handing over
            self.evaluator.give_up_keepers(finished)
            self._send(map(self._once_more, chunks.values()))
            return
        except Exception as error:  # the scheduler went, and what was finished with it
            if self.evaluator.client.status == "running" and all(future.status == "finished" for future in finished):
                raise EpisodeFailed(f"Results cannot be fetched from {self.evaluator.address}. {describe(error)}") from None
        for future in chunks:
            problem = future.exception(timeout=ANSWER) if future.status == "error" else None
            if isinstance(problem, EpisodeFailed):
                raise problem
            if problem is not None and not isinstance(problem, KilledWorker):
                raise EpisodeFailed(f"A worker failed. {describe(problem)}")
        if any(future.status in ("cancelled", "lost") for future in chunks):
            self.evaluator.reconnect()
            self._send_again()
        self._send([self._once_more(chunk) if future.status == "error" else chunk for future, chunk in chunks.items()])

    def _once_more(self, chunk: Chunk) -> Chunk:
        if chunk.sent >= ATTEMPTS:
            raise EpisodeFailed(
                f"Solutions {chunk.start} to {chunk.stop - 1} of the batch cannot be played: worker after worker died or "
                "hung with them. Look for crashes and lack of memory in the workers' logs; if the episodes "
                f"are only long, raise --deadline, now {self.evaluator.deadline:g} seconds."
            )
        return chunk._replace(sent=chunk.sent + 1)
