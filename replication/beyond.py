"""What algorithms after the paper give, against its PGA-MAP-Elites with the same seed: the tables of docs/beyond.md."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import reduce
from itertools import groupby, product, zip_longest
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
PHASES = (0, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000)
"""Evaluations between which it is told what offspring adds."""
WALKS = 1_100
"""Objective that a Walker has only if it walks: standing gives about 1,000."""
GATE = "qd_walker", 100_000
"""Where the gates stand."""


def settings(run: Kept) -> dict[str, Any]:
    """All that there are today; a run that is older has their defaults."""
    return resolved(run, run.config["settings"])


def own(run: Kept) -> dict[str, Any]:
    """What its algorithm's settings are by default."""
    return resolved(run, {})


def resolved(run: Kept, given: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(settings_for(make_task(run.config["task"]), run.config["algorithm"], given))))


def difference(settings: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Those that the others have not, or not so."""
    return {name: value for name, value in settings.items() if value != others.get(name)}


def words(settings: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` {str(value).lower().strip('[]')}" for name, value in settings.items())


def name(run: Kept) -> str:
    title, change = ALGORITHMS[run.config["algorithm"]].title, words(difference(settings(run), own(run)))
    return f"{title}, {change}" if change else title


def runs(task: str, least: int = 0) -> list[Kept]:
    """Of a task: the paper's PGA-MAP-Elites, what came after it, and their variants, each by seed.

    Those with a name of their own only if they have so many evaluations.
    """
    chosen = [run for run in kept() if run.config["task"] == task and run.config["algorithm"] in LEARNERS]
    chosen = [run for run in chosen if run.end >= least or not run.config.get("name")]
    return sorted(chosen, key=lambda run: (LEARNERS.index(run.config["algorithm"]), name(run), run.config["seed"], run.end))


def lots(task: str, least: int = 0) -> list[list[Kept]]:
    """Runs that differ in their seeds alone."""
    return [list(lot) for _, lot in groupby(runs(task, least), name)]


def usual(task: str) -> list[list[Kept]]:
    """Those whose settings are their algorithm's own; single changes have a table, and all a row at their end."""
    return [lot for lot in lots(task, LONG) if settings(lot[0]) == own(lot[0])]


def each(texts: Iterable[str]) -> str:
    """One for every seed, in a cell of a table."""
    return " · ".join(texts)


def seeds(lot: list[Kept]) -> str:
    return each(str(run.config["seed"]) for run in lot)


def million(score: float) -> str:
    return f"{score / 1e6:.3f}"


def against(run: Kept, evaluations: int) -> float:
    """QD score over that of the paper's PGA-MAP-Elites with the same seed, both after so many evaluations."""
    base = [other for other in cell(FIRST, run.config["task"], evaluations) if other.config["seed"] == run.config["seed"]]
    return run.at("qd_score", evaluations) / base[0].at("qd_score", evaluations) if base else np.nan


def progress() -> str:
    """Recorded QD scores on the way, and how many times PGA-MAP-Elites' with that seed they are."""
    rows = []
    for task, place in PLACES.items():
        for lot in usual(task):
            told = []
            for point in POINTS:
                far = [run for run in lot if run.end >= point]
                ratios = [against(run, point) for run in far if run.config["algorithm"] != FIRST]
                scores = each(million(run.at("qd_score", point)) for run in far)
                paired = each("–" if np.isnan(ratio) else f"{ratio:.2f}x" for ratio in ratios)
                told.append(scores + (f" ({paired})" if not np.isnan(ratios).all() else ""))
            rows.append([place, name(lot[0]), seeds(lot), *told])
    return markdown(["", "", "seeds", *(f"{point:,}" for point in POINTS)], rows)


def costs() -> str:
    """The same scores by environment steps and by hours."""
    points = [("steps", 1e6 * n, f"{n} million steps") for n in STEPS] + [("seconds", 3600 * n, f"{n:g} h") for n in HOURS]
    rows = []
    for task, place in PLACES.items():
        for lot in usual(task):
            scores = []
            for of, n, _ in points:
                scores.append(each(million(run.at("qd_score", n, of)) for run in lot if run.metrics[of].iloc[-1] >= n))
            rows.append([place, name(lot[0]), seeds(lot), *scores])
    return markdown(["", "", "seeds", *(head for *_, head in points)], rows)


def goal() -> str:
    """How far runs are from what the paper's PGA-MAP-Elites had after a million evaluations."""
    rows = []
    for task, place in PLACES.items():
        theirs = paper("qd_score", FIRST, task)
        for lot in usual(task):
            far = [run for run in lot if run.config["algorithm"] != FIRST and run.end >= LONG]
            if far:
                reached = (run.reached("qd_score", theirs) for run in far)
                shares = (f"{run.at('qd_score', run.end) / theirs:.2f} after {run.end:,}" for run in far)
                row = [place, million(theirs), name(lot[0]), seeds(far)]
                rows.append([*row, each(f"{done:,}" if done else "–" for done in reached), each(shares)])
    return markdown(["", "the paper's, after a million", "", "seeds", "reached after", "share of it at the end"], rows)


def walking() -> str:
    """When runs on QD Walker begin to walk."""
    rows = []
    for lot in lots("qd_walker"):
        walks = [(run.reached("objective_max", WALKS), run.end) for run in lot]
        rows.append([name(lot[0]), seeds(lot), each(f"{at:,}" if at else f"not in {end:,}" for at, end in walks)])
    return markdown(["", "seeds", "walks after"], rows)


def ends() -> str:
    """The last of every run: recorded, corrected, and what it took."""
    rows = []
    for task, place in PLACES.items():
        for lot in lots(task, LONG):
            for end, same in groupby(lot, lambda run: run.end):
                runs = list(same)
                rows.append([place, name(lot[0]), seeds(runs), f"{end:,}", *end_of(runs)])
    head = ["", "", "seeds", "evaluations", "QD score", "corrected", "in place", "coverage", "corrected", "best"]
    return markdown([*head, "corrected", "million steps", "hours", "core seconds per 100"], rows)


def end_of(runs: list[Kept]) -> list[str]:
    def last(column: str, text: str, unit: float = 1) -> str:
        return each(text.format(run.metrics[column].iloc[-1] / unit) for run in runs)

    def again(text: str, unit: float, *keys: str) -> str:
        found = [reduce(lambda part, key: part.get(key, {}), keys, played_again(run)) for run in runs]
        return each(text.format(one / unit) if one != {} else "–" for one in found) if any(found) else ""

    told = [last("qd_score", "{:.3f}", 1e6), again("{:.3f}", 1e6, "corrected", "qd_score")]
    told += [again("{:.3f}", 1e6, "expected_qd_score")]
    told += [last("coverage", "{:.0%}"), again("{:.0%}", 1, "corrected", "coverage")]
    told += [last("objective_max", "{:,.0f}"), again("{:,.0f}", 1, "corrected", "objective_max")]
    told += [last("steps", "{:.1f}", 1e6), last("seconds", "{:.2f}", 3600)]
    return [*told, each(processor(run) or "–" for run in runs)]


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
    """

    def kind(one: Kept) -> list[Any]:
        return [one.config[key] for key in ("task", "algorithm", "seed")]

    def rank(one: Kept) -> tuple[int, str]:
        return len(difference(settings(one), own(one))), name(one)

    others = [other for other in kept() if kind(other) == kind(run)]
    others = sorted((other for other in others if rank(other) < rank(run)), key=rank)
    return min(others, key=lambda one: (len(difference(settings(run), settings(one))), one.end != run.end), default=None)


def changes() -> str:
    """What each change of settings does to QD score and processor time, against the run that has all but it."""
    rows = []
    for task, place in PLACES.items():
        both = [(run, other) for run in runs(task) if (other := nearest(run))]
        for (_, theirs), lot in groupby(both, lambda two: (name(two[0]), name(two[1]))):
            far = [(compared(*two), two) for two in lot]
            for after in sorted({end for end, _ in far}):  # all seeds as far as the shortest is, then those that go on
                rows.append([place, theirs, *change([two for end, two in far if end >= after], after)])
    head = ["", "", "changed to", "seeds", "after", "QD score, with / without", "ratios", "corrected"]
    return markdown([*head, "core seconds per 100"], rows)


def compared(run: Kept, other: Kept) -> int:
    """After how many evaluations two runs are compared."""
    after = min(run.end, other.end)
    return max((point for point in POINTS if point <= after), default=after)


def change(both: list[tuple[Kept, Kept]], after: int) -> list[str]:
    mine, theirs = zip(*both, strict=True)
    scores = [(run.at("qd_score", after), other.at("qd_score", after)) for run, other in both]
    left = [tuple(played_again(one).get("corrected", {}).get("qd_score", np.nan) for one in two) for two in both]
    there = [max(run.end, other.end) <= 1.01 * after for run, other in both]  # challengers make the last iteration longer
    corrected = [a / b if ends else np.nan for (a, b), ends in zip(left, there, strict=True)]
    told = [words(difference(settings(mine[0]), settings(theirs[0]))), seeds(list(mine)), f"{after:,}"]
    told += [each(f"{million(a)} / {million(b)}" for a, b in scores), ratios([a / b for a, b in scores]), ratios(corrected)]
    spent = [(processor(run), processor(other)) for run, other in both if run.config["machine"] == other.config["machine"]]
    return [*told, each(f"{a or '–'} / {b or '–'}" for a, b in spent)]


def ratios(of_seeds: list[float]) -> str:
    """Each, and what they come to together."""
    told = each("–" if np.isnan(ratio) else f"{ratio:.2f}" for ratio in of_seeds)
    if np.isnan(of_seeds).all():
        return ""
    return f"{told}: {np.exp(np.mean(np.log(of_seeds))):.2f}" if len(of_seeds) > 1 and not np.isnan(of_seeds).any() else told


def offspring() -> str:
    """What one solution of each kind adds to the QD score, in each phase of a run."""
    rows = []
    for task, place in PLACES.items():
        for lot in usual(task):
            told = [run for run in lot if run.facts.get("added")]
            for kind in told[0].facts["added"] if told else ():
                phases = zip_longest(*(run.facts["added"][kind] for run in told))
                gains = [each("–" if gain is None else f"{gain:.0f}" for gain in phase) for phase in phases]
                gains += [""] * (len(PHASES) - 1 - len(gains))
                rows.append([place, name(lot[0]), seeds(told), kind, *gains])
    return markdown(["", "", "seeds", "", *(f"to {end:,}" for end in PHASES[1:])], rows)


def pairs(task: str, one: str, other: str) -> list[tuple[Kept, Kept]]:
    """Runs of these names with the same seed."""
    mine, theirs = ({run.config["seed"]: run for run in runs(task) if name(run) == which} for which in (one, other))
    return [(mine[seed], theirs[seed]) for seed in sorted(mine.keys() & theirs.keys())]


NOT_MET, OPEN, MET = "**not met**", "cannot tell yet", "met"
"""Verdicts on a gate, the best last: who cannot be told yet may still pass."""


class Standing(NamedTuple):
    """How far one algorithm is above another where a gate stands."""

    verdict: str
    ratios: tuple[float, ...] = ()  # by seed
    found: str = ""

    @property
    def rank(self) -> tuple[int, int, float]:
        """Several seeds say more than a higher ratio."""
        return (NOT_MET, OPEN, MET).index(self.verdict), len(self.ratios), float(np.mean(self.ratios or 0.0))


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
        return Standing(verdict, tuple(now), f"{listed(now)} after {after:,}")
    rising = not any(settings(a).get("reevaluate") for a, _ in both)
    if rising and min(b.end for _, b in both) >= done and np.mean(least) >= wanted:
        short = f"{listed(least)} with {min(a.end for a, _ in both):,} evaluations against {done:,}"
        return Standing(MET, tuple(least), short)
    return Standing(OPEN, tuple(now), f"{listed(now)} after {after:,}")


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
            line = ":" if difference(settings(run), own(run)) else "-"
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
