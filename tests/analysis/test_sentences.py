from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from analysis.frames import ALGORITHMS, SMALL, TASKS, cells, make_runs

from gaits.analysis.sentences import format_p, missing, verdict
from gaits.analysis.statistics import H1, H2, H3, ROBUSTNESS, pairwise_tests, simple_main_effects, two_way_anova

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
