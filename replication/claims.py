"""What the paper says in its text, and whether the kept runs say the same. Every verdict is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from kept import CELLS, FULL, NAMES, PLACES, Kept, cell, common, markdown, mean, paper

from gaits.analysis import paper_numbers, statistics
from gaits.analysis.sentences import format_p, join
from gaits.tasks import TASKS

Found = tuple[str, str]
"""A verdict, and why."""
YES, NO, UNKNOWN = "**reproduced**", "**not reproduced**", "cannot tell yet"
NEAR = 0.95
"""Coverage that is near 100 %."""
GIVE = 0.25
"""How far off the evaluations may be that the paper reads off a curve."""


def reaches(algorithm: str, score: float, after: int) -> Found:
    """Whether runs on QD Hopper reach a score when the paper's did."""
    runs = cell(algorithm, "qd_hopper")
    found = [run.reached("qd_score", score) for run in runs]
    if not runs:
        return UNKNOWN, "no run"
    if None not in found:
        when = np.mean([float(n or 0) for n in found])
        return YES if abs(when / after - 1) <= GIVE else NO, f"reached after {when:,.0f}"
    end = common(runs)
    return NO if end > (1 + GIVE) * after else UNKNOWN, f"{mean(runs, 'qd_score', end):,.0f} after {end:,}"


def covers() -> Found:
    near, far = 0, 0
    for run in [run for name, task in CELLS for run in cell(name, task)[:1]]:
        first = run.reached("coverage", NEAR)
        soon = first is not None and first <= 250_000
        near, far = near + soon, far + (not soon and run.end >= 250_000)
    verdict = YES if near > len(CELLS) / 2 else NO if far >= len(CELLS) / 2 else UNKNOWN
    short = len(CELLS) - near - far
    why = f"{NEAR:.0%} or more by then in {near} cells, less in {far}, too short a run in {short}"
    return verdict, f"{why} (in the paper's own table ME-ES ends at 63 % to 95 %)"


def lucky_best() -> Found:
    runs = [run for run in cell("map_elites", "qd_hopper") if "best_played_again" in run.facts]
    if not runs:
        return UNKNOWN, "no archive was played again"
    run = max(runs, key=lambda run: run.again["recorded"]["objective_max"])
    record, left = run.again["recorded"]["objective_max"], run.facts["best_played_again"]
    verdict = UNKNOWN if run.again["evaluations"] < FULL else YES if left < 0.75 * record else NO
    return verdict, f"record {record:,.0f} after {run.again['evaluations']:,}, mean of new episodes {left:,.0f}"


def critics_lead() -> Found:
    told, holds, decided = [], True, True
    for task in ("qd_hopper", "qd_walker"):
        at = common(*(cell(name, task) for name in NAMES))
        if not at:
            return UNKNOWN, "not all algorithms were run there"
        scores = {name: mean(cell(name, task), "qd_score", at) for name in NAMES}
        best = sorted(scores, key=lambda name: -scores[name])[:2]
        holds &= set(best) == {"pga_me", "cma_mega_td3_es"}
        decided &= at >= FULL
        told.append(f"{join(NAMES[name] for name in best)} lead on {PLACES[task]} after {at:,}")
    return (YES if holds else NO) if decided else UNKNOWN, "; ".join(told)


def insertions(algorithm: str, per_iteration: int, first: int) -> Found:
    """Solutions offered to the archive, counted in the longest run's history."""
    runs = [run for task in PLACES for run in cell(algorithm, task) if "insertions_tried" in run.facts]
    if not runs:
        return UNKNOWN, "no history was counted"
    run = max(runs, key=lambda run: run.end)
    tried, done = run.facts["insertions_tried"], run.facts["evaluations"]
    return YES if tried == done // 200 * per_iteration + first else NO, f"{tried:,} in {done:,} evaluations ({run.title})"


def gradient_steps() -> Found:
    run = next((run for task in PLACES for run in cell("pga_me", task)), None)
    if run is None:
        return UNKNOWN, "no run"
    settings = run.config["settings"]
    offspring = settings["batch_size"] // 2 - 1  # the greedy actor takes a place
    steps = (FULL // settings["batch_size"] - 1) * offspring * settings["pg_steps"]
    return YES if abs(steps / 5e6 - 1) < 0.05 else NO, f"{steps:,}: {offspring} offspring an iteration, none in the first"


def durations() -> Found:
    hours = [run.at("seconds", FULL) / 3600 for name, task in CELLS for run in cell(name, task) if run.end >= FULL]
    if not hours:
        return UNKNOWN, "no run is whole"
    return "other machines", f"{', '.join(f'{one:.1f}' for one in sorted(hours))} on two busy cores"


# --- significance ---------------------------------------------------------------------------------------------------------

TESTS = {  # what the paper tests, by which metric, and its table of p values
    "H1": (statistics.H1, "qd_score", "ttests_h1_qd_score"),
    "H2": (statistics.H2, "qd_score", "ttests_h2_qd_score"),
    "H3": (statistics.H3, "qd_score", "ttests_h3_qd_score"),
    "AUC": (statistics.AUC, "qd_score_auc", "ttests_qd_score_auc"),
    "robustness": (statistics.ROBUSTNESS, "robustness", "ttests_mean_elite_robustness"),
}
SIGNS = {1: "higher", 0: "no difference", -1: "lower"}


@dataclass(frozen=True)
class Outcome:
    """Two algorithms on a task, in the paper and here."""

    first: str
    second: str
    theirs: int
    """1, 0 or -1: the first is significantly higher, there is no significant difference, it is significantly lower."""
    ours: int | None
    """The same by whole runs, two or more of each; else None."""
    paper_ahead: float
    """How far the first is ahead: as a share or, of robustness, as such."""
    ahead: float
    """The same here, after ``at`` evaluations; NaN if nothing can be compared."""
    at: int


def finals(metric: str) -> pd.DataFrame:
    """A row per whole run: ``y`` is a number of it as a share of what its task allows, as the paper tests it."""
    rows = []
    for name, task in CELLS:
        low, high = TASKS[task].objective_range
        most = (high - low) * (1 if metric == "robustness" else TASKS[task].total_cells)
        whole = [run for run in cell(name, task) if run.end >= FULL]
        rows += [(task, name, run.config["seed"], run.number(metric, FULL) / most) for run in whole]
    return pd.DataFrame(rows, columns=["task", "algorithm", "seed", "y"])


def ahead(metric: str, a: float, b: float) -> float:
    return a - b if metric == "robustness" else a / b - 1


def here(metric: str, first: list[Kept], second: list[Kept]) -> tuple[float, int]:
    """How far the first are ahead, and after how many evaluations. AUC and robustness are of runs that end there."""
    at = common(first, second)
    if metric != "qd_score" and any(run.end > at for run in first + second):
        return np.nan, at
    return ahead(metric, mean(first, metric, at), mean(second, metric, at)), at


def outcomes(claim: str) -> Iterator[Outcome]:
    """Of all pairs of a claim, on all tasks."""
    contrast, metric, file = TESTS[claim]
    tests = statistics.pairwise_tests(finals(metric), "y", contrast.pairs).dropna(subset="p").itertuples()
    signs = {(one.task, one.algorithm_1, one.algorithm_2): int(np.sign(one.t)) * (one.p_corrected < 0.05) for one in tests}
    printed = paper_numbers.read(file)
    for first, second in contrast.pairs:
        both = [NAMES[first], NAMES[second]]  # in either order
        row = printed[printed["algorithm_1"].isin(both) & printed["algorithm_2"].isin(both)].iloc[0]
        for task, title in PLACES.items():
            theirs = ahead(metric, paper(metric, first, task), paper(metric, second, task))
            significant = str(row[title]).startswith("<") or float(row[title]) < 0.05
            found = here(metric, cell(first, task), cell(second, task))
            sign = int(np.sign(theirs)) * significant
            yield Outcome(first, second, sign, signs.get((task, first, second)), theirs, *found)


def hypothesis(claim: str) -> Found:
    found = list(outcomes(claim))
    tested = [one for one in found if one.ours is not None]
    agree = sum(one.ours == one.theirs for one in tested)
    seen = [one for one in found if np.isfinite(one.ahead)]
    same = sum(np.sign(one.ahead) == np.sign(one.paper_ahead) for one in seen)
    why = f"{len(tested)} of {len(found)} comparisons can be tested" + (f", {agree} as in the paper" if tested else "")
    why += f"; of {len(seen)} that can be looked at, {same} have the paper's sign" if seen else ""
    return UNKNOWN if len(tested) < len(found) else YES if agree == len(found) else NO, why


def interaction() -> Found:
    frame = finals("qd_score")
    counts = frame.groupby(["task", "algorithm"]).size()
    ready = int((counts > 1).sum())
    if ready < len(CELLS):
        return UNKNOWN, f"needs two whole runs in each of the twenty cells; {ready} have them"
    row = statistics.two_way_anova(frame, "y").loc["interaction"]
    return YES if row["p"] < 0.05 else NO, f"F = {row['F']:.2f}, p {format_p(row['p'])}"


# --- in print -------------------------------------------------------------------------------------------------------------


def claims() -> str:
    rows = {
        "Algorithm and task interact in the QD score, F(12, 80) = 16.82, p < 0.001": interaction(),
        "H1, CMA-MEGA (ES) outperforms all baselines: on no task; above ME-ES on all but Hopper": hypothesis("H1"),
        "H2, CMA-MEGA (TD3, ES) outperforms all baselines: on no task; below none, above ME-ES on all": hypothesis("H2"),
        "H3, CMA-MEGA (TD3, ES) outperforms CMA-MEGA (ES): on Hopper and Walker; elsewhere no difference": hypothesis("H3"),
        "By QD score AUC, PGA-MAP-Elites is above CMA-MEGA (TD3, ES) on Ant and Hopper, above CMA-MEGA (ES) on Hopper "
        "and Walker; elsewhere no difference": hypothesis("AUC"),
        "On Hopper, PGA-MAP-Elites reaches a QD score of 1.5 million after 100,000": reaches("pga_me", 1.5e6, 100_000),
        "On Hopper, CMA-MEGA (TD3, ES) reaches it after 400,000": reaches("cma_mega_td3_es", 1.5e6, 400_000),
        "On all tasks, all algorithms come near 100 % coverage, usually within 250,000": covers(),
        "On all tasks, elites of both CMA-MEGA variants are more robust than MAP-Elites'": hypothesis("robustness"),
        "MAP-Elites' best elite on Hopper, with a record of 2,648, falls when it is played again": lucky_best(),
        "On Hopper and Walker, the two that climb a critic's gradient of the objective do best": critics_lead(),
        "PGA-MAP-Elites takes 5 million gradient steps in a trial": gradient_steps(),
        "CMA-MEGA offers 500,000 solutions to the archive in a trial": insertions("cma_mega_es", 100, 0),
        "ME-ES offers 5,000": insertions("me_es", 1, 1),
        "A trial takes 4 to 20 hours (in its table, 3.5 to 22.8) on 100 cores": durations(),
    }
    return markdown(["the paper says", "verdict", "because"], [[claim, *found] for claim, found in rows.items()])


def pairs() -> str:
    rows: dict[tuple[str, str], list[str]] = {}
    for claim, (_, metric, _) in TESTS.items():
        text = "{:+,.0f}" if metric == "robustness" else "{:+.0%}"
        for one in outcomes(claim):
            told = f"{text.format(one.ahead)} at {one.at / 1000:,.0f}k" if np.isfinite(one.ahead) else "–"
            if one.ours is not None:
                told += f", {SIGNS[one.ours]}: {YES if one.ours == one.theirs else NO}"
            theirs = f"{text.format(one.paper_ahead)}, {SIGNS[one.theirs]}"
            rows.setdefault((claim, f"{NAMES[one.first]} against {NAMES[one.second]}"), []).append(f"{theirs} / {told}")
    return markdown(["", "", *PLACES.values()], [[*key, *row] for key, row in rows.items()])
