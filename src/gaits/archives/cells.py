"""Naming a cell of an archive, as people do: "3,12" on a grid, or a plain cell index on any archive."""

from __future__ import annotations

from typing import Any

import numpy as np

NEAREST = 3
"""How many filled cells are suggested for an empty one."""


def find_cell(archive: Any, text: str) -> int:
    """The row of ``archive.data()`` that holds the elite of a cell.

    Args:
        archive: Any ribs archive with cells.
        text: Grid indices such as "3,12", one per measure, or one plain cell index.
    """
    index = parse_cell(archive, text)
    filled = archive.data("index")
    rows = np.flatnonzero(filled == index)
    if rows.size:
        return int(rows[0])
    if not len(filled):
        raise ValueError("The archive is empty: it has no cell to choose. Train it first.")
    near = np.argsort(np.linalg.norm(_places(archive, filled) - _places(archive, [index]), axis=1), kind="stable")
    names = "; ".join(name_cell(archive, int(filled[row])) for row in near[:NEAREST])
    raise ValueError(f"Cell {text} is empty. The nearest filled ones: {names}.")


def best_row(archive: Any) -> int:
    """The row of ``archive.data()`` with the highest objective."""
    objective = archive.data("objective")
    if not len(objective):
        raise ValueError("The archive is empty: it has no best policy. Train it first.")
    return int(np.argmax(objective))


def parse_cell(archive: Any, text: str) -> int:
    """The plain index of a cell, whether or not it is filled."""
    dims = grid_dims(archive)
    words = text.split(",")
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        example = ",".join(str(n // 2) for n in dims) or str(archive.cells // 2)
        raise ValueError(f"A cell is whole numbers such as {example}; got {text!r}.") from None
    if len(numbers) == 1:
        if not 0 <= numbers[0] < archive.cells:
            raise ValueError(f"Cell {text} is not in the archive: plain indices go from 0 to {archive.cells - 1}.")
        return numbers[0]
    if len(numbers) != len(dims):
        grid = f"a grid of {len(dims)} measure(s), so a cell is {len(dims)} number(s) or" if dims else "no grid: a cell is"
        raise ValueError(f"The archive has {grid} a plain index; got {text!r}.")
    if not all(0 <= i < n for i, n in zip(numbers, dims, strict=True)):
        ranges = ", ".join(f"0 to {n - 1}" for n in dims)
        raise ValueError(f"Cell {text} is not in the grid: its indices go from {ranges}.")
    return int(np.ravel_multi_index(numbers, dims))


def name_cell(archive: Any, index: int) -> str:
    """The cell with this plain index, as :func:`find_cell` takes it."""
    dims = grid_dims(archive)
    return ",".join(map(str, np.unravel_index(index, dims))) if dims else str(index)


def grid_dims(archive: Any) -> tuple[int, ...]:
    """Cells along each measure; empty where the cells of an archive are no grid."""
    return tuple(int(n) for n in getattr(archive, "dims", ()))


def centres(archive: Any, index: np.ndarray) -> np.ndarray:
    """(n, k) the measures in the middle of cells: a grid's midpoints, a CVT's centroids."""
    dims = grid_dims(archive)
    if not dims:
        return np.asarray(archive.centroids)[index]
    places = np.stack(np.unravel_index(index, dims), axis=1)
    return archive.lower_bounds + (places + 0.5) * archive.interval_size / np.asarray(dims)


def _places(archive: Any, index: Any) -> np.ndarray:
    """Where cells are, to tell which are near."""
    dims = grid_dims(archive)
    return np.stack(np.unravel_index(index, dims), axis=1) if dims else np.asarray(archive.centroids)[index]
