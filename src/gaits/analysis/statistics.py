"""The paper's statistics: two-way ANOVA, simple main effects, pairwise t tests; and intervals for a handful of runs.

Pure functions on a frame with a row per run: ``task``, ``algorithm``, ``seed`` and values. A run whose value is not finite
counts as missing; ``sentences`` says what that leaves undone. Names keep their order of appearance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy  # whose parts come when they are used
from numpy.typing import ArrayLike

Pairs = Sequence[tuple[str, str]]
RESAMPLED = 2**20
"""Values that the bootstrap draws at a time: 16 MB with their indices."""


@dataclass(frozen=True)
class Contrast:
    """Pairs of algorithms to test on ``value``. As a claim: the first one differs from each of the second ones."""

    name: str
    value: str
    pairs: tuple[tuple[str, str], ...]
    higher: bool = True
    """Whether the first algorithm is claimed to be higher; else lower."""
    claim: bool = True
    """Whether there is a verdict on it; else its pairs are just tested."""


def _against(algorithm: str, *others: str) -> tuple[tuple[str, str], ...]:
    return tuple((algorithm, other) for other in others)


BASELINES = ("pga_me", "me_es", "map_elites")
CMA_MEGAS = ("cma_mega_es", "cma_mega_td3_es")
H1 = Contrast("H1", "qd_score_normalized", _against("cma_mega_es", *BASELINES))
H2 = Contrast("H2", "qd_score_normalized", _against("cma_mega_td3_es", *BASELINES))
H3 = Contrast("H3", "qd_score_normalized", _against("cma_mega_td3_es", "cma_mega_es"))
AUC = Contrast("AUC", "qd_score_auc_normalized", _against("pga_me", *CMA_MEGAS))
ROBUSTNESS = Contrast("robustness", "robustness_normalized", _against("map_elites", *CMA_MEGAS), higher=False)
CONTRASTS = (H1, H2, H3, AUC, ROBUSTNESS)


def two_way_anova(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Between-groups ANOVA of task and algorithm with type-II sums of squares, for balanced and unbalanced runs.

    Rows task, algorithm, interaction, residual; columns ss, df, ms, F, p. An empty cell costs the interaction a degree of
    freedom. F and p are NaN for an effect without one, and for all when no cell has two runs that differ.
    """
    runs, y = _comparable(frame, value, need_tasks=True)
    by_task, by_algorithm = _fit(y, runs["task"]), _fit(y, runs["algorithm"])
    additive = _fit(y, runs["task"], runs["algorithm"])
    by_cell = _fit(y, runs["cell"])
    nested = {  # type II: each main effect beyond the other one, the interaction beyond both
        "task": (by_algorithm, additive),
        "algorithm": (by_task, additive),
        "interaction": (additive, by_cell),
        "residual": (by_cell, (y, len(y))),
    }
    # Models are nested, so the fall of the residual sum of squares is the squared distance between their fits. This form
    # loses no digits to cancellation.
    ss = pd.Series({effect: np.sum((full[0] - reduced[0]) ** 2) for effect, (reduced, full) in nested.items()})
    df = pd.Series({effect: full[1] - reduced[1] for effect, (reduced, full) in nested.items()})
    ms = ss / df.where(df > 0)
    f = ms / (ms["residual"] if has_spread(runs) else np.nan)
    f["residual"] = np.nan
    p = scipy.stats.f.sf(f, df, df["residual"])
    return pd.DataFrame({"ss": ss, "df": df, "ms": ms, "F": f, "p": p}).rename_axis("effect")


def simple_main_effects(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Per task, does the algorithm matter? One-way mean square of the task over the residual pooled from all tasks.

    Rows are tasks; columns F, df1, df2, p. NaN for a task with fewer than two algorithms, and where the ANOVA has NaN.
    """
    runs, y = _comparable(frame, value, need_tasks=False)
    (by_task, _), (by_cell, cells) = _fit(y, runs["task"]), _fit(y, runs["cell"])
    df2 = len(y) - cells
    residual = np.sum((y - by_cell) ** 2) / df2 if has_spread(runs) else np.nan
    ss = pd.Series((by_cell - by_task) ** 2, runs.index).groupby(runs["task"], sort=False).sum()
    df1 = runs.groupby("task", sort=False)["algorithm"].nunique() - 1
    f = ss / df1.where(df1 > 0) / residual
    return pd.DataFrame({"F": f, "df1": df1, "df2": df2, "p": scipy.stats.f.sf(f, df1, df2)})


def pairwise_tests(frame: pd.DataFrame, value: str, pairs: Pairs, welch: bool | Literal["auto"] = "auto") -> pd.DataFrame:
    """Two-sided unpaired t tests of every pair in every task, Bonferroni-corrected for the pairs tested in that task.

    ``"auto"`` takes Welch's form only when the groups differ in size. t, dof and p are NaN for a pair with fewer than two
    runs on a side, or with no spread on either: equal values say nothing about chance, even when the two means differ.
    """
    if welch not in (True, False, "auto"):
        raise ValueError(f"welch must be True, False or 'auto'; got {welch!r}.")
    rows: list[tuple[Any, ...]] = []
    for task, runs in read(frame, value).groupby("task", sort=False):
        values = {str(name): group["y"].to_numpy() for name, group in finite(runs).groupby("algorithm")}
        for pair in pairs:
            x, y = (values.get(name, np.empty(0)) for name in pair)
            means = (v.mean() if v.size else np.nan for v in (x, y))
            test = _t_test(x, y, x.size != y.size if welch == "auto" else welch)
            rows.append((task, *pair, x.size, y.size, *means, *test))
    columns = ["task", "algorithm_1", "algorithm_2", "n_1", "n_2", "mean_1", "mean_2", "t", "dof", "p"]
    tests = pd.DataFrame(rows, columns=columns)
    tested = tests.groupby("task")["p"].transform("count")
    return tests.assign(p_corrected=(tests["p"] * tested).clip(upper=1.0))


def _t_test(x: np.ndarray, y: np.ndarray, welch: bool) -> tuple[float, float, float]:
    if min(x.size, y.size) < 2 or not (np.ptp(x) or np.ptp(y)):
        return np.nan, np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about data without much spread
        test = scipy.stats.ttest_ind(x, y, equal_var=not welch)
    return test.statistic, test.df, test.pvalue


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Any:
    """Mean of what is left after dropping the lowest and the highest quarter, rounded down (of 5 values: the middle 3)."""
    return scipy.stats.trim_mean(_numbers(values), 0.25, axis=axis)


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap of a statistic that takes ``axis``; same arguments, same interval.

    With 5 runs it is narrower than it claims: the spread of so few is underestimated, and nothing here corrects for that.
    """
    data = _numbers(values).ravel()
    if data.size == 1:  # scipy wants two
        return (float(statistic(data, axis=-1)),) * 2
    found = scipy.stats.bootstrap(
        (data,),
        statistic,
        confidence_level=confidence,
        n_resamples=samples,
        batch=max(1, RESAMPLED // data.size),
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def read(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Task, algorithm, seed, y and the number of the cell, after checking that they are there."""
    absent = [name for name in ("task", "algorithm", "seed", value) if name not in frame]
    if absent:
        raise ValueError(f"The frame lacks columns: it has {list(frame)} and needs {absent} too.")
    table = frame[["task", "algorithm"]].astype(str).assign(seed=frame["seed"])
    table = table.assign(y=frame[value].to_numpy(float, na_value=np.nan)).reset_index(drop=True)
    return table.assign(cell=table.groupby(["task", "algorithm"]).ngroup())


def finite(table: pd.DataFrame) -> pd.DataFrame:
    """The runs that have a value."""
    return table[np.isfinite(table["y"])]


def _numbers(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, float)
    if not array.size or not np.isfinite(array).all():
        raise ValueError("A statistic needs at least one value and only finite ones; leave out the runs without a value.")
    return array


def obstacles(runs: pd.DataFrame, need_tasks: bool, titles: Mapping[str, str] | None = None) -> list[str]:
    """Why an analysis of variance is impossible."""
    if runs.empty:
        return ["There is no run with a value."]
    found = []
    for factor, needed in (("task", need_tasks), ("algorithm", True)):
        if needed and runs[factor].nunique() < 2:
            only = runs[factor].iloc[0]
            only = (titles or {}).get(only, only)
            found.append(f"{only} is the only {factor} with a run: an analysis of variance compares two or more.")
    if not runs.duplicated("cell").any():
        found.append("No algorithm has two runs on a task, so there is no residual to compare effects with.")
    return found


def _comparable(frame: pd.DataFrame, value: str, need_tasks: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """The runs, and their values around the mean: a QD score of 4.7e6 would spend its digits on the intercept."""
    runs = finite(read(frame, value))
    if found := obstacles(runs, need_tasks):
        raise ValueError(" ".join(found))
    y = runs["y"].to_numpy()
    return runs, y - y.mean()


def has_spread(runs: pd.DataFrame) -> bool:
    """Whether some algorithm's runs on a task differ."""
    groups = runs.groupby("cell")["y"]
    return bool((groups.max() > groups.min()).any())  # exact, unlike a variance: that of (0.1, 0.1, 0.1) is not 0


def _fit(y: np.ndarray, *factors: pd.Series) -> tuple[np.ndarray, int]:
    """Least-squares values of y as a sum of one number per level of each factor, and how many of these are free."""
    codes = [pd.factorize(factor)[0] for factor in factors]
    design = np.hstack([np.eye(code.max() + 1)[code] for code in codes])
    coefficients, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    return design @ coefficients, int(rank)
