from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pingouin
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from gaits.analysis import statistics
from gaits.analysis.sentences import format_p, missing, verdict
from gaits.analysis.statistics import (
    AUC,
    CONTRASTS,
    H1,
    H2,
    H3,
    ROBUSTNESS,
    bootstrap_interval,
    interquartile_mean,
    pairwise_tests,
    simple_main_effects,
    two_way_anova,
)

TASKS = ("qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker")
ALGORITHMS = ("cma_mega_es", "cma_mega_td3_es", "pga_me", "me_es", "map_elites")
ALL_PAIRS = list(itertools.combinations(sorted(ALGORITHMS), 2))
TITLES = {
    "cma_mega_es": "CMA-MEGA (ES)",
    "cma_mega_td3_es": "CMA-MEGA (TD3, ES)",
    "pga_me": "PGA-MAP-Elites",
    "me_es": "ME-ES",
    "map_elites": "MAP-Elites",
    "qd_ant": "QD Ant",
    "qd_half_cheetah": "QD Half-Cheetah",
    "qd_hopper": "QD Hopper",
    "qd_walker": "QD Walker",
    "qd_score_normalized": "QD score",
    "robustness_normalized": "mean elite robustness",
    "robustness": "The robustness hypothesis",
}
EXACT = {"rtol": 1e-10, "atol": 0}
DESIGNS = ("paper", "unbalanced", "empty cell")


def make_runs(design="paper", seed=0, center=0.5, spread=0.1):
    """The paper's 4 x 5 x 5 runs with all effects; or with 2 to 6 runs a cell; or that, and no pga_me on qd_ant."""
    rng = np.random.default_rng(seed)
    rows = []
    for task, algorithm in itertools.product(TASKS, ALGORITHMS):
        mean = rng.normal(center, spread)
        n = 5 if design == "paper" else int(rng.integers(2, 7))
        rows += [(task, algorithm, s, rng.normal(mean, spread)) for s in range(n)]
    frame = pd.DataFrame(rows, columns=["task", "algorithm", "seed", "y"])
    if design == "empty cell":
        frame = frame[(frame.task != "qd_ant") | (frame.algorithm != "pga_me")]
    return frame.sample(frac=1, random_state=seed)  # order must not matter


def cells(values):
    """A frame from {(task, algorithm): values}."""
    rows = [(task, algorithm, seed, y) for (task, algorithm), ys in values.items() for seed, y in enumerate(ys)]
    return pd.DataFrame(rows, columns=["task", "algorithm", "seed", "y"])


SMALL = {("a", "x"): [1, 3], ("a", "y"): [5, 7], ("b", "x"): [2, 4], ("b", "y"): [10, 12]}

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


class TestMissing:
    def test_nothing(self):
        assert missing(make_runs(), "y") == []

    def test_no_runs(self):
        assert missing(cells({}), "y") == ["There is no run with a value."]

    def test_incomplete_study(self):
        frame = cells({**SMALL, ("c", "x"): [np.nan, 1], ("c", "z"): [np.inf, np.nan]})
        assert missing(frame, "y", {"z": "Zed", "c": "C"}) == [
            "x has no finite y on C for seed 0.",
            "Zed has no finite y on C for seeds 0 and 1.",
            "y has no run on C.",
            "Zed has no run on a, b or C.",
            "x has only one run on C, too few for a t test.",
        ]

    def test_the_sentence_for_an_empty_cell(self):
        assert missing(make_runs("empty cell"), "y") == ["pga_me has no run on qd_ant."]

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({}, "There is no run with a value."),
            ({("a", "x"): [np.nan, np.nan]}, "There is no run with a value."),
            ({("a", "x"): [1, 2], ("a", "y"): [1, 2]}, "a is the only task with a run: "),
            ({("a", "x"): [1, 2], ("b", "x"): [1, 2]}, "x is the only algorithm with a run: "),
            ({(t, a): [1] for t in "ab" for a in "xy"}, "No algorithm has two runs on a task, so there is no residual"),
        ],
    )
    def test_impossible_anova(self, values, sentence):
        frame = cells(values)
        assert any(s.startswith(sentence) for s in missing(frame, "y"))
        with pytest.raises(ValueError, match=sentence):
            two_way_anova(frame, "y")
        if "task with" not in sentence:  # one task is enough for its own effect
            with pytest.raises(ValueError, match=sentence):
                simple_main_effects(frame, "y")

    def test_no_spread(self):
        frame = cells({(t, a): [3, 3] for t in "ab" for a in "xy"})
        assert missing(frame, "y") == [
            "The runs of an algorithm on a task all have the same y: nothing tells effects from chance."
        ]

    @pytest.mark.parametrize("function", [two_way_anova, simple_main_effects, missing])
    def test_no_such_column(self, function):
        with pytest.raises(ValueError, match=r"has \['task', 'algorithm', 'seed', 'y'\] and needs \['z'\] too"):
            function(cells(SMALL), "z")


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


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "<0.001"),
        (0.000999, "<0.001"),
        (0.001, "0.001"),
        (0.0104, "0.010"),
        (0.25, "0.250"),
        (0.733, "0.733"),
        (0.9999, "1.000"),
        (1.0, "1"),
        (2.2, "1"),
        (np.nan, "n/a"),
    ],
)
def test_format_p(p, text):
    assert format_p(p) == text


# The paper's mean QD scores and corrected p (0 for "<0.001"), in the order of TASKS; H3's pair is turned round.
QD_SCORES = {
    "cma_mega_es": (1649846.69, 4489327.04, 1016897.48, 371804.19),
    "cma_mega_td3_es": (1479725.62, 4612926.99, 1857671.12, 1437319.62),
    "pga_me": (1674374.81, 4758921.89, 2068953.54, 1480443.84),
    "me_es": (539742.08, 2296974.58, 791954.55, 105320.97),
    "map_elites": (1418306.56, 4175704.19, 1835703.73, 447737.90),
}
P_VALUES = {
    ("cma_mega_es", "pga_me"): (1, 0.733, 0.003, 0),
    ("cma_mega_es", "me_es"): (0, 0, 0.841, 0),
    ("cma_mega_es", "map_elites"): (0.254, 0.215, 0.007, 0.108),
    ("cma_mega_td3_es", "pga_me"): (0.093, 1, 0.726, 1),
    ("cma_mega_td3_es", "me_es"): (0, 0, 0, 0),
    ("cma_mega_td3_es", "map_elites"): (1, 0.010, 1, 0),
    ("cma_mega_td3_es", "cma_mega_es"): (0.250, 0.511, 0.006, 0),
}


def paper_tests(contrast):
    return pd.DataFrame(
        [
            {
                "task": task,
                "algorithm_1": a,
                "algorithm_2": b,
                "n_1": 5,
                "n_2": 5,
                "t": QD_SCORES[a][i] - QD_SCORES[b][i],  # of which only the sign counts
                "p": P_VALUES[a, b][i] / len(contrast.pairs),
                "p_corrected": P_VALUES[a, b][i],
            }
            for i, task in enumerate(TASKS)
            for a, b in contrast.pairs
        ]
    )


class TestVerdict:
    """The first three say what the paper says in its section Analysis."""

    def test_h1(self):
        assert verdict(paper_tests(H1), H1, titles=TITLES) == (
            "H1 holds in no task: CMA-MEGA (ES) has "
            "significantly higher QD score than ME-ES in QD Ant, QD Half-Cheetah and QD Walker; "
            "significantly lower QD score than PGA-MAP-Elites in QD Hopper and QD Walker and than MAP-Elites in QD Hopper; "
            "no significant difference from PGA-MAP-Elites in QD Ant and QD Half-Cheetah, "
            "from MAP-Elites in QD Ant, QD Half-Cheetah and QD Walker and from ME-ES in QD Hopper."
        )

    def test_h2(self):
        assert verdict(paper_tests(H2), H2, titles=TITLES) == (
            "H2 holds in no task: CMA-MEGA (TD3, ES) has "
            "significantly higher QD score than ME-ES in every task and than MAP-Elites in QD Half-Cheetah and QD Walker; "
            "no significant difference from PGA-MAP-Elites in every task and from MAP-Elites in QD Ant and QD Hopper."
        )

    def test_h3(self):
        assert verdict(paper_tests(H3), H3, titles=TITLES) == (
            "H3 holds in QD Hopper and QD Walker: CMA-MEGA (TD3, ES) has "
            "significantly higher QD score than CMA-MEGA (ES) in QD Hopper and QD Walker; "
            "no significant difference from CMA-MEGA (ES) in QD Ant and QD Half-Cheetah."
        )

    def test_alpha(self):
        assert verdict(paper_tests(H3), H3, alpha=0.001).startswith("H3 holds in qd_walker: cma_mega_td3_es has")

    def test_a_claim_to_be_lower(self):
        low, high = [0.1, 0.11, 0.12], [0.5, 0.51, 0.52]
        frame = cells({("qd_ant", "map_elites"): low, **{("qd_ant", a): high for a in ("cma_mega_es", "cma_mega_td3_es")}})
        tests = pairwise_tests(frame, "y", ROBUSTNESS.pairs)
        assert verdict(tests, ROBUSTNESS, titles=TITLES) == (
            "The robustness hypothesis holds in QD Ant: MAP-Elites has significantly lower mean elite robustness "
            "than CMA-MEGA (ES) in QD Ant and than CMA-MEGA (TD3, ES) in QD Ant."
        )

    def test_tests_that_could_not_be_done(self):
        """Hopper lacks a test but nothing speaks against the claim: undecided. On Walker another test does: it fails."""
        low, high = [0.1, 0.11, 0.12], [0.5, 0.51, 0.52]
        values = {("qd_ant", a): low for a in ALGORITHMS} | {("qd_ant", "cma_mega_es"): high}
        values |= {("qd_hopper", "cma_mega_es"): high, ("qd_hopper", "pga_me"): low, ("qd_hopper", "me_es"): low[:1]}
        values |= {
            ("qd_walker", "cma_mega_es"): [1, 1],
            ("qd_walker", "pga_me"): [2, 2],
            ("qd_walker", "map_elites"): [0, 2],
        }
        tests = pairwise_tests(cells(values), "y", H1.pairs)
        assert verdict(tests, H1, titles=TITLES) == (
            "H1 holds in QD Ant and is undecided in QD Hopper: CMA-MEGA (ES) has "
            "significantly higher QD score than PGA-MAP-Elites in QD Ant and QD Hopper, than ME-ES in QD Ant "
            "and than MAP-Elites in QD Ant; no significant difference from MAP-Elites in QD Walker; "
            "no test against ME-ES in QD Hopper and QD Walker and against MAP-Elites in QD Hopper: too few runs; "
            "no test against PGA-MAP-Elites in QD Walker: no spread between runs."
        )

    def test_undecided_everywhere(self):
        frame = cells({(t, a): [i, i + 1, i + 2] for t in "ab" for a, i in (("cma_mega_es", 90), ("pga_me", 0))})
        assert verdict(pairwise_tests(frame, "y", H1.pairs), H1).startswith(
            "H1 is undecided in every task: cma_mega_es has "
        )

    def test_undecided_for_want_of_spread(self):
        frame = cells(
            {("a", "cma_mega_es"): [9, 9], ("a", "pga_me"): [0, 1], ("a", "me_es"): [1, 1], ("a", "map_elites"): [0, 1]}
        )
        assert verdict(pairwise_tests(frame, "y", H1.pairs), H1).startswith("H1 is undecided in a: cma_mega_es has ")

    def test_no_tests(self):
        frame = cells({("a", "cma_mega_es"): [1]})
        assert verdict(pairwise_tests(frame, "y", H1.pairs), H1) == "H1 could not be tested: too few runs."
        assert verdict(pairwise_tests(frame[:0], "y", H1.pairs), H1) == "H1 could not be tested: too few runs."
        frame = cells({("a", a): [1, 1] for a in ALGORITHMS})
        assert verdict(pairwise_tests(frame, "y", H1.pairs), H1) == "H1 could not be tested: no spread between runs."


def test_contrasts_of_the_paper():
    """Numbers of pairs are the n of its Bonferroni corrections."""
    assert [c.name for c in CONTRASTS] == ["H1", "H2", "H3", "AUC", "robustness"]
    assert [len(c.pairs) for c in CONTRASTS] == [3, 3, 1, 2, 2]
    assert {name for c in CONTRASTS for pair in c.pairs for name in pair} == set(ALGORITHMS)
    assert AUC.higher
    assert not ROBUSTNESS.higher
