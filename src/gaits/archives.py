"""Archives: made for a task, inserted into in order, and saved as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from ribs.archives import GridArchive

from gaits.tasks.task import Task

NOT_ADDED, IMPROVED, NEW = 0, 1, 2
REFUSED = -1e100
"""Value of a failed evaluation: ranks last, and its square is still finite."""
PLAIN_FIELDS = ("solution", "objective", "measures", "index", "dims", "ranges", "min_objective")


@dataclass(frozen=True)
class Insertions:
    """What became of n solutions offered to an archive, one after another."""

    objective: np.ndarray  # (n,) float64
    measures: np.ndarray  # (n, k) float64
    cell: np.ndarray  # (n,) int64
    status: np.ndarray  # (n,) int8: NOT_ADDED, IMPROVED or NEW
    value: np.ndarray  # (n,) float64: objective of a NEW one, else its difference to the elite it met


def make_archive(
    task: Task, seed: int | None = None, solution_dim: int | None = None, fields: dict[str, Any] | None = None
) -> GridArchive:
    """An empty grid over the task's measures: float32 solutions, float64 objectives and measures, and further ``fields``."""
    return GridArchive(
        solution_dim=task.solution_dim if solution_dim is None else solution_dim,
        dims=task.grid,
        ranges=task.ranges,
        qd_score_offset=task.objective_range[0],
        solution_dtype=np.float32,
        objective_dtype=np.float64,
        measures_dtype=np.float64,
        seed=seed,
        extra_fields=fields,
    )


def insert(
    archive: GridArchive,
    solutions: np.ndarray,
    objective: np.ndarray,
    measures: np.ndarray,
    failed: np.ndarray | None = None,
    **fields: Any,
) -> Insertions:
    """Offer solutions one by one: a strictly better one replaces the elite of its cell. ``failed`` ones are refused.

    The same as a loop over ``archive.add_single``, which takes 2 ms a solution at 20,000 parameters. Only the last
    solution accepted in each cell is handed to the archive, all in one call.
    """
    n = len(objective)
    cell = archive.index_of(measures) if n else np.zeros(0, int)
    elites = dict(zip(archive.data("index").tolist(), archive.data("objective").tolist(), strict=True))
    status, value = np.zeros(n, np.int8), np.zeros(n)
    winner: dict[int, int] = {}
    for i, (c, f) in enumerate(zip(cell.tolist(), objective.tolist(), strict=True)):
        if failed is not None and failed[i]:
            value[i] = REFUSED
            continue
        best = elites.get(c)
        value[i] = f if best is None else f - best
        if best is None or f > best:
            status[i] = NEW if best is None else IMPROVED
            elites[c] = f
            winner[c] = i
    if winner:
        rows = sorted(winner.values())
        archive.add(solutions[rows], objective[rows], measures[rows], **{key: v[rows] for key, v in fields.items()})
    return Insertions(objective, measures, cell, status, value)


def summary(archive: GridArchive, min_objective: float) -> dict[str, float]:
    """The archive in numbers. QD score is the sum over elites of (objective - min_objective)."""
    objective = archive.data("objective")
    n = len(objective)
    total = float(objective.sum())
    return {
        "elites": n,
        "coverage": n / archive.cells,
        "qd_score": total - n * min_objective,
        "objective_sum": total,
        "objective_min": float(objective.min()) if n else float("nan"),
        "objective_max": float(objective.max()) if n else float("nan"),
        "objective_mean": total / n if n else float("nan"),
    }


def save(archive: GridArchive, file: IO[bytes]) -> None:
    """Every elite and the grid, as an npz that stands alone. Elites are sorted by cell."""
    data = archive.data()
    order = np.argsort(data["index"])
    low, high = archive.lower_bounds, archive.upper_bounds
    arrays: dict[str, Any] = {key: values[order] for key, values in data.items() if key != "threshold"}
    arrays["dims"] = np.array(archive.dims)
    arrays["ranges"] = np.stack([low, high], axis=1)
    arrays["min_objective"] = np.array(float(archive.qd_score_offset))
    np.savez(file, **arrays)


def load(path: Path) -> GridArchive:
    """The archive in an npz; nothing in the file is ever executed."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            data = {key: file[key] for key in file.files}
        extra = {key: data[key] for key in data if key not in PLAIN_FIELDS}
        archive = GridArchive(
            solution_dim=data["solution"].shape[1],
            dims=data["dims"].tolist(),
            ranges=data["ranges"].tolist(),
            qd_score_offset=float(data["min_objective"]),
            solution_dtype=np.float32,
            objective_dtype=np.float64,
            measures_dtype=np.float64,
            extra_fields={key: (values.shape[1:], values.dtype) for key, values in extra.items()},
        )
        if len(data["objective"]):
            archive.add(data["solution"], data["objective"], data["measures"], **extra)
        if len(archive) != len(data["objective"]):
            raise ValueError("several elites in one cell")
        return archive
    except FileNotFoundError:
        raise
    except Exception as error:  # zip, npy and shape errors come in a dozen types
        raise ValueError(f"{path} is not a readable archive ({error}). It may be damaged or from another program.") from None


def load_objectives(path: Path) -> np.ndarray:
    """Only the objectives in an npz, in the shape of the grid, NaN where a cell is empty; solutions are not read."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            dims, index, objective = file["dims"], file["index"], file["objective"]
        grid = np.full(int(np.prod(dims)), np.nan)
        grid[index] = objective
        return grid.reshape(dims)
    except FileNotFoundError:
        raise ValueError(f"There is no {path}. A run writes it with its first checkpoint and when it ends.") from None
    except Exception as error:
        raise ValueError(f"{path} is not a readable archive ({error}). It may be damaged or from another program.") from None
