"""Every insertion of a run, enough to redraw its archive at any iteration."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from gaits.archives import NO_SEED, NOT_ADDED, Insertions

FIELDS = ("iteration", "objective", "measures", "cell", "status", "seed")


class History:
    """Grows by an iteration at a time; one row per solution that was offered to the archive, in order."""

    def __init__(self, n_measures: int, arrays: dict[str, np.ndarray] | None = None) -> None:
        empty: dict[str, np.ndarray] = {
            "iteration": np.zeros(0, np.int32),
            "objective": np.zeros(0),
            "measures": np.zeros((0, n_measures)),
            "cell": np.zeros(0, np.int32),
            "status": np.zeros(0, np.int8),
            "seed": np.zeros(0, np.int64),
        }
        self._chunks = [empty if arrays is None else _with_seeds(arrays)]

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

    def save(self, file: IO[bytes]) -> None:
        np.savez(file, **self.arrays())  # type: ignore[arg-type]


def load(path: Path) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return _with_seeds({name: file[name] for name in FIELDS if name in file.files or name != "seed"})
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a readable history ({error}).") from None


def _with_seeds(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A history with the seeds that it lacks if it was written before they were kept: NO_SEED."""
    return {**arrays, "seed": arrays["seed"] if "seed" in arrays else np.full(len(arrays["cell"]), NO_SEED)}


def last_iteration(path: Path) -> int:
    """The last iteration in a history, without reading the rest of it; -1 if it is missing or damaged."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return int(file["iteration"].max(initial=0))
    except Exception:  # zip, npy and shape errors come in a dozen types
        return -1


def lowest_inserted(path: Path) -> float:
    """The lowest objective that entered the archive, read without the rest of the history."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return float(file["objective"][file["status"] != NOT_ADDED].min(initial=np.inf))
    except Exception as error:
        raise ValueError(f"{path} is not a readable history ({error}).") from None


def elites_at(history: dict[str, np.ndarray], iteration: int) -> np.ndarray:
    """Rows of the insertions that hold a cell after this iteration: the last accepted one of each cell."""
    rows = np.flatnonzero((history["iteration"] <= iteration) & (history["status"] != NOT_ADDED))
    _, last = np.unique(history["cell"][rows][::-1], return_index=True)
    return np.sort(rows[len(rows) - 1 - last])
