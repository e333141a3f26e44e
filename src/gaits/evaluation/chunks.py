"""What runs on a cluster's workers: a part of a batch, played on the worker's threads, packed into a few arrays."""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gaits.console import describe
from gaits.evaluation.job import Job
from gaits.evaluation.player import EpisodeFailed, Player, make_player
from gaits.physics.world import Episode
from gaits.tasks.task import Task
from gaits.versions import episode_versions

SLICES = 4
"""A chunk is at most this part of what is left for a thread, so that the last ones are small and end together."""
TASKS = 8
"""Tasks whose players a worker keeps; a study has several."""


class Packed(NamedTuple):
    """The episodes of a chunk, end to end."""

    objective: np.ndarray  # (n,) float64
    measures: np.ndarray  # (n, k) float64
    length: np.ndarray  # (n,) int64
    end: np.ndarray  # (n,) int64
    obs: np.ndarray  # (N, obs_dim) float32: rows of those that were recorded
    actions: np.ndarray
    rewards: np.ndarray
    rows: np.ndarray  # (n, 2) int64: rows of each episode in obs, and in actions and rewards
    seconds: float = 0.0
    """That it took."""


def cut(n: int, threads: int, largest: int) -> Iterator[tuple[int, int]]:
    """Bounds of chunks of n solutions: large ones first, so that there are few, and single ones at last."""
    start = 0
    while start < n:
        stop = start + max(1, min(largest, (n - start) // (SLICES * threads)))
        yield start, stop
        start = stop


def play_chunk(task: bytes, job: Job, versions: dict[str, str]) -> Packed:
    """Play all episodes of a part of a batch, one after the other, on the thread it is called in."""
    try:
        pool = find_pool(task)
        check_versions(versions, episode_versions(pool.task))
        with pool.player() as player:
            began = time.perf_counter()
            episodes = [job.play(i, player, pool.task) for i in range(job.n_episodes)]
            seconds = time.perf_counter() - began
    except EpisodeFailed:
        raise
    except ModuleNotFoundError as error:
        raise EpisodeFailed(
            f"A worker has no module {error.name!r}. Install it where the workers are, or start them with PYTHONPATH set to "
            "its folder."
        ) from None
    except Exception as error:
        raise EpisodeFailed(f"A worker cannot play these episodes. {describe(error)}") from None
    return pack(episodes)._replace(seconds=seconds)


def check_versions(versions: dict[str, str], here: dict[str, str]) -> None:
    others = [f"{name} {here[name]} instead of {version}" for name, version in versions.items() if here[name] != version]
    if others:
        raise EpisodeFailed(
            f"A worker has {', '.join(others)}, and could give other results. Install the same versions everywhere."
        )


def pack(episodes: list[Episode]) -> Packed:
    rows = np.array([(len(e.obs), len(e.actions)) for e in episodes], np.int64)
    return Packed(
        np.array([e.objective for e in episodes], float),
        np.array([e.measures for e in episodes], float),
        np.array([e.length for e in episodes], np.int64),
        np.array([e.end for e in episodes], np.int64),
        np.concatenate([e.obs for e in episodes]),
        np.concatenate([e.actions for e in episodes]),
        np.concatenate([e.rewards for e in episodes]),
        rows,
    )


def unpack(packed: Packed) -> list[Episode]:
    obs_rows, rows = packed.rows.cumsum(axis=0)[:-1].T
    return [
        Episode(float(objective), measures, int(length), int(end), *steps)
        for objective, measures, length, end, *steps in zip(
            packed.objective,
            packed.measures,
            packed.length,
            packed.end,
            np.split(packed.obs, obs_rows),
            np.split(packed.actions, rows),
            np.split(packed.rewards, rows),
            strict=True,
        )
    ]


class Pool:
    """Players of one task on this worker, as many as threads play at once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._idle: queue.SimpleQueue[Player] = queue.SimpleQueue()

    @contextlib.contextmanager
    def player(self) -> Iterator[Player]:
        try:
            player = self._idle.get_nowait()
        except queue.Empty:
            player = make_player(self.task)
        try:
            yield player
        finally:
            self._idle.put(player)

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()


_pools: dict[bytes, Pool] = {}
_lock = threading.Lock()


def find_pool(task: bytes) -> Pool:
    with _lock:
        pool = _pools.pop(task, None) or Pool(pickle.loads(task))  # bytes of our own client, not of a file
        _pools[task] = pool  # the newest at the end
        while len(_pools) > TASKS:
            _pools.pop(next(iter(_pools))).close()
        return pool
