"""What algorithms after the paper give, against its PGA-MAP-Elites with the same seed: the tables of docs/beyond.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kept import PLACES, Kept, cell, kept, markdown, paper

from gaits.algorithms import ALGORITHMS, settings_for
from gaits.tasks import make_task

FIRST = "pga_me"
"""What everything is compared with."""
LEARNERS = (FIRST, "pga_budget", "dcrl_me", "cma_mega_td3")
POINTS = (10_000, 25_000, 50_000, 100_000, 250_000)
STEPS, HOURS = (2, 5, 10, 20, 40), (0.25, 0.5, 1, 2)
"""Millions of environment steps, and hours, at which scores are told too."""
AXES = {"evaluations": ("evaluations", 1), "environment steps": ("steps", 1), "hours": ("seconds", 3600)}
"""What curves are drawn over: a column, and in which unit."""
LONG = 25_000
"""Evaluations from which on a run is told against the goal, and a variant in tables of its own length."""
WALKS = 1_100
"""Objective that a Walker has only if it walks: standing gives less than 1,000."""
GATE = "qd_walker", 100_000
"""Where the gates stand."""


def own(run: Kept) -> dict[str, Any]:
    """What its algorithm's settings are by default."""
    return json.loads(json.dumps(asdict(settings_for(make_task(run.config["task"]), run.config["algorithm"], {}))))


def difference(settings: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Those that the others have not, or not so."""
    return {name: value for name, value in settings.items() if value != others.get(name)}


def words(settings: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` {str(value).lower().strip('[]')}" for name, value in settings.items())


def settings(run: Kept) -> dict[str, Any]:
    """All that there are today; a run that is older has their defaults."""
    return own(run) | run.config["settings"]


def changed(run: Kept) -> str:
    """Settings that are not the algorithm's own, and what its version did otherwise, if that is known (kept.json)."""
    told = [words(difference(settings(run), own(run))), run.facts.get("otherwise", "")]
    return ", ".join(filter(None, told))


def name(run: Kept) -> str:
    title, change = ALGORITHMS[run.config["algorithm"]].title, changed(run)
    return f"{title}, {change}" if change else title


def runs(task: str, least: int = 0) -> list[Kept]:
    """Of a task: the paper's PGA-MAP-Elites, what came after it, and their variants, each by seed.

    Those with a name of their own only if they have so many evaluations.
    """
    chosen = [run for run in kept() if run.config["task"] == task and run.config["algorithm"] in LEARNERS]
    chosen = [run for run in chosen if run.end >= least or not run.config.get("name")]
    return sorted(chosen, key=lambda run: (LEARNERS.index(run.config["algorithm"]), name(run), run.config["seed"], run.end))


def against(run: Kept, evaluations: int) -> float:
    """QD score over that of the paper's PGA-MAP-Elites with the same seed, both after so many evaluations."""
    base = [other for other in cell(FIRST, run.config["task"], evaluations) if other.config["seed"] == run.config["seed"]]
    return run.at("qd_score", evaluations) / base[0].at("qd_score", evaluations) if base else np.nan


def progress() -> str:
    """Recorded QD scores on the way, and how many times PGA-MAP-Elites' with that seed they are."""
    rows = []
    for task, place in PLACES.items():
        for run in runs(task, LONG):
            told = []
            for point in POINTS:
                ratio = "" if run.config["algorithm"] == FIRST else f" ({against(run, point):.2f}x)"
                score = f"{run.at('qd_score', point):,.0f}" if run.end >= point else ""
                told.append(score + ratio.replace(" (nanx)", "") if score else "")
            rows.append([place, name(run), str(run.config["seed"]), *told])
    return markdown(["", "", "seed", *(f"{point:,}" for point in POINTS)], rows)


def costs() -> str:
    """The same scores by environment steps and by hours."""
    points = [("steps", 1e6 * n, f"{n} million steps") for n in STEPS] + [("seconds", 3600 * n, f"{n:g} h") for n in HOURS]
    rows = []
    for task, place in PLACES.items():
        for run in runs(task, LONG):
            last = run.metrics.iloc[-1]
            scores = [f"{run.at('qd_score', n, of):,.0f}" if last[of] >= n else "" for of, n, _ in points]
            rows.append([place, name(run), str(run.config["seed"]), *scores])
    return markdown(["", "", "seed", *(head for *_, head in points)], rows)


def goal() -> str:
    """How far runs are from what the paper's PGA-MAP-Elites had after a million evaluations."""
    rows = []
    for task, place in PLACES.items():
        theirs = paper("qd_score", FIRST, task)
        for run in [run for run in runs(task, LONG) if run.config["algorithm"] != FIRST and run.end >= LONG]:
            reached = run.reached("qd_score", theirs)
            share = f"{run.at('qd_score', run.end) / theirs:.2f} of it after {run.end:,}"
            found = f"reached after {reached:,}; {share}" if reached else share
            rows.append([place, f"{theirs:,.0f}", name(run), str(run.config["seed"]), found])
    return markdown(["", "the paper's, after a million", "", "seed", "here"], rows)


def walking() -> str:
    """When runs on QD Walker begin to walk."""
    rows = []
    for run in runs("qd_walker"):
        walks = run.reached("objective_max", WALKS)
        rows.append([name(run), str(run.config["seed"]), f"{walks:,}" if walks else f"not in {run.end:,}"])
    return markdown(["", "seed", "walks after"], rows)


def ends() -> str:
    """The last of every run: recorded, corrected, and what it took."""
    rows = []
    for task, place in PLACES.items():
        for run in runs(task, LONG):
            last, again = run.metrics.iloc[-1], played_again(run)
            left = again.get("corrected", {})
            row = [place, name(run), str(run.config["seed"]), f"{run.end:,}", f"{last['qd_score']:,.0f}"]
            row += [f"{left['qd_score']:,.0f}", f"{again['expected_qd_score']:,.0f}"] if left else ["", ""]
            row += [f"{last['coverage']:.1%}" + (f", {left['coverage']:.1%}" if left else "")]
            row += [f"{last['objective_max']:,.0f}" + (f", {left['objective_max']:,.0f}" if left else "")]
            row += [f"{last['steps'] / 1e6:.1f}", f"{last['seconds'] / 3600:.2f}", processor(run)]
            rows.append(row)
    head = ["", "", "seed", "evaluations", "QD score", "corrected", "in place", "coverage, corrected", "best, corrected"]
    return markdown([*head, "million steps", "hours", "core seconds per 100"], rows)


def played_again(run: Kept) -> dict[str, Any]:
    """What ``gaits evaluate`` found at the run's end, or nothing."""
    return run.again if run.again.get("evaluations") == run.end else {}


def processor(run: Kept) -> str:
    """Seconds of one core for a hundred evaluations, in as much of the run as watch.py saw."""
    if not len(run.memory):
        return ""
    spent, done = (run.memory[column].diff() for column in ("cpu_seconds", "evaluations"))
    going = spent >= 0  # it begins at 0 again when a run is resumed
    return f"{100 * spent[going].sum() / done[going].sum():.1f}"


def nearest(run: Kept) -> Kept | None:
    """Of the runs with the same task, algorithm and seed and no more settings changed, the one that is least unlike, if
    there are several the one that is as long.

    One of a version that did otherwise stands beside those of that version only.
    """

    def kind(one: Kept) -> list[Any]:
        return [*(one.config[key] for key in ("task", "algorithm", "seed")), one.facts.get("otherwise")]

    def rank(one: Kept) -> tuple[int, str]:
        return len(difference(settings(one), own(one))), name(one)

    others = [other for other in kept() if kind(other) == kind(run)]
    others = sorted((other for other in others if rank(other) < rank(run)), key=rank)
    return min(others, key=lambda one: (len(difference(settings(run), settings(one))), one.end != run.end), default=None)


def changes() -> str:
    """What each change of settings does to QD score and processor time, against the run that has all but it."""
    rows = []
    for task, place in PLACES.items():
        for run in runs(task):
            if (other := nearest(run)) is None:
                continue
            mine, theirs = settings(run), settings(other)
            after = min(run.end, other.end)
            after = max((point for point in POINTS if point <= after), default=after)
            row = [place, name(other), words(difference(mine, theirs)), str(run.config["seed"]), f"{after:,}"]
            row += [quotient(*(one.at("qd_score", after) for one in (run, other)))]
            left = [played_again(one).get("corrected", {}).get("qd_score") for one in (run, other) if one.end == after]
            row += [quotient(*left) if len(left) == 2 and all(left) else ""]
            rows.append([*row, " / ".join(processor(one) or "–" for one in (run, other))])
    head = ["", "", "changed to", "seed", "after", "QD score, with / without", "corrected", "core seconds per 100"]
    return markdown(head, rows)


def quotient(one: float, other: float) -> str:
    return f"{one:,.0f} / {other:,.0f} = {one / other:.2f}"


def pairs(task: str, one: str, other: str) -> list[tuple[Kept, Kept]]:
    """Runs of these names with the same seed."""
    mine, theirs = ({run.config["seed"]: run for run in runs(task) if name(run) == which} for which in (one, other))
    return [(mine[seed], theirs[seed]) for seed in sorted(mine.keys() & theirs.keys())]


NOT_MET, OPEN, MET = "**not met**", "cannot tell yet", "met"
"""Verdicts on a gate, the best last: who cannot be told yet may still pass."""


class Standing(NamedTuple):
    """How far one algorithm is above another where a gate stands."""

    verdict: str
    ratio: float = 0.0  # mean over seeds
    found: str = ""

    @property
    def rank(self) -> tuple[int, float]:
        return (NOT_MET, OPEN, MET).index(self.verdict), self.ratio


def standing(one: str, other: str, wanted: float) -> Standing:
    """After as many evaluations as both have done; or of a shorter run, what it has by now against all of the other.

    What has been reached with fewer evaluations passes the gate: QD scores never fall, but where elites are evaluated again.
    """
    task, done = GATE
    both = pairs(task, one, other)
    after = max((n for n in POINTS if n <= min([done, *(run.end for pair in both for run in pair)])), default=0)
    if not (both and after):
        return Standing(OPEN)
    now, least = ([a.at("qd_score", n) / b.at("qd_score", n) for a, b in both] for n in (after, done))
    if after == done:
        verdict = MET if np.mean(now) >= wanted else NOT_MET
        return Standing(verdict, float(np.mean(now)), f"{listed(now)} after {after:,}")
    rising = not any(settings(a).get("reevaluate") for a, _ in both)
    if rising and min(b.end for _, b in both) >= done and np.mean(least) >= wanted:
        short = f"{listed(least)} with {min(a.end for a, _ in both):,} evaluations against {done:,}"
        return Standing(MET, float(np.mean(least)), short)
    return Standing(OPEN, float(np.mean(now)), f"{listed(now)} after {after:,}")


def listed(ratios: list[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def gates() -> str:
    """What was to be reached on QD Walker, and what was, by the best variant."""
    task, done = GATE
    rows, other = [], ALGORITHMS[FIRST].title
    for algorithms, wanted in ((("pga_budget",), 1.3), (("dcrl_me", "cma_mega_td3"), 1.2)):
        candidates = sorted({name(run) for run in runs(task) if run.config["algorithm"] in algorithms})
        found = {one: standing(one, other, wanted) for one in candidates or [ALGORITHMS[algorithms[0]].title]}
        best = max(found, key=lambda one: found[one].rank)
        rows.append([f"{best} over {other}", f"{wanted}x", found[best].found, found[best].verdict])
        other = best
    return markdown([f"QD Walker, {done:,} evaluations", "wanted", "found, by seed", ""], rows)


def draw(path: Path) -> None:
    """QD scores over evaluations, steps and hours, every run a line, and what the paper's PGA-MAP-Elites ended with."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import EngFormatter

    from gaits.analysis.figures import styles

    looks = {which: colour for which, (colour, _) in styles(list(LEARNERS)).items()}
    figure = Figure(figsize=(12.8, 9.6), layout="constrained")
    axes = figure.subplots(len(AXES), len(PLACES), sharey="col")
    for (row, (label, (column, unit))), (place, task) in product(enumerate(AXES.items()), enumerate(PLACES)):
        ax = axes[row, place]
        for run in runs(task, LONG):
            line = "-" if not changed(run) else ":"
            ax.plot(run.metrics[column] / unit, run.metrics["qd_score"], line, color=looks[run.config["algorithm"]])
        ax.axhline(paper("qd_score", FIRST, task), color=looks[FIRST], linestyle="--", linewidth=1)
        ax.set(title="" if row else PLACES[task], xlabel=label, ylabel="" if place else "QD score", xlim=0, ylim=0)
        for axis in [ax.yaxis] if label == "hours" else [ax.xaxis, ax.yaxis]:
            axis.set_major_formatter(EngFormatter(sep=""))
        ax.grid(color="0.9")
        ax.spines[:].set_visible(False)
    lines = [Line2D([], [], color=colour) for colour in looks.values()]
    titles = [ALGORITHMS[which].title for which in looks]
    lines += [Line2D([], [], color=looks[FIRST], linestyle="--", linewidth=1), Line2D([], [], color="0.3", linestyle=":")]
    titles += [f"{titles[0]} of the paper, after a million", "with a setting changed"]
    figure.legend(lines, titles, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=90)
