"""From run folders to tidy tables: a row per run, and a row per run and iteration."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from gaits.algorithms import ALGORITHMS
from gaits.analysis.robustness import load_evaluation
from gaits.archives import NOT_ADDED
from gaits.runs import Run, load_run
from gaits.tasks import TASKS, Task

MinObjective = Literal["task", "scan"] | float
CURVES = ("qd_score", "coverage", "best")
IRRELEVANT = ("device",)
"""Settings that do not make another experiment."""


@dataclass(frozen=True)
class Collection:
    """Runs to compare."""

    final: pd.DataFrame
    """A row per run: task, algorithm, seed, evaluations, qd_score, qd_score_auc, coverage, best, robustness, runtime_hours,
    the corrected ones, the normalized ones, and the run's folder."""
    curves: pd.DataFrame
    """A row per run and iteration: task, algorithm, seed, evaluations, qd_score, coverage, best."""
    runs: dict[str, Run]
    """By folder."""
    skipped: dict[str, str]
    """Folders that are not compared, and why."""
    notes: list[str]
    """What a reader must know about the comparison."""
    titles: dict[str, str]
    """How tasks and algorithms are called in print, in the order in which they are shown."""

    def tasks(self) -> list[str]:
        present = set(self.final["task"])
        return [name for name in self.titles if name in present]

    def algorithms(self) -> list[str]:
        present = set(self.final["algorithm"])
        return [name for name in self.titles if name in present]

    def median_run(self, task: str, algorithm: str) -> Run | None:
        """The run with the median final QD score, the paper's pick for pictures."""
        rows = self.final.query("task == @task and algorithm == @algorithm").sort_values("qd_score")
        return self.runs[rows["run"].iloc[len(rows) // 2]] if len(rows) else None


def collect(
    folders: Iterable[str | Path],
    *,
    evaluations: int | None = None,
    min_objective: MinObjective = "task",
    unfinished: bool = False,
) -> Collection:
    """Read runs. Whatever cannot be compared is named, with the reason, and the rest goes on.

    Args:
        folders: Run folders, or folders of run folders.
        evaluations: Compare after so many evaluations; default: where the shortest run of each task ends.
        min_objective: Offset of the QD score: the task's, the lowest objective inserted in these runs ("scan"), or a number.
        unfinished: Also take runs that have not done all their evaluations.
    """
    runs, metrics, skipped = _read(expand(folders), unfinished)
    labels = Labels(list(runs.values()))
    offsets = _offsets(runs, labels, min_objective)
    ends = _ends(runs, metrics, labels, evaluations)
    rows, curves = [], []
    for folder, run in runs.items():
        task, algorithm = labels.task(run), labels.algorithm(run)
        names: dict[str, Any] = {"task": task, "algorithm": algorithm, "seed": run.config.seed}
        table = metrics[folder]
        table = table[table["evaluations"] <= ends[task]]
        if table.empty:
            skipped[folder] = f"its first iteration ends after the {ends[task]:,} evaluations that are compared"
            continue
        curve = _curve(table, offsets[task])
        curves.append(curve.assign(**names))
        rows.append({**names, **_final(run, table, curve, offsets[task], skipped, folder), "run": folder})
    notes = _notes(runs, metrics, labels, ends, evaluations)
    compared = {row["run"]: runs[row["run"]] for row in rows}
    final = pd.DataFrame(rows, columns=None if rows else ["task", "algorithm", "seed", "run", "qd_score"])
    keys = ["task", "algorithm", "seed"]
    place = {label: i for i, label in enumerate(labels.titles)}
    final = final.sort_values(keys, key=lambda column: column if column.name == "seed" else column.map(place))
    joined = pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=[*keys, "evaluations", *CURVES])
    return Collection(final.reset_index(drop=True), joined, compared, skipped, notes, labels.titles)


def expand(folders: Iterable[str | Path]) -> list[Path]:
    """Run folders; a folder of runs, such as a study's, stands for them. What is neither stays, to be named as such."""
    found: list[Path] = []
    for folder in map(Path, folders):
        inside = sorted(path.parent for path in folder.glob("*/config.json")) if folder.is_dir() else []
        found += [folder] if (folder / "config.json").exists() or not inside else inside
    return list(dict.fromkeys(found))


def _read(folders: list[Path], unfinished: bool) -> tuple[dict[str, Run], dict[str, pd.DataFrame], dict[str, str]]:
    runs: dict[str, Run] = {}
    metrics: dict[str, pd.DataFrame] = {}
    skipped: dict[str, str] = {}
    seen: dict[str, str] = {}
    for path in folders:
        folder = str(path)
        try:
            run = load_run(path)
            table = _checked(run)
        except (ValueError, OSError) as error:
            skipped[folder] = str(error)
            continue
        done = int(table["evaluations"].iloc[-1])
        if run.config.id in seen:
            skipped[folder] = f"it is the same run as {seen[run.config.id]}"
        elif not unfinished and done < run.config.evaluations:
            skipped[folder] = f"it is unfinished, {done:,} of {run.config.evaluations:,} evaluations: gaits resume {folder}"
        elif not unfinished and not run.finished:
            skipped[folder] = f"its archive is older than its metrics, as after a kill: gaits resume {folder}"
        else:
            runs[folder], metrics[folder], seen[run.config.id] = run, table, folder
    return runs, metrics, skipped


def _checked(run: Run) -> pd.DataFrame:
    """The metrics of a run, if they are what a run writes."""
    table, path = run.metrics, run.folder / "metrics.csv"
    if table.empty:
        raise ValueError(f"{path} has no iteration yet")
    needed = ("evaluations", "elites", "coverage", "objective_sum", "objective_max", "seconds")
    absent = [name for name in needed if name not in table or not pd.api.types.is_numeric_dtype(table[name])]
    if absent:
        raise ValueError(f"{path} lacks numbers in: {', '.join(absent)}")
    if not np.isfinite(table[["evaluations", "elites", "coverage", "objective_sum", "seconds"]].to_numpy(float)).all():
        raise ValueError(f"{path} is damaged: some rows are incomplete")
    return table


class Labels:
    """Names for tasks and algorithms, which tell apart those that were run with different settings."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._algorithm = _varying([(run.config.name or run.config.algorithm, run.config.settings) for run in runs])
        self._task = _varying([(run.config.task, run.config.task_fields) for run in runs])
        self._ids = {run.config.id: i for i, run in enumerate(runs)}
        rank = {name: i for i, name in enumerate([*TASKS, *ALGORITHMS])}
        names = {self.task(run): (run.config.task, run.task.title) for run in runs}
        for run in runs:
            title = ALGORITHMS[run.config.algorithm].title
            names[self.algorithm(run)] = (run.config.algorithm, title) if run.config.name is None else (run.config.name,) * 2
        order = sorted(names, key=lambda label: (rank.get(names[label][0], len(rank)), label))
        self.titles = {label: label.replace(*names[label], 1) for label in order}

    def algorithm(self, run: Run) -> str:
        return self._algorithm[self._ids[run.config.id]]

    def task(self, run: Run) -> str:
        return self._task[self._ids[run.config.id]]


def _varying(named: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Each name, with those of its values that are not the same everywhere."""
    varies: dict[str, list[str]] = {}
    for name in {name for name, _ in named}:
        dicts = [values for other, values in named if other == name]
        keys = {key for values in dicts for key in values if key not in IRRELEVANT}
        varies[name] = sorted(key for key in keys if len({repr(values.get(key)) for values in dicts}) > 1)
    labels = []
    for name, values in named:
        told = ", ".join(f"{key}={_short(values.get(key))}" for key in varies[name])
        labels.append(f"{name} ({told})" if told else name)
    return labels


def _short(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _offsets(runs: dict[str, Run], labels: Labels, min_objective: MinObjective) -> dict[str, float]:
    """Minimum objective per task."""
    offsets: dict[str, float] = {}
    for run in runs.values():
        task = labels.task(run)
        if isinstance(min_objective, str):
            low = run.task.objective_range[0] if min_objective == "task" else _lowest_inserted(run)
        else:
            low = float(min_objective)
        offsets[task] = min(low, offsets.get(task, np.inf))
    return offsets


def _lowest_inserted(run: Run) -> float:
    history = run.history
    return float(history["objective"][history["status"] != NOT_ADDED].min(initial=np.inf))


def _ends(runs: dict[str, Run], metrics: dict[str, pd.DataFrame], labels: Labels, evaluations: int | None) -> dict[str, int]:
    """Evaluations after which the runs of a task are compared."""
    ends: dict[str, int] = {}
    for folder, run in runs.items():
        end = int(metrics[folder]["evaluations"].iloc[-1]) if evaluations is None else evaluations
        ends[labels.task(run)] = min(end, ends.get(labels.task(run), end))
    return ends


def _curve(table: pd.DataFrame, offset: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "evaluations": table["evaluations"],
            "qd_score": table["objective_sum"] - table["elites"] * offset,
            "coverage": table["coverage"],
            "best": table["objective_max"],
        }
    )


def area_under(curve: pd.Series, evaluations: float) -> float:
    """QD score AUC: the sum over iterations, each weighted by its evaluations."""
    return float(curve.sum() * (evaluations / len(curve)))


def _final(
    run: Run, table: pd.DataFrame, curve: pd.DataFrame, offset: float, skipped: dict[str, str], folder: str
) -> dict[str, Any]:
    last, end = curve.iloc[-1], int(curve["evaluations"].iloc[-1])
    numbers = {
        "evaluations": end,
        "qd_score": float(last["qd_score"]),
        "qd_score_auc": area_under(curve["qd_score"], end),
        "coverage": float(last["coverage"]),
        "best": float(last["best"]),
        "robustness": np.nan,
        "runtime_hours": float(table["seconds"].iloc[-1]) / 3600,
        "corrected_qd_score": np.nan,
        "corrected_coverage": np.nan,
        "corrected_best": np.nan,
    }
    try:
        evaluation = load_evaluation(run.folder)
    except ValueError as error:
        skipped[f"{folder}/evaluation.npz"], evaluation = str(error), None
    if evaluation is not None and evaluation.evaluations == end:
        corrected = evaluation.corrected(run.task)
        objective = corrected.data("objective")
        numbers |= {
            "robustness": evaluation.robustness,
            "corrected_qd_score": float((objective - offset).sum()),
            "corrected_coverage": len(objective) / corrected.cells,
            "corrected_best": float(objective.max()) if len(objective) else np.nan,
        }
    return numbers | _normalized(numbers, run.task, offset)


def _normalized(numbers: dict[str, Any], task: Task, offset: float) -> dict[str, float]:
    """As the paper's analysis: by the highest QD score there can be, or by the range of objectives."""
    width = task.objective_range[1] - offset
    most = float(np.prod(task.grid)) * width
    return {
        "qd_score_normalized": numbers["qd_score"] / most,
        "qd_score_auc_normalized": numbers["qd_score_auc"] / most,
        "robustness_normalized": numbers["robustness"] / width,
    }


def _notes(
    runs: dict[str, Run],
    metrics: dict[str, pd.DataFrame],
    labels: Labels,
    ends: dict[str, int],
    evaluations: int | None,
) -> list[str]:
    notes = []
    for task, end in ends.items():
        lengths = {int(metrics[f]["evaluations"].iloc[-1]) for f, run in runs.items() if labels.task(run) == task}
        if evaluations is None and len(lengths) > 1:
            notes.append(
                f"The runs on {labels.titles[task]} have different lengths, up to {max(lengths):,} evaluations; they are "
                f"compared where the shortest ends, after {end:,}."
            )
    return notes


def settings_of(collection: Collection) -> pd.DataFrame:
    """What the runs of each algorithm were made with: a row per algorithm and setting."""
    rows = []
    for label in collection.algorithms():
        run = collection.runs[collection.final.query("algorithm == @label")["run"].iloc[0]]
        values = dataclasses.asdict(run.config.make_settings())
        rows += [{"algorithm": label, "setting": key, "value": _short(value)} for key, value in values.items()]
    return pd.DataFrame(rows)
