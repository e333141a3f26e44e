from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pingouin
import pytest
import statsmodels.formula.api as smf
from analysis.frames import ALGORITHMS, SMALL, cells, make_runs
from scipy import stats
from statsmodels.stats.anova import anova_lm

from gaits.analysis import statistics
from gaits.analysis.statistics import (
    AUC,
    CONTRASTS,
    H1,
    ROBUSTNESS,
    bootstrap_interval,
    interquartile_mean,
    pairwise_tests,
    simple_main_effects,
    two_way_anova,
)

ALL_PAIRS = list(itertools.combinations(sorted(ALGORITHMS), 2))
EXACT = {"rtol": 1e-10, "atol": 0}
DESIGNS = ("paper", "unbalanced", "empty cell")


scales = pytest.mark.parametrize(("center", "spread"), [(0.5, 0.1), (4.7e6, 1e5), (-2e6, 5e6), (1e-6, 1e-7)])
seeds = pytest.mark.parametrize("seed", [0, 1, 2])


class TestTwoWayAnova:
    def test_by_hand(self):
        """Cell means 2, 6 / 3, 11; task means 4, 7; algorithm means 2.5, 8.5; grand mean 5.5; runs 1 off their cell's mean.

        Task: 8 · 1.5² = 18. Algorithm: 8 · 3² = 72. Interaction: 8 · ((2 − 6 − 3 + 11) / 4)² = 8. Residual: 8 · 1² = 8, and
        8 runs − 4 cells = 4 degrees of freedom.
        """
        table = two_way_anova(cells(SMALL), "y")
        assert list(table.index) == ["task", "algorithm", "interaction", "residual"]
        assert list(table.columns) == ["ss", "df", "ms", "F", "p"]
        np.testing.assert_allclose(table["ss"], [18, 72, 8, 8], rtol=1e-13)
        assert list(table["df"]) == [1, 1, 1, 4]
        np.testing.assert_allclose(table["ms"], [18, 72, 8, 2], rtol=1e-13)
        np.testing.assert_allclose(table["F"], [9, 36, 4, np.nan], rtol=1e-13)
        # F(1, 4) is the square of t(4), whose distribution has a closed form.
        t = np.array([3, 6, 2])
        p = 1 - 0.75 * t / np.sqrt(1 + t**2 / 4) * (1 - t**2 / (12 + 3 * t**2))
        np.testing.assert_allclose(table["p"], [*p, np.nan], rtol=1e-10)

    @seeds
    @scales
    @pytest.mark.parametrize("design", ["paper", "unbalanced"])
    def test_statsmodels(self, design, seed, center, spread):
        frame = make_runs(design, seed, center, spread)
        ours = two_way_anova(frame, "y")
        theirs = anova_lm(smf.ols("y ~ C(task) * C(algorithm)", frame).fit(), typ=2)
        np.testing.assert_allclose(ours[["ss", "df", "F", "p"]], theirs, **EXACT)
        np.testing.assert_allclose(ours["ms"], theirs["sum_sq"] / theirs["df"], **EXACT)

    @seeds
    @scales
    @pytest.mark.parametrize("design", ["paper", "unbalanced"])
    def test_pingouin(self, design, seed, center, spread):
        frame = make_runs(design, seed, center, spread)
        ours = two_way_anova(frame, "y")
        with warnings.catch_warnings():
            # pingouin 0.7 tidies its result with dropna(inplace=True), which pandas 3.1 deprecates.
            warnings.filterwarnings("ignore", "The inplace keyword in DataFrame.dropna")
            theirs = pingouin.anova(frame, dv="y", between=["task", "algorithm"], detailed=True)
        np.testing.assert_allclose(ours, theirs[["SS", "DF", "MS", "F", "p_unc"]], **EXACT)

    def test_far_from_zero(self):
        """Moving all values changes nothing, to digits that fits of the values as they are would lose."""
        table = two_way_anova(cells({cell: [1e9 + y for y in ys] for cell, ys in SMALL.items()}), "y")
        np.testing.assert_allclose(table["ss"], [18, 72, 8, 8], **EXACT)

    @seeds
    def test_empty_cell(self, seed):
        """The oracle compares nested models one by one: statsmodels warns of the rank of task * algorithm, and miscounts."""
        frame = make_runs("empty cell", seed)
        table = two_way_anova(frame, "y")
        assert list(table["df"]) == [3, 4, 11, len(frame) - 19]
        task, algorithm, both = (smf.ols(f"y ~ {f}", frame).fit() for f in ("task", "algorithm", "task + algorithm"))
        full = smf.ols("y ~ cell", frame.assign(cell=frame["task"] + frame["algorithm"])).fit()
        for effect, reduced, larger in (("task", algorithm, both), ("algorithm", task, both), ("interaction", both, full)):
            step = anova_lm(reduced, larger, scale=full.mse_resid).iloc[1]
            np.testing.assert_allclose(table.loc[effect, ["ss", "df", "F"]], step[["ss_diff", "df_diff", "F"]], **EXACT)

    def test_paper_degrees_of_freedom(self):
        assert list(two_way_anova(make_runs(), "y")["df"]) == [3, 4, 12, 80]

    def test_tiny_effect_beside_a_huge_one(self):
        """No digits lost to cancellation: an algorithm effect of 1e-16 of the task's sum of squares is still found."""
        frame = cells({(t, a): [1e6 * i + j, 1e6 * i + j + 1] for i, t in enumerate("abc") for j, a in enumerate("xyz")})
        np.testing.assert_allclose(two_way_anova(frame, "y").loc["algorithm", "ss"], 18 * 2 / 3, rtol=1e-6)

    def test_no_separable_effect(self):
        """When each algorithm has its own task, nothing can be told apart; said with NaN, without a warning."""
        table = two_way_anova(cells({("a", "x"): [1, 2], ("b", "y"): [3, 5]}), "y")
        assert list(table["df"]) == [0, 0, 0, 2]
        assert table["F"].isna().all()
        assert table["p"].isna().all()

    @pytest.mark.parametrize("value", [0.0, 0.1, 4.7e6])
    def test_no_spread(self, value):
        table = two_way_anova(cells({(t, a): [value * (1 + i)] * 3 for t in "ab" for i, a in enumerate("xy")}), "y")
        assert table[["F", "p"]].isna().all(axis=None)


class TestSimpleMainEffects:
    def test_by_hand(self):
        """Task a: means 2, 6 around 4, so 4 · 2² = 16; b: 3, 11 around 7, so 4 · 4² = 64. Residual mean square: 2."""
        table = simple_main_effects(cells(SMALL), "y")
        assert list(table.index) == ["a", "b"]
        np.testing.assert_allclose(table["F"], [8, 32], rtol=1e-13)
        assert list(table["df1"]) == [1, 1]
        assert list(table["df2"]) == [4, 4]
        np.testing.assert_allclose(table["p"], stats.f.sf([8, 32], 1, 4), rtol=1e-12)

    @seeds
    @scales
    @pytest.mark.parametrize("design", DESIGNS)
    def test_one_way_over_pooled(self, design, seed, center, spread):
        """scipy's F of a task is over its own residual; here it is over that of all tasks."""
        frame = make_runs(design, seed, center, spread)
        frame.loc[frame.index[::17], "y"] = np.nan  # counts as missing
        table = simple_main_effects(frame, "y")
        frame = frame.dropna()
        within = frame["y"] - frame.groupby(["task", "algorithm"])["y"].transform("mean")
        df2 = len(frame) - frame.groupby(["task", "algorithm"]).ngroups
        for task, runs in frame.groupby("task"):
            groups = [group["y"] for _, group in runs.groupby("algorithm")]
            own = (within[runs.index] ** 2).sum() / (len(runs) - len(groups))
            f = stats.f_oneway(*groups).statistic * own / ((within**2).sum() / df2)
            expected = [f, len(groups) - 1, df2, stats.f.sf(f, len(groups) - 1, df2)]
            np.testing.assert_allclose(table.loc[task, ["F", "df1", "df2", "p"]], expected, **EXACT)

    def test_one_task_is_a_one_way_anova(self):
        frame = make_runs("unbalanced").query("task == 'qd_ant'")
        oracle = stats.f_oneway(*(group["y"] for _, group in frame.groupby("algorithm")))
        np.testing.assert_allclose(simple_main_effects(frame, "y").loc["qd_ant", ["F", "p"]], oracle, **EXACT)

    def test_task_with_one_algorithm(self):
        table = simple_main_effects(cells({**SMALL, ("c", "x"): [1, 2]}), "y")
        assert np.isnan(table.loc["c", "F"])
        assert table.loc["c", "df1"] == 0
        assert np.isfinite(table.loc["a", "F"])


class TestPairwiseTests:
    def test_by_hand(self):
        """1, 3 against 5, 7: difference −4, both variances 2, so t = −4 / √2 with 2 degrees; p = 1 − |t| / √(2 + t²)."""
        row = pairwise_tests(cells(SMALL), "y", [("x", "y")]).iloc[0]
        assert list(row[:5]) == ["a", "x", "y", 2, 2]
        assert list(row[5:7]) == [2, 6]
        np.testing.assert_allclose(list(row[7:]), [-np.sqrt(8), 2, 1 - np.sqrt(0.8), 1 - np.sqrt(0.8)], rtol=1e-13)

    @seeds
    @scales
    @pytest.mark.parametrize("design", ["paper", "unbalanced"])
    @pytest.mark.parametrize("welch", [True, False, "auto"])
    def test_scipy(self, design, welch, seed, center, spread):
        frame = make_runs(design, seed, center, spread)
        values = {cell: group["y"].to_numpy() for cell, group in frame.groupby(["task", "algorithm"])}
        for row in pairwise_tests(frame, "y", H1.pairs, welch).itertuples():
            x, y = values[row.task, row.algorithm_1], values[row.task, row.algorithm_2]
            oracle = stats.ttest_ind(x, y, equal_var=len(x) == len(y) if welch == "auto" else not welch)
            np.testing.assert_allclose([row.t, row.dof, row.p], [oracle.statistic, oracle.df, oracle.pvalue], **EXACT)
            np.testing.assert_allclose(row.p_corrected, min(1, 3 * oracle.pvalue), **EXACT)

    @seeds
    @pytest.mark.parametrize(("center", "spread"), [(0.5, 0.1), (4.7e6, 1e5)])
    @pytest.mark.parametrize("design", ["paper", "unbalanced"])
    def test_pingouin(self, design, seed, center, spread):
        frame = make_runs(design, seed, center, spread)
        ours = pairwise_tests(frame, "y", ALL_PAIRS)
        for task, runs in frame.groupby("task"):
            theirs = pingouin.pairwise_tests(runs, dv="y", between="algorithm", padjust="bonf")
            mine = ours[ours["task"] == task]
            assert list(zip(mine["algorithm_1"], mine["algorithm_2"], strict=True)) == ALL_PAIRS
            assert list(zip(theirs["A"], theirs["B"], strict=True)) == ALL_PAIRS
            np.testing.assert_allclose(
                mine[["t", "dof", "p", "p_corrected"]], theirs[["T", "dof", "p_unc", "p_corr"]], **EXACT
            )

    def test_bonferroni_is_clipped_and_counts_only_tests_done(self):
        frame = cells({("a", "x"): [1, 2, 3], ("a", "y"): [1, 2, 3.5], ("a", "z"): [7, 8, 9], ("a", "w"): [1]})
        tests = pairwise_tests(frame, "y", [("x", "y"), ("x", "z"), ("x", "w"), ("x", "nobody")])
        assert tests["p"][0] > 0.5
        assert tests["p_corrected"][0] == 1
        assert tests["p_corrected"][1] == 2 * tests["p"][1]
        assert tests.loc[2:, ["t", "dof", "p", "p_corrected"]].isna().all(axis=None)
        assert list(tests["n_2"]) == [3, 3, 1, 0]
        assert tests["mean_2"][2] == 1
        assert np.isnan(tests["mean_2"][3])

    def test_no_spread(self):
        """Without spread on both sides there is no test, whether or not the means differ; on one side there is."""
        frame = cells({("a", "x"): [0.1] * 3, ("a", "y"): [0.1] * 3, ("a", "z"): [0.7] * 3, ("a", "w"): [1, 2, 4]})
        tests = pairwise_tests(frame, "y", [("x", "y"), ("x", "z"), ("x", "w")])
        assert list(tests["t"].isna()) == [True, True, False]
        assert list(tests["p_corrected"].isna()) == [True, True, False]

    def test_hardly_any_spread(self):
        """Where scipy warns of lost precision."""
        frame = cells({("a", "x"): [1, 1, np.nextafter(1, 2)], ("a", "y"): [1, 1, 1]})
        assert np.isfinite(pairwise_tests(frame, "y", [("x", "y")])["p"]).all()

    def test_non_finite_values_are_left_out(self):
        frame = cells({("a", "x"): [1, np.nan, 3], ("a", "y"): [5, 7, np.inf], ("b", "x"): [np.nan]})
        tests = pairwise_tests(frame, "y", [("x", "y")])
        assert list(tests["task"]) == ["a", "b"]
        assert list(tests["n_1"]) == [2, 0]
        np.testing.assert_allclose(tests["t"], [-np.sqrt(8), np.nan], rtol=1e-13)

    def test_any_kind_of_column(self):
        frame = cells({**SMALL, ("a", "z"): [None, 2]})
        frame["y"] = frame["y"].astype(object).where(frame["y"].notna(), None)
        other = frame.astype({"task": "category", "algorithm": "category"}).set_index(np.zeros(len(frame), int))
        other["y"] = other["y"].astype("Float64")
        for function in (two_way_anova, simple_main_effects, lambda *args: pairwise_tests(*args, [("x", "y")])):
            pd.testing.assert_frame_equal(function(frame, "y"), function(other, "y"))

    def test_no_runs(self):
        assert pairwise_tests(cells({}), "y", [("x", "y")]).empty

    def test_bad_welch(self):
        with pytest.raises(ValueError, match="'auto'; got 'yes'"):
            pairwise_tests(cells(SMALL), "y", [("x", "y")], welch="yes")


class TestIntervals:
    def test_interquartile_mean(self):
        assert interquartile_mean([100, 2, 3, 4, -50]) == 3
        assert interquartile_mean([1, 2, 4, 100, 0, 6, 8, 9]) == (2 + 4 + 6 + 8) / 4
        assert interquartile_mean([7]) == 7
        assert interquartile_mean([1, 2, 6]) == 3  # a quarter of three, rounded down, is none
        np.testing.assert_array_equal(interquartile_mean([[0, 1, 3, 9], [5, 5, 5, 0]]), [2, 5])

    def test_known_interval(self):
        """The mean of n resampled coin flips is binomial."""
        low, high = bootstrap_interval([0] * 50 + [1] * 50)
        assert (low, high) == tuple(stats.binom(100, 0.5).ppf([0.025, 0.975]) / 100)
        assert bootstrap_interval([0] * 50 + [1] * 50, confidence=0.5) == pytest.approx((0.47, 0.53))

    def test_coverage(self):
        """For a normal mean, percentiles are close to ±1.96 standard errors with ddof=0, so cover a bit less than 95 %."""
        n, repeats, rng = 30, 1000, np.random.default_rng(0)
        intervals = [bootstrap_interval(rng.normal(size=n), samples=500, seed=i) for i in range(repeats)]
        expected = 1 - 2 * stats.t.sf(1.96 * np.sqrt((n - 1) / n), n - 1)
        four_errors = 4 * np.sqrt(expected * (1 - expected) / repeats)
        assert np.mean([low < 0 < high for low, high in intervals]) == pytest.approx(expected, abs=four_errors)

    def test_same_arguments_same_interval(self):
        values = np.random.default_rng(0).normal(size=5)
        state = np.random.get_state()[1].copy()  # noqa: NPY002  # the point is that nobody touches it
        assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
        assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)
        np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002

    @pytest.mark.parametrize("statistic", [np.mean, np.median, interquartile_mean])
    def test_any_statistic(self, statistic):
        values = np.arange(20.0)
        low, high = bootstrap_interval(values, statistic)
        assert 0 < low < statistic(values) < high < 19

    def test_pieces(self, monkeypatch):
        """Large data is resampled in pieces, and samples need not be a multiple of them."""
        sizes = []

        def mean(x, axis):
            sizes.append(x.shape)
            return x.mean(axis)

        monkeypatch.setattr(statistics, "RESAMPLED", 1000)
        bootstrap_interval(np.arange(30.0), mean, samples=100)
        assert sizes == [(33, 30)] * 3 + [(1, 30)]

    def test_one_value(self):
        assert bootstrap_interval([2.5]) == (2.5, 2.5)

    @pytest.mark.parametrize("function", [interquartile_mean, bootstrap_interval])
    @pytest.mark.parametrize("values", [[], [1, np.nan, 2], [np.inf]])
    def test_no_value(self, function, values):
        with pytest.raises(ValueError, match="at least one value and only finite ones"):
            function(values)


def test_contrasts_of_the_paper():
    """Numbers of pairs are the n of its Bonferroni corrections."""
    assert [c.name for c in CONTRASTS] == ["H1", "H2", "H3", "AUC", "robustness"]
    assert [len(c.pairs) for c in CONTRASTS] == [3, 3, 1, 2, 2]
    assert {name for c in CONTRASTS for pair in c.pairs for name in pair} == set(ALGORITHMS)
    assert AUC.higher
    assert not ROBUSTNESS.higher
