"""What the released code's departures from the paper change: python replication/differences.py

Short runs, each with and without one of them, the same seeds for both. differences.csv has how they ended; what is in it is
not run again. Of ME-ES it also has how robust its elites are with the observation statistics they were trained with, and
without, as the released script played them.
"""

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gaits
from gaits.search import episode_seeds

FILE = Path(__file__).parent / "differences.csv"
CASES: tuple[tuple[str, str, int, int, dict[str, Any]], ...] = (  # task, algorithm, evaluations, seeds, what is changed
    ("qd_hopper", "map_elites", 5000, 5, {"grid": (1000,)}),
    ("qd_hopper", "cma_mega_es", 5000, 5, {"tie_ranks": "average"}),
    ("qd_hopper", "me_es", 10000, 3, {"obs_norm": False}),
    ("qd_hopper", "cma_mega_td3_es", 5000, 3, {"td3_schedule": "paper"}),
    ("qd_hopper", "pga_me", 5000, 3, {"td3_schedule": "paper"}),
    ("qd_half_cheetah", "pga_me", 5000, 2, {"timeout_terminal": False}),
)
NUMBERS = ("qd_score", "coverage", "objective_max")
COLUMNS = ("task", "algorithm", "evaluations", "seed", "change", *NUMBERS, "robustness", "robustness_without_statistics")


def wanted() -> Iterator[dict[str, Any]]:
    for task, algorithm, evaluations, seeds, change in CASES:
        for seed in range(1, seeds + 1):
            for changed in ({}, change):
                yield {"task": task, "algorithm": algorithm, "evaluations": evaluations, "seed": seed, "change": changed}


def robustness(run: gaits.Run, with_statistics: bool, episodes: int = 32) -> float:
    elites = run.archive.data()
    statistics = {name: np.repeat(elites[name], episodes, axis=0) for name in ("obs_mean", "obs_std") if with_statistics}
    with gaits.LocalEvaluator(run.task) as evaluator:
        solutions = np.repeat(elites["solution"], episodes, axis=0)
        seeds = np.tile(episode_seeds(42, 0, episodes), len(elites["solution"]))
        objective = evaluator.evaluate(solutions, seeds, **statistics).objective.reshape(-1, episodes)
    return float(np.mean(objective.mean(axis=1) - elites["objective"]))


def play(task: str, algorithm: str, evaluations: int, seed: int, change: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        run = gaits.train(task, algorithm, evaluations=evaluations, seed=seed, out=f"{folder}/run", **change)
        last = {name: run.metrics[name].iloc[-1] for name in NUMBERS}
        if algorithm == "me_es" and not change:
            last["robustness"] = robustness(run, True)
            last["robustness_without_statistics"] = robustness(run, False)
    return last


def name(change: dict[str, Any]) -> str:
    return " ".join(f"{key}={value[0] if isinstance(value, tuple) else value}" for key, value in change.items())


def main() -> None:
    with FILE.open() as file:
        rows = list(csv.DictReader(file))
    done = {tuple(row[key] for key in COLUMNS[:5]) for row in rows}
    for case in wanted():
        told = {**case, "change": name(case["change"])}
        if tuple(str(told[key]) for key in COLUMNS[:5]) in done:
            continue
        with FILE.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n").writerow(told | play(**case))


if __name__ == "__main__":
    if not FILE.exists():
        FILE.write_text(",".join(COLUMNS) + "\n")
    main()
