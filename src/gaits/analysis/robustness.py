"""How much of an archive is luck: an elite got its cell by one good episode, so every one is played again, several times."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gaits.checks import whole_number
from gaits.episodes import check_seed
from gaits.evaluation import Batch, Evaluator, Pending, Results, make_evaluator
from gaits.evaluation.compute import make_compute
from gaits.runs import Run, load_run
from gaits.runs.evaluation import Evaluation, load_evaluation
from gaits.search import episode_seeds

EPISODES = 32
"""New ones per elite, unless it is said: the paper played 10, and they have become cheap."""
SECONDS = 1.0
"""That a batch of elites should take at least: there is progress to show, and nobody waits often for the slowest."""


def evaluate_run(
    run: Run | str | Path,
    episodes: int = EPISODES,
    seed: int = 42,
    progress: Callable[[int, int], None] | None = None,
    **compute: Any,
) -> Evaluation:
    """Play every elite of a run ``episodes`` times and save the outcome beside the run. If it is there already, read it.

    All elites, of all runs with the same seed, get the same episodes. Those of ME-ES play with the observation statistics
    they were stored with.

    Args:
        run: The run, or its folder.
        episodes: How often each elite plays.
        seed: Of the episodes.
        progress: Called with (elites done, elites in all).
        compute: What to compute on, as for ``train``.

    Examples:
        >>> run = gaits.train("qd_hopper", "map_elites", evaluations=200, max_steps=100, out="runs/lucky")
        >>> found = gaits.evaluate_run(run, episodes=4)
        >>> found.objective.shape == (len(run.archive), 4)
        True
        >>> corrected = found.corrected(run.task)  # the archive of the same elites by their means
    """
    run = run if isinstance(run, Run) else load_run(run)
    whole_number("episodes", episodes, 1)
    check_seed(seed)
    run.task.problem.check_luck(run.task)
    run.check_history()
    evaluations = run.saved_evaluations
    with contextlib.suppress(ValueError):  # a damaged one is made again
        before = load_evaluation(run)
        if before and (before.evaluations, before.seed, before.objective.shape[1]) == (evaluations, seed, episodes):
            return before
    data = run.archive.data()
    n = len(data["index"])
    if n == 0:
        raise ValueError(f"The archive of {run.folder} is empty: there is nothing to evaluate. Train it first.")
    seeds = episode_seeds(seed, 0, episodes)
    with make_evaluator(run.task, make_compute(compute)) as evaluator:
        parts = list(_play(evaluator, data, seeds, progress or (lambda done, total: None)))
    evaluation = Evaluation(
        cell=data["index"],
        recorded=data["objective"],
        objective=np.concatenate([part.episode_objective for part in parts]),
        measures=np.concatenate([part.episode_measures for part in parts]),
        failed=np.concatenate([part.failed for part in parts]),
        seed=seed,
        evaluations=evaluations,
    )
    evaluation.save(run)
    return evaluation


def _play(
    evaluator: Evaluator, data: dict[str, np.ndarray], seeds: np.ndarray, progress: Callable[[int, int], None]
) -> Iterator[Results]:
    """Results of all elites, in batches that grow until they take long enough; one is always under way."""
    n, size, start = len(data["index"]), 1, 0
    under_way: deque[tuple[int, Pending]] = deque()
    while start < n or under_way:
        while start < n and len(under_way) < 2:
            stop = min(start + size, n)
            statistics: dict[str, Any] = {name: data[name][start:stop] for name in ("obs_mean", "obs_std") if name in data}
            batch = Batch(data["solution"][start:stop], **statistics)
            under_way.append((stop, evaluator.submit(batch, np.tile(seeds, (len(batch), 1)))))
            start = stop
        began = time.monotonic()
        stop, pending = under_way.popleft()
        yield pending.result()
        progress(stop, n)
        if time.monotonic() - began < SECONDS:
            size *= 2
