"""The numbers of the paper's tables, to show beside one's own."""

from __future__ import annotations

import functools
from importlib import resources

import pandas as pd

from gaits.algorithms import ALGORITHMS
from gaits.tasks import TASKS

METRICS = {
    "qd_score": "qd_score",
    "qd_score_auc": "qd_score_auc_x1e12",
    "coverage": "archive_coverage",
    "best": "best_performance",
    "robustness": "mean_elite_robustness",
    "runtime_hours": "runtime_hours",
}


def read(name: str) -> pd.DataFrame:
    """One of the CSV files in ``analysis/paper``, as it is."""
    with resources.files("gaits.analysis").joinpath("paper", f"{name}.csv").open() as file:
        return pd.read_csv(file)


def names() -> set[str]:
    """The algorithms and tasks of the paper, by their names here."""
    table = means("qd_score")
    return {*table.index, *table.columns}


@functools.cache
def means(metric: str) -> pd.DataFrame:
    """Mean over five trials after 1,000,000 evaluations: algorithms x tasks, by their names here."""
    algorithms = {entry.title: name for name, entry in ALGORITHMS.items()}
    tasks = {task.title: name for name, task in TASKS.items()}
    table = read(METRICS[metric]).set_index("algorithm").rename(index=algorithms, columns=tasks)
    return table * 1e12 if metric == "qd_score_auc" else table
