"""Searching for settings: trials of one algorithm, proposed by Optuna, given up early where others were better by then.

Trials are ordinary runs. They go from rung to rung, a quarter, a half and all of their evaluations, by being resumed from
their checkpoints; one that is given up keeps its runs, which can be made longer by hand. What Optuna knows is made anew from
sweep.json for every trial, and its sampler is seeded by the trial's number: a sweep that was stopped goes on as if never
stopped.
"""

from __future__ import annotations

import json
import math
import threading
import typing
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gaits.algorithms import ALGORITHMS
from gaits.checks import lookup, make_settings, whole_number
from gaits.console import brief
from gaits.evaluation import Compute
from gaits.evaluation.compute import make_compute
from gaits.reading import parse_toml, read_bytes, read_json
from gaits.runs import load_run
from gaits.runs.binding import RESULT_BYTES, check_sealed, seal
from gaits.runs.files import make_folder, write_text
from gaits.study.execute import execute
from gaits.study.plan import PlannedRun, Study, make_variant
from gaits.study.read import make_study
from gaits.training import stop_signals

FILE = "sweep.json"
MAX_BYTES = 1_000_000
RUNGS = (0.25, 0.5, 1.0)
STARTUP = 4
"""Trials that are never given up, and drawn at random."""
KEYS = ("trials", "settings")
RANGE_KEYS = ("low", "high", "log", "step", "values")


@dataclass(frozen=True)
class Trial:
    """Settings that were tried. ``scores`` are mean normalized QD scores, from 0 to 1, by evaluations."""

    number: int
    settings: dict[str, Any]
    scores: dict[int, float] = field(default_factory=dict)
    status: str = "done"  # or "pruned", or "failed"
    reason: str = ""
    """Why it failed."""

    @property
    def score(self) -> float:
        """The last one."""
        return self.scores[max(self.scores)] if self.scores else -math.inf


@dataclass(frozen=True)
class Sweep:
    """A study of one algorithm, ranges of its settings, and how many trials to make."""

    study: Study
    ranges: dict[str, dict[str, Any]]
    trials: int

    @property
    def algorithm(self) -> str:
        return self.study.variants[0].algorithm

    def planned(self, number: int, settings: dict[str, Any], evaluations: int) -> tuple[PlannedRun, ...]:
        """The runs of a trial: every task with every seed."""
        name = f"{self.algorithm}-trial{number:03d}"
        variant = make_variant(name, self.algorithm, {**self.study.variants[0].settings, **settings})
        return replace(self.study, variants=(variant,), evaluations=evaluations).runs

    def document(self) -> dict[str, Any]:
        return {"name": self.study.name, **self.study.document(), "sweep": self.ranges}


def load_sweep(path: str | Path) -> Sweep:
    """The sweep of a TOML file: a study with one algorithm and a table [sweep]."""
    path = Path(path)
    try:
        document = parse_toml(read_bytes(path.resolve(), MAX_BYTES).decode("utf-8-sig"))
        table = document.pop("sweep", None)
        if not isinstance(table, dict) or not isinstance(table.get("settings"), dict) or not table["settings"]:
            raise ValueError(
                "It has no ranges: write some below [sweep.settings], such as sigma = { low = 0.01, high = 0.1 }."
            )
        for key in table:
            lookup("key of a sweep", key, dict.fromkeys(KEYS))
        study = make_study(document, path.stem)
        if len(study.variants) != 1:
            raise ValueError(f"A sweep is of one algorithm; this names {len(study.variants)}.")
        algorithm = study.variants[0].algorithm
        ranges = {name: check_range(algorithm, name, value) for name, value in table["settings"].items()}
        return Sweep(study, ranges, whole_number("trials", table.get("trials", 20), 1))
    except FileNotFoundError:
        raise ValueError(f"There is no {path}. Give a TOML file with a table [sweep].") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8.") from None
    except ValueError as error:
        raise ValueError(f"{brief(path)}: {brief(error)}") from None


def check_range(algorithm: str, name: str, value: Any) -> dict[str, Any]:
    """A range of a setting: { low, high } with log or step, or { values }. Its ends are checked as settings."""
    kind = ALGORITHMS[algorithm].settings
    lookup(f"setting of {algorithm}", name, typing.get_type_hints(kind))
    if not isinstance(value, dict) or not (("low" in value and "high" in value) ^ ("values" in value)):
        raise ValueError(f"{name} needs {{ low = ..., high = ... }} or {{ values = [...] }}; got {value!r}.")
    for key in value:
        lookup("key of a range", key, dict.fromkeys(RANGE_KEYS))
    ends = value["values"] if "values" in value else [value["low"], value["high"]]
    if not isinstance(ends, list) or not ends:
        raise ValueError(f"values of {name} must be a list; got {ends!r}.")
    for end in ends:
        make_settings(kind, algorithm, {name: end})
    if "low" in value and not value["low"] < value["high"]:
        raise ValueError(f"low must be below high for {name}; got {value['low']!r} and {value['high']!r}.")
    return dict(value)


def run_sweep(
    sweep: Sweep, folder: str | Path, *, progress: Callable[[Trial], None] = lambda trial: None, **compute: Any
) -> list[Trial]:
    """Make the trials of a sweep, each in run folders of its own. Calling it again goes on. Ctrl-C saves and returns."""
    optuna = import_optuna()
    folder, shared = Path(folder), make_compute(compute)
    found = load_trials(sweep, folder)
    make_folder(folder)
    with stop_signals() as stop:
        while len(found) < sweep.trials:
            trial = _run_trial(optuna, sweep, found, folder, shared, stop)
            if trial is None:
                break
            found.append(trial)
            content = _as_json({**sweep.document(), "trials": [asdict(one) for one in found]})
            write_text(folder / FILE, seal(content, sweep.study.name))
            progress(trial)
    return found


def _run_trial(
    optuna: Any, sweep: Sweep, found: list[Trial], folder: Path, compute: Compute, stop: threading.Event
) -> Trial | None:
    """The next trial, from rung to rung; None if it was asked to stop."""
    ranges = {name: _distribution(optuna, sweep.algorithm, name, value) for name, value in sweep.ranges.items()}
    study = _recall(optuna, found, ranges)
    asked = study.ask(ranges)
    number, scores = len(found), dict[int, float]()
    for rung in sorted({max(1, round(share * sweep.study.evaluations)) for share in RUNGS}):
        runs = sweep.planned(number, asked.params, rung)
        for run in runs:
            outcome = execute(run, folder, stop=stop, compute=compute)
            if outcome.status == "interrupted" or stop.is_set():
                return None
            if outcome.status not in ("done", "skipped"):
                return Trial(number, asked.params, scores, "failed", brief(outcome.message))
        scores[rung] = sum(_score(folder / run.name, rung) for run in runs) / len(runs)
        asked.report(scores[rung], rung)
        if rung < sweep.study.evaluations and asked.should_prune():
            return Trial(number, asked.params, scores, "pruned")
    return Trial(number, asked.params, scores)


def _score(folder: Path, evaluations: int) -> float:
    """QD score after so many evaluations, as a share of the most there could be: the same scale for all tasks."""
    run = load_run(folder)
    low, high = run.task.objective_range
    table = run.metrics
    row = table[table["evaluations"] >= evaluations].iloc[0]
    return float(row["qd_score"]) / (run.task.total_cells * (high - low))


def _distribution(optuna: Any, algorithm: str, name: str, value: dict[str, Any]) -> Any:
    if "values" in value:
        return optuna.distributions.CategoricalDistribution(value["values"])
    whole = typing.get_type_hints(ALGORITHMS[algorithm].settings)[name] is int
    kind = optuna.distributions.IntDistribution if whole else optuna.distributions.FloatDistribution
    more = {key: value[key] for key in ("log", "step") if key in value}
    return kind(value["low"], value["high"], **more)


def _recall(optuna: Any, found: list[Trial], ranges: dict[str, Any]) -> Any:
    """Optuna's study after these trials. A failed trial counts as one that was given up at once."""
    sampler = optuna.samplers.TPESampler(seed=len(found), n_startup_trials=STARTUP)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=optuna.pruners.MedianPruner(STARTUP))
    states = optuna.trial.TrialState
    for trial in found:
        state = states.COMPLETE if trial.status == "done" else states.PRUNED
        value = trial.score if trial.scores else None
        known = {"params": trial.settings, "distributions": ranges, "intermediate_values": trial.scores}
        study.add_trial(optuna.trial.create_trial(state=state, value=value, **known))
    return study


def load_trials(sweep: Sweep, folder: Path) -> list[Trial]:
    """The trials that were made already, of the same sweep; its number of trials may have changed."""
    path = folder / FILE
    if not path.exists():
        return []
    content = read_json(path, RESULT_BYTES)
    try:
        trials, _ = content.pop("trials"), content.pop("bound", None)
        if content != _as_json(sweep.document()):
            raise ValueError("it is of another sweep. Choose another --out, or move it")
        found = [Trial(**{**one, "scores": _numbers(one["scores"])}) for one in trials]
        for i, one in enumerate(found):
            if one.number != i or one.status not in ("done", "pruned", "failed") or set(one.settings) != set(sweep.ranges):
                raise ValueError("its trials are not those of this sweep")
            sweep.planned(i, one.settings, 1)
        check_sealed(path, sweep.study.name)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} cannot be used: {brief(error)}.") from None
    return found


def _as_json(content: dict[str, Any]) -> dict[str, Any]:
    """What comes back from a file: keys as texts, tuples as lists."""
    return json.loads(json.dumps(content))


def _numbers(scores: dict[str, Any]) -> dict[int, float]:
    found = {int(key): float(value) for key, value in scores.items()}
    if not all(map(math.isfinite, found.values())):
        raise ValueError("a score is not finite")
    return found


def import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ValueError("A sweep needs Optuna: pip install 'gaits[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
