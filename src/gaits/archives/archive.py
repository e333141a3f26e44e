"""Archives: made for a task, inserted into in order, and saved as plain arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from gaits import memory, rows
from gaits.archives.centroids import unit_centroids
from gaits.light import light_imports
from gaits.reading import Refused, Shapes, read_arrays
from gaits.tasks.task import MAX_CELLS, Task

with light_imports():
    from ribs.archives import CVTArchive, GridArchive

Archive = GridArchive | CVTArchive

NOT_ADDED, IMPROVED, NEW = 0, 1, 2
NO_SEED = -1
SEED = {"seed": ((), np.int64)}
"""Field of an archive whose elites can be played again: the seed of the episode that each got its place by."""
MAX_NUMBERS = 1 << 34
"""Numbers in the fields of a full archive, beyond which a file is not believed."""
REFUSED = -1e100
"""Value of a failed evaluation: ranks last, and its square is still finite."""


@dataclass(frozen=True)
class Insertions:
    """What became of n solutions offered to an archive, one after another."""

    objective: np.ndarray  # (n,) float64
    measures: np.ndarray  # (n, k) float64
    cell: np.ndarray  # (n,) int64
    status: np.ndarray  # (n,) int8: NOT_ADDED, IMPROVED or NEW; of the accepted, the last holds the cell
    seed: np.ndarray  # (n,) int64, of their episodes; NO_SEED where it is not known
    value: np.ndarray  # (n,) float64: objective of a NEW one, else its difference to the elite it met


def _centroids(task: Task) -> np.ndarray:
    low, high = np.transpose(task.ranges)
    return low + (high - low) * unit_centroids(task.total_cells, len(task.measure_names))


@dataclass(frozen=True)
class Kind:
    """A ribs archive that runs can have: its cells are fixed, numbered, and a function of the measures.

    ``insert``, histories and comparisons rely on that. So it cannot be ribs' sliding boundaries, whose cells move, nor
    proximity and DNS archives, which have none, nor categorical ones, whose measures are not numbers.
    """

    archive: type[Any]
    cells: str
    """What the cells are made from: the archive's argument and property, and an array in its file."""
    of: Callable[[Task], Any]
    """The same for a task."""


KINDS = {
    "grid": Kind(GridArchive, "dims", lambda task: task.grid),
    "cvt": Kind(CVTArchive, "centroids", _centroids),
}
PLAIN_FIELDS = {"solution", "objective", "measures", "index", "ranges", "min_objective", *(k.cells for k in KINDS.values())}


def make_archive(
    task: Task, seed: int | None = None, solution_dim: int | None = None, fields: dict[str, Any] | None = None
) -> Archive:
    """An empty archive over the task's measures, with further ``fields`` for each elite."""
    kind = KINDS[task.archive]
    dim = task.solution_dim if solution_dim is None else solution_dim
    return _make(kind, kind.of(task), task.ranges, dim, task.objective_range[0], seed=seed, extra_fields=fields)


def _make(kind: Kind, cells: Any, ranges: Any, solution_dim: int, min_objective: float, **options: Any) -> Archive:
    """Float32 solutions, float64 objectives and measures."""
    return kind.archive(
        solution_dim=solution_dim,
        **{kind.cells: cells},
        ranges=ranges,
        qd_score_offset=min_objective,
        solution_dtype=np.float32,
        objective_dtype=np.float64,
        measures_dtype=np.float64,
        **options,
    )


def insert(
    archive: Archive,
    solutions: np.ndarray,
    objective: np.ndarray,
    measures: np.ndarray,
    failed: np.ndarray | None = None,
    seed: np.ndarray | None = None,
    **fields: Any,
) -> Insertions:
    """Offer solutions one by one: a strictly better one replaces the elite of its cell. ``failed`` ones are refused.

    Seeds are kept by archives that have a field for them, which those of older runs do not.

    The same as a loop over ``archive.add_single``, which takes 2 ms a solution at 20,000 parameters. Only the last
    solution accepted in each cell is put there, all at once.
    """
    n = len(objective)
    seed = np.full(n, NO_SEED) if seed is None else seed
    if "seed" in archive.field_list:
        fields["seed"] = seed
    cell = archive.index_of(measures) if n else np.zeros(0, int)
    occupied, met = archive._store.retrieve(cell, "objective")
    elites = {c: f for c, f, there in zip(cell.tolist(), met.tolist(), occupied.tolist(), strict=True) if there}
    before = elites.copy()
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
        cells = np.array(sorted(winner))
        chosen = np.array([winner[c] for c in cells.tolist()])
        offered = np.ascontiguousarray(solutions, np.float32).reshape(n, int(archive.solution_dim))  # type: ignore[arg-type]
        rows.put(archive._store._fields["solution"], cells, offered, chosen)
        data = {"objective": objective, "measures": measures, **fields}
        _put(archive, cells, data, chosen, np.array([before.get(c, 0.0) for c in cells.tolist()]))
    return Insertions(objective, measures, cell, status, seed, value)


def _put(archive: Any, cells: np.ndarray, data: dict[str, np.ndarray], chosen: np.ndarray, before: np.ndarray) -> None:
    """What ``archive.add`` does with the rows of data that were chosen, each better than what its cell held.

    ``add`` would find that out once more, and copy them, and the elites that they replace, three times on the way. Their
    solutions were put there before.
    """
    store = archive._store
    objective = data["objective"][chosen]
    new = cells[~store._props["occupied"][cells]]
    n = store._props["n_occupied"]
    store._props["occupied"][new] = True
    store._props["occupied_list"][n : n + len(new)] = new
    store._props["n_occupied"] = n + len(new)
    store._props["updates"][0] += 1  # that of ``add``: whoever goes through the elites is told that they changed
    for name in store._fields.keys() - {"solution"}:
        store._fields[name][cells] = objective if name == "threshold" else data[name][chosen]
    total = archive._objective_sum + np.sum(objective - before)
    archive._stats_update(total, int(cells[np.argmax(objective)]))


def revise(archive: Any, cells: np.ndarray, objective: np.ndarray) -> Insertions:
    """Give the elites of some cells other objectives, lower ones too. They stay where they are, and keep the rest."""
    fields = archive._store._fields
    change = objective - fields["objective"][cells]
    for name in ("objective", "threshold"):
        fields[name][cells] = objective
    if len(cells):
        archive._stats_update(archive._objective_sum + np.sum(change), cells[int(np.argmax(objective))])
    status, seed = np.full(len(cells), IMPROVED, np.int8), fields["seed"][cells]
    return Insertions(objective, fields["measures"][cells], cells.astype(np.int64), status, seed, change)


def settle(archive: Archive) -> None:
    """Have the memory of all solutions ready, before cells are filled: each would wait for its own."""
    memory.settle(archive._store._fields["solution"])


def sample_rows(archive: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All solutions of an archive, and the rows of n random elites, those that ``archive.sample_elites`` would draw."""
    chosen = archive._rng.choice(len(archive), size=n)
    return archive._store._fields["solution"], archive._store.occupied_list[chosen]


def sample_solutions(archive: Archive, n: int) -> np.ndarray:
    """The solutions of n random elites, the caller's to change."""
    return memory.take(*sample_rows(archive, n))


def summary(archive: Archive, min_objective: float) -> dict[str, float]:
    """The archive in numbers. QD score is the sum over elites of (objective - min_objective)."""
    return summary_of(archive.data("objective"), int(archive.cells), min_objective)


def summary_of(objective: np.ndarray, cells: int, min_objective: float) -> dict[str, float]:
    """The same of elites' objectives, one per filled cell."""
    n = len(objective)
    total = float(objective.sum())
    return {
        "elites": n,
        "coverage": n / cells,
        "qd_score": total - n * min_objective,
        "objective_sum": total,
        "objective_min": float(objective.min()) if n else float("nan"),
        "objective_max": float(objective.max()) if n else float("nan"),
        "objective_mean": total / n if n else float("nan"),
    }


def to_arrays(archive: Archive) -> dict[str, np.ndarray]:
    """Every elite and the cells, as arrays that stand alone. Elites are sorted by cell."""
    kind = next(kind for kind in KINDS.values() if isinstance(archive, kind.archive))
    data = archive.data()
    order = np.argsort(data["index"])
    arrays: dict[str, Any] = {key: values[order] for key, values in data.items() if key != "threshold"}
    arrays[kind.cells] = np.array(getattr(archive, kind.cells))
    arrays["ranges"] = np.stack([archive.lower_bounds, archive.upper_bounds], axis=1)
    arrays["min_objective"] = np.array(float(archive.qd_score_offset))
    return arrays


def save(archive: Archive, file: IO[bytes]) -> None:
    """An npz of ``to_arrays``."""
    np.savez(file, **to_arrays(archive))  # type: ignore[arg-type]


Verify = Callable[[dict[str, np.ndarray]], None]
"""Raises if arrays of an archive are not those that the run wrote."""


def load(path: Path, verify: Verify | None = None) -> Archive:
    """The archive in an npz; nothing in the file is ever executed."""
    return _load(path, True, verify)


def load_objectives(path: Path, verify: Verify | None = None) -> Archive:
    """The archive in an npz without its solutions, which are not read."""
    try:
        return _load(path, False, verify)
    except FileNotFoundError:
        raise ValueError(f"There is no {path}. A run writes it with its first checkpoint and when it ends.") from None


def _load(path: Path, solutions: bool, verify: Verify | None) -> Archive:
    wanted = None if solutions else PLAIN_FIELDS - {"solution"}
    try:
        data = read_arrays(path, wanted, _check_shapes)
    except Refused as error:
        raise ValueError(_unreadable(path, error.reason)) from None
    if verify is not None:
        verify(data)
    if not solutions:
        data["solution"] = np.zeros((len(data["objective"]), 0), np.float32)
    try:
        return _fill(data)
    except Exception as error:  # ribs has its own ways to say that numbers do not fit
        raise ValueError(_unreadable(path, str(error))) from None


def check_fits(archive: Any, task: Task) -> None:
    """Raise unless an archive, as a file has it, is one of this task: its cells, and what its policies need."""
    kind, fields = KINDS[task.archive], archive.dtypes.keys() & {"obs_mean", "obs_std"}
    ranges = np.stack([archive.lower_bounds, archive.upper_bounds], axis=1)
    same = isinstance(archive, kind.archive) and np.array_equal(ranges, task.ranges) and archive.cells == task.total_cells
    if not same or (task.archive == "grid" and not np.array_equal(archive.dims, task.grid)):
        raise ValueError("its cells are not those of the run's task")
    if any(archive.data(name).shape[1:] != (task.obs_dim,) for name in fields):
        raise ValueError("its statistics are not of the observations of the run's task")
    if not np.isfinite(archive.data("solution")).all():
        raise ValueError("some of its solutions are not finite")


def _unreadable(path: Path, reason: str) -> str:
    return f"{path} is not a readable archive ({reason}). It may be damaged or from another program."


def _check_shapes(shapes: Shapes) -> None:
    """Compare an archive's arrays with each other before any number is read."""
    for name in ("solution", "objective", "measures", "index", "ranges", "min_objective"):
        if name not in shapes:
            raise Refused(f"it has no {name}")
    kind = next((kind for kind in KINDS.values() if kind.cells in shapes), None)
    if kind is None:
        raise Refused("it does not say what its cells are")
    n, k = shapes["index"][0][:1], shapes["ranges"][0][:1]
    forms: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
        "solution": ((*n, *shapes["solution"][0][1:2]), ("<f4",)),
        "objective": (n, ("<f8",)),
        "measures": ((*n, *k), ("<f8",)),
        "index": (n, ("<i4", "<i8")),
        "ranges": ((*k, 2), ("<f8",)),
        "min_objective": ((), ("<f8",)),
        "seed": (n, ("<i8",)),
        kind.cells: (k, ("<i4", "<i8")) if kind.cells == "dims" else ((*shapes[kind.cells][0][:1], *k), ("<f8",)),
    }
    for name, (shape, dtype) in shapes.items():
        form, dtypes = forms.get(name, ((*n, *shape[1:]), (dtype,)))
        if shape != form or dtype not in dtypes or len(n) != 1 or len(k) != 1:
            raise Refused(f"its {name} has another form than an archive's")


def _check_cells(cells: np.ndarray, data: dict[str, np.ndarray]) -> None:
    total = math.prod(cells.tolist()) if cells.ndim == 1 else len(cells)
    if not (np.isfinite(cells).all() and cells.min(initial=1) > (0 if cells.ndim == 1 else -np.inf)):
        raise ValueError("it does not say what its cells are")
    if len(data["index"]) > total:
        raise ValueError("elites are not in their cells")
    widths = [math.prod(values.shape[1:]) for name, values in data.items() if name == "solution" or name not in PLAIN_FIELDS]
    if total > MAX_CELLS or total * sum(widths) > MAX_NUMBERS:
        raise ValueError(f"it says it has {total:,} cells, more than can be right")


def _fill(data: dict[str, np.ndarray]) -> Archive:
    kind = next((kind for kind in KINDS.values() if kind.cells in data), None)
    assert kind is not None, "checked before"
    _check_cells(data[kind.cells], data)
    extra = {key: values for key, values in data.items() if key not in PLAIN_FIELDS}
    forms = {key: (values.shape[1:], values.dtype) for key, values in extra.items()}
    cells, ranges, dim = data[kind.cells], data["ranges"].tolist(), data["solution"].shape[1]
    archive = _make(kind, cells, ranges, dim, float(data["min_objective"]), extra_fields=forms)
    objective, index = data["objective"], data["index"]
    if not (np.isfinite(objective).all() and np.isfinite(data["measures"]).all()):
        raise ValueError("some of its numbers are not finite")
    if not len(index):
        return archive
    if len(np.unique(index)) < len(index) or not np.array_equal(archive.index_of(data["measures"]), index):
        raise ValueError("elites are not in their cells")
    order = np.argsort(index)
    archive._store._fields["solution"][index] = data["solution"]
    fields = {"objective": objective, "measures": data["measures"], **extra}
    _put(archive, index[order], fields, order, np.zeros(len(index)))
    return archive
