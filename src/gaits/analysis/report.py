"""A comparison as one HTML page that stands alone: no network, no scripts, pictures inside."""

from __future__ import annotations

import base64
import datetime
import io
from collections.abc import Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

import gaits
from gaits.analysis import tables
from gaits.analysis.collect import AXES, Axis, Collection, settings_of
from gaits.analysis.compare import TESTED, Findings, file_name
from gaits.analysis.figures import DPI
from gaits.analysis.sentences import format_p, join
from gaits.runs.files import write_text

ME_ES_NOTE = (
    "The paper's numbers of ME-ES are very likely of elites played without the observation statistics they were trained "
    "with; ours play with them, so the two are not comparable."
)
"""Below its robustness."""
LEAD = ("corrected_qd_score", "qd_score")
"""Tables on top."""
CORRECTED_NOTE = (
    "<p><small>Corrected: every elite was played again, and inserted again by its means. The difference is the luck of "
    "the one episode that each was recorded with.</small></p>"
)


def write(collection: Collection, findings: Findings, out: Path, command: str | None = None) -> Path:
    """Write ``out/report.html`` from the comparison and the pictures in ``out/figures``."""
    path = out / "report.html"
    write_text(path, page(collection, findings, out / "figures", command))
    return path


def page(collection: Collection, findings: Findings, figures: Path, command: str | None = None) -> str:
    final = collection.final
    titles = [collection.titles[name] for name in collection.algorithms()]
    title = f"{join(titles)} on {join(collection.titles[task] for task in collection.tasks())}"
    lead = (
        f"{_runs_of(len(final))}, {final['evaluations'].min():,} to {final['evaluations'].max():,} evaluations each."
        if final["evaluations"].nunique() > 1
        else f"{_runs_of(len(final))} of {final['evaluations'].iloc[0]:,} evaluations each."
    )
    sections = {
        "Answers": _answers(collection, findings),
        "Curves": _curves(figures, collection.against),
        "Tables": _tables(collection),
        "Statistics": _statistics(collection, findings),
        "Archives": _archives(collection, figures),
        "Settings": _settings(collection),
        "Runs and commands": _runs(collection, command),
    }
    ids = {name: file_name(name.lower()) for name in sections}
    style = resources.files("gaits.analysis").joinpath("report.css").read_text()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{style}</style></head><body>
<h1>{escape(title)}</h1>
<p>{escape(lead)}</p>
<nav>{" ".join(f'<a href="#{ids[name]}">{escape(name)}</a>' for name in sections)}</nav>
{_warnings(collection)}
{"".join(f'<section><h2 id="{ids[name]}">{escape(name)}</h2>{content}</section>' for name, content in sections.items())}
<p><small>Made by gaits {gaits.__version__} on {datetime.date.today().isoformat()}.</small></p>
</body></html>
"""


def _warnings(collection: Collection) -> str:
    lines = [escape(note) for note in collection.notes]
    lines += [f"Left out: <code>{escape(name)}</code>: {escape(why)}" for name, why in collection.skipped.items()]
    return f'<div class="note">{"".join(f"<p>{line}</p>" for line in lines)}</div>' if lines else ""


def _curves(figures: Path, against: Axis) -> str:
    """The runs over what they cost: the axis they are compared by first, the others to unfold."""
    caption = "Mean over trials of what was recorded; bands are the standard error of the mean."
    pictures = {axis: _picture(figures / f"curves-{axis}.png", f"Over {AXES[axis]}. {caption}") for axis in AXES}
    others = [
        f"<details><summary>Over {AXES[axis]}</summary>{picture}</details>"
        for axis, picture in pictures.items()
        if picture and axis != against
    ]
    return pictures[against] + "".join(others)


def _answers(collection: Collection, findings: Findings) -> str:
    sentences = list(findings.verdicts.values())
    if not sentences:
        name = "corrected QD score" if collection.evaluated else "recorded QD score"
        table = tables.means(collection, collection.score)
        for task in collection.tasks():
            title = collection.titles[task]
            if tables.can_tell(collection, task):
                best = collection.titles[str(table[task].idxmax())]
                sentences.append(f"On {title}, {best} has the highest mean {name}.")
            elif len(collection.algorithms()) > 1:
                sentences.append(f"On {title}, no algorithm can be called the best: that takes two runs or more of each.")
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    note = "<p><small>Beside ours: the paper's means of 5 trials after 1,000,000 evaluations.</small></p>"
    paper = "" if tables.paper(collection, "qd_score") is None else note
    lead = [name for name in LEAD if name in tables.metrics(collection)]
    shown = "".join(_metric(collection, name, tables.metrics(collection)[name]) for name in lead)
    ends = _own_ends(collection)
    numbers = shown + ends if collection.evaluated else ends + shown
    return (f"<ul>{items}</ul>" if items else "") + numbers + (CORRECTED_NOTE if ends else "") + paper


def _own_ends(collection: Collection) -> str:
    """The corrected numbers of each run and what it had cost: unfolded where the comparison itself cannot have them."""
    header, rows = tables.own_ends(collection)
    if not rows:
        return ""
    summary = "<summary>Runs that were played again, each at its own end</summary>"
    return f"<details{'' if collection.evaluated else ' open'}>{summary}{_table(header, rows)}</details>"


def _tables(collection: Collection) -> str:
    shown = {name: metric for name, metric in tables.metrics(collection).items() if name not in LEAD}
    measured = [name for name in shown if tables.means(collection, name).notna().any(axis=None)]
    parts = [_metric(collection, name, shown[name]) for name in measured]
    counts = tables.trials(collection)
    header = ["trials", *(collection.titles[task] for task in collection.tasks())]
    rows = [
        [collection.titles[name], *map(str, values)]
        for name, values in zip(collection.algorithms(), counts.values, strict=True)
    ]
    parts.append("<h3>Trials behind each number</h3>" + _table(header, rows))
    yet = "<p>Robustness is not measured yet of every run: <code>gaits evaluate RUN...</code></p>"
    evaluate = "" if collection.ends["robustness"].notna().all() else yet
    return '<div class="grid">' + "".join(f"<div>{part}</div>" for part in parts) + f"</div>{evaluate}"


def _metric(collection: Collection, name: str, metric: tables.Metric) -> str:
    """A metric's table; below each number the paper's, where it has one."""
    table, paper = tables.means(collection, name), tables.paper(collection, name)
    metric = tables.in_units(metric, table)
    text = tables.printed(table, collection, metric)
    beside = tables.printed(paper, collection, metric) if paper is not None else None
    rows = []
    for i, (title, numbers) in enumerate(text.rows):
        cells = [escape(title)]
        for j, (number, best) in enumerate(numbers):
            cell = f"<strong>{number}</strong>" if best else number
            theirs = beside.rows[i][1][j][0] if beside is not None else "–"
            cells.append(cell if theirs == "–" else f'{cell}<span class="paper">paper {theirs}</span>')
        rows.append(cells)
    shown = paper is not None and name == "robustness" and "me_es" in paper.index and paper.loc["me_es"].notna().any()
    note = f"<p><small>{ME_ES_NOTE}</small></p>" if shown else ""
    return f"<h3>{escape(metric.title)}</h3>{_table(['', *text.header], rows, escaped=True)}{note}"


def _statistics(collection: Collection, findings: Findings) -> str:
    titles, parts = collection.titles, []
    for value, missing in findings.missing.items():
        name = TESTED[value]
        parts.append(f"<h3>{escape(name[0].upper() + name[1:])}, normalized</h3>")
        if missing:
            parts.append(f"<p><small>{escape(' '.join(missing))}</small></p>")
        rows = []
        if value in findings.anova:
            anova = findings.anova[value]
            residual = int(anova["df"]["residual"])
            for effect in ("task", "algorithm", "interaction"):
                df, f, p = (float(anova[column][effect]) for column in ("df", "F", "p"))
                rows.append([f"ANOVA, {effect}", f"F({df:.0f}, {residual})", f"{f:.2f}", format_p(p)])
        if value in findings.main_effects:
            for row in findings.main_effects[value].rename_axis("task").reset_index().to_dict("records"):
                told = f"F({row['df1']:.0f}, {row['df2']:.0f})"
                rows.append([f"Algorithm in {titles[row['task']]}", told, f"{row['F']:.2f}", format_p(row["p"])])
        if rows:
            parts.append(_table(["effect", "", "F", "p"], rows))
    for contrast, tests in findings.tests.items():
        parts.append(f"<h3>{escape(contrast.name)}: pairwise t tests of {escape(TESTED[contrast.value])}</h3>")
        found = {(test["algorithm_1"], test["algorithm_2"], test["task"]): test for test in tests.to_dict("records")}
        rows = [
            [escape(f"{titles[a]} / {titles[b]}"), *(_p_cell(found[a, b, task]) for task in collection.tasks())]
            for a, b in contrast.pairs
            if a in titles and b in titles
        ]
        parts.append(_table(["", *(titles[task] for task in collection.tasks())], rows, escaped=True))
    parts.append(
        "<p><small>p values with Bonferroni correction within a task; bold below 0.05, with an arrow for whether the first "
        "algorithm is higher or lower.</small></p>"
    )
    for score, own in findings.intervals.groupby("score", sort=False):
        name = "corrected QD score" if score != "qd_score" else "QD score"
        parts.append(f"<h3>Intervals of the {name}</h3>{_intervals(collection, own)}")
    return "".join(parts)


def _p_cell(test: Mapping[Any, Any]) -> str:
    text = escape(format_p(test["p_corrected"]))
    return f"<strong>{text} {'↑' if test['t'] > 0 else '↓'}</strong>" if test["p_corrected"] < 0.05 else text


def _intervals(collection: Collection, intervals: pd.DataFrame) -> str:
    rows = [
        [
            f"{collection.titles[str(row['task'])]}, {collection.titles[str(row['algorithm'])]}",
            str(row["runs"]),
            *(_interval(row, name) for name in ("mean", "iqm")),
        ]
        for _, row in intervals.iterrows()
    ]
    few = (
        "With a handful of runs, bootstrap intervals are too narrow; take them as a lower bound of the uncertainty. "
        "One run has none."
    )
    header = ["", "runs", "mean [95 %]", "interquartile mean [95 %]"]
    return _table(header, rows) + f"<p><small>{few}</small></p>"


def _interval(row: pd.Series, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:,.0f}" + (f" [{low:,.0f}, {high:,.0f}]" if row["runs"] > 1 else "")


def _archives(collection: Collection, figures: Path) -> str:
    parts = []
    for task in collection.tasks():
        name, title = file_name(task), collection.titles[task]
        parts.append(f"<h3>{escape(title)}</h3>")
        parts.append(
            _picture(
                figures / f"archives-{name}.png",
                f"{title}: the archives of the median runs, as recorded; grey cells are empty.",
            )
        )
        parts.append(
            _picture(figures / f"histograms-{name}.png", f"{title}: how many elites have which objective, as recorded.")
        )
        parts.append(
            _picture(
                figures / f"profiles-{name}.png",
                f"{title}: how many elites of the median runs are how good; dotted, before luck was taken away.",
            )
        )
        parts.append(_picture(figures / f"growth-{name}.gif", f"{title}: the best algorithm's archive filling up."))
    return "".join(parts)


def _settings(collection: Collection) -> str:
    parts = []
    for label, group in settings_of(collection).groupby("algorithm", sort=False):
        told = ", ".join(f"{row['setting']} = {row['value']}" for _, row in group.iterrows())
        parts.append([collection.titles[str(label)], told])
    return _table(["algorithm", "settings"], parts, kind="text")


def _runs(collection: Collection, command: str | None) -> str:
    commands = "\n".join(collection.runs[folder].config.command for folder in collection.final["run"])
    rows = [
        [str(row["run"]), collection.titles[row["task"]], collection.titles[row["algorithm"]], str(row["seed"])]
        for _, row in collection.final.iterrows()
    ]
    versions: dict[str, list[str]] = {}
    for run in collection.runs.values():
        for name, version in run.config.versions.items():
            versions[name] = sorted({*versions.get(name, []), version})
    told = ", ".join(f"{name} {' and '.join(found)}" for name, found in versions.items())
    asked = f"<p>This page: <code>{escape(command)}</code></p>" if command else ""
    return (
        f"{asked}<h3>How to make these runs</h3><pre>{escape(commands)}</pre>"
        f"<details><summary>Folders</summary>{_table(['folder', 'task', 'algorithm', 'seed'], rows, kind='text')}</details>"
        f"<p><small>Versions: {escape(told)}.</small></p>"
    )


def _picture(path: Path, caption: str) -> str:
    if not path.exists():
        return ""
    kind, content = path.suffix[1:], path.read_bytes()
    inches = Image.open(io.BytesIO(content)).width / DPI[kind]
    # Letters are as large as the page's in any picture; where it is narrow, a wide picture is moved and not shrunk.
    size = f'width="{110 * inches:.0f}" style="min-width: {80 * inches:.0f}px"'
    data = base64.b64encode(content).decode()
    image = f'<img src="data:image/{kind};base64,{data}" {size} alt="{escape(caption)}">'
    return f'<figure><div class="wide">{image}</div><figcaption><small>{escape(caption)}</small></figcaption></figure>'


def _table(header: list[str], rows: list[list[str]], escaped: bool = False, kind: str = "") -> str:
    def cell(text: str) -> str:
        return text if escaped else escape(text)

    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    body = "".join("<tr>" + "".join(f"<td>{cell(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _runs_of(n: int) -> str:
    return "1 run" if n == 1 else f"{n:,} runs"
