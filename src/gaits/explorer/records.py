"""What the page is told about a run, read from the run's files when it is asked for: the run may go on meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaits.algorithms import ALGORITHMS
from gaits.archives import NO_SEED, NOT_ADDED
from gaits.episodes import check_seed
from gaits.explorer.files import NotNow, NotThere, open_file, read_last_row, read_row, read_table, stamp
from gaits.explorer.packing import pack, plain
from gaits.runs import Run, history
from gaits.runs.evaluation import load_evaluation

CURVES = ("qd_score", "coverage", "objective_max")
CURVE_POINTS = 300


@dataclass(frozen=True)
class Elite:
    """What playing a cell needs, and what its archive says of it."""

    solution: np.ndarray  # (solution_dim,) float32
    objective: float
    measures: list[float]
    statistics: dict[str, Any]  # obs_mean and obs_std of ME-ES
    seed: int | None  # of the episode that was recorded; None in runs written before seeds were kept


@dataclass(frozen=True)
class Record:
    """A run, as the page knows it: by a number."""

    id: int
    name: str
    run: Run

    @property
    def unplayable(self) -> str:
        """Why its policies cannot be watched; empty if they can."""
        return self.run.task.unwatchable

    def describe(self) -> dict[str, Any]:
        config, task = self.run.config, self.run.task
        last = read_last_row(self.run.folder / "metrics.csv")
        return {
            "id": self.id,
            "name": self.name,
            "task": config.task,
            "task_title": task.title,
            "algorithm": config.name or ALGORITHMS[config.algorithm].title,
            "seed": config.seed,
            "evaluations": config.evaluations,
            "done": int(last.get("evaluations", 0)),
            "numbers": {name: plain(last.get(name)) for name in ("elites", "objective_min", *CURVES)},
            "version": self.version,
            "unplayable": self.unplayable,
            "details": self._details,
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
            **config.settings,
            "begun": config.created,
            "gaits": config.versions.get("gaits", "?"),
        }
        return [(name.replace("_", " "), _in_words(value)) for name, value in facts.items()]

    @property
    def version(self) -> str:
        """Changes when the archive or the metrics do."""
        return "-".join(stamp(self.run.folder / name) for name in ("archive.npz", "metrics.csv", "evaluation.npz"))

    def metrics(self) -> dict[str, Any]:
        """Curves over evaluations, thinned to a few hundred points."""
        table, names = read_table(self.run.folder / "metrics.csv"), ("iteration", "evaluations", *CURVES)
        if not set(names) <= set(table):
            return {name: [] for name in names}
        kept = np.unique(np.linspace(0, len(table) - 1, min(len(table), CURVE_POINTS)).round().astype(int))
        return {name: plain(table[name].to_numpy()[kept]) for name in names}

    def archive(self) -> dict[str, Any]:
        """The cells and their elites."""
        data = self._read_map()
        found: dict[str, Any] = {
            "cells": int(np.prod(data["dims"])) if "dims" in data else len(data["centroids"]),
            "measure_names": self.run.task.measure_names,
            **{name: data[name] for name in ("dims", "ranges", "centroids") if name in data},
            **{"cell": data["index"], "objective": data["objective"], "measures": data["measures"]},
            "robustness": self._robustness(data["index"], data["objective"]),
        }
        return {name: plain(value) for name, value in found.items()}

    def _read_map(self) -> dict[str, np.ndarray]:
        """The archive without its solutions."""
        try:
            with open_file(self.run.folder / "archive.npz") as raw, np.load(raw) as file:
                return {key: file[key] for key in file.files if key != "solution"}
        except NotNow:
            raise
        except Exception as error:  # zip, npy and shape errors come in a dozen types
            raise NotNow(f"The archive of {self.name} cannot be read ({error}).") from None

    def history(self) -> bytes:
        """Every insertion that was accepted, in order: enough for the page to redraw the archive at any iteration."""
        try:
            rows = history.load(self.run.folder / "history.npz")
        except (OSError, ValueError) as error:
            raise NotNow(f"The history of {self.name} cannot be read ({error}).") from None
        taken = rows["status"] != NOT_ADDED
        return pack(
            {"last": int(rows["iteration"].max(initial=0))},
            iteration=rows["iteration"][taken].astype(np.uint32),
            cell=rows["cell"][taken].astype(np.uint32),
            objective=rows["objective"][taken].astype(np.float32),
        )

    def _robustness(self, cell: np.ndarray, objective: np.ndarray) -> list[float | None] | None:
        """Per elite, where it was played again since it took its cell."""
        try:
            found = load_evaluation(self.run.folder)
        except ValueError:
            return None
        if found is None:
            return None
        known = dict(
            zip(zip(found.cell.tolist(), found.recorded.tolist(), strict=True), found.elite_robustness, strict=True)
        )
        values = [known.get(pair) for pair in zip(cell.tolist(), objective.tolist(), strict=True)]
        return None if all(value is None for value in values) else [plain(value) for value in values]

    def elite(self, cell: int) -> Elite:
        """The elite of a cell. Only its row of the solutions is read, which are most of the file."""
        try:
            with open_file(self.run.folder / "archive.npz") as raw, np.load(raw) as file:
                rows = np.flatnonzero(file["index"] == cell)
                if not rows.size:
                    raise NotThere(f"Cell {cell} of {self.name} is empty.")
                row = int(rows[0])
                statistics = {name: read_row(raw, file, name, row) for name in ("obs_mean", "obs_std") if name in file.files}
                solution, objective = read_row(raw, file, "solution", row), float(file["objective"][row])
                measures = file["measures"][row].tolist()
                seed = int(file["seed"][row]) if "seed" in file.files else NO_SEED
        except (NotNow, NotThere):
            raise
        except Exception as error:
            raise NotNow(f"The archive of {self.name} cannot be read ({error}).") from None
        return Elite(solution, objective, measures, statistics, None if seed == NO_SEED else check_seed(seed))


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
