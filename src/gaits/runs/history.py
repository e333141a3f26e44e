"""Every insertion of a run, enough to redraw its archive at any iteration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from gaits.archives import NEW, NO_SEED, NOT_ADDED, Insertions
from gaits.reading import Refused, Shapes, read_arrays
from gaits.states import Misfit, Rows

FIELDS = ("iteration", "objective", "measures", "cell", "status", "seed")


class History:
    """Grows by an iteration at a time; one row per solution that was offered to the archive, in order."""

    def __init__(self, n_measures: int) -> None:
        empty: dict[str, np.ndarray] = {
            "iteration": np.zeros(0, np.int32),
            "objective": np.zeros(0),
            "measures": np.zeros((0, n_measures)),
            "cell": np.zeros(0, np.int32),
            "status": np.zeros(0, np.int8),
            "seed": np.zeros(0, np.int64),
        }
        self._chunks = [empty]

    def add(self, iteration: int, insertions: list[Insertions]) -> None:
        for one in insertions:
            self._chunks.append(
                {
                    "iteration": np.full(len(one.cell), iteration, np.int32),
                    "objective": one.objective,
                    "measures": one.measures,
                    "cell": one.cell.astype(np.int32),
                    "status": one.status,
                    "seed": one.seed,
                }
            )

    def arrays(self) -> dict[str, np.ndarray]:
        """All rows, as one array per field."""
        if len(self._chunks) > 1:
            self._chunks = [{name: np.concatenate([chunk[name] for chunk in self._chunks]) for name in FIELDS}]
        return self._chunks[0]

    def state(self) -> dict[str, Any]:
        return {name: Rows(values) for name, values in self.arrays().items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        if len({len(values) for values in state.values()}) != 1:
            raise Misfit("its history lacks some fields of some rows")
        low, high = state["status"].min(initial=NOT_ADDED), state["status"].max(initial=NOT_ADDED)
        if low < NOT_ADDED or high > NEW or state["cell"].min(initial=0) < 0 or (np.diff(state["iteration"]) < 0).any():
            raise Misfit("its history has rows that none can have")
        self._chunks = [state]

    def save(self, file: IO[bytes]) -> None:
        np.savez(file, **self.arrays())  # type: ignore[arg-type]


Verify = Callable[[dict[str, np.ndarray]], None]
"""Raises if some arrays of a history are not those that the run wrote."""


def read(path: Path, *fields: str, verify: Verify | None = None) -> dict[str, np.ndarray]:
    """Some fields of a history; ``seed`` may be absent."""
    try:
        arrays = read_arrays(path, fields, _check_shapes)
    except Refused as error:
        raise ValueError(f"{path} is not a readable history ({error.reason}).") from None
    if verify is not None:
        verify(arrays)
    return arrays


def _check_shapes(shapes: Shapes) -> None:
    likes = History(1).arrays()
    n = shapes.get("cell", ((0,), ""))[0][:1]
    for name, like in likes.items():
        if name not in shapes and name != "seed":
            raise Refused(f"it has no {name}")
        shape, dtype = shapes.get(name, ((*n, *like.shape[1:]), like.dtype.str))
        if shape[:1] != n or len(shape) != like.ndim or dtype != like.dtype.str:
            raise Refused(f"its {name} has another form than a history's")
    if shapes.keys() - likes.keys():
        raise Refused(f"it has {min(shapes.keys() - likes.keys())}, which no history has")


def load(path: Path, verify: Verify | None = None) -> dict[str, np.ndarray]:
    return _with_seeds(read(path, *FIELDS, verify=verify))


def _with_seeds(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A history with the seeds that it lacks if it was written before they were kept: NO_SEED."""
    return {**arrays, "seed": arrays["seed"] if "seed" in arrays else np.full(len(arrays["cell"]), NO_SEED)}


def last_iteration(path: Path, verify: Verify | None = None) -> int:
    """The last iteration in a history, without reading the rest of it; -1 if it is missing or damaged."""
    try:
        return int(read(path, "iteration", verify=verify)["iteration"].max(initial=0))
    except (ValueError, OSError):
        return -1


def lowest_inserted(path: Path, verify: Verify | None = None) -> float:
    """The lowest objective that entered the archive, read without the rest of the history."""
    try:
        rows = read(path, "objective", "status", verify=verify)
    except FileNotFoundError:
        raise ValueError(f"There is no {path}.") from None
    return float(rows["objective"][rows["status"] != NOT_ADDED].min(initial=np.inf))


def elites_at(history: dict[str, np.ndarray], iteration: int) -> np.ndarray:
    """Rows of the insertions that hold a cell after this iteration: the last accepted one of each cell."""
    rows = np.flatnonzero((history["iteration"] <= iteration) & (history["status"] != NOT_ADDED))
    _, last = np.unique(history["cell"][rows][::-1], return_index=True)
    return np.sort(rows[len(rows) - 1 - last])
