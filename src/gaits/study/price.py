"""What a study would take on this machine, in hours and on disk, from a few iterations of each of its algorithms."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaits.evaluation import make_evaluator
from gaits.evaluation.compute import Compute
from gaits.runs.config import make_config
from gaits.search import Search, seed_key
from gaits.states import Rows, flatten
from gaits.study.execute import survey
from gaits.study.plan import PlannedRun, Study

SECONDS = 2.0
"""That each algorithm is tried for on each task, once everything is compiled."""
BATCH = 100
"""Elites that are played to know how fast."""
HISTORY_BYTES = 64
"""Of an evaluation in the history and the metrics, at most."""


@dataclass(frozen=True)
class Price:
    """Of all runs of a variant on a task that are not finished."""

    run: PlannedRun
    runs: int
    evaluations: int
    """That are left to do in all of them."""
    soon: float
    """Hours if all goes on as it begins."""
    late: float
    """Hours if every episode lasts until the step limit."""
    gigabytes: float
    """On disk, when they are finished."""


def price_study(study: Study, folder: Path, compute: Compute, progress: Callable[[int, int], None]) -> list[Price]:
    """Try every variant on every task. What runs in the folder have done already is not paid again."""
    done = {name: evaluations for name, (evaluations, _) in survey(study, folder).items()}
    kinds: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in study.runs:
        if done.get(run.name, 0) < run.evaluations:
            kinds.setdefault((run.task.name, run.variant.name), []).append(run)
    prices = []
    for runs in kinds.values():
        left = sum(run.evaluations - done.get(run.name, 0) for run in runs)
        soon, late, size = _try(runs[0], compute)
        gigabytes = len(runs) * (size + HISTORY_BYTES * runs[0].evaluations) / 1e9
        prices.append(Price(runs[0], len(runs), left, left * soon / 3600, left * late / 3600, gigabytes))
        progress(len(prices), len(kinds))
    return prices


def _try(run: PlannedRun, compute: Compute) -> tuple[float, float, int]:
    """Seconds per evaluation, now and with whole episodes, and the bytes that a finished run has."""
    config = make_config(run.task, run.algorithm, run.settings, seed=run.seed, evaluations=run.evaluations)
    with make_evaluator(config.make_task(), compute) as evaluator:
        search = Search(config.make_algorithm(), evaluator, seed_key(run.seed), compute.learner_cores)
        count = search.counters
        for _ in range(2):  # compiles, and gives critics something to learn from
            search.iterate()
        before = dataclasses.replace(count)
        began = time.perf_counter()
        while count.iteration == before.iteration or time.perf_counter() - began < SECONDS:
            search.iterate()
        rate = _steps_per_second(search)
    evaluations, episodes = count.evaluations - before.evaluations, count.episodes - before.episodes
    missing = episodes * run.task.max_steps - (count.steps - before.steps)
    seconds = count.seconds - before.seconds
    state = search.state()
    size = _bytes(state) + _bytes(state["algorithm"]["archive"])  # a checkpoint, and archive.npz
    return seconds / evaluations, (seconds + max(missing, 0) / rate) / evaluations, size


def _steps_per_second(search: Search) -> float:
    """Of elites that are played with nothing beside them."""
    solutions = search.algorithm.archive.data("solution")
    solutions = solutions[np.arange(BATCH) % len(solutions)]
    began = time.perf_counter()
    results = search.evaluator.evaluate(solutions, range(BATCH))
    return float(results.length.sum()) / (time.perf_counter() - began)


def _bytes(state: dict[str, Any]) -> int:
    """Of a state whose every array has as many rows as it may have."""
    total = 0
    for leaf in flatten(state).values():
        if isinstance(leaf, Rows):
            rows = len(leaf.array) if leaf.limit is None else leaf.limit
            total += rows * leaf.array.dtype.itemsize * int(np.prod(leaf.array.shape[1:], dtype=np.int64))
        elif isinstance(leaf, np.ndarray):
            total += leaf.nbytes
    return total
