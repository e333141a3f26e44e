"""From run folders to tidy tables: a row per run, and a row per run and iteration."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from gaits.algorithms import ALGORITHMS
from gaits.analysis import paper_numbers
from gaits.analysis.luck import luck_of
from gaits.checks import whole_number
from gaits.console import command
from gaits.runs import Run, find_runs, load_run
from gaits.runs.config import Config
from gaits.tasks import TASKS

MinObjective = Literal["task", "scan"] | float
KEYS = ["task", "algorithm", "seed"]
CURVES = ("qd_score", "coverage", "best")
Axis = Literal["evaluations", "steps", "hours"]
AXES: dict[Axis, str] = {"evaluations": "evaluations", "steps": "environment steps", "hours": "hours"}
"""What a run costs, by which runs can be compared, and their names in print."""
IRRELEVANT = ("device",)
"""Settings that do not make another experiment."""


@dataclass(frozen=True)
class Collection:
    """Runs to compare."""

    final: pd.DataFrame
    """A row per run: task, algorithm, seed, evaluations, steps, runtime_hours, qd_score, qd_score_auc, coverage, best,
    robustness, the corrected ones, what luck had added to them, the normalized ones, and the run's folder."""
    ends: pd.DataFrame
    """The same at each run's own end, wherever it is compared: the only archive of a run that can be played again."""
    curves: pd.DataFrame
    """A row per run and iteration: task, algorithm, seed, run, evaluations, steps, hours, qd_score, coverage, best."""
    runs: dict[str, Run]
    """By folder."""
    skipped: dict[str, str]
    """Folders that are not compared, and why."""
    notes: list[str]
    """What a reader must know about the comparison."""
    titles: dict[str, str]
    """How tasks and algorithms are called in print, in the order in which they are shown."""
    changed: dict[str, str]
    """Tasks and algorithms that are not the paper's, or not as they come, and in what."""
    against: Axis = "evaluations"
    """What the runs of a task have spent alike where they are compared, and what the AUC is over."""

    @property
    def evaluated(self) -> bool:
        """Whether all runs were played again: then the corrected numbers are the ones to believe."""
        return bool(len(self.final)) and bool(self.final["corrected_qd_score"].notna().all())

    @property
    def score(self) -> str:
        """The QD score to believe: the corrected one, where all runs have it."""
        return "corrected_qd_score" if self.evaluated else "qd_score"

    def tasks(self) -> list[str]:
        present = set(self.final["task"])
        return [name for name in self.titles if name in present]

    def algorithms(self) -> list[str]:
        present = set(self.final["algorithm"])
        return [name for name in self.titles if name in present]

    def median_run(self, task: str, algorithm: str) -> Run | None:
        """The run with the median final QD score, the paper's pick for pictures; corrected, where all runs are."""
        rows = self.final.query("task == @task and algorithm == @algorithm").sort_values(self.score)
        return self.runs[rows["run"].iloc[len(rows) // 2]] if len(rows) else None


def collect(
    folders: Iterable[str | Path],
    *,
    evaluations: int | None = None,
    min_objective: MinObjective = "task",
    unfinished: bool = False,
    against: Axis = "evaluations",
) -> Collection:
    """Read runs. Whatever cannot be compared is named, with the reason, and the rest goes on.

    Args:
        folders: Run folders, or folders of run folders.
        evaluations: Compare after so many evaluations; default: where the shortest run of each task ends.
        min_objective: Offset of the QD score: the task's, the lowest objective inserted in these runs ("scan"), or a number.
        unfinished: Also take runs that have not done all their evaluations.
        against: What to compare at equal cost of: evaluations, environment steps, or hours of wall time.
    """
    if against not in AXES:
        raise ValueError(f"against must be one of {', '.join(AXES)}; got {against!r}.")
    if evaluations is not None and against != "evaluations":
        raise ValueError(f"Runs are compared after so many evaluations, or against {against}: give one of the two.")
    if evaluations is not None:
        whole_number("evaluations", evaluations, 1)
    if not isinstance(min_objective, str) and not math.isfinite(min_objective):
        raise ValueError(f"min_objective must be task, scan or a finite number; got {min_objective}.")
    runs, metrics, skipped = _read(find_runs(folders), unfinished, evaluations, against)
    labels = Labels(list(runs.values()))
    runs = _without_repeats(runs, labels, skipped)
    offsets = _offsets(runs, labels, min_objective, skipped)
    ends = _ends(runs, metrics, labels, evaluations, against)
    notes = _notes(runs, metrics, labels, ends, evaluations, against)
    rows, own_ends, curves = [], [], []
    for folder, run in runs.items():
        task = labels.task(run)
        names: dict[str, Any] = {"task": task, "algorithm": labels.algorithm(run), "seed": run.config.seed, "run": folder}
        whole = metrics[folder]
        table = _until(whole, ends[task], against)
        curves.append(_curve(table, offsets[task]).assign(**names))
        row = {**names, **_final(run, table, offsets[task], against, notes)}
        rows.append(row)
        cut = len(table) < len(whole)
        own_ends.append({**names, **_final(run, whole, offsets[task], against, [])} if cut else row)
    final = _frame(rows, labels)
    told = sorted({int(row["episodes"]) for row in own_ends if np.isfinite(row["episodes"])})
    if len(told) > 1:
        notes.append(
            f"Runs were played again with different numbers of episodes, {', '.join(map(str, told))}, and corrected numbers "
            f"depend on how many. Make them alike: {command('evaluate', 'RUN', '--episodes', told[-1])}"
        )
    joined = pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=[*KEYS, *AXES, *CURVES])
    notes = list(dict.fromkeys(notes))
    return Collection(final, _frame(own_ends, labels), joined, runs, skipped, notes, labels.titles, labels.changed, against)


def _frame(rows: list[dict[str, Any]], labels: Labels) -> pd.DataFrame:
    """A row per run, in the order in which tasks and algorithms are shown."""
    frame = pd.DataFrame(rows, columns=None if rows else [*KEYS, "run", "qd_score"])
    place = {label: i for i, label in enumerate(labels.titles)}
    frame = frame.sort_values(KEYS, key=lambda column: column if column.name == "seed" else column.map(place))
    return frame.reset_index(drop=True)


def _read(
    folders: list[Path], unfinished: bool, evaluations: int | None, against: Axis
) -> tuple[dict[str, Run], dict[str, pd.DataFrame], dict[str, str]]:
    runs: dict[str, Run] = {}
    metrics: dict[str, pd.DataFrame] = {}
    skipped: dict[str, str] = {}
    seen: dict[str, str] = {}
    for path in folders:
        folder = str(path)
        try:
            run = load_run(path)
            table = _checked(run, against)
        except (ValueError, OSError) as error:
            skipped[folder] = str(error)
            continue
        done, again = int(table["evaluations"].iloc[-1]), command("resume", folder)
        if run.config.id in seen:
            skipped[folder] = f"it is the same run as {seen[run.config.id]}"
        elif not unfinished and done < run.config.evaluations:
            skipped[folder] = f"it is unfinished, {done:,} of {run.config.evaluations:,} evaluations: {again}"
        elif evaluations is not None and done < evaluations:
            skipped[folder] = f"it has only {done:,} evaluations, and {evaluations:,} are compared"
        elif not unfinished and not run.finished:
            skipped[folder] = f"its archive or history is older than its metrics, as after a kill: {again}"
        else:
            runs[folder], metrics[folder], seen[run.config.id] = run, table, folder
    return runs, metrics, skipped


def _checked(run: Run, against: Axis) -> pd.DataFrame:
    """The metrics of a run, if they are what a run writes, with what each iteration had cost by then."""
    table, path = run.metrics, run.folder / "metrics.csv"
    if table.empty:
        raise ValueError(f"{path} has no iteration yet")
    needed = ("iteration", "evaluations", "elites", "coverage", "objective_sum", "objective_max", "seconds")
    absent = [name for name in needed if name not in table or not pd.api.types.is_numeric_dtype(table[name])]
    if absent:
        raise ValueError(f"{path} lacks numbers in: {', '.join(absent)}")
    if not np.isfinite(
        table[["iteration", "evaluations", "elites", "coverage", "objective_sum", "seconds"]].to_numpy(float)
    ).all():
        raise ValueError(f"{path} is damaged: some rows are incomplete")
    table = table.assign(hours=table["seconds"] / 3600, steps=table.get("steps", np.nan))
    if not np.isfinite(table[against].to_numpy(float)).all():
        raise ValueError(f"{path} does not say what its iterations cost in {AXES[against]}")
    return table


def _without_repeats(runs: dict[str, Run], labels: Labels, skipped: dict[str, str]) -> dict[str, Run]:
    """The same seed twice is the same trial twice, and would count as two."""
    kept: dict[tuple[str, str, int], str] = {}
    for folder, run in runs.items():
        trial = (labels.task(run), labels.algorithm(run), run.config.seed)
        if trial in kept:
            skipped[folder] = f"it is the same trial as {kept[trial]}: same task, algorithm, settings and seed"
        else:
            kept[trial] = folder
    return {folder: runs[folder] for folder in kept.values()}


class Labels:
    """Names for tasks and algorithms, which tell apart those that were run with different settings."""

    def __init__(self, runs: Sequence[Run]) -> None:
        by_task = {name for run in runs for name in run.task.problem.suited}
        settings = [_settings(run.config, by_task) for run in runs]
        names_of = [run.config.name or run.config.algorithm for run in runs]
        self._algorithm = _varying(list(zip(names_of, settings, strict=True)))
        # Not the fields in config.json: an older run lacks those that came later.
        fields = [{key: value for key, value in run.task.changeable.items() if value is not None} for run in runs]
        self._task = _varying([(run.config.task, its) for run, its in zip(runs, fields, strict=True)])
        self._ids = {run.config.id: i for i, run in enumerate(runs)}
        rank = {name: i for i, name in enumerate([*TASKS, *ALGORITHMS])}
        names: dict[str, tuple[str, str]] = {}
        self.changed: dict[str, str] = {}
        self.in_paper: set[str] = set()
        for run in runs:
            config, title = run.config, ALGORITHMS[run.config.algorithm].title
            names[self.task(run)] = (config.task, run.task.title)
            names[self.algorithm(run)] = (config.algorithm, title) if config.name is None else (config.name, config.name)
            for label, name, values in (
                (self.task(run), config.task, config.changed_fields),
                (self.algorithm(run), config.algorithm, config.changed_settings),
            ):
                if name in paper_numbers.names():
                    self.in_paper.add(label)
                told = ", ".join(f"{key} = {_short(value)}" for key, value in values.items() if key not in IRRELEVANT)
                if told:
                    self.changed[label] = told
        order = sorted(names, key=lambda label: (rank.get(names[label][0], len(rank)), label))
        self.titles = {label: label.replace(*names[label], 1) for label in order}

    def algorithm(self, run: Run) -> str:
        return self._algorithm[self._ids[run.config.id]]

    def task(self, run: Run) -> str:
        return self._task[self._ids[run.config.id]]


def _settings(config: Config, by_task: set[str]) -> dict[str, Any]:
    """Settings, without those left to the task, of which each has its own: an algorithm is the same on all of them."""
    own = dataclasses.asdict(ALGORITHMS[config.algorithm].settings())
    return {**{name: value for name, value in own.items() if name not in by_task}, **config.changed_settings}


def _varying(named: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Each name, with those of its values that are not the same everywhere."""
    varies: dict[str, list[str]] = {}
    for name in {name for name, _ in named}:
        dicts = [values for other, values in named if other == name]
        keys = {key for values in dicts for key in values if key not in IRRELEVANT}
        varies[name] = sorted(key for key in keys if len({repr(values.get(key)) for values in dicts}) > 1)
    labels = []
    for name, values in named:
        told = ", ".join(f"{key}={_short(values[key])}" for key in varies[name] if key in values)
        labels.append(f"{name} ({told})" if told else name)
    return labels


def _short(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _offsets(runs: dict[str, Run], labels: Labels, min_objective: MinObjective, skipped: dict[str, str]) -> dict[str, float]:
    """Minimum objective per task."""
    offsets: dict[str, float] = {}
    for folder, run in list(runs.items()):
        task = labels.task(run)
        if min_objective == "scan":
            try:
                low = run.lowest_inserted
            except ValueError as error:
                skipped[folder] = str(error)
                del runs[folder]
                continue
        else:
            low = run.task.objective_range[0] if isinstance(min_objective, str) else float(min_objective)
        offsets[task] = min(low, offsets.get(task, np.inf))
    return offsets


def _ends(
    runs: dict[str, Run], metrics: dict[str, pd.DataFrame], labels: Labels, evaluations: int | None, against: Axis
) -> dict[str, float]:
    """What the runs of a task have spent where they are compared: where the shortest ends, unless it is said."""
    ends: dict[str, float] = {}
    for folder, run in runs.items():
        own = metrics[folder][against].iloc[-1]
        if against == "evaluations":
            # A run's last iteration may go beyond what was asked for; that does not make it longer than others.
            own = min(own, run.config.evaluations)
        end = own if evaluations is None else evaluations
        ends[labels.task(run)] = min(end, ends.get(labels.task(run), end))
    return ends


def _until(table: pd.DataFrame, end: float, against: Axis) -> pd.DataFrame:
    """Iterations up to the one in which so many evaluations, steps or hours are reached."""
    return table[table[against].shift(fill_value=0) < end]


def _curve(table: pd.DataFrame, offset: float) -> pd.DataFrame:
    score = table["objective_sum"] - table["elites"] * offset
    return table[list(AXES)].assign(qd_score=score, coverage=table["coverage"], best=table["objective_max"])


def area_under(score: pd.Series, spent: pd.Series) -> float:
    """QD score AUC: the sum over iterations, each weighted by what it cost."""
    return float((score * spent.diff().fillna(spent.iloc[0])).sum())


def _final(run: Run, table: pd.DataFrame, offset: float, against: Axis, notes: list[str]) -> dict[str, Any]:
    """The numbers of a run at the end of a table, with luck and without."""
    curve = _curve(table, offset)
    last = curve.iloc[-1]
    width = run.task.objective_range[1] - offset
    most = run.task.total_cells * width
    qd_score, auc = float(last["qd_score"]), area_under(curve["qd_score"], curve[against])
    return {
        "iteration": int(table["iteration"].iloc[-1]),
        "evaluations": int(last["evaluations"]),
        "steps": float(last["steps"]),
        "qd_score": qd_score,
        "qd_score_auc": auc,
        "coverage": float(last["coverage"]),
        "best": float(last["best"]),
        "runtime_hours": float(last["hours"]),
        # As in the paper's analysis: by the highest QD score there can be.
        "qd_score_normalized": qd_score / most,
        "qd_score_auc_normalized": auc / most,
        **luck_of(run, int(last["evaluations"]), offset, notes),
    }


def _notes(
    runs: dict[str, Run],
    metrics: dict[str, pd.DataFrame],
    labels: Labels,
    ends: dict[str, float],
    evaluations: int | None,
    against: Axis,
) -> list[str]:
    notes = [
        f"Not {'as in the paper' if label in labels.in_paper else 'its defaults'}, {labels.titles[label]}: {told}."
        for label, told in labels.changed.items()
    ]
    for task, end in ends.items():
        lengths = {
            len(_until(metrics[f], end, against)) < len(metrics[f]) for f, run in runs.items() if labels.task(run) == task
        }
        if evaluations is None and True in lengths:
            notes.append(
                f"The runs on {labels.titles[task]} have different lengths; they are compared where the shortest ends, "
                f"after {_amount(end, against)} {AXES[against]}."
            )
    return notes


def _amount(end: float, against: Axis) -> str:
    return f"{end:,.0f}" if against != "hours" else f"{end:,.2f}" if end >= 0.1 else f"{end:.2g}"


def settings_of(collection: Collection) -> pd.DataFrame:
    """What the runs of each algorithm were made with: a row per algorithm and setting."""
    rows = []
    for label in collection.algorithms():
        folders = collection.final.query("algorithm == @label").drop_duplicates("task").set_index("task")["run"]
        found = {task: dataclasses.asdict(collection.runs[run].config.make_settings()) for task, run in folders.items()}
        for key in next(iter(found.values())):
            values = {task: _short(settings[key]) for task, settings in found.items()}
            alike = len(set(values.values())) == 1
            told = {value if alike else f"{value} on {collection.titles[str(task)]}": None for task, value in values.items()}
            rows.append({"algorithm": label, "setting": key, "value": " and ".join(told)})
    return pd.DataFrame(rows)
