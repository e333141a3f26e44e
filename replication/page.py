"""Write the tables and figures of the pages below from what is kept here: python replication/page.py

In those pages, text between <!-- made: NAME --> and <!-- end --> is what the function of that name in ``MADE`` gives; the
rest is written by hand. A test makes the pages again and compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import beyond
import numpy as np
import pandas as pd
from claims import claims, pairs
from kept import CELLS, COLUMNS, FULL, HERE, NAMES, PLACES, Kept, cell, common, kept, markdown, paper

from gaits.analysis import statistics

DOCS = HERE.parent / "docs"
PAGES = (DOCS / "replication.md", DOCS / "beyond.md", HERE / "README.md")
FORMATS: dict[str, tuple[str, float]] = {
    "qd_score": ("{:,.0f}", 1),
    "qd_score_auc": ("{:.2f}", 1e12),
    "coverage": ("{:.2f}", 1),
    "best": ("{:,.0f}", 1),
    "robustness": ("{:,.0f}", 1),
    "runtime_hours": ("{:.2f}", 1),
}
"""The paper's six tables: how numbers are printed, and in which unit."""
POINTS = (50_000, 100_000, 250_000, 500_000, FULL)
LONG = 250_000
"""Evaluations from which on it is told what a run costs along its way."""
CHANGES = {
    "grid=1000": "1000 cells, as the code; not 1024, as the text",
    "tie_ranks=average": "equal values share a rank; the code gives them some order",
    "obs_norm=False": "ME-ES without observation statistics, as the text reads; the code has them",
    "td3_schedule=paper": "critics train at the end of an iteration, as in the text; the code's are an iteration behind",
    "timeout_terminal=False": "critics look beyond the step limit, as TD3 does; for the code it is an end",
}


def grid(show: Callable[[str, str], str]) -> str:
    """A table like the paper's: algorithms down, tasks across."""
    return markdown(
        ["", *PLACES.values()], [[title, *(show(name, task) for task in PLACES)] for name, title in NAMES.items()]
    )


def beside(metric: str, algorithm: str, task: str) -> str:
    """Ours / the paper's = ratio, bold where both are of a million evaluations; with an interval of several seeds."""
    runs, (text, unit) = cell(algorithm, task), FORMATS[metric]
    end, theirs = common(runs), paper(metric, algorithm, task) / unit
    values = np.array([run.number(metric, end) for run in runs]) / unit
    if not len(values) or np.isnan(values).any():
        return f"– / {text.format(theirs)}"
    ours = text.format(values.mean())
    if len(values) > 1:
        ours += " [{}, {}]".format(*map(text.format, statistics.bootstrap_interval(values)))
    if metric == "robustness" or (metric == "runtime_hours" and end < FULL):  # of either sign; of another length
        return f"{ours} / {text.format(theirs)}"
    ratio = f"{values.mean() / theirs:.2f}"
    return f"{ours} / {text.format(theirs)} = {f'**{ratio}**' if end >= FULL else ratio}"


def table(metric: str) -> Callable[[], str]:
    return lambda: grid(lambda name, task: beside(metric, name, task))


def state() -> str:
    ends = [common(cell(*one)) for one in CELLS]
    some, more, full = (sum(end >= n for end in ends) for n in (50_000, 250_000, FULL))
    alone = max(len(cell(*one)) for one in CELLS) == 1
    one = "No cell has two seeds of one length yet, so no number has an interval and no difference can be tested."
    several = "In brackets are 95 % bootstrap intervals of the mean; cells with one seed have none."
    return (
        f"Where it stands: of the paper's twenty cells, 50,000 evaluations or more in {some}, 250,000 or more in {more}, "
        f"the full million in {full}. {one if alone else several}"
    )


def evaluations() -> str:
    return grid(lambda *one: f"{common(cell(*one)):,} ({len(cell(*one))})" if cell(*one) else "–")


def milestones() -> str:
    """QD scores along the runs, and as shares of the paper's final ones."""
    rows = []
    for task, place in PLACES.items():
        for name, title in NAMES.items():
            told, theirs = [], paper("qd_score", name, task)
            for point in POINTS:
                scores = [run.at("qd_score", point) for run in cell(name, task, point)]
                each = "; ".join(f"{score:,.0f}" for score in scores)
                told.append(f"{each} ({np.mean(scores) / theirs:.0%})" if scores else "")
            rows.append([place, title, *told, f"{theirs:,.0f}"])
    return markdown(["", "", *(f"{point:,}" for point in POINTS), "the paper's"], rows)


def runs() -> str:
    rows = []
    for run in kept():
        last, config = run.metrics.iloc[-1], run.config
        row = [config["task"], config.get("name") or config["algorithm"], str(config["seed"]), f"{run.end:,}"]
        row += [f"{last['qd_score']:,.0f}", f"{last['coverage']:.1%}", f"{last['objective_max']:,.1f}"]
        rows.append([*row, f"{int(last['steps']):,}", f"{last['seconds'] / 3600:.2f}", (config["git_revision"] or "")[:9]])
    head = ["task", "algorithm", "seed", "evaluations", "QD score", "coverage", "best", "steps", "hours", "commit"]
    return markdown(head, rows)


def luck() -> str:
    rows = []
    for run in [run for run in kept() if run.config["algorithm"] in NAMES and not run.config.get("name")]:
        if again := run.again:
            raw, left = again["recorded"], again["corrected"]
            row = [run.title, f"{again['evaluations']:,}", f"{raw['qd_score']:,.0f}"]
            row += [
                f"{left['qd_score']:,.0f} ({left['qd_score'] / raw['qd_score']:.0%})",
                f"{again['expected_qd_score']:,.0f}",
            ]
            row += [
                f"{raw['coverage']:.1%}, {left['coverage']:.1%}",
                f"{raw['objective_max']:,.0f}, {left['objective_max']:,.0f}",
            ]
            rows.append([*row, f"{again['mean_elite_robustness']:,.0f}"])
    head = [
        "run",
        "evaluations",
        "QD score",
        "corrected",
        "in place",
        "coverage, corrected",
        "best, corrected",
        "robustness",
    ]
    return markdown(head, rows) if rows else "No run was played again yet."


def differences() -> str:
    frame = pd.read_csv(HERE / "differences.csv", keep_default_na=False)
    by_seed = frame.set_index(["task", "algorithm", "evaluations", "change", "seed"])["qd_score"].unstack("change")
    rows = []
    for (task, name, done), part in by_seed.groupby(level=[0, 1, 2], sort=False):
        for change in [change for change in CHANGES if change in part.dropna(axis="columns", how="all")]:
            ratios = (part[change] / part[""]).dropna()
            each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            rows.append([CHANGES[change], f"{NAMES[name]}, {PLACES[task]}, {done:,}", each, f"{ratios.mean():.2f}"])
    return markdown(["changed", "where, evaluations", "QD score with / without, by seed", "mean"], rows)


def statistics_left_out() -> str:
    frame = pd.read_csv(HERE / "differences.csv").dropna(subset="robustness")
    each = zip(frame["seed"], frame["robustness"], frame["robustness_without_statistics"], strict=True)
    rows = [[str(seed), f"{with_them:,.1f}", f"{without:,.1f}"] for seed, with_them, without in each]
    return markdown(["seed", "robustness with them", "without"], rows)


def scale() -> str:
    """Fifths of long runs."""
    rows = []
    for run in [run for run in kept() if run.end >= LONG and run.config["algorithm"] in NAMES]:
        edges = np.linspace(0, run.end, 6)
        seconds, saving, steps = (
            np.diff(np.interp(edges, [0, *run.metrics["evaluations"]], [0, *run.metrics[name]]))
            for name in ("seconds", "seconds_record", "steps")
        )
        for i, (low, high) in enumerate(pairwise(edges)):
            row = [
                run.title if i == 0 else "",
                f"{low / 1000:,.0f}k to {high / 1000:,.0f}k",
                f"{steps[i] / (high - low):,.0f}",
            ]
            row += [f"{(high - low) / seconds[i]:,.0f}", f"{steps[i] / seconds[i] / 1000:,.0f}"]
            rows.append([*row, f"{saving[i] / (seconds[i] + saving[i]):.1%}", *watched(run, low, high)])
    head = ["run", "evaluations", "steps each", "evaluations / s", "thousand steps / s", "saving"]
    head += ["processor, µs / step", "memory, MB", "at most", "checkpoint, MB"]
    return markdown(head, rows) if rows else "No run is that long yet."


def watched(run: Kept, low: float, high: float) -> list[str]:
    """What watch.py saw of a part of a run: processor time per step, memory, largest checkpoint."""
    part = run.memory[run.memory["evaluations"].between(low, high)]
    if len(part) < 2:
        return [""] * 4
    seconds = part["cpu_seconds"].diff().clip(lower=0).sum()  # it begins at 0 again when a run is resumed
    steps = part["steps"].iloc[-1] - part["steps"].iloc[0]
    most = (part["memory_mb"].median(), part["memory_mb"].max(), part["checkpoint_mb"].max())
    return [f"{1e6 * seconds / steps:.1f}", *(f"{n:,.0f}" for n in most)]


def draw(path: Path) -> None:
    """Curves of every run over evaluations, and where the paper's end."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import EngFormatter

    from gaits.analysis.figures import CURVE_TITLES, STYLES

    figure = Figure(figsize=(12.8, 7.6), layout="constrained")
    axes = figure.subplots(len(CURVE_TITLES), len(PLACES), sharex=True)
    for (i, j), ax in np.ndenumerate(axes):
        metric, task = list(CURVE_TITLES)[i], list(PLACES)[j]
        for name in NAMES:
            colour, marker = STYLES[name]
            for run in cell(name, task, 0):
                ax.plot(run.metrics["evaluations"], run.metrics[COLUMNS.get(metric, metric)], color=colour, linewidth=1.5)
            ax.plot(FULL, paper(metric, name, task), marker, color=colour, markeredgecolor="0.3", clip_on=False)
        ax.set(xscale="log", xlim=(1000, FULL))
        for axis in (ax.xaxis, *([ax.yaxis] if metric != "coverage" else [])):
            axis.set_major_formatter(EngFormatter(sep=""))
        ax.grid(color="0.9")
        ax.spines[:].set_visible(False)
        ax.set_title(PLACES[task] if i == 0 else "", fontsize=10)
        ax.set_ylabel(CURVE_TITLES[metric] if j == 0 else "")
        ax.set_xlabel("evaluations" if i == len(CURVE_TITLES) - 1 else "")
    looks = [Line2D([], [], color=STYLES[name][0], marker=STYLES[name][1], markeredgecolor="0.3") for name in NAMES]
    figure.legend(looks, NAMES.values(), loc="outside upper center", ncols=len(NAMES), frameon=False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=90)


PARTS = (claims, pairs, state, evaluations, milestones, runs, luck, differences, statistics_left_out, scale)
PARTS += (
    beyond.gates,
    beyond.goal,
    beyond.walking,
    beyond.progress,
    beyond.costs,
    beyond.changes,
    beyond.ends,
    beyond.offspring,
)
MADE = {part.__name__: part for part in PARTS} | {metric: table(metric) for metric in FORMATS}


def render(text: str) -> str:
    """A page with its made parts made anew."""
    parts = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return parts.sub(lambda found: f"{found[1]}{MADE[found[2]]()}\n{found[3]}", text)


def write() -> None:
    kept.cache_clear()
    for path in PAGES:
        path.write_text(render(path.read_text()))
    draw(DOCS / "replication" / "curves.png")
    beyond.draw(DOCS / "replication" / "beyond.png")


if __name__ == "__main__":
    write()
