"""Keep what long runs showed, and write the tables and figures anew: python replication/keep.py RUN ...

Of each run, finished or not: its configuration, some 200 rows of its metrics, and a few numbers that need all of it
(kept.json); where there, also what ``gaits evaluate RUN`` found (evaluation.json) and what watch.py saw (memory.csv).
"""

import csv
import json
import math
import shutil
import sys
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import page
import pandas as pd
from beyond import PHASES
from kept import HERE, read

ROWS = 200
MILESTONES = (10_000, 25_000, 50_000, 100_000, 250_000, 500_000)
"""Evaluations whose rows are always kept, as is the last."""


def thin(rows: list[str], evaluations: Iterable[float] = ()) -> list[str]:
    """About ``ROWS`` rows, evenly, with the last and those in which the milestones are reached."""
    every, done = math.ceil(len(rows) / ROWS), list(evaluations)
    reached = {next((i for i, n in enumerate(done) if n >= milestone), len(rows) - 1) for milestone in MILESTONES}
    chosen = {*range(every - 1, len(rows), every), *reached, len(rows) - 1}
    return [rows[i] for i in sorted(chosen)]


def whole_lines(path: Path) -> list[str]:
    """Without the one that is being written."""
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def added(config: dict[str, Any], history: Mapping[str, np.ndarray]) -> dict[str, list[float]]:
    """What one solution adds to the QD score, on average, in each of the ``PHASES`` that a run has been through.

    Of DCRL-MAP-Elites, by the kind of offspring, which stand in this order in every batch but the first.
    """
    s, low = config["settings"], config["task_fields"]["objective_range"][0]
    if s["challenge"] or s["reevaluate"]:
        return {}
    n = s["batch_size"]
    climbing, injected = round(s["pg_share"] * n), round(s["injected_share"] * n)
    offered = pd.DataFrame({name: history[name] for name in ("objective", "cell", "status")})
    accepted = offered[offered["status"] > 0]
    before = accepted.groupby("cell")["objective"].shift().fillna(low)
    offered["gain"] = (accepted["objective"] - before).reindex(offered.index, fill_value=0.0)
    batch = np.repeat(["climbing", "injected", "crossed"], [climbing, injected, n - climbing - injected])
    offered["kind"] = np.resize(batch, len(offered))
    whole = [phase for phase in pairwise(PHASES) if phase[1] <= len(offered)]
    means = [offered[max(first, n) : last].groupby("kind")["gain"].mean() for first, last in whole]
    return {kind: [float(mean[kind]) for mean in means] for kind in dict.fromkeys(batch.tolist())}


def numbers(run: Path, config: dict[str, Any], table: list[dict[str, str]]) -> dict[str, Any]:
    """What thinned metrics cannot tell."""
    evaluations = np.array([0, *(int(row["evaluations"]) for row in table)])
    scores = np.array([float(row["qd_score"]) for row in table])
    found: dict[str, Any] = {"evaluations": int(evaluations[-1]), "qd_score_auc": float(np.diff(evaluations) @ scores)}
    if (run / "history.npz").exists():
        with np.load(run / "history.npz", allow_pickle=False) as history:
            found["insertions_tried"] = len(history["objective"])
            if config["algorithm"] == "dcrl_me":
                found["added"] = added(config, history)
    if (run / "evaluation.npz").exists():
        with np.load(run / "evaluation.npz", allow_pickle=False) as again:
            best = int(np.argmax(again["recorded"]))
            found["best_played_again"] = float(again["objective"][best].mean())
    return found


def keep(run: Path) -> None:
    """A run that has been kept before is kept as it is now, unless it was longer then."""
    config = json.loads((run / "config.json").read_text())
    folder = HERE / f"{config['task']}-{config.get('name') or config['algorithm']}-seed{config['seed']}"
    head, *rows = whole_lines(run / "metrics.csv")
    table = list(csv.DictReader([head, *rows]))
    if not table or (folder.exists() and read(folder).end > int(table[-1]["evaluations"])):
        print(f"{run} is shorter than what is kept of it")
        return
    folder.mkdir(exist_ok=True)
    (folder / "metrics.csv").write_text(head + "".join(thin(rows, (int(row["evaluations"]) for row in table))))
    path = folder / "kept.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | numbers(run, config, table), indent=2) + "\n")
    for name in ("config.json", "evaluation.json"):
        if (run / name).exists():
            shutil.copyfile(run / name, folder / name)
    if (run / "memory.csv").exists():
        head, *rows = whole_lines(run / "memory.csv")
        (folder / "memory.csv").write_text(head + "".join(thin(rows)))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        keep(Path(argument))
    page.write()
