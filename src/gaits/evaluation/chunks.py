"""What runs on a cluster's workers: a part of a batch, played on the worker's threads, packed into a few arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gaits.console import describe
from gaits.episodes import EpisodeFailed, Job, Pool, Steps
from gaits.tasks.task import Task
from gaits.versions import episode_versions

SHARE = 0.8
"""Of what is left, that is handed out in equal chunks to all threads; then of what is left of that, and so on."""
WORTHWHILE = 0.02
"""Seconds that a chunk should take: several times what it costs to send it, to hear of it and to fetch it."""
TASKS = 8
"""Tasks whose players a worker keeps, one for each of its threads; a study has several."""

_pool = Pool(TASKS)


class Sizes(NamedTuple):
    """Numbers of solutions that a chunk may have."""

    together: int = 1
    """A player plays so many side by side; fewer take as long."""
    worthwhile: int = 1
    """From here on, playing takes longer than sending."""
    largest: int = 1
    """Beyond, a worker at work may be taken for one that hangs."""


class Outcomes(NamedTuple):
    """What became of a chunk's episodes; steps of those that were recorded are end to end."""

    objective: np.ndarray  # (N,) float64
    measures: np.ndarray  # (N, k) float64
    length: np.ndarray  # (N,) int64
    end: np.ndarray  # (N,) int64
    steps: Steps | None
    seconds: float
    """That it took."""


def cut(n: int, threads: int, sizes: Sizes) -> Iterator[tuple[int, int]]:
    """Bounds of chunks of n solutions: large ones first, so that there are few, and small ones at last."""
    unit = min(max(sizes.together, min(sizes.worthwhile, -(-n // threads))), sizes.largest)
    start = 0
    while start < n:
        size = min(sizes.largest, int(SHARE * (n - start) / threads))
        size = max(unit, size - size % unit)
        end = min(n, start + threads * size)
        yield from ((first, min(first + size, end)) for first in range(start, end, size))
        start = end


def play_chunk(task: bytes, job: Job, versions: dict[str, str]) -> Outcomes:
    """Play all episodes of a part of a batch, on the thread it is called in."""
    try:
        known = load_task(task)
        check_versions(versions, episode_versions(known))
        _pool.keep = TASKS * count_threads()
        seconds = _pool.play(known, job)
    except EpisodeFailed:
        raise
    except ModuleNotFoundError as error:
        raise EpisodeFailed(
            f"A worker has no module {error.name!r}. Install it where the workers are, or start them with PYTHONPATH set to "
            "its folder."
        ) from None
    except Exception as error:
        raise EpisodeFailed(f"A worker cannot play these episodes. {describe(error)}") from None
    recorded = [job.steps[i] for i in sorted(job.steps)]
    steps = Steps(*map(np.concatenate, zip(*recorded, strict=True))) if recorded else None
    return Outcomes(job.objective, job.measures, job.length, job.end, steps, seconds)


def count_threads() -> int:
    """Of the worker that this runs on."""
    from distributed import get_worker

    try:
        return get_worker().state.nthreads
    except ValueError:  # on none
        return 1


@functools.lru_cache(maxsize=TASKS)
def load_task(task: bytes) -> Task:
    from distributed.protocol import deserialize_bytes

    return deserialize_bytes(task)  # of our own client, not of a file


def take_outcomes(job: Job, first: int, part: Outcomes) -> None:
    """Put what became of a chunk, whose first solution this is, into the job that it was cut from."""
    episodes = slice(first * job.episodes_each, first * job.episodes_each + len(part.end))
    job.objective[episodes], job.measures[episodes] = part.objective, part.measures
    job.length[episodes], job.end[episodes] = part.length, part.end
    if part.steps is None:
        return
    kept = [i for i in job.recorded.tolist() if episodes.start <= i < episodes.stop]
    rows = job.length[kept].cumsum()[:-1]
    obs_rows = rows + np.arange(1, len(kept))  # an episode has an observation more than steps
    pieces = np.split(part.steps.obs, obs_rows), np.split(part.steps.actions, rows), np.split(part.steps.rewards, rows)
    job.steps.update({i: Steps(*one) for i, one in zip(kept, zip(*pieces, strict=True), strict=True)})


def check_versions(versions: dict[str, str], here: dict[str, str]) -> None:
    others = [f"{name} {here.get(name)} instead of {old}" for name, old in versions.items() if here.get(name) != old]
    if others:
        raise EpisodeFailed(
            f"A worker has {', '.join(others)}, and could give other results. Install the same versions everywhere."
        )
