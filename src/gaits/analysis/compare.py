"""Runs to answers: every table, test and figure of a comparison, and one page with all of it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from gaits.algorithms import ALGORITHMS
from gaits.analysis import sentences, statistics, tables
from gaits.analysis.collect import AXES, Axis, Collection, MinObjective, collect
from gaits.analysis.statistics import CONTRASTS, Contrast
from gaits.console import plain
from gaits.runs.files import make_folder, write_text

CORRECTED, RECORDED = "corrected_qd_score_normalized", "qd_score_normalized"
TESTED = {
    CORRECTED: "corrected QD score",
    RECORDED: "QD score",
    "qd_score_auc_normalized": "QD score AUC",
    "robustness_normalized": "mean elite robustness",
}
"""Values that are tested, and their names in sentences: without luck first, then the paper's."""
CLAIMS = {
    "AUC": "The paper's finding that PGA-MAP-Elites is more efficient (QD score AUC)",
    "robustness": "The paper's finding that MAP-Elites is less robust",
}
"""What the paper's contrasts without a number are about."""
Welch = bool | Literal["auto"]
FORMULA = tuple("=+-@\t\r＝＋－＠")  # the wide ones are read the same


@dataclass(frozen=True)
class Findings:
    """What the statistics say. Where one could not be done, ``missing`` says why."""

    anova: dict[str, pd.DataFrame]
    """Per value: two-way ANOVA of task and algorithm."""
    main_effects: dict[str, pd.DataFrame]
    """Per value: effect of the algorithm in each task."""
    tests: dict[Contrast, pd.DataFrame]
    verdicts: dict[Contrast, str]
    missing: dict[str, list[str]]
    """Per value: sentences."""
    intervals: pd.DataFrame
    """QD score per task and algorithm: runs, mean, interquartile mean, and, of several, 95 % bootstrap intervals of both.
    Where all runs were played again, first of the corrected one; ``score`` says which."""


def find(collection: Collection, welch: Welch = "auto") -> Findings:
    """All statistics that these runs allow."""
    frame = collection.final
    titles = {name: entry.title for name, entry in ALGORITHMS.items()} | collection.titles | TESTED | CLAIMS
    anova, main_effects, missing = {}, {}, {}
    for value in TESTED:
        if value == CORRECTED and not collection.evaluated:
            continue
        if frame[value].notna().any():
            missing[value] = sentences.missing(frame, value, titles)
            with contextlib.suppress(ValueError):  # for a reason that is in ``missing``
                main_effects[value] = statistics.simple_main_effects(frame, value)
                anova[value] = statistics.two_way_anova(frame, value)
        else:
            missing[value] = [f"No run has a {TESTED[value]}. Get it with: gaits evaluate RUN..."]
    tests, verdicts = {}, {}
    for contrast in contrasts(collection):
        if not frame[contrast.value].notna().any():
            continue
        tests[contrast] = statistics.pairwise_tests(frame, contrast.value, contrast.pairs, welch)
        if contrast.claim:
            verdicts[contrast] = sentences.verdict(tests[contrast], contrast, titles=titles)
    return Findings(anova, main_effects, tests, verdicts, missing, intervals(collection))


def contrasts(collection: Collection) -> list[Contrast]:
    """The paper's that these runs can speak to; where there are other algorithms, also all pairs of QD scores.

    Those of the QD score come without luck first, where all runs were played again, and then as the paper has them.
    """
    here = collection.algorithms()
    # A claim about several others keeps them all: without runs of one, it is undecided.
    found = [one for one in CONTRASTS if any(a in here and b in here for a, b in one.pairs)]
    named = {name for one in CONTRASTS for pair in one.pairs for name in pair}
    if len(here) > 1 and (not found or any(name not in named for name in here)):
        found.append(Contrast("All pairs", RECORDED, tuple(itertools.combinations(here, 2)), claim=False))
    if not collection.evaluated:
        return found
    return [one for recorded in found for one in (*_without_luck(recorded), recorded)]


def _without_luck(contrast: Contrast) -> list[Contrast]:
    """The same of the corrected QD score; there is no corrected AUC, for only the last archive can be played again."""
    if contrast.value != RECORDED:
        return []
    return [dataclasses.replace(contrast, name=f"{contrast.name} without luck", value=CORRECTED)]


def intervals(collection: Collection) -> pd.DataFrame:
    rows = []
    groups = collection.final.groupby(["task", "algorithm"], sort=False)
    for score, ((task, algorithm), group) in itertools.product(dict.fromkeys((collection.score, "qd_score")), groups):
        scores = group[score].to_numpy(float)
        row: dict[str, object] = {"score": score, "task": task, "algorithm": algorithm, "runs": len(scores)}
        row |= {"mean": scores.mean(), "iqm": float(statistics.interquartile_mean(scores))}
        for name, function in (("mean", np.mean), ("iqm", statistics.interquartile_mean)):
            ends = statistics.bootstrap_interval(scores, function) if len(scores) > 1 else (np.nan, np.nan)
            row[f"{name}_low"], row[f"{name}_high"] = ends
        rows.append(row)
    return pd.DataFrame(rows)


def compare(
    folders: str | Path | Iterable[str | Path],
    out: str | Path = "comparison",
    *,
    evaluations: int | None = None,
    min_objective: MinObjective = "task",
    welch: Welch = "auto",
    unfinished: bool = False,
    growth: bool = False,
    against: Axis = "evaluations",
    command: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[Collection, Findings]:
    """Compare runs and write everything into ``out``: runs.csv, ends.csv, tables/, statistics/, figures/, report.html.

    Args:
        folders: Run folders, or folders of run folders; one or several.
        out: Where to write.
        evaluations: Compare after so many; default: where the shortest run of a task ends.
        min_objective: The QD score's offset: "task" for each task's own, "scan" for the lowest objective inserted in any of
            these runs, or a number.
        unfinished: Whether to take runs that are not finished, as far as they are.
        against: What runs are compared at the same amount of: "evaluations", "steps" or "hours".
        welch: Whether t tests allow for unequal variances; "auto" when the groups have different sizes.
        growth: Also draw a GIF per task of the best algorithm's median archive filling up.
        command: How this was called, for the report.
        progress: Told of each step.

    Returns:
        What was compared, with a row per run in ``final``; and what was found: tables of means, tests and sentences.
    """
    from gaits.analysis import figures, report  # here: matplotlib

    progress("reading runs")
    folders = [folders] if isinstance(folders, (str, Path)) else folders
    collection = collect(
        folders, evaluations=evaluations, min_objective=min_objective, unfinished=unfinished, against=against
    )
    if collection.final.empty:
        reasons = "".join(f"\n  {folder}: {reason}" for folder, reason in collection.skipped.items())
        raise ValueError(f"There is no run to compare.{reasons}")
    out = make_folders(Path(out))
    write_csv(out / "runs.csv", collection.final, index=False)
    write_csv(out / "ends.csv", collection.ends, index=False)
    write_tables(collection, out / "tables")
    progress("testing")
    findings = find(collection, welch)
    write_statistics(findings, out / "statistics")
    progress("drawing curves")
    for axis in AXES:
        if collection.curves[axis].notna().all():
            figures.save(figures.comparison_figure(collection, axis), out / "figures" / f"curves-{axis}")
    for task in collection.tasks():
        progress(f"drawing archives on {collection.titles[task]}")
        name = file_name(task)
        try:
            figures.save(figures.archives_figure(collection, task), out / "figures" / f"archives-{name}")
            figures.save(figures.histograms_figure(collection, task), out / "figures" / f"histograms-{name}")
            figures.save(figures.profiles_figure(collection, task), out / "figures" / f"profiles-{name}")
            if growth:
                best = collection.median_run(task, str(tables.means(collection, collection.score)[task].idxmax()))
                assert best is not None
                figures.save_growth(best, out / "figures" / f"growth-{name}.gif")
        except ValueError as error:  # a damaged archive or history: the numbers above do not need it
            collection.skipped[f"pictures of {task}"] = str(error)
    progress("writing the report")
    report.write(collection, findings, out, command)
    return collection, findings


WRITTEN = {
    "tables": [f"{name}.{suffix}" for name in tables.METRICS | tables.CORRECTED for suffix in ("csv", "md", "tex")],
    "statistics": ["anova-*.csv", "main_effects-*.csv", "tests-*.csv", "intervals.csv", "verdicts.txt"],
    "figures": ["curves.*", "curves-*.*", "archives-*.*", "histograms-*.*", "profiles-*.*", "growth-*.gif"],
}
"""Files of a comparison, by folder."""


def make_folders(out: Path) -> Path:
    """Make the folders of a comparison, and remove what an earlier one left in them: it would be of other runs."""
    try:
        for name, patterns in WRITTEN.items():
            make_folder(out / name)
            for old in [path for pattern in patterns for path in (out / name).glob(pattern)]:
                old.unlink()
    except OSError as error:
        raise ValueError(f"Cannot write to {out}: {error.strerror}. Choose another --out.") from None
    return out


def write_tables(collection: Collection, folder: Path) -> None:
    for name, metric in tables.metrics(collection).items():
        table = tables.means(collection, name)
        if table.isna().all(axis=None):
            continue
        metric = tables.in_units(metric, table)
        write_csv(folder / f"{name}.csv", table)
        write_text(folder / f"{name}.md", tables.to_markdown(table, collection, metric))
        write_text(folder / f"{name}.tex", tables.to_latex(table, collection, metric))


def write_statistics(findings: Findings, folder: Path) -> None:
    for value, table in findings.anova.items():
        write_csv(folder / f"anova-{value}.csv", table)
    for value, table in findings.main_effects.items():
        write_csv(folder / f"main_effects-{value}.csv", table)
    for one, table in findings.tests.items():
        write_csv(folder / f"tests-{file_name(one.name)}.csv", table, index=False)
    write_csv(folder / "intervals.csv", findings.intervals, index=False)
    lines = [*findings.verdicts.values(), *(sentence for found in findings.missing.values() for sentence in found)]
    write_text(folder / "verdicts.txt", "".join(line + "\n" for line in dict.fromkeys(lines)))


def write_csv(path: Path, table: pd.DataFrame, index: bool = True) -> None:
    """A table whose cells no spreadsheet takes for formulas: texts that begin like one get a ' before them."""
    safe = table.rename(index=_harmless, columns=_harmless).map(_harmless)
    write_text(path, safe.to_csv(index=index))


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    return f"'{plain(cell)}" if cell.lstrip(" ").startswith(FORMULA) else plain(cell)


def file_name(label: str) -> str:
    """A label as part of a file's name."""
    return "".join(letter if letter.isalnum() else "_" for letter in label).strip("_")
