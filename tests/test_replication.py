"""What is kept of long runs, and the pages that are made from it."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

HERE = Path(__file__).parents[1] / "replication"


@pytest.fixture
def keep(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield __import__("keep")
    for name in ("keep", "page", "claims", "kept", "beyond"):
        sys.modules.pop(name, None)


def test_pages_are_what_the_kept_runs_say(keep):
    for path in keep.page.PAGES:
        text = path.read_text()
        assert "<!-- made: " in text
        assert keep.page.render(text) == text, f"{path.name} is out of date: python replication/page.py"


def test_every_table_is_on_the_page(keep):
    text = "".join(path.read_text() for path in keep.page.PAGES)
    assert all(f"<!-- made: {name} -->" in text for name in keep.page.MADE)


@pytest.mark.parametrize(("length", "step"), [(5, 100), (500, 100), (10_000, 100), (5000, 200)])
def test_few_rows_are_kept(keep, length, step):
    done = [step * (i + 1) for i in range(length)]
    kept = [int(row) for row in keep.thin([str(n) for n in done], done)]
    assert kept == sorted(set(kept))
    assert min(length, 150) <= len(kept) <= 205 + len(keep.MILESTONES)
    assert {n for n in keep.MILESTONES if n <= done[-1]} | {done[-1]} <= set(kept)


def write_run(folder: Path, rows: int) -> Path:
    folder.mkdir()
    config = {"task": "qd_hopper", "algorithm": "map_elites", "seed": 1, "settings": {}, "git_revision": None}
    (folder / "config.json").write_text(json.dumps(config))
    with (folder / "metrics.csv").open("w") as file:
        file.write("evaluations,qd_score\n" + "".join(f"{100 * i},{float(i)}\n" for i in range(1, rows + 1)) + "99,")
    return folder


def test_a_longer_run_is_kept_and_a_shorter_is_not(keep, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(keep, "HERE", tmp_path)
    for rows in (3, 600, 5):
        keep.keep(write_run(tmp_path / f"run{rows}", rows))
    folder = tmp_path / "qd_hopper-map_elites-seed1"
    with (folder / "metrics.csv").open() as file:
        assert list(csv.DictReader(file))[-1] == {"evaluations": "60000", "qd_score": "600.0"}
    facts = json.loads((folder / "kept.json").read_text())
    assert facts == {"evaluations": 60_000, "qd_score_auc": 100.0 * 600 * 601 / 2}
    assert "shorter" in capsys.readouterr().out


def test_what_each_kind_of_offspring_adds(keep, monkeypatch):
    """To the QD score, in every phase that was gone through; the first batch has no kinds yet."""
    monkeypatch.setattr(keep, "PHASES", (0, 8, 12, 20))
    settings = {"batch_size": 4, "pg_share": 0.25, "injected_share": 0.25, "challenge": False, "reevaluate": 0}
    config = {"settings": settings, "task_fields": {"objective_range": [-10.0, 100.0]}}
    history = {
        "objective": np.array([5.0, 1, 2, 3, 8, 0, 9, 1, 50, 4, -10, 19]),
        "cell": np.array([0, 5, 6, 7, 0, 1, 0, 0, 3, 1, 2, 0]),
        "status": np.array([2, 2, 2, 2, 1, 2, 1, 0, 0, 1, 2, 1]),
    }
    assert keep.added(config, history) == {"climbing": [3, 0], "injected": [10, 4], "crossed": [0.5, 5]}
    settings["reevaluate"] = 5  # batches are others then
    assert keep.added(config, history) == {}


def made_up(kept, name: str, task: str, seed: int, spread: float) -> object:
    """A whole run that ends, give or take, where the paper's did."""
    much = 1 + spread * (seed - 3)
    score, cover = much * kept.paper("qd_score", name, task), kept.paper("coverage", name, task)
    metrics = {"evaluations": [90_000, 200_000, 1_000_000], "qd_score": [0.8 * score, 0.9 * score, score]}
    metrics |= {"coverage": [0.1, cover, cover], "objective_max": [1.0, 2.0, 3.0], "seconds": [1, 2, 3600]}
    again = {"evaluations": 1_000_000, "mean_elite_robustness": much * kept.paper("robustness", name, task)}
    facts = {"qd_score_auc": much * kept.paper("qd_score_auc", name, task)}
    config = {"task": task, "algorithm": name, "seed": seed, "settings": {"batch_size": 100, "pg_steps": 10}}
    return kept.Kept(config, pd.DataFrame(metrics), facts, again, pd.DataFrame({"evaluations": []}))


@pytest.mark.parametrize(("spread", "verdict"), [(0.001, "higher"), (0.9, "no difference")])
def test_whole_runs_decide(keep, monkeypatch, spread, verdict):
    kept, claims = sys.modules["kept"], sys.modules["claims"]
    runs = [made_up(kept, *cell, seed, spread) for cell in kept.CELLS for seed in range(1, 6)]
    monkeypatch.setattr(kept, "kept", lambda: runs)
    assert {one.ours for one in claims.outcomes("H3")} <= {-1, 0, 1}
    ours = next(one.ours for one in claims.outcomes("H2") if (one.second, one.theirs) == ("me_es", 1))
    assert claims.SIGNS[ours] == verdict
    assert claims.hypothesis("H1")[0] == claims.NO  # some pairs are significantly apart there and some are not
    close = claims.YES if spread < 0.1 else claims.NO
    assert claims.interaction()[0] == claims.reaches("pga_me", 1.5e6, 100_000)[0] == close
    assert claims.covers()[0] == claims.YES
    assert "[" in keep.page.beside("qd_score", "pga_me", "qd_ant")
    assert keep.page.beside("qd_score", "pga_me", "qd_ant").endswith("= **1.00**")
    assert "brackets" in keep.page.state()


def learner(kept, name: str, seed: int, scores: list[float], **changes: object) -> object:
    """A run on QD Walker with these scores after 10,000, 50,000 and, if there is a third, 100,000 evaluations."""
    from gaits.algorithms import settings_for
    from gaits.tasks import make_task

    done = [10_000, 50_000, 100_000][: len(scores)]
    metrics = {"evaluations": done, "qd_score": scores, "coverage": 0.5, "objective_max": 1.0, "steps": 1e6, "seconds": 60}
    settings = asdict(settings_for(make_task("qd_walker"), name, {})) | changes
    config = {"task": "qd_walker", "algorithm": name, "seed": seed, "settings": json.loads(json.dumps(settings))}
    config |= {"name": "variant" if changes else None, "machine": {"cores": 2}}
    return kept.Kept(config, pd.DataFrame(metrics), {}, {}, pd.DataFrame({"evaluations": []}))


@pytest.fixture
def beyond(keep, monkeypatch):
    kept, page = sys.modules["kept"], sys.modules["beyond"]

    def show(*runs: tuple) -> object:
        made = [learner(kept, *run[:3], **(run[3] if len(run) > 3 else {})) for run in runs]
        for module in (kept, page):
            monkeypatch.setattr(module, "kept", lambda: made)
        return page

    return show


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_gates_need_the_whole_length_and_the_same_seed(beyond):
    first, budget = ("pga_me", 1, [10, 20, 40]), ("pga_budget", 1, [10, 30, 60])
    assert [row[2:] for row in rows(beyond(first).gates())] == [["", "cannot tell yet"]] * 2
    assert rows(beyond(first, ("pga_budget", 2, [10, 30, 60])).gates())[0][3] == "cannot tell yet"
    assert rows(beyond(first, ("pga_budget", 1, [10, 30])).gates())[0][2:] == ["1.50 after 50,000", "cannot tell yet"]
    assert rows(beyond(first, budget).gates())[0][2:] == ["1.50 after 100,000", "met"]
    early = ["1.50 with 50,000 evaluations against 100,000", "met"]  # a QD score never falls
    assert rows(beyond(first, ("pga_budget", 1, [10, 60])).gates())[0][2:] == early
    assert rows(beyond(("pga_me", 1, [10, 20]), ("pga_budget", 1, [10, 60])).gates())[0][3] == "cannot tell yet"
    failed, open_yet = ("pga_budget", 1, [10, 30, 44]), ("pga_budget", 1, [10, 40], {"pg_steps": 10})
    assert rows(beyond(first, failed, open_yet).gates())[0][2:] == ["2.00 after 50,000", "cannot tell yet"]
    assert rows(beyond(first, ("pga_budget", 1, [10, 60], {"reevaluate": 5})).gates())[0][3] == "cannot tell yet"
    one, two = rows(beyond(first, ("pga_budget", 1, [99, 99, 51]), ("dcrl_me", 1, [9, 9, 60])).gates())
    assert one[2:] == ["1.27 after 100,000", "**not met**"]
    assert two[2:] == ["1.18 after 100,000", "**not met**"]


def test_the_best_is_what_passes_the_second_gate(beyond):
    runs = ("pga_budget", 1, [10, 30, 50]), ("dcrl_me", 1, [10, 30, 55]), ("cma_mega_td3", 1, [10, 30, 70])
    assert rows(beyond(*runs).gates())[1][0] == "CMA-MEGA (TD3) over PGA-MAP-Elites (budget)"
    assert rows(beyond(*runs).gates())[1][2:] == ["1.40 after 100,000", "met"]
    variant = ("dcrl_me", 1, [10, 30, 80], {"hindsight": 0.0})
    assert rows(beyond(*runs, variant).gates())[1][0].startswith("DCRL-MAP-Elites, `hindsight` 0.0 over")
    second = ("pga_budget", 2, [10, 30, 50]), ("dcrl_me", 2, [10, 30, 65])  # two seeds say more than one
    assert rows(beyond(*runs, variant, *second).gates())[1][0] == "DCRL-MAP-Elites over PGA-MAP-Elites (budget)"
    assert rows(beyond(*runs, variant, *second).gates())[1][2:] == ["1.10, 1.30 after 100,000", "met"]
    better = ("pga_budget", 1, [10, 30, 60], {"pg_steps": 10})
    (_, *one), two = rows(beyond(*runs, better, ("pga_me", 1, [10, 20, 40])).gates())
    assert one == ["1.3x", "1.50 after 100,000", "met"]
    assert two[0].endswith("over PGA-MAP-Elites (budget), `pg_steps` 10")


def test_ratios_are_of_one_seed_and_one_length(beyond):
    page = beyond(
        ("pga_me", 1, [10e6, 20e6]),
        ("pga_me", 2, [10e6, 40e6, 50e6]),
        *(("dcrl_me", n, [1e6, 60e6, 70e6]) for n in (1, 2, 3)),
    )
    (_, first, two, *others), (_, name, three, *ours) = rows(page.progress())
    assert (first, two, others[2:4]) == ("PGA-MAP-Elites", "1 · 2", ["20.000 · 40.000", "50.000"])
    assert (name, three) == ("DCRL-MAP-Elites", "1 · 2 · 3")
    assert ours[2] == "60.000 · 60.000 · 60.000 (3.00x · 1.50x · –)"
    assert ours[3] == "70.000 · 70.000 · 70.000 (– · 1.40x · –)"  # that seed of PGA-MAP-Elites has not gone so far


def test_a_change_is_told_against_the_run_that_has_all_but_it(beyond):
    """Ladders too: a run with two settings changed stands beside the one with the first of them, of the same seed."""
    small, both = {"critic_steps": 600}, {"critic_steps": 600, "critic_hidden": (64,)}
    page = beyond(
        *(("dcrl_me", seed, [10e6, 20e6, 90e6]) for seed in (1, 2)),
        ("dcrl_me", 1, [10e6, 30e6], small),
        ("dcrl_me", 2, [10e6, 40e6], small),
        ("dcrl_me", 1, [10e6, 15e6], both),
        ("dcrl_me", 3, [10e6, 15e6], small),
        ("pga_me", 1, [10e6, 15e6], {"critic_steps": 600}),
    )
    title, scores = "DCRL-MAP-Elites", "30.000 / 20.000 · 40.000 / 20.000"
    assert [row[1:7] for row in rows(page.changes())] == [
        [title, "`critic_steps` 600", "1 · 2", "50,000", scores, "1.50 · 2.00: 1.73"],
        [f"{title}, `critic_steps` 600", "`critic_hidden` 64", "1", "50,000", "15.000 / 30.000", "0.50"],
    ]


def test_seeds_that_go_on_are_told_after_what_all_have_done(beyond):
    without = [("dcrl_me", seed, [1e6, 2e6, 4e6]) for seed in (1, 2)]
    page = beyond(*without, ("dcrl_me", 1, [2e6, 3e6], {"balanced": True}), ("dcrl_me", 2, [5e6], {"balanced": True}))
    assert [[row[3], row[4], row[6]] for row in rows(page.changes())] == [
        ["1 · 2", "10,000", "2.00 · 5.00: 3.16"],
        ["1", "50,000", "1.50"],
    ]


def test_a_change_is_told_corrected_where_both_runs_were_played_again_at_one_length(beyond):
    page = beyond(("dcrl_me", 1, [10, 20]), ("dcrl_me", 1, [10]), ("dcrl_me", 1, [30], {"hindsight": 0.0}))
    long, short, variant = page.kept()
    short.config["name"] = "dcrl_10000"
    for run, left in ((long, 9), (variant, 6)):
        run.again.update({"corrected": {"qd_score": left}, "evaluations": run.end})
    assert [row[6:8] for row in rows(page.changes())] == [["3.00", ""]]
    short.again.update({"corrected": {"qd_score": 3}, "evaluations": short.end})
    assert [row[6:] for row in rows(page.changes())] == [["3.00", "2.00", "– / –"]]
    variant.config["machine"] = {"cores": 64}
    assert rows(page.changes())[0][8] == ""  # what one machine takes says nothing of another's
    assert [row[2] for row in rows(page.progress())] == ["1"]  # of the long one only


def test_older_runs_have_the_defaults_of_what_came_later(beyond):
    page = beyond(("dcrl_me", 1, [10, 20]), ("dcrl_me", 1, [10, 30], {"critic_steps": 600}))
    default, _ = page.kept()
    del default.config["settings"]["reevaluate"]
    assert rows(page.changes())[0][2] == "`critic_steps` 600"
    assert page.name(default) == "DCRL-MAP-Elites"


def test_the_goal_is_the_papers_last_score(beyond):
    theirs = sys.modules["kept"].paper("qd_score", "pga_me", "qd_walker")
    page = beyond(("dcrl_me", 1, [0.1 * theirs, 1.1 * theirs, 1.2 * theirs]), ("dcrl_me", 2, [1.0, 0.5 * theirs]))
    assert rows(page.goal())[0][3:] == ["1 · 2", "50,000 · –", "1.20 after 100,000 · 0.50 after 50,000"]


def test_an_evaluation_of_a_shorter_run_is_not_shown(beyond):
    page = beyond(("dcrl_me", 1, [10, 30]))
    run, again = (
        page.kept()[0],
        {"corrected": {"qd_score": 7e6, "coverage": 0.1, "objective_max": 2}, "expected_qd_score": 8e6},
    )
    for end, shown in ((50_000, ["7.000", "8.000"]), (10_000, ["", ""])):
        run.again.update(again, evaluations=end)
        assert rows(page.ends())[0][5:7] == shown


def test_offspring_is_told_by_kind(beyond):
    page = beyond(*(("dcrl_me", seed, [1e6, 2e6]) for seed in (1, 2)), ("pga_me", 1, [1e6, 2e6]))
    page.kept()[0].facts["added"] = {"climbing": [10.4, 3.0], "crossed": [5.0, 6.0]}
    page.kept()[1].facts["added"] = {"climbing": [7.0], "crossed": [8.0]}
    assert [row[1:6] for row in rows(page.offspring())] == [
        ["DCRL-MAP-Elites", "1 · 2", "climbing", "10 · 7", "3 · –"],
        ["DCRL-MAP-Elites", "1 · 2", "crossed", "5 · 8", "6 · –"],
    ]


def test_ends_are_told_together_where_runs_are_as_long(beyond):
    page = beyond(*(("dcrl_me", seed, [1e6, 2e6]) for seed in (1, 2)), ("dcrl_me", 3, [1e6, 2e6, 3e6]))
    assert [row[2:5] for row in rows(page.ends())] == [["1 · 2", "50,000", "2.000 · 2.000"], ["3", "100,000", "3.000"]]
    again = {"corrected": {"qd_score": 7e6, "coverage": 0.1, "objective_max": 2}, "expected_qd_score": 8e6}
    page.kept()[1].again.update(again, evaluations=50_000)
    assert rows(page.ends())[0][5:8] == ["– · 7.000", "– · 8.000", "50% · 50%"]


def test_core_seconds_are_of_what_was_watched(beyond):
    """Processor time begins at 0 again in a resumed run, and what nobody watched does not count."""
    run = beyond(("dcrl_me", 1, [10, 30])).kept()[0]
    seen = pd.DataFrame({"evaluations": [100, 300, 900, 1000], "cpu_seconds": [5.0, 15.0, 1.0, 7.0]})
    assert sys.modules["beyond"].processor(replace(run, memory=seen)) == f"{100 * 16 / 300:.1f}"
