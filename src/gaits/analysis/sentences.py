"""What the statistics say, in English."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from gaits.analysis.statistics import Contrast, finite, has_spread, obstacles, read


def format_p(p: float) -> str:
    """As the paper prints it. "1" is kept for a p that the correction drove to 1; 0.9999 is "1.000"."""
    if np.isnan(p):
        return "n/a"
    return "<0.001" if p < 0.001 else "1" if p >= 1 else f"{p:.3f}"


def missing(frame: pd.DataFrame, value: str, titles: Mapping[str, str] | None = None) -> list[str]:
    """What keeps the ANOVA or some t tests from being done, in sentences; empty when nothing does."""
    titles, table = titles or {}, read(frame, value)
    runs = finite(table)
    sentences = []
    for (algorithm, task), lost in table.drop(runs.index).groupby(["algorithm", "task"], sort=False):
        seeds = f"seed{'s' * (len(lost) > 1)} {join(map(str, lost['seed']))}"
        sentences.append(
            f"{_title(algorithm, titles)} has no finite {_title(value, titles)} on {_title(task, titles)} for {seeds}."
        )
    sentences += obstacles(runs, need_tasks=True, titles=titles)
    tasks = list(table["task"].unique())
    counts = pd.crosstab(runs["algorithm"], runs["task"])
    counts = counts.reindex(index=table["algorithm"].unique(), columns=tasks, fill_value=0)
    for n, start, end in ((0, "has no run on", ""), (1, "has only one run on", ", too few for a t test")):
        for algorithm, row in counts.iterrows():
            where = [_title(task, titles) for task in tasks if row[task] == n]
            if where:
                sentences.append(f"{_title(algorithm, titles)} {start} {join(where, 'or' if n == 0 else 'and')}{end}.")
    if (counts > 1).any(axis=None) and not has_spread(runs):
        same = _title(value, titles)
        sentences.append(f"The runs of an algorithm on a task all have the same {same}: nothing tells effects from chance.")
    return sentences


def verdict(tests: pd.DataFrame, contrast: Contrast, alpha: float = 0.05, titles: Mapping[str, str] | None = None) -> str:
    """One sentence on a claim, given the ``pairwise_tests`` of its pairs.

    The claim holds in a task when the first algorithm differs significantly and in the claimed direction from every other;
    it is undecided there when the only thing against it is a test that could not be done. ``titles`` may have words for
    algorithms, tasks, the value and the contrast.
    """
    titles = titles or {}
    untested, few = tests["p"].isna(), tests[["n_1", "n_2"]].min(axis=1) < 2
    conditions = [untested & few, untested, tests["p_corrected"] >= alpha, tests["t"] > 0]
    tests = tests.assign(outcome=np.select(conditions, ["few", "alike", "same", "higher"], "lower"))
    name = _title(contrast.name, titles)
    if untested.all():
        reason = "no spread between runs" if (tests["outcome"] == "alike").any() else "too few runs"
        return f"{name} could not be tested: {reason}."
    claimed = "higher" if contrast.higher else "lower"
    tasks = list(tests["task"].unique())
    seen = {task: set(group["outcome"]) for task, group in tests.groupby("task")}
    holds = [task for task in tasks if seen[task] == {claimed}]
    undecided = [task for task in tasks if task not in holds and seen[task] <= {claimed, "few", "alike"}]

    def where(chosen: list[str]) -> str:
        return "every task" if len(chosen) == len(tasks) > 1 else join(_title(task, titles) for task in chosen)

    head = [f"holds in {where(holds) or 'no task'}"] if len(undecided) < len(tasks) else []
    head += [f"is undecided in {where(undecided)}"] if undecided else []
    value = _title(contrast.value, titles)
    forms = {  # an outcome: what is said before the first algorithm, before every algorithm, and after the last
        "higher": (f"significantly higher {value} ", "than", ""),
        "lower": (f"significantly lower {value} ", "than", ""),
        "same": ("no significant difference ", "from", ""),
        "few": ("no test ", "against", ": too few runs"),
        "alike": ("no test ", "against", ": no spread between runs"),
    }
    clauses = []
    for outcome, (start, word, end) in forms.items():
        found = tests[tests["outcome"] == outcome].groupby("algorithm_2", sort=False)["task"]
        parts = [f"{word} {_title(other, titles)} in {where(list(group))}" for other, group in found]
        clauses += [start + join(parts) + end] if parts else []
    return f"{name} {' and '.join(head)}: {_title(contrast.pairs[0][0], titles)} has {'; '.join(clauses)}."


def _title(name: Any, titles: Mapping[str, str]) -> str:
    return titles.get(name, str(name))


def join(words: Iterable[str], last: str = "and") -> str:
    """Words in a row: a, b and c."""
    words = list(words)
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
