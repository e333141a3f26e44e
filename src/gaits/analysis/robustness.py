"""How much of an archive is luck: an elite got its cell by one good episode, so every one is played again, several times."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gaits.checks import whole_number
from gaits.episodes import check_seed
from gaits.evaluation import make_evaluator
from gaits.evaluation.compute import make_compute
from gaits.runs import Run, load_run
from gaits.runs.evaluation import Evaluation, load_evaluation
from gaits.search import episode_seeds

CHUNK = 50
"""Elites per batch, so that there is progress to show."""


def evaluate_run(
    run: Run | str | Path,
    episodes: int = 10,
    seed: int = 42,
    progress: Callable[[int, int], None] | None = None,
    **compute: Any,
) -> Evaluation:
    """Play every elite of a run ``episodes`` times and save the outcome beside the run. If it is there already, read it.

    All elites, of all runs with the same seed, get the same episodes. Those of ME-ES play with the observation statistics
    they were stored with.

    Args:
        progress: Called with (elites done, elites in all).
        compute: What to compute on, as for ``train``.
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
    statistics = {name: data[name] for name in ("obs_mean", "obs_std") if name in data}
    seeds = episode_seeds(seed, 0, episodes)
    parts = []
    with make_evaluator(run.task, make_compute(compute)) as evaluator:
        for start in range(0, n, CHUNK):
            rows = slice(start, min(start + CHUNK, n))
            solutions = data["solution"][rows]
            options: dict[str, Any] = {name: values[rows] for name, values in statistics.items()}
            parts.append(evaluator.evaluate(solutions, np.tile(seeds, (len(solutions), 1)), **options))
            if progress is not None:
                progress(rows.stop, n)
    evaluation = Evaluation(
        cell=data["index"],
        recorded=data["objective"],
        objective=np.concatenate([part.episode_objective for part in parts]),
        measures=np.concatenate([part.measures for part in parts]),
        failed=np.concatenate([part.failed for part in parts]),
        seed=seed,
        evaluations=evaluations,
    )
    evaluation.save(run)
    return evaluation
