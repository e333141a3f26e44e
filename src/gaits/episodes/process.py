"""A player in a process of its own: environments in Python would otherwise take turns at the interpreter's lock.

Tasks, jobs and episodes go through a pipe between a process and its own child, which nobody else can open. Nothing that
comes from a file does, and code goes by its name: the child imports it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from gaits.console import describe
from gaits.episodes.episode import Episode
from gaits.episodes.job import Job
from gaits.episodes.player import EpisodeFailed, Player, play_each
from gaits.tasks.task import Task

ATTEMPTS = 3
"""Times an episode is tried when its process dies: once may be bad luck, such as a lack of memory."""
SECONDS_TO_START, SECONDS_TO_END = 120.0, 2.0
_starting = threading.Lock()


class ProcessPlayer(Player):
    """Hands episodes to a spawned process, one at a time, and brings home what happens there.

    An episode that takes longer than ``deadline`` seconds is given up, and tried again in a new process.
    """

    def __init__(self, task: Task, deadline: float) -> None:
        self.task, self.deadline = task, deadline
        self.stopped = False
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=serve, args=(there,), daemon=True, name="gaits-player")
        with one_thread_each():
            self.process.start()
        there.close()
        try:
            self.pipe.send(self.task)
            self._receive(SECONDS_TO_START)
        except (EOFError, OSError):
            raise EpisodeFailed(
                f"The process for {self.task.name} ended before it was ready ({self._how_it_died()}). A script that trains "
                'on an environment of its own must begin below: if __name__ == "__main__":'
            ) from None
        except EpisodeFailed as error:
            self.close()
            raise EpisodeFailed(f"The environment of {self.task.name} could not be made: {error}") from None
        except Exception as error:  # what the pipe says of an open file or a lock
            self.close()
            raise EpisodeFailed(
                f"{self.task.name} cannot be sent to a worker process ({error}). Let its environment make what it needs, "
                "instead of being given it."
            ) from None

    def play(self, job: Job) -> None:
        play_each(job, lambda i: self._play(job.only(i)))

    def _play(self, one: Job) -> Episode:
        for attempt in range(1, ATTEMPTS + 1):
            if self.stopped:
                raise EpisodeFailed(one.blame(0, "It was stopped."))
            began = time.monotonic()
            try:
                self.pipe.send(one)
                return self._receive(self.deadline)
            except (EOFError, OSError):
                late = time.monotonic() - began >= self.deadline
                death = f"no answer for {self.deadline:g} seconds" if late else self._how_it_died()
                self.close()
                if attempt < ATTEMPTS and not self.stopped:
                    self._start()
        raise EpisodeFailed(one.blame(0, f"The process that played it failed {ATTEMPTS} times in a row ({death})."))

    def _receive(self, seconds: float) -> Any:
        if not self.pipe.poll(seconds):
            self.process.kill()
            raise EOFError
        good, value = self.pipe.recv()
        if not good:
            raise EpisodeFailed(value)
        return value

    def _how_it_died(self) -> str:
        self.process.join(SECONDS_TO_END)
        code = self.process.exitcode
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def stop(self) -> None:
        """A process may hang; whoever waits for it then hears that it is gone."""
        self.stopped = True
        self.process.kill()

    def close(self) -> None:
        self.pipe.close()  # which ends the process when its episode is over
        self.process.join(SECONDS_TO_END)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def serve(pipe: Connection) -> None:
    """What the process does: play what it is sent until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which finishes the iteration
    try:
        task: Task = pipe.recv()  # here, not as an argument: what cannot be imported is said in words
        player = task.problem.make_player(task)
        pipe.send((True, None))
    except Exception as error:
        pipe.send((False, describe(error)))
        return
    with contextlib.suppress(EOFError, OSError):
        while True:
            one: Job = pipe.recv()
            try:
                player.play(one)
                answer: tuple[bool, Any] = True, one.episode(0)
            except EpisodeFailed as error:
                answer = False, str(error)
            pipe.send(answer)
    with contextlib.suppress(Exception):
        player.close()


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes started meanwhile use one thread for linear algebra: there is a process for every core already."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    with _starting:
        absent = [name for name in names if name not in os.environ]
        os.environ.update(dict.fromkeys(absent, "1"))
        try:
            yield
        finally:
            for name in absent:
                os.environ.pop(name, None)
