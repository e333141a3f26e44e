"""Pictures of an archive: a strip for one measure, a heatmap for two, a nested grid for four. Functions take an ``ax``.

A CVT is drawn by its cells up to two measures. Above, a nested grid shows the elite in whose cell each pixel's middle is.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from ribs.archives import CVTArchive, GridArchive
from scipy.spatial import Voronoi

from gaits.archives import Archive
from gaits.archives.colors import color_limits
from gaits.tasks.task import Task

COLORS = "viridis"
EMPTY = "0.92"
MAX_TICKS = 50
BLOCKS, PIXELS = 6, 24
"""Along each outer measure, and within a block, of the picture of a CVT over more than two measures."""


def objectives(archive: Archive) -> np.ndarray:
    """Objective per cell; NaN where it is empty."""
    values = np.full(archive.cells, np.nan)
    values[archive.data("index")] = archive.data("objective")
    return values


def objective_grid(archive: Archive) -> np.ndarray:
    """Objectives in the shape of the grid. A CVT has none: there, at the middles of a grid as fine as can be seen."""
    if isinstance(archive, GridArchive):
        return objectives(archive).reshape(archive.dims)
    outer = archive.measure_dim - 2
    blocks = min(BLOCKS, int(100 ** (1 / outer)))  # few enough for many measures
    dims = [blocks] * outer + [PIXELS] * 2
    middles = (np.indices(dims).reshape(len(dims), -1).T + 0.5) / dims
    return objectives(archive)[archive.index_of(archive.lower_bounds + archive.interval_size * middles)].reshape(dims)


def voronoi_cells(archive: CVTArchive) -> list[np.ndarray]:
    """Outlines of the cells of a CVT over two measures, cut at its bounds; over one measure, as boxes of height 1."""
    low, high, points = archive.lower_bounds, archive.upper_bounds, archive.centroids
    if archive.measure_dim == 1:
        order = np.argsort(points[:, 0])
        inner = points[order, 0]
        edges = np.concatenate([low, (inner[1:] + inner[:-1]) / 2, high])
        left, right = np.empty(len(points)), np.empty(len(points))
        left[order], right[order] = edges[:-1], edges[1:]
        return [np.array([(a, 0), (b, 0), (b, 1), (a, 1)]) for a, b in zip(left, right, strict=True)]
    # Mirrored at each side, the points have that side as a border of the cells along it.
    mirrored = [np.where(axis, 2 * side - points, points) for axis in np.eye(2, dtype=bool) for side in (low, high)]
    found = Voronoi(np.concatenate([points, *mirrored]))
    return [found.vertices[found.regions[region]] for region in found.point_region[: len(points)]]


def nested(grid: np.ndarray) -> np.ndarray:
    """A grid of any dimension as a picture: even measures along x, odd ones along y, earlier ones outside."""
    x_axes, y_axes = list(range(0, grid.ndim, 2)), list(range(1, grid.ndim, 2))
    height = int(np.prod([grid.shape[a] for a in y_axes], initial=1))
    return grid.transpose(*y_axes, *x_axes).reshape(height, -1)


def draw_archive(ax: Axes, archive: Archive, task: Task, vmin: float | None = None, vmax: float | None = None) -> Any:
    """Draw an archive, empty cells in grey; returns the mappable, for a colour bar."""
    vmin, vmax = task.objective_range[0] if vmin is None else vmin, task.objective_range[1] if vmax is None else vmax
    ax.set_facecolor(EMPTY)
    names = task.measure_names
    ax.set_xlabel(_axis_label(names[0::2]))
    if len(names) == 1:
        ax.set_yticks([])
    else:
        ax.set_ylabel(_axis_label(names[1::2]))
    if isinstance(archive, CVTArchive) and archive.measure_dim <= 2:
        return _draw_cells(ax, archive, vmin, vmax)
    return _draw_grid(ax, objective_grid(archive), task, vmin, vmax)


def _draw_cells(ax: Axes, archive: CVTArchive, vmin: float, vmax: float) -> Any:
    lines = {"edgecolors": "white", "linewidths": 0.2} if archive.measure_dim == 2 else {"antialiaseds": False}
    cells = PolyCollection(voronoi_cells(archive), array=objectives(archive), cmap=COLORS, clim=(vmin, vmax), **lines)
    ax.add_collection(cells)
    (left, *bottom), (right, *top) = archive.lower_bounds, archive.upper_bounds
    ax.set(xlim=(left, right), ylim=(*bottom, *top) if bottom else (0, 1))
    return cells


def _draw_grid(ax: Axes, grid: np.ndarray, task: Task, vmin: float, vmax: float) -> Any:
    x_dims, y_dims = grid.shape[0::2], grid.shape[1::2]
    x_range, y_range = (task.ranges[0], task.ranges[-1]) if grid.ndim <= 2 else ((0.0, 1.0), (0.0, 1.0))
    image = ax.imshow(
        nested(grid),
        origin="lower",
        extent=(*x_range, *y_range),
        aspect="auto",
        cmap=COLORS,
        vmin=vmin,
        vmax=vmax,
        interpolation="nearest",
    )
    for n in x_dims[:-1]:
        ax.vlines(np.arange(1, n) / n, 0, 1, color="white", linewidth=1.5)
    for n in y_dims[:-1]:
        ax.hlines(np.arange(1, n) / n, 0, 1, color="white", linewidth=1.5)
    for axis, dims, (low, high) in zip((ax.xaxis, ax.yaxis), (x_dims, y_dims), task.ranges, strict=False):
        if len(dims) > 1:  # positions along a nested axis are no longer values of the measure
            middles = ((np.arange(dims[0]) + 0.5) / dims[0])[:: 1 + dims[0] // MAX_TICKS]
            axis.set_ticks(middles, [f"{low + (high - low) * middle:.2f}" for middle in middles])
    return image


def _axis_label(names: tuple[str, ...]) -> str:
    return literal(f"{names[0]}\n(in each block: {', '.join(names[1:])})" if len(names) > 1 else names[0])


def literal(text: str) -> str:
    """What Matplotlib shows as this text, and does not read as mathematics."""
    return text.replace("$", r"\$")


def save_archive_figure(
    archive: Archive, task: Task, file: Path | IO[bytes], title: str = "", limits: tuple[float, float] | None = None
) -> None:
    """The archive as a PNG with a colour bar; for one measure also the objectives as a profile.

    Colours span ``limits``; default: those of the task, the same for all its runs.
    """
    strip = archive.measure_dim == 1
    figure = Figure(figsize=(8, 4) if strip else (6.4, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    limits = color_limits(task) if limits is None else limits
    if strip:
        top, ax = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        draw_profile(top, archive, *limits)
    else:
        ax = figure.subplots()
    image = draw_archive(ax, archive, task, *limits)
    add_color_bar(figure, image, archive, limits)
    figure.suptitle(literal(title or f"{task.title}: {len(archive)} of {archive.cells} cells"))
    figure.savefig(file, format="png", dpi=150)


def add_color_bar(figure: Figure, image: Any, archive: Archive, limits: tuple[float, float]) -> None:
    """What the colours mean. What lies beyond them has the colour of an end, and the bar says how far it goes."""
    objective = archive.data("objective")
    least, most = objective.min(initial=limits[1]), objective.max(initial=limits[0])
    under, over = least < limits[0], most > limits[1]
    extend = "both" if under and over else "min" if under else "max" if over else "neither"
    bar = figure.colorbar(image, ax=figure.axes, label="objective", extend=extend)
    for beyond, value, y, va in ((under, least, -0.06, "top"), (over, most, 1.06, "bottom")):
        if beyond:
            bar.ax.text(0.5, y, f"to {value:,.0f}", transform=bar.ax.transAxes, ha="center", va=va, fontsize="small")


def draw_profile(ax: Axes, archive: Archive, vmin: float, vmax: float) -> None:
    """Objectives of a one-measure archive over the measure."""
    (low,), (high,), values = archive.lower_bounds, archive.upper_bounds, objectives(archive)
    even = low + (high - low) * (np.arange(len(values)) + 0.5) / len(values)
    x = archive.centroids[:, 0] if isinstance(archive, CVTArchive) else even
    x, values = x[np.isfinite(values)], values[np.isfinite(values)]
    ax.scatter(x, values, s=5, c=values, cmap=COLORS, vmin=vmin, vmax=vmax, linewidths=0, clip_on=False)
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xlim(low, high)
    ax.set_ylabel("objective")
    ax.spines[["top", "right"]].set_visible(False)
