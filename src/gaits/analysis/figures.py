"""Pictures of an archive: a strip for one measure, a heatmap for two, a nested grid for four. Functions take an ``ax``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from ribs.archives import GridArchive

from gaits.tasks.task import Task

COLORS = "viridis"
EMPTY = "0.92"


def objective_grid(archive: GridArchive) -> np.ndarray:
    """Objectives in the shape of the grid; NaN where a cell is empty."""
    grid = np.full(archive.cells, np.nan)
    grid[archive.data("index")] = archive.data("objective")
    return grid.reshape(archive.dims)


def nested(grid: np.ndarray) -> np.ndarray:
    """A grid of any dimension as a picture: even measures along x, odd ones along y, earlier ones outside."""
    x_axes, y_axes = list(range(0, grid.ndim, 2)), list(range(1, grid.ndim, 2))
    height = int(np.prod([grid.shape[a] for a in y_axes], initial=1))
    return grid.transpose(*y_axes, *x_axes).reshape(height, -1)


def draw_archive(ax: Axes, grid: np.ndarray, task: Task, vmin: float | None = None, vmax: float | None = None) -> Any:
    """Draw objectives in the shape of their grid, NaN where a cell is empty; returns the mappable, for a colour bar."""
    vmin, vmax = task.objective_range[0] if vmin is None else vmin, task.objective_range[1] if vmax is None else vmax
    picture = nested(grid)
    ax.set_facecolor(EMPTY)
    x_dims, y_dims = grid.shape[0::2], grid.shape[1::2]
    x_range, y_range = (task.ranges[0], task.ranges[-1]) if grid.ndim <= 2 else ((0.0, 1.0), (0.0, 1.0))
    extent = (*x_range, *y_range)
    image = ax.imshow(
        picture, origin="lower", extent=extent, aspect="auto", cmap=COLORS, vmin=vmin, vmax=vmax, interpolation="nearest"
    )
    names = task.measure_names
    ax.set_xlabel(_axis_label(names[0::2]))
    if len(names) == 1:
        ax.set_yticks([])
    else:
        ax.set_ylabel(_axis_label(names[1::2]))
    for n in x_dims[:-1]:
        ax.vlines(np.arange(1, n) / n, 0, 1, color="white", linewidth=1.5)
    for n in y_dims[:-1]:
        ax.hlines(np.arange(1, n) / n, 0, 1, color="white", linewidth=1.5)
    if len(x_dims) > 1:  # positions along a nested axis are no longer proportions
        for axis, dims in ((ax.xaxis, x_dims), (ax.yaxis, y_dims)):
            n = int(dims[0])
            axis.set_ticks((np.arange(n) + 0.5) / n, [f"{(i + 0.5) / n:.2f}" for i in range(n)])
    return image


def _axis_label(names: tuple[str, ...]) -> str:
    return f"{names[0]}\n(in each block: {', '.join(names[1:])})" if len(names) > 1 else names[0]


def save_archive_figure(archive: GridArchive, task: Task, path: Path, title: str = "") -> None:
    """The archive as a PNG with a colour bar; for one measure also the objectives as a profile."""
    strip = len(task.grid) == 1
    figure = Figure(figsize=(8, 4) if strip else (6.4, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    objective, grid = archive.data("objective"), objective_grid(archive)
    limits = (objective.min(), objective.max()) if len(objective) else task.objective_range
    if strip:
        top, ax = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        draw_profile(top, grid, *limits)
    else:
        ax = figure.subplots()
    image = draw_archive(ax, grid, task, *limits)
    figure.colorbar(image, ax=figure.axes, label="objective")
    figure.suptitle(title or f"{task.title}: {len(archive)} of {archive.cells} cells")
    figure.savefig(path, dpi=150)


def draw_profile(ax: Axes, grid: np.ndarray, vmin: float, vmax: float) -> None:
    """Objectives of a one-measure archive over the measure."""
    x = (np.arange(len(grid)) + 0.5) / len(grid)
    ax.scatter(x, grid, s=5, c=grid, cmap=COLORS, vmin=vmin, vmax=vmax, linewidths=0)
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xlim(0, 1)
    ax.set_ylabel("objective")
    ax.spines[["top", "right"]].set_visible(False)
