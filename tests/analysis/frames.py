"""Made-up results of runs, a row each."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from gaits.runs.evaluation import Evaluation

TASKS = ("qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker")
ALGORITHMS = ("cma_mega_es", "cma_mega_td3_es", "pga_me", "me_es", "map_elites")
SMALL = {("a", "x"): [1, 3], ("a", "y"): [5, 7], ("b", "x"): [2, 4], ("b", "y"): [10, 12]}


def make_runs(design="paper", seed=0, center=0.5, spread=0.1):
    """The paper's 4 x 5 x 5 runs with all effects; or with 2 to 6 runs a cell; or that, and no pga_me on qd_ant."""
    rng = np.random.default_rng(seed)
    rows = []
    for task, algorithm in itertools.product(TASKS, ALGORITHMS):
        mean = rng.normal(center, spread)
        n = 5 if design == "paper" else int(rng.integers(2, 7))
        rows += [(task, algorithm, s, rng.normal(mean, spread)) for s in range(n)]
    frame = pd.DataFrame(rows, columns=["task", "algorithm", "seed", "y"])
    if design == "empty cell":
        frame = frame[(frame.task != "qd_ant") | (frame.algorithm != "pga_me")]
    return frame.sample(frac=1, random_state=seed)  # order must not matter


def cells(values):
    """A frame from {(task, algorithm): values}."""
    rows = [(task, algorithm, seed, y) for (task, algorithm), ys in values.items() for seed, y in enumerate(ys)]
    return pd.DataFrame(rows, columns=["task", "algorithm", "seed", "y"])


def play_again(run, share, lucks=(0.9, 0.9, 1.2)):  # mean 1, median 0.9
    """Say of a run that its elites, played again, return a share of what was recorded, where they were."""
    elites = run.archive.data()
    recorded, measures = elites["objective"], elites["measures"]
    episodes = np.stack([recorded * share * luck for luck in lucks], axis=1)
    Evaluation(
        cell=elites["index"].astype(np.int64),
        recorded=recorded,
        objective=episodes,
        measures=np.repeat(measures[:, None], len(lucks), axis=1).astype(float),
        failed=np.zeros(len(recorded), bool),
        seed=42,
        evaluations=int(run.metrics["evaluations"].iloc[-1]),
    ).save(run)
