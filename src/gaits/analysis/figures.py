"""Figures of many runs: curves over what they cost, archives, histograms, profiles, and how archives grew."""

from __future__ import annotations

import functools
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from gaits.analysis.collect import AXES, CURVES, Axis, Collection
from gaits.archives import Archive
from gaits.archives.heatmaps import COLORS, draw_archive, draw_profile, literal
from gaits.runs import Run, load_run
from gaits.runs.evaluation import Evaluation, load_evaluation
from gaits.runs.files import write_whole, writing
from gaits.runs.pictures import Picture

# Colour-blind safe; the paper's five keep the paper's colours and markers.
STYLES = {
    "cma_mega_es": ("#0173B2", "o"),
    "cma_mega_td3_es": ("#DE8F05", "D"),
    "pga_me": ("#029E73", "^"),
    "me_es": ("#ECE133", "v"),
    "map_elites": ("#CC78BC", "X"),
}
MORE_STYLES = [("#CA9161", "s"), ("#56B4E9", "P"), ("#D55E00", "*"), ("#949494", "h"), ("#FBAFE4", "<"), ("#000000", ">")]
CURVE_TITLES = {"qd_score": "QD score", "coverage": "Archive coverage", "best": "Best performance"}
DPI = {"png": 200, "pdf": 300, "gif": 90}
POINTS = 200
"""Places along the x axis where curves are drawn."""


def styles(algorithms: list[str]) -> dict[str, tuple[str, str]]:
    """(colour, marker) per algorithm: the same in all figures."""
    others = [name for name in algorithms if name not in STYLES]
    return {name: STYLES[name] for name in algorithms if name in STYLES} | {
        name: MORE_STYLES[i % len(MORE_STYLES)] for i, name in enumerate(others)
    }


def mean_and_error(
    curves: pd.DataFrame, metric: str, axis: Axis = "evaluations"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(evaluations, mean over trials, standard error of the mean) of one algorithm on one task; or over steps or hours."""
    trials = [trial.sort_values(axis) for _, trial in curves.groupby("run")]
    end = min(trial[axis].iloc[-1] for trial in trials)
    start = max(trial[axis].iloc[0] for trial in trials)
    x = np.linspace(start, end, POINTS) if end > start else np.array([float(end)])
    values = np.stack([np.interp(x, trial[axis], trial[metric]) for trial in trials])
    error = values.std(axis=0, ddof=1) / np.sqrt(len(trials)) if len(trials) > 1 else np.zeros_like(x)
    return x, values.mean(axis=0), error


def draw_curves(
    ax: Axes, curves: pd.DataFrame, metric: str, looks: dict[str, tuple[str, str]], axis: Axis = "evaluations"
) -> None:
    """One metric on one task: a line per algorithm, its standard error as a band, its marker somewhere in the middle."""
    for place, (name, (colour, marker)) in enumerate(looks.items()):
        mine = curves[curves["algorithm"] == name]
        if mine.empty:
            continue
        x, mean, error = mean_and_error(mine, metric, axis)
        at = [min(len(x) - 1, int(len(x) * (0.35 + 0.1 * place)) % len(x))]
        look: dict[str, Any] = {
            "marker": marker,
            "markersize": 6,
            "markeredgecolor": "white",
            "clip_on": False,
        }  # whole also on an axis
        ax.plot(x, mean, color=colour, markevery=at, linewidth=1.5, **look)
        ax.fill_between(x, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
    if axis != "hours":  # a thousandth of an hour would be taken for a minute
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    if metric == "coverage":
        ax.set_ylim(0, 1.02)
    else:
        ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    ax.grid(color="0.9", linewidth=1)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=8)


def comparison_figure(collection: Collection, axis: Axis = "evaluations") -> Figure:
    """QD score, coverage and best performance (rows) on every task (columns): mean and standard error over trials."""
    tasks, looks = collection.tasks(), styles(collection.algorithms())
    figure = _figure(max(3.2 * len(tasks), 4.6), 6.6)
    axes = figure.subplots(len(CURVES), len(tasks), squeeze=False)
    for column, task in enumerate(tasks):
        curves = collection.curves[collection.curves["task"] == task]
        for row, metric in enumerate(CURVES):
            draw_curves(axes[row, column], curves, metric, looks, axis)
        axes[0, column].set_title(_title(collection, task), fontsize=10)
        axes[-1, column].set_xlabel(AXES[axis], fontsize=9)
    for row, metric in enumerate(CURVES):
        axes[row, 0].set_ylabel(CURVE_TITLES[metric], fontsize=9)
    handles = [
        axes[0, 0].plot([], [], color=colour, marker=marker, linewidth=1.5, label=_title(collection, name, 60))[0]
        for name, (colour, marker) in looks.items()
    ]
    longest = max(len(collection.titles[name]) for name in looks)
    columns = max(1, min(3, int(figure.get_figwidth() * 11 / (longest + 6))))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
    return figure


def archives_figure(collection: Collection, task: str) -> Figure:
    """The archive of each algorithm's median run on a task, all with one colour scale."""
    panels = median_archives(collection, task)
    strip = next(iter(panels.values()))[1].measure_dim == 1
    figure = _figure(2.6 * len(panels) + 0.8, 3.4)
    axes = figure.subplots(2 if strip else 1, len(panels), squeeze=False, height_ratios=(3, 1) if strip else None)
    low, high = _limits([archive for _, archive in panels.values()])
    for column, (name, (run, archive)) in enumerate(panels.items()):
        image = draw_archive(axes[-1, column], archive, run.task, low, high)
        image.set_rasterized(True)
        if strip:
            draw_profile(axes[0, column], archive, low, high)
            axes[0, column].set_ylim(*_around(low, high))
            axes[0, column].set_xticks([])
        axes[0, column].set_title(_title(collection, name), fontsize=9)
        for ax in axes[:, column]:
            ax.tick_params(labelsize=7)
            ax.xaxis.label.set_fontsize(8)
            ax.yaxis.label.set_fontsize(8)
            if column:
                ax.set_ylabel("")
    bar = figure.colorbar(image, ax=list(axes.flat))
    bar.set_label("objective", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    figure.suptitle(f"{_title(collection, task, 100)}: archive of the median run", fontsize=10)
    return figure


def histograms_figure(collection: Collection, task: str, bins: int = 100) -> Figure:
    """How many elites of each algorithm's median run have which objective."""
    panels = median_archives(collection, task)
    figure = _figure(2.6 * len(panels) + 0.4, 2.4)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    low, high = _limits([archive for _, archive in panels.values()])
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    shades = (middles - edges[0]) / (edges[-1] - edges[0])
    for ax, (name, (_, archive)) in zip(axes[0], panels.items(), strict=True):
        counts, _ = np.histogram(archive.data("objective"), edges)
        ax.bar(middles, counts, width=edges[1] - edges[0], color=colormaps[COLORS](shades))
        ax.set_title(_title(collection, name), fontsize=9)
        ax.set_xlabel("objective", fontsize=8)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("elites", fontsize=8)
    return figure


def profiles_figure(collection: Collection, task: str) -> Figure:
    """How many elites of each algorithm's median run have at least an objective: corrected where they were played again.

    What was recorded is dotted then: between the two lines is luck.
    """
    figure = _figure(5.2, 3.4)
    ax = figure.subplots()
    for name, (run, archive) in median_archives(collection, task).items():
        colour, _ = styles(collection.algorithms())[name]
        recorded, found = archive.data("objective"), _evaluation_of(run, collection)
        if found is not None:
            draw_steps(ax, recorded, color=colour, linestyle=":", linewidth=1)
            recorded = found.corrected(run.task).data("objective")
        told = ", corrected" if found is not None else ""
        draw_steps(ax, recorded, color=colour, linewidth=1.5, label=_title(collection, name, 60) + told)
    ax.set_xlabel("objective", fontsize=9)
    ax.set_ylabel("elites at or above it", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    ax.set_title(_title(collection, task, 100), fontsize=10)
    return figure


def draw_steps(ax: Axes, objective: np.ndarray, **looks: Any) -> None:
    """The number of objectives at or above each, as stairs that come down at every one of them."""
    ordered = np.sort(objective)
    ax.plot(ordered, np.arange(len(ordered), 0, -1), drawstyle="steps-pre", **looks)


def _evaluation_of(run: Run, collection: Collection) -> Evaluation | None:
    """What ``gaits evaluate`` found of a run, if it is used in this comparison."""
    used = collection.final.set_index("run")["corrected_qd_score"].notna()
    return load_evaluation(run) if used[str(run.folder)] else None


def save_growth(run: Run, path: Path, frames: int = 40, seconds: float = 8.0) -> None:
    """A GIF of the archive filling up, from its history."""
    last = int(run.history["iteration"].max(initial=0))
    moments = np.unique(np.linspace(1, last, min(frames, last)).astype(int)) if last else np.zeros(0, int)
    if not len(moments):
        raise ValueError(f"{run.folder} has no insertions to show yet.")

    final = run.archive_at(last)
    low, high = _limits([final])
    figure = _figure(5.2, 4.2)
    ax = figure.subplots()
    figure.colorbar(draw_archive(ax, final, run.task, low, high), ax=ax, label="objective")
    evaluations = dict(zip(run.metrics["iteration"], run.metrics["evaluations"], strict=True))

    def draw(iteration: int) -> list:
        ax.clear()
        archive = run.archive_at(iteration)
        draw_archive(ax, archive, run.task, low, high)
        ax.set_title(
            f"{evaluations.get(iteration, 0):,.0f} evaluations, {len(archive):,} of {archive.cells:,} cells", fontsize=10
        )
        return []

    shown = [*moments.tolist(), *([last] * max(1, len(moments) // 5))]  # rest at the end before it starts again
    animation = FuncAnimation(figure, draw, frames=shown, cache_frame_data=False)
    with writing(path) as part:
        animation.save(part, PillowWriter(max(1, round(len(shown) / seconds))), dpi=DPI["gif"])


def save(figure: Figure, stem: Path) -> None:
    """As PNG and PDF."""
    for form in ("png", "pdf"):
        write_whole(stem.with_suffix(f".{form}"), functools.partial(figure.savefig, format=form, dpi=DPI[form]))


def _figure(width: float, height: float) -> Figure:
    figure = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def median_archives(collection: Collection, task: str) -> dict[str, tuple[Run, Archive]]:
    """Per algorithm that has runs on the task: its median run and that run's archive, where it is compared."""
    iterations = collection.final.set_index("run")["iteration"]
    archives: dict[str, tuple[Run, Archive]] = {}
    for name in collection.algorithms():
        run = collection.median_run(task, name)
        if run is None:
            continue
        iteration = int(iterations[str(run.folder)])
        if iteration == run.last_iteration:
            archives[name] = (run, run.objectives)
        else:  # compared before its end, or its archive is older
            archives[name] = (run, load_run(run.folder).archive_at(iteration))  # a Run keeps its history, and this one goes
    return archives


def _title(collection: Collection, name: str, width: int = 26) -> str:
    """A title that fits, and that Matplotlib does not read as mathematics."""
    return literal(textwrap.fill(collection.titles[name], width))


def _around(low: float, high: float) -> tuple[float, float]:
    """A little more, so that dots at the ends are whole."""
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _limits(archives: list[Archive]) -> tuple[float, float]:
    values = np.concatenate([archive.data("objective") for archive in archives])
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
