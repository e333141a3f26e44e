"""What is kept of the runs in this folder, by the paper's cells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gaits.algorithms import ALGORITHMS
from gaits.analysis import paper_numbers
from gaits.tasks import TASKS

HERE = Path(__file__).parent
FULL = 1_000_000
NAMES = {name: ALGORITHMS[name].title for name in ("cma_mega_es", "cma_mega_td3_es", "pga_me", "me_es", "map_elites")}
PLACES = {name: TASKS[name].title for name in ("qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker")}
CELLS = [(name, task) for name in NAMES for task in PLACES]
COLUMNS = {"best": "objective_max"}
"""Of metrics.csv, where the paper's table has another name."""


@dataclass(frozen=True)
class Kept:
    """A run, as far as it is kept."""

    config: dict[str, Any]
    metrics: pd.DataFrame
    facts: dict[str, Any]
    again: dict[str, Any]
    """What ``gaits evaluate`` found, or nothing."""
    memory: pd.DataFrame
    """What watch.py saw; no rows where nobody watched."""

    @property
    def end(self) -> int:
        return int(self.metrics["evaluations"].iloc[-1])

    @property
    def title(self) -> str:
        algorithm, task = ALGORITHMS[self.config["algorithm"]].title, TASKS[self.config["task"]].title
        return f"{algorithm}, {task}, seed {self.config['seed']}"

    def at(self, column: str, amount: float, of: str = "evaluations") -> float:
        """A metric when so many evaluations, or so much of another column, were done: of the first row that has them."""
        rows = self.metrics[self.metrics[of] >= min(amount, self.metrics[of].iloc[-1])]
        return float(rows[column].iloc[0])

    def reached(self, column: str, value: float) -> int | None:
        """After how many evaluations, at most, a metric first was so high."""
        rows = self.metrics[self.metrics[column] >= value]
        return int(rows["evaluations"].iloc[0]) if len(rows) else None

    def number(self, metric: str, evaluations: int) -> float:
        """One of the paper's six; NaN where it is not known."""
        if metric == "robustness":
            return self.again.get("mean_elite_robustness", np.nan) if self.again.get("evaluations") == self.end else np.nan
        if metric == "qd_score_auc":
            return self.facts.get("qd_score_auc", np.nan) if self.end >= FULL else np.nan
        if metric == "runtime_hours":
            return self.at("seconds", evaluations) / 3600
        return self.at(COLUMNS.get(metric, metric), evaluations)


def read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def read(folder: Path) -> Kept:
    facts, again = read_json(folder / "kept.json"), read_json(folder / "evaluation.json")
    seen = folder / "memory.csv"
    memory = pd.read_csv(seen) if seen.exists() else pd.DataFrame({"evaluations": []})
    return Kept(read_json(folder / "config.json"), pd.read_csv(folder / "metrics.csv"), facts, again, memory)


@cache
def kept() -> list[Kept]:
    return [read(path.parent) for path in sorted(HERE.glob("*/config.json"))]


def cell(algorithm: str, task: str, after: int | None = None) -> list[Kept]:
    """Runs of one of the paper's cells, by seed: those with so many evaluations, by default as many as the longest has."""
    chosen = [run for run in kept() if (run.config["algorithm"], run.config["task"]) == (algorithm, task)]
    chosen = sorted((run for run in chosen if not run.config.get("name")), key=lambda run: run.config["seed"])
    after = max((run.end for run in chosen), default=0) if after is None else after
    return [run for run in chosen if run.end >= after]


def common(*cells: list[Kept]) -> int:
    """Evaluations that all runs of these cells have done; 0 where there is none."""
    return min(min((run.end for run in runs), default=0) for runs in cells)


def mean(runs: list[Kept], metric: str, evaluations: int) -> float:
    return float(np.mean([run.number(metric, evaluations) for run in runs])) if runs else np.nan


def paper(metric: str, algorithm: str, task: str) -> float:
    return float(paper_numbers.means(metric).loc[algorithm, task])


def markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])
