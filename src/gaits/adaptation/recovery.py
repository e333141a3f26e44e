"""What an adaptation found, for people and machines: a table, a few sentences, a figure, JSON."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gaits.adaptation.search import TITLES, Adaptation
from gaits.archives import make_archive
from gaits.archives.heatmaps import draw_archive, draw_profile, literal
from gaits.console import command
from gaits.runs.binding import seal
from gaits.runs.files import make_folder, write_text, write_whole
from gaits.runs.pictures import Picture

COLORS = {"bayesian": "C3", "best_first": "C0", "random": "C2", "unchanged": "0.4", "exhaustive": "k"}


def save(found: Adaptation, folder: Path) -> str:
    """Write adapt.json and adapt.png to a folder; returns the JSON."""
    text = seal(found.summary(), found.run.config.id)
    make_folder(folder)
    write_text(folder / "adapt.json", text)
    figure = draw(found)
    write_whole(folder / "adapt.png", lambda file: figure.savefig(file, format="png", dpi=120))
    return text


def table(found: Adaptation) -> list[tuple[str, ...]]:
    """A row per way of choosing, with a header."""
    header = ("way of choosing", "cell", "trials", "found at", "on trials", "played again", "sound robot", "of sound")
    rows: list[tuple[str, ...]] = [(*header, "recovered")]
    for name, choice in found.choices.items():
        numbers = (choice.trial_return, choice.damaged.mean(), choice.sound.mean())
        shares = (found.share_of_sound(name), found.share_recovered(name))
        rows.append(
            (
                *(TITLES[name], found.cell(name), str(len(choice.rows)), str(choice.found)),
                *(f"{number:,.1f}" for number in numbers),
                *("-" if np.isnan(share) else f"{share:.0%}" for share in shares),
            )
        )
    return rows


def sentences(found: Adaptation) -> list[str]:
    """What happened, and what the columns of the table are."""
    champion, chosen = found.choices["unchanged"], found.chosen
    prior = "means over new episodes, by gaits evaluate"
    if not found.prior.evaluated:
        prior = (
            f"one recorded episode each, which may be luck; better: {command('evaluate', found.run.folder)}, then this again"
        )
    trial = chosen.trial_return
    lucky = f" What it was chosen by ({trial:,.1f}) was luck; another --seed tries other episodes."
    lucky = lucky if trial > 0 and chosen.damaged.mean() < trial / 2 else ""
    return [
        f"{found.damage}: the return of the archive's champion went from {champion.sound.mean():,.1f} to "
        f"{champion.damaged.mean():,.1f}.",
        f"Bayesian optimization chose cell {found.cell()} after {len(chosen.rows)} "
        f"trial{'s' * (len(chosen.rows) != 1)}: return {chosen.damaged.mean():,.1f}.{lucky}",
        f"On trials: what it was chosen by. Played again: mean of {len(chosen.damaged)} new episodes. "
        "Of sound: share of the champion's return on the sound robot. "
        "Recovered: share of what the damage cost the champion.",
        f"What was known before the trials: {prior}.",
    ]


def draw(found: Adaptation) -> Figure:
    """Best return against trials, and the archive before and after with the trials in their order."""
    figure = Picture(figsize=(14.4, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    curves, before, after = figure.subplots(1, 3)
    draw_curves(curves, found)
    draw_maps(before, after, found)
    figure.suptitle(literal(f"{found.run.task.title}: {found.damage}"))
    return figure


def draw_curves(ax: Axes, found: Adaptation) -> None:
    for name in ("random", "best_first", "bayesian"):
        choice = found.choices[name]
        trials = np.arange(1, len(choice.rows) + 1)
        ax.plot(trials, choice.best_so_far, color=COLORS[name], label=TITLES[name], marker=".", drawstyle="steps-post")
    for name, style in (("exhaustive", "--"), ("unchanged", ":")):
        if name in found.choices:
            ax.axhline(found.choices[name].trial_return, color=COLORS[name], linestyle=style, label=TITLES[name])
    chosen = found.chosen
    ax.plot(len(chosen.rows), chosen.trial_return, "o", color=COLORS["bayesian"], fillstyle="none", markersize=10)
    ax.set(xlabel="trials on the damaged robot", ylabel="return of the best so far, on its trials")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)


def draw_maps(before: Axes, after: Axes, found: Adaptation) -> None:
    """The archive on the sound robot, and on the damaged one: as every elite did there or, untried, as is believed."""
    task = found.run.task
    expected, tried = found.prior.objective, found.choices.get("exhaustive")
    now = found.belief if tried is None else tried.returns
    seen = np.concatenate([expected, *(choice.returns for choice in found.choices.values())])
    limits = seen.min(), seen.max()  # beliefs about the worst gaits can go far below anything that was seen
    for ax, values in ((before, expected), (after, now)):
        archive = make_archive(task, solution_dim=0)
        archive.add(np.zeros((len(values), 0)), values, found.archive.data("measures"))
        if len(task.measure_names) == 1:
            draw_profile(ax, archive, *limits)
            ax.set(xlabel=literal(task.measure_names[0]), ylim=_widened(limits))
        else:
            image = draw_archive(ax, archive, task, *limits)
        _number_trials(ax, found, values)
    if len(task.measure_names) > 1:
        after.figure.colorbar(image, ax=after, label="return")
    room = 22 if len(task.measure_names) <= 2 else 6  # points, for the trials' numbers
    before.set_title("sound robot", pad=room)
    told = "damaged robot, every elite tried" if tried is not None else "damaged robot, as believed after the trials"
    after.set_title(told, pad=room)


def _number_trials(ax: Axes, found: Adaptation, values: np.ndarray) -> None:
    """The trials of the Bayesian optimization in their order, where positions on the map are measures.

    Their numbers stand above the map, in the order of their places, each with a line to its own; the policy kept has a ring.
    """
    rows = np.array(list(dict.fromkeys(found.chosen.rows.tolist())))
    places = found.archive.data("measures")[rows]
    if places.shape[1] > 2:
        return
    if places.shape[1] == 1:
        places = np.column_stack([places, values[rows]])
    color = COLORS["bayesian"]
    kept = rows == found.chosen.row
    ax.scatter(places[:, 0], places[:, 1], s=9, color=color, edgecolors="white", linewidths=0.6, zorder=4)
    ax.scatter(places[kept, 0], places[kept, 1], s=130, facecolors="none", edgecolors=color, linewidths=2, zorder=4)
    low, high = ax.get_xlim()
    columns = spread((places[:, 0] - low) / (high - low), 0.065)
    for i, row in enumerate(rows):
        ax.annotate(
            ",".join(str(trial) for trial in np.flatnonzero(found.chosen.rows == row) + 1),
            tuple(places[i]),
            xytext=(columns[i], 1.025),
            textcoords="axes fraction",
            color=color,
            fontsize=8,
            fontweight="bold" if kept[i] else "normal",
            ha="center",
            va="bottom",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0, "shrinkB": 2},
            zorder=5,
        )


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Places from 0 to 1 moved apart, in their order, so that neighbours are ``gap`` from each other, if all can be."""
    order = np.argsort(places, kind="stable")
    gap, found = min(gap, 1 / max(len(places) - 1, 1)), places[order].astype(float)
    for i in range(1, len(found)):
        found[i] = max(found[i], found[i - 1] + gap)
    found[-1:] = np.minimum(found[-1:], 1.0)
    for i in range(len(found) - 2, -1, -1):
        found[i] = min(found[i], found[i + 1] - gap)
    moved = np.empty_like(found)
    moved[order] = found
    return moved


def _widened(limits: tuple[float, float]) -> tuple[float, float]:
    margin = 0.05 * (limits[1] - limits[0]) or 1.0
    return limits[0] - margin, limits[1] + margin
