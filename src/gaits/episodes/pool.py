"""Players for many threads: the one place from which evaluators, clusters' workers and the explorer get theirs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from gaits.episodes.job import Job
from gaits.episodes.player import EpisodeFailed, Player
from gaits.tasks.task import Task


class Pool:
    """Players, kept between jobs: building one takes longer than many an episode. Safe to use from many threads.

    Args:
        keep: The most players that are kept while nobody uses them; those used least recently go.
        make: What makes a player of a task; default: one that plays in this process.
    """

    def __init__(self, keep: int, make: Callable[[Task], Player] | None = None) -> None:
        self.keep = keep
        self._make = make or (lambda task: task.problem.make_player(task))
        self._lock = threading.Lock()
        self._idle: list[tuple[Task, Player]] = []  # least recently used first
        self._playing: list[tuple[Player, Job]] = []
        self._closed = False

    def fill(self, task: Task, start: Callable[..., Iterable[None]] = map) -> None:
        """Make as many players of this task as are kept, through ``map`` or a function like it."""
        for _ in start(lambda _: self._give_back(task, self._make(task)), range(self.keep)):
            pass

    def play(self, task: Task, job: Job) -> float:
        """Work on a job of this task until none of its episodes is left, or this is closed. Returns the seconds played."""
        player = self._take(task) or self._make(task)
        with self._lock:
            self._playing.append((player, job))
            if self._closed:
                job.cancel()
        began = time.perf_counter()
        try:
            player.play(job)
        except EpisodeFailed:
            if not self._closed:
                raise
        finally:
            self._give_back(task, player)
        return time.perf_counter() - began

    def _take(self, task: Task) -> Player | None:
        with self._lock:
            i = next((i for i, (own, _) in enumerate(self._idle) if own == task), None)
            return None if i is None else self._idle.pop(i)[1]

    def _give_back(self, task: Task, player: Player) -> None:
        with self._lock:
            self._playing = [(one, job) for one, job in self._playing if one is not player]
            self._idle.append((task, player))
            excess = len(self._idle) if self._closed else max(len(self._idle) - self.keep, 0)
            dropped, self._idle = self._idle[:excess], self._idle[excess:]
        for _, one in dropped:
            one.close()

    def close(self) -> None:
        """Cancel the jobs under way and close all players; those that are playing, as soon as they can stop."""
        with self._lock:
            self._closed = True
            dropped, self._idle = self._idle, []
            playing = list(self._playing)
        for player, job in playing:
            job.cancel()
            player.stop()
        for _, player in dropped:
            player.close()
