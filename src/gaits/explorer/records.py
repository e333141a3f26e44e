"""What the page is told about a run, read from the run's files when it is asked for: the run may go on meanwhile."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from gaits import archives
from gaits.algorithms import ALGORITHMS, CONDITIONED
from gaits.archives import NO_SEED, NOT_ADDED, Archive
from gaits.archives.cells import centres
from gaits.archives.colors import color_limits
from gaits.console import brief, say
from gaits.episodes import check_seed
from gaits.explorer.files import NotNow, NotThere, read_last_row, read_table, stamp
from gaits.explorer.packing import pack, plain
from gaits.reading import read_lines, read_row
from gaits.runs import Run
from gaits.runs.binding import check_file, same_lines
from gaits.runs.checkpoint import available
from gaits.runs.conditioned import Conditioned, load_conditioned
from gaits.runs.evaluation import load_evaluation

CURVES = ("qd_score", "coverage", "objective_max")
CURVE_POINTS = 300
ELITE_FIELDS = ("solution", "objective", "measures", "seed", "obs_mean", "obs_std")
MAX_STEPS = 20_000
"""Steps of an episode that is played for the page; what a run's file says could keep a machine busy for days."""


@dataclass(frozen=True)
class Elite:
    """What playing a cell needs, and what its archive says of it; or what was asked for."""

    solution: np.ndarray  # (solution_dim,) float32
    objective: float | None  # None of a policy that is in no archive
    measures: list[float]
    statistics: dict[str, Any]  # obs_mean and obs_std of ME-ES
    seed: int | None  # of the episode that was recorded; None in runs written before seeds were kept


@dataclass(frozen=True)
class Record:
    """A run, as the page knows it: by a number."""

    id: int
    name: str
    run: Run
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _checked: dict[str, tuple[str, Any]] = field(default_factory=dict, repr=False, compare=False)
    """By file: its stamp when all of it was checked, and what is worth keeping of it."""

    @property
    def unplayable(self) -> str:
        """Why its policies cannot be watched; empty if they can."""
        task = self.run.task
        if task.max_steps > MAX_STEPS:
            return f"Its episodes may take {task.max_steps:,} steps; those of up to {MAX_STEPS:,} are played here."
        return task.unwatchable

    @property
    def conditioned(self) -> bool:
        """Whether it has a policy that can be asked for a gait."""
        return self.run.config.algorithm in CONDITIONED and bool(available(self.run.folder / "checkpoint"))

    def describe(self) -> dict[str, Any]:
        config, task = self.run.config, self.run.task
        last = self._last_row()
        return {
            "id": self.id,
            "name": self.name,
            "task": config.task,
            "task_title": task.title,
            "algorithm": config.name or ALGORITHMS[config.algorithm].title,
            "seed": config.seed,
            "evaluations": config.evaluations,
            "done": int(plain(last.get("evaluations", 0)) or 0),
            "numbers": {name: plain(last.get(name)) for name in ("elites", "objective_min", *CURVES)},
            "corrected": self._corrected(int(plain(last.get("evaluations", 0)) or 0)),
            "limits": color_limits(task),
            "version": self.version,
            "unplayable": self.unplayable,
            "conditioned": self.conditioned,
            "details": self._details,
        }

    def describe_briefly(self, problem: str) -> dict[str, Any]:
        """The same where the run's files do not allow it, with the reason."""
        config = self.run.config
        return {
            **{"id": self.id, "name": self.name, "task": config.task, "task_title": config.task},
            **{"algorithm": config.algorithm, "seed": config.seed, "evaluations": config.evaluations, "done": 0},
            **{"numbers": dict.fromkeys(("elites", "objective_min", *CURVES)), "corrected": None, "version": "0"},
            **{"limits": (0.0, 1.0), "unplayable": problem, "conditioned": False, "details": []},
        }

    @cached_property
    def _details(self) -> list[tuple[str, str]]:
        """The settings worth reading, in words."""
        config, task = self.run.config, self.run.task
        facts: dict[str, Any] = {
            "command": config.command,
            "task": f"{task.title} ({config.task})",
            "algorithm": f"{ALGORITHMS[config.algorithm].title} ({config.algorithm})",
            "seed": config.seed,
            "evaluations": config.evaluations,
            "parameters": task.solution_dim,
            **{name: value for name, value in config.task_fields.items() if value is not None},
            "objective_range": " to ".join(f"{end:g}" for end in task.objective_range),
            **config.settings,
            "begun": config.created,
            "gaits": config.versions.get("gaits", "?"),
        }
        return [(name.replace("_", " "), _in_words(value)) for name, value in facts.items()]

    @property
    def version(self) -> str:
        """Changes when the archive or the metrics do."""
        return "-".join(stamp(self.run.folder / name) for name in ("archive.npz", "metrics.csv", "evaluation.npz"))

    def _last_row(self) -> dict[str, float]:
        """The last row of the metrics; none where they cannot be used, for which asking for them gives the reason."""
        now = stamp(self.run.folder / "metrics.csv")
        with self._lock:
            if self._checked.get("metrics", ("", None))[0] != now:
                try:
                    self._checked["metrics"] = now, read_last_row(self._read_metrics())
                except NotNow:
                    self._checked["metrics"] = now, {}
            return self._checked["metrics"][1]

    def _read_metrics(self) -> list[bytes]:
        """The lines of the metrics, checked as whoever loads them would; none if there are none yet."""
        try:
            lines = read_lines(self.run.folder / "metrics.csv")
            check_file(self.run.folder, self.run.config.id, "metrics", same_lines(lines))
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise NotNow(f"The metrics of {self.name} cannot be used ({brief(error)}).") from None
        return lines

    def metrics(self) -> dict[str, Any]:
        """Curves over evaluations, thinned to a few hundred points; with what they took in steps and seconds."""
        names = ("iteration", "evaluations", *CURVES)
        try:
            table = read_table(self._read_metrics())
        except NotNow:
            raise
        except ValueError as error:
            raise NotNow(f"The metrics of {self.name} cannot be read ({brief(error)}).") from None
        if not set(names) <= set(table):
            return {name: [] for name in names}
        kept = np.unique(np.linspace(0, len(table) - 1, min(len(table), CURVE_POINTS)).round().astype(int))
        spent = [name for name in ("steps", "seconds") if name in table]
        return {name: plain(table[name].to_numpy()[kept]) for name in (*names, *spent)}

    def archive(self) -> dict[str, Any]:
        """The cells and their elites."""
        archive = self._read(solutions=False)
        data = archive.data()
        order = np.argsort(data["index"])
        cell, objective = data["index"][order], data["objective"][order]
        kind = archives.KINDS[self.run.task.archive]
        found: dict[str, Any] = {
            "cells": int(archive.cells),
            "measure_names": self.run.task.measure_names,
            kind.cells: np.asarray(getattr(archive, kind.cells)),
            "ranges": np.stack([archive.lower_bounds, archive.upper_bounds], axis=1),
            **{"cell": cell, "objective": objective, "measures": data["measures"][order]},
            "robustness": self._robustness(archive, order),
        }
        return {name: plain(value) for name, value in found.items()}

    def _read(self, solutions: bool) -> Archive:
        """The archive, checked as whoever loads it would, and to be that of the run's task."""
        if not os.path.lexists(self.run.folder / "archive.npz"):
            raise NotNow(f"{self.name} has no archive.npz yet: a run writes it with its first checkpoint.")
        try:
            archive, task = self.run.archive if solutions else self.run.objectives, self.run.task
            kind = archives.KINDS[task.archive]
            if not np.array_equal(getattr(archive, kind.cells), kind.of(task)):
                raise ValueError("its cells are not those of the run's task")
            if solutions and archive.solution_dim != task.solution_dim:
                raise ValueError("its policies are not those of the run's task")
        except Exception as error:  # zip, npy and shape errors come in a dozen types
            raise NotNow(f"The archive of {self.name} cannot be used ({brief(error)}).") from None
        return archive

    def _check_whole(self) -> None:
        """Check all of the archive's file, once for as long as it stays the same; a row alone has no checksum."""
        now = stamp(self.run.folder / "archive.npz")
        with self._lock:
            if self._checked.get("archive", ("", None))[0] != now:
                self._read(solutions=True)
                self._checked["archive"] = now, None

    def check_policies(self) -> None:
        """Check all of the archive before a policy is asked for; what is wrong with it is said then."""
        with contextlib.suppress(Exception):
            self._check_whole()

    def history(self) -> bytes:
        """Every insertion that was accepted, in order: enough for the page to redraw the archive at any iteration."""
        try:
            rows = replace(self.run).history  # anew: a run keeps what it has read
        except (OSError, ValueError) as error:
            raise NotNow(f"The history of {self.name} cannot be read ({brief(error)}).") from None
        cells = rows["cell"]
        whole = len({len(values) for values in rows.values()}) == 1 and np.isfinite(rows["objective"]).all()
        if not whole or cells.min(initial=0) < 0 or cells.max(initial=0) >= self.run.task.total_cells:
            raise NotNow(f"The history of {self.name} cannot be used (its rows are not those of the run's archive).")
        taken = rows["status"] != NOT_ADDED
        return pack(
            {"last": int(rows["iteration"].max(initial=0))},
            iteration=rows["iteration"][taken].astype(np.uint32),
            cell=rows["cell"][taken].astype(np.uint32),
            objective=rows["objective"][taken].astype(np.float32),
        )

    def _robustness(self, archive: Archive, order: np.ndarray) -> np.ndarray | None:
        """Of elites in this order, where they were played again since they took their cells."""
        try:
            found = load_evaluation(self.run)
            if found is None:
                return None
            values = found.robustness_in(archive)[order]
        except Exception as error:
            say(f"{self.name} is shown without its robustness: {brief(error)}")
            return None
        return values if np.isfinite(values).any() else None

    def _corrected(self, done: int) -> dict[str, Any] | None:
        """The run's numbers without luck, if the archive of so many evaluations was played again."""
        now = f"{done} {stamp(self.run.folder / 'evaluation.npz')}"
        with self._lock:
            if self._checked.get("corrected", ("", None))[0] != now:
                found = None
                with contextlib.suppress(Exception):  # said where its robustness is
                    evaluation = load_evaluation(self.run)
                    if evaluation is not None and evaluation.evaluations == done:
                        numbers = evaluation.numbers(self.run.task)["corrected"]
                        found = {name: plain(numbers[name]) for name in CURVES}
                self._checked["corrected"] = now, found
            return self._checked["corrected"][1]

    def elite(self, cell: int) -> Elite:
        """The elite of a cell. Only its row of the solutions is read, which are most of the file."""
        self._check_whole()
        try:
            row = read_row(self.run.folder / "archive.npz", "index", cell, ELITE_FIELDS)
        except (OSError, ValueError) as error:
            raise NotNow(f"The archive of {self.name} cannot be read ({brief(error)}).") from None
        if row is None:
            raise NotThere(f"Cell {cell} of {self.name} is empty.")
        seed = int(row.get("seed", NO_SEED))
        return Elite(
            solution=row["solution"],
            objective=float(row["objective"]),
            measures=row["measures"].tolist(),
            statistics={name: row[name] for name in ("obs_mean", "obs_std") if name in row},
            seed=None if seed == NO_SEED else check_seed(seed),
        )

    def asked(self, cell: int) -> Elite:
        """The policy that takes measures, told those in the middle of a cell, filled or not."""
        if not self.conditioned:
            able = f"unpruned runs of {', '.join(CONDITIONED)} have one"
            raise NotThere(f"{self.name} has no policy that can be asked for a gait; {able}.")
        archive = self._read(solutions=False)
        if not 0 <= cell < archive.cells:
            raise NotThere(f"{self.name} has no cell {cell}; they are numbered from 0 to {archive.cells - 1}.")
        wanted = centres(archive, np.array([cell]))[0]
        return Elite(self._load_conditioned().solution(wanted), None, wanted.tolist(), {}, None)

    def _load_conditioned(self) -> Conditioned:
        """Of the newest checkpoint, read once for as long as that is the newest."""
        newest = max(map(stamp, available(self.run.folder / "checkpoint")), default="")
        with self._lock:
            if self._checked.get("conditioned", ("", None))[0] != newest or not newest:
                try:
                    self._checked["conditioned"] = newest, load_conditioned(self.run)
                except (OSError, ValueError) as error:
                    raise NotNow(f"{self.name} cannot be asked for a gait ({brief(error)}).") from None
            return self._checked["conditioned"][1]


def make_records(runs: list[Run]) -> list[Record]:
    """Runs with their numbers, and with names that tell them apart."""
    paths = [run.folder.resolve().parts for run in runs]
    return [Record(i, _name(path, set(paths)), run) for i, (path, run) in enumerate(zip(paths, runs, strict=True))]


def _name(path: tuple[str, ...], paths: set[tuple[str, ...]]) -> str:
    """As many folders from the end of a path as tell it from the others."""
    n = 1
    while sum(other[-n:] == path[-n:] for other in paths) > 1:
        n += 1
    return "/".join(path[-n:])


def _in_words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " x ".join(map(_in_words, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value >= 10_000 else str(value)
