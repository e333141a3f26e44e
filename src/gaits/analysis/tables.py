"""The paper's six tables, from any runs: mean over trials, algorithms down, tasks across; as CSV, Markdown and LaTeX."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gaits.analysis import paper_numbers
from gaits.analysis.collect import AXES, Collection


@dataclass(frozen=True)
class Metric:
    """A number of a run that is compared."""

    title: str
    unit: float | None = 1.0
    """Values are printed as multiples of this; None for the power of ten that suits them."""
    higher_is_better: bool = True


UNITS = {1e12: "trillions", 1e9: "billions", 1e6: "millions", 1e3: "thousands"}
METRICS = {
    "qd_score": Metric("QD score"),
    "qd_score_auc": Metric("QD score AUC", None),
    "coverage": Metric("Archive coverage"),
    "best": Metric("Best performance"),
    "robustness": Metric("Mean elite robustness"),
    "evaluations": Metric("Evaluations", higher_is_better=False),
    "steps": Metric("Environment steps (millions)", 1e6, higher_is_better=False),
    "runtime_hours": Metric("Runtime (hours)", higher_is_better=False),
}
CORRECTED = {
    "corrected_qd_score": Metric("Corrected QD score"),
    "corrected_coverage": Metric("Corrected archive coverage"),
    "corrected_best": Metric("Corrected best performance"),
    "median_corrected_qd_score": Metric("QD score corrected by the median"),
    "median_corrected_coverage": Metric("Archive coverage corrected by the median"),
    "median_corrected_best": Metric("Best performance corrected by the median"),
    "lost_qd_score": Metric("QD score that was luck", higher_is_better=False),
    "lost_coverage": Metric("Archive coverage that was luck", higher_is_better=False),
    "lost_best": Metric("Best performance that was luck", higher_is_better=False),
    "median_lost_qd_score": Metric("QD score that was luck, by the median", higher_is_better=False),
    "median_lost_coverage": Metric("Archive coverage that was luck, by the median", higher_is_better=False),
    "median_lost_best": Metric("Best performance that was luck, by the median", higher_is_better=False),
    "expected_qd_score": Metric("Expected QD score, every elite in its cell"),
    "distance_to_centre": Metric("Distance to the cell's centre", higher_is_better=False),
    "objective_std": Metric("Standard deviation of an elite's return", higher_is_better=False),
    "measures_std": Metric("Standard deviation of an elite's measures", higher_is_better=False),
}
"""Of runs whose elites were played again."""
OWN_END = {
    "corrected_qd_score": "corrected QD",
    "corrected_coverage": "coverage",
    "corrected_best": "best",
    "qd_score": "recorded QD",
    "episodes": "played again",
    "evaluations": "evaluations",
    "steps": "million steps",
    "runtime_hours": "hours",
}
"""What a run's end is told with, in short: what is left without luck, what was recorded, and what it had cost."""


def metrics(collection: Collection) -> dict[str, Metric]:
    """All tables in the order in which they are shown: those without luck first, where it was measured."""
    found = METRICS.copy()
    if collection.against != "evaluations":
        title = f"QD score AUC over {AXES[collection.against]}"
        found["qd_score_auc"] = dataclasses.replace(found["qd_score_auc"], title=title, unit=1.0)
    measured = {name: metric for name, metric in CORRECTED.items() if means(collection, name).notna().any(axis=None)}
    return measured | found


def means(collection: Collection, metric: str) -> pd.DataFrame:
    """Mean over trials: algorithms x tasks, by name, NaN where there are no trials.

    Also where one of them lacks the number: the mean of the others would pass for that of all.
    """
    groups = collection.final.groupby(["algorithm", "task"])[metric]
    table = groups.agg(lambda values: values.mean(skipna=False)).unstack()
    return table.reindex(index=collection.algorithms(), columns=collection.tasks())


def own_ends(collection: Collection) -> tuple[list[str], list[list[str]]]:
    """Header and a row per run that was played again, where it ended: compared earlier, it has no corrected numbers."""
    titles, known = collection.titles, CORRECTED | METRICS
    keys = ["task", "algorithm"] if len(collection.tasks()) > 1 else ["algorithm"]
    rows = []
    for end in collection.ends.dropna(subset="corrected_qd_score").to_dict("records"):
        label = ", ".join([*(titles[end[key]] for key in keys), f"seed {end['seed']}"])
        counts = {name: f"{end[name]:,.0f}" for name in ("episodes", "evaluations")}
        texts = {name: counts.get(name) or format_number(end[name], known[name]) for name in OWN_END}
        rows.append([label, *texts.values()])
    return ["", *OWN_END.values()], rows


def trials(collection: Collection) -> pd.DataFrame:
    """How many runs are behind each number."""
    counts = collection.final.groupby(["algorithm", "task"]).size().unstack(fill_value=0)
    return counts.reindex(index=collection.algorithms(), columns=collection.tasks(), fill_value=0)


def paper(collection: Collection, metric: str) -> pd.DataFrame | None:
    """The paper's numbers for these algorithms and tasks where they are the paper's own, or None if none is."""
    if metric not in paper_numbers.METRICS or (metric == "qd_score_auc" and collection.against != "evaluations"):
        return None
    other = list(collection.changed)
    table = paper_numbers.means(metric).drop(index=other, errors="ignore").drop(columns=other, errors="ignore")
    table = table.reindex(index=collection.algorithms(), columns=collection.tasks())
    return None if table.isna().all(axis=None) else table


def in_units(metric: Metric, table: pd.DataFrame) -> Metric:
    """The metric with a unit in which its largest number has one to three digits, and says so in its title."""
    if metric.unit is not None:
        return metric
    largest = float(np.nanmax(np.abs(table.to_numpy(float)), initial=0.0))
    unit, name = next(((unit, name) for unit, name in UNITS.items() if largest >= unit), (1.0, ""))
    return dataclasses.replace(metric, title=f"{metric.title} ({name})" if name else metric.title, unit=unit)


def format_number(value: float, metric: Metric) -> str:
    """Two decimals and thousands commas, as the paper prints; more decimals for what would print as zero."""
    if not np.isfinite(value):
        return "–"
    scaled = value / (metric.unit or 1.0)
    decimals = 2 if scaled == 0 or abs(scaled) >= 0.095 else 2 - int(np.floor(np.log10(abs(scaled)))) - 1
    return f"{scaled:,.{min(decimals, 12)}f}"


def can_tell(collection: Collection, task: str) -> bool:
    """Whether runs on a task can tell a best algorithm: there are two or more, and none has only one run."""
    counts = trials(collection)[task]
    counts = counts[counts > 0]
    return len(counts) > 1 and bool(counts.min() > 1)


def best_in_columns(table: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """True where a number is the best of its column, in which not all are the same."""
    extreme = table.max() if metric.higher_is_better else table.min()
    return table.eq(extreme, axis="columns") & (table.max() > table.min())


@dataclass(frozen=True)
class Printed:
    """A table as people read it, whatever the format."""

    header: list[str]
    rows: list[tuple[str, list[tuple[str, bool]]]]
    """Per algorithm: its title, then for each task the number and whether it is the best of its column, if runs can tell."""


def printed(table: pd.DataFrame, collection: Collection, metric: Metric) -> Printed:
    titles, told = collection.titles, [can_tell(collection, task) for task in collection.tasks()]
    best = best_in_columns(table, metric).to_numpy() & told
    texts = [[format_number(value, metric) for value in row] for row in table.to_numpy(float)]
    names = [titles[algorithm] for algorithm in collection.algorithms()]
    rows = [(name, list(zip(text, mark.tolist(), strict=True))) for name, text, mark in zip(names, texts, best, strict=True)]
    return Printed([titles[task] for task in collection.tasks()], rows)


def to_markdown(table: pd.DataFrame, collection: Collection, metric: Metric) -> str:
    """For a README: the best of each column is bold."""
    text = printed(table, collection, metric)
    lines = [["", *map(escape_markdown, text.header)], ["---", *(["---:"] * len(text.header))]]
    lines += [
        [escape_markdown(title), *(f"**{number}**" if best else number for number, best in row)] for title, row in text.rows
    ]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def to_latex(table: pd.DataFrame, collection: Collection, metric: Metric) -> str:
    """A tabular for a paper (package booktabs): the best of each column is bold."""
    text = printed(table, collection, metric)
    rows = [
        [escape_latex(title), *(f"\\textbf{{{number}}}" if best else number.replace("–", "--") for number, best in row)]
        for title, row in text.rows
    ]
    lines = [
        f"% {metric.title}",
        f"\\begin{{tabular}}{{l{'r' * len(text.header)}}}",
        "\\toprule",
        " & ".join(["", *map(escape_latex, text.header)]) + " \\\\",
        "\\midrule",
        *(" & ".join(row) + " \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    words = {"\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}"}
    return "".join(words.get(letter) or (f"\\{letter}" if letter in "_%&#${}" else letter) for letter in text)


def escape_markdown(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
