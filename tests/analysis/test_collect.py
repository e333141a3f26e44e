"""From folders to tables: every number by hand, and every folder that is not a run."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from analysis.frames import play_again
from synthetic import make_run

import gaits
from gaits.analysis import paper_numbers, tables
from gaits.analysis.collect import collect, settings_of

HOPPER = gaits.make_task("qd_hopper", grid=(10,), objective_range=(-100.0, 900.0), hidden=(4,))
WALKER = gaits.make_task("qd_walker", grid=(3, 3), hidden=(4,))


def write_metrics(run, rows):
    """(evaluations, elites, objective_sum, best) per iteration."""
    frame = pd.DataFrame(rows, columns=["evaluations", "elites", "objective_sum", "objective_max"])
    frame.insert(0, "iteration", range(1, len(rows) + 1))
    frame["coverage"] = frame["elites"] / 10
    frame["seconds"] = 1800.0 * frame["iteration"]
    frame.to_csv(run.folder / "metrics.csv", index=False)


def test_the_numbers_of_a_run(tmp_path):
    run = make_run(tmp_path / "run", HOPPER, "map_elites", iterations=2, batch=100)
    write_metrics(run, [(100, 2, -30.0, 20.0), (200, 5, 600.0, 400.0)])
    row = collect([run.folder]).final.iloc[0]
    assert row["qd_score"] == 600 + 5 * 100  # objectives may be negative: the sum of f - (-100)
    assert row["qd_score_auc"] == ((-30 + 2 * 100) + (600 + 5 * 100)) * 100
    assert row["coverage"] == 0.5
    assert row["best"] == 400
    assert row["runtime_hours"] == 1
    assert row["qd_score_normalized"] == 1100 / (10 * 1000)
    assert row["qd_score_auc_normalized"] == 127_000 / (10 * 1000)
    assert np.isnan(row["robustness"])


def test_other_offsets(tmp_path):
    run = make_run(tmp_path / "run", HOPPER, "map_elites", iterations=2, batch=100)
    write_metrics(run, [(100, 2, -30.0, 20.0), (200, 5, 600.0, 400.0)])
    assert collect([run.folder], min_objective=0.0).final["qd_score"].iloc[0] == 600
    lowest = run.history["objective"][run.history["status"] > 0].min()
    scanned = collect([run.folder], min_objective="scan").final.iloc[0]
    assert scanned["qd_score"] == pytest.approx(600 - 5 * lowest)
    assert scanned["qd_score_normalized"] == pytest.approx((600 - 5 * lowest) / (10 * (900 - lowest)))


@pytest.mark.parametrize("lowest_run", [0, 1, 2])
def test_the_scanned_minimum_is_that_of_all_runs_on_a_task(tmp_path, lowest_run):
    """Whichever run it is in: scores with different offsets would not be comparable."""
    lows = [-20.0, -30.0, -10.0]
    lows[lowest_run] = -70.0
    for seed, low in enumerate(lows):
        run = make_run(tmp_path / f"run{seed}", HOPPER, "map_elites", seed, iterations=1, batch=3)
        write_metrics(run, [(3, 3, 600.0, 400.0)])
        history = {**run.history, "objective": np.array([low, 250.0, -90.0]), "status": np.array([2, 2, 0], np.int8)}
        np.savez(run.folder / "history.npz", **history)  # what was refused does not count
    other = make_run(tmp_path / "walker", WALKER, "map_elites", iterations=1, batch=3)
    final = collect([tmp_path], min_objective="scan").final
    assert list(final["qd_score"][final["task"] == "qd_hopper"]) == [600 + 3 * 70] * 3
    own = collect([other.folder], min_objective="scan").final
    assert list(final["qd_score"][final["task"] == "qd_walker"]) == list(own["qd_score"])


def test_against_steps_and_hours(tmp_path):
    """Runs of one length in evaluations, but one falls early and its iterations are short: at equal cost it is further."""
    rows = {
        1: [(100, 2, 0.0, 20.0), (200, 5, 600.0, 400.0), (300, 6, 700.0, 450.0)],
        2: [(150, 3, 30.0, 9.0), (300, 9, 900.0, 90.0)],
    }
    steps = {1: [1000, 2000, 4000], 2: [3000, 9000]}
    for seed, table in rows.items():
        run = make_run(tmp_path / f"run{seed}", HOPPER, "map_elites", seed, iterations=len(table), batch=300 // len(table))
        write_metrics(run, table)
        path = run.folder / "metrics.csv"
        pd.read_csv(path).assign(steps=steps[seed]).to_csv(path, index=False)
    final = collect([tmp_path], against="steps").final
    assert final["steps"].tolist() == [4000, 9000]  # the second reaches 4,000 in its second iteration
    assert final["qd_score_auc"].tolist() == [200 * 1000 + 1100 * 1000 + 1300 * 2000, 330 * 3000 + 1800 * 6000]
    final = collect([tmp_path], against="hours").final
    assert final["runtime_hours"].tolist() == [1.0, 1.0]
    assert final["evaluations"].tolist() == [200, 300]
    assert final["qd_score_auc"].tolist() == [(200 + 1100) * 0.5, (330 + 1800) * 0.5]
    collection = collect([tmp_path], against="hours")
    assert any("after 1.00 hours" in note for note in collection.notes)
    assert tables.metrics(collection)["qd_score_auc"].title == "QD score AUC over hours"
    assert tables.paper(collection, "qd_score_auc") is None
    assert collect([tmp_path]).final["evaluations"].tolist() == [300, 300]
    with pytest.raises(ValueError, match="give one of the two"):
        collect([tmp_path], against="steps", evaluations=100)
    with pytest.raises(ValueError, match="against must be one of evaluations, steps, hours; got 'days'"):
        collect([tmp_path], against="days")


def test_a_run_that_does_not_know_its_steps(tmp_path):
    run = make_run(tmp_path / "run", HOPPER, "map_elites", iterations=2, batch=100)
    write_metrics(run, [(100, 2, -30.0, 20.0), (200, 5, 600.0, 400.0)])
    assert "cost in environment steps" in next(iter(collect([run.folder], against="steps").skipped.values()))


def test_a_shorter_comparison(tmp_path):
    run = make_run(tmp_path / "run", HOPPER, "map_elites", iterations=2, batch=100)
    write_metrics(run, [(100, 2, -30.0, 20.0), (200, 5, 600.0, 400.0)])
    row = collect([run.folder], evaluations=100).final.iloc[0]
    assert (row["evaluations"], row["qd_score"], row["runtime_hours"]) == (100, 170, 0.5)
    assert collect([run.folder], evaluations=150).final["evaluations"].iloc[0] == 200  # the iteration that gets there
    assert "it has only 200 evaluations" in collect([run.folder], evaluations=201).skipped[str(run.folder)]
    for bad in (0, -3):
        with pytest.raises(ValueError, match="evaluations must be a whole number of at least 1"):
            collect([run.folder], evaluations=bad)
    with pytest.raises(ValueError, match="finite number"):
        collect([run.folder], min_objective=float("nan"))


def test_a_last_iteration_beyond_the_budget_is_not_cut_off(tmp_path):
    make_run(tmp_path / "a", HOPPER, "map_elites", iterations=4, batch=100)
    b = make_run(tmp_path / "b", HOPPER, "cma_mega_es", iterations=3, batch=150)
    text = (b.folder / "config.json").read_text().replace('"evaluations": 450', '"evaluations": 400')
    (b.folder / "config.json").write_text(text)
    collection = collect([tmp_path])
    assert collection.final["evaluations"].tolist() == [450, 400]
    assert collection.notes == [note for note in collection.notes if note.startswith("Not as in the paper")]


def test_the_same_seed_twice_is_one_trial(tmp_path):
    make_run(tmp_path / "a", HOPPER, "map_elites", seed=1)
    make_run(tmp_path / "b", HOPPER, "map_elites", seed=1)
    collection = collect([tmp_path])
    assert len(collection.final) == 1
    assert "it is the same trial as" in collection.skipped[str(tmp_path / "b")]


def test_folders_of_studies_and_runs(tmp_path):
    make_run(tmp_path / "alone", HOPPER, "map_elites", seed=1)
    make_run(tmp_path / "study" / "a", HOPPER, "map_elites", seed=2)
    (tmp_path / "study" / "study.json").write_text("{}")
    assert collect([tmp_path]).final["seed"].tolist() == [1, 2]


def test_a_run_without_history_is_left_out_of_a_scan(tmp_path):
    make_run(tmp_path / "a", HOPPER, "map_elites", seed=1)
    b = make_run(tmp_path / "b", HOPPER, "map_elites", seed=2)
    (b.folder / "history.npz").unlink()
    collection = collect([tmp_path], unfinished=True, min_objective="scan")
    assert collection.final["seed"].tolist() == [1]
    assert "There is no" in collection.skipped[str(b.folder)]


def test_runs_of_different_lengths_are_compared_where_the_shortest_ends(tmp_path):
    make_run(tmp_path / "a", HOPPER, "map_elites", iterations=4)
    make_run(tmp_path / "b", HOPPER, "pga_me", iterations=9)
    collection = collect([tmp_path])
    assert collection.final["evaluations"].tolist() == [400, 400]
    assert "compared where the shortest ends, after 400" in collection.notes[-1]


def test_the_order_is_the_papers(tmp_path):
    for i, (task, algorithm) in enumerate([(WALKER, "map_elites"), (HOPPER, "map_elites"), (WALKER, "cma_mega_es")]):
        make_run(tmp_path / str(i), task, algorithm)
    collection = collect([tmp_path])
    assert collection.tasks() == ["qd_hopper", "qd_walker"]
    assert collection.algorithms() == ["cma_mega_es", "map_elites"]
    assert collection.titles["cma_mega_es"] == "CMA-MEGA (ES)"
    table = tables.means(collection, "qd_score")
    assert np.isnan(table.at["cma_mega_es", "qd_hopper"])
    assert tables.trials(collection).at["cma_mega_es", "qd_hopper"] == 0


def test_other_settings_are_another_algorithm_and_other_fields_another_task(tmp_path):
    make_run(tmp_path / "a", HOPPER, "map_elites")
    make_run(tmp_path / "b", HOPPER, "map_elites", settings={"sigma": 0.5})
    make_run(tmp_path / "c", HOPPER.with_(grid=(20,)), "map_elites")
    collection = collect([tmp_path])
    assert collection.algorithms() == ["map_elites (sigma=0.02)", "map_elites (sigma=0.5)"]
    assert collection.tasks() == ["qd_hopper (grid=10)", "qd_hopper (grid=20)"]
    assert collection.titles["map_elites (sigma=0.5)"] == "MAP-Elites (sigma=0.5)"


def test_what_is_left_to_the_task_is_not_what_is_set_to_the_algorithms_default(tmp_path):
    ant, sphere = gaits.make_task("qd_ant", grid=(2, 2, 2, 2), hidden=(4,)), gaits.make_task("lp_sphere", grid=(3, 3))
    for task, algorithm, name, value in ((ant, "dcrl_me", "reward_offset", "lowest"), (sphere, "map_elites", "sigma", 0.02)):
        make_run(tmp_path / task.name / "left", task, algorithm)
        make_run(tmp_path / task.name / "set", task, algorithm, settings={name: value})
        make_run(tmp_path / task.name / "elsewhere", HOPPER, algorithm)
        collection = collect([tmp_path / task.name])
        assert collection.skipped == {}
        assert collection.algorithms() == [algorithm, f"{algorithm} ({name}={value})"]
        assert collection.changed[f"{algorithm} ({name}={value})"] == f"{name} = {value}"
        assert algorithm not in collection.changed
        told = settings_of(collection).query("algorithm == @algorithm and setting == @name")["value"].item()
        own = {"lp_sphere": "0.5 on Linear projection (sphere)", "qd_ant": "-1.0 on QD Ant"}[task.name]
        assert sorted(told.split(" and ")) == sorted([own, f"{value} on {collection.titles['qd_hopper']}"])


def test_another_archive_is_another_task_and_a_run_from_before_there_was_a_choice_has_the_grid(tmp_path):
    old = make_run(tmp_path / "a", WALKER, "map_elites")
    make_run(tmp_path / "b", WALKER, "map_elites", seed=2)
    make_run(tmp_path / "c", WALKER.with_(archive="cvt", cells=20), "map_elites")
    config = json.loads((old.folder / "config.json").read_text())
    for field in ("archive", "cells"):
        del config["task_fields"][field]
    (old.folder / "config.json").write_text(json.dumps(config))
    collection = collect([tmp_path])
    assert collection.tasks() == ["qd_walker (archive=cvt, cells=20)", "qd_walker (archive=grid)"]
    assert collection.final["task"].value_counts().tolist() == [2, 1]
    row = collection.final.query("task.str.contains('cvt')").iloc[0]
    low, high = WALKER.objective_range
    assert row["qd_score_normalized"] == pytest.approx(row["qd_score"] / (20 * (high - low)))


def test_the_median_run(tmp_path):
    for seed in range(1, 6):
        make_run(tmp_path / str(seed), HOPPER, "map_elites", seed)
    collection = collect([tmp_path])
    scores = collection.final.set_index("run")["qd_score"]
    median = collection.median_run("qd_hopper", "map_elites")
    assert scores[str(median.folder)] == scores.median()
    assert collection.median_run("qd_hopper", "pga_me") is None


def test_the_median_run_is_the_median_without_luck(tmp_path):
    """Here the best as recorded is the luckiest, and the worst without luck."""
    scores = {}
    for seed in (1, 2, 3):
        run = make_run(tmp_path / str(seed), HOPPER, "map_elites", seed)
        scores[seed] = run.metrics["qd_score"].iloc[-1]
    recorded = sorted(scores, key=scores.__getitem__)
    for seed, share in zip(recorded, (0.5, 0.9, 0.1), strict=True):
        assert collect([tmp_path]).median_run("qd_hopper", "map_elites").config.seed == recorded[1]
        play_again(gaits.load_run(tmp_path / str(seed)), share)
    assert collect([tmp_path]).median_run("qd_hopper", "map_elites").config.seed == recorded[0]


def test_corrected_numbers_are_of_a_runs_own_end(tmp_path):
    """Whatever runs are compared at, they are not lost; and one of two runs does not pass for the mean of both."""
    for seed, iterations in ((1, 4), (2, 8)):
        play_again(make_run(tmp_path / str(seed), HOPPER, "map_elites", seed, iterations=iterations), 0.5)
    for against in ("evaluations", "steps", "hours"):
        collection = collect([tmp_path], against=against)
        assert collection.final["corrected_qd_score"].notna().tolist() == [True, False]
        assert "corrected_qd_score" not in tables.metrics(collection)
        assert collection.ends["corrected_qd_score"].notna().all()
        assert collection.ends["evaluations"].tolist() == [400, 800]
        header, rows = tables.own_ends(collection)
        assert header[-3:] == ["evaluations", "million steps", "hours"]
        assert [row[0] for row in rows] == ["MAP-Elites, seed 1", "MAP-Elites, seed 2"]
        assert [row[-3:] for row in rows] == [["400", "0.40", "0.0022"], ["800", "0.80", "0.0044"]]
        assert any("ends.csv has it where the run ends." in note for note in collection.notes)
    assert not any("different numbers of episodes" in note for note in collection.notes)
    play_again(gaits.load_run(tmp_path / "2"), 0.5, lucks=(1, 1))
    collection = collect([tmp_path], against="hours")
    assert any(
        "different numbers of episodes, 2, 3, " in note and "evaluate RUN --episodes 3" in note for note in collection.notes
    )
    assert any("after 0.0022 hours" in note for note in collection.notes)
    assert [row[5] for row in tables.own_ends(collection)[1]] == ["3", "2"]
    alone = collect([tmp_path / "2"])
    pd.testing.assert_series_equal(alone.final.iloc[0], alone.ends.iloc[0])


def test_what_cannot_be_compared_is_named_with_the_reason(tmp_path):
    good = make_run(tmp_path / "good", HOPPER, "map_elites")
    unfinished = make_run(tmp_path / "unfinished", HOPPER, "map_elites", seed=2)
    lines = (unfinished.folder / "metrics.csv").read_text().splitlines()
    (unfinished.folder / "metrics.csv").write_text("\n".join(lines[:5]) + "\n")
    half_written = make_run(tmp_path / "half", HOPPER, "map_elites", seed=3)
    (half_written.folder / "metrics.csv").write_text("\n".join([*lines[:-1], lines[-1][:12]]) + "\n")
    corrupt = make_run(tmp_path / "corrupt", HOPPER, "map_elites", seed=4)
    (corrupt.folder / "config.json").write_text("{")
    binary = make_run(tmp_path / "binary", HOPPER, "map_elites", seed=5)
    (binary.folder / "metrics.csv").write_bytes(b"\x00\xff" * 100)
    no_rows = make_run(tmp_path / "no_rows", HOPPER, "map_elites", seed=6)
    (no_rows.folder / "metrics.csv").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "config.json").write_text('{"model": "other"}')
    folders = [path for path in tmp_path.iterdir() if path.is_dir()] + [tmp_path / "nowhere", tmp_path / "good" / "."]
    collection = collect(folders)
    assert collection.final["run"].tolist() == [str(good.folder)]
    reasons = {name.rsplit("/", 1)[1]: reason for name, reason in collection.skipped.items()}
    assert set(reasons) == {"unfinished", "half", "corrupt", "binary", "no_rows", "empty", "foreign", "nowhere"}
    assert "400 of 2,000 evaluations: gaits resume" in reasons["unfinished"]
    assert "has no iteration yet" in reasons["no_rows"]
    assert "is not a run" in reasons["empty"]
    assert "is not a run" in reasons["nowhere"]
    assert len(collect(folders, unfinished=True).final) == 2


def test_the_same_run_twice(tmp_path):
    import shutil

    run = make_run(tmp_path / "a", HOPPER, "map_elites")
    shutil.copytree(run.folder, tmp_path / "b")
    collection = collect([tmp_path])
    assert len(collection.final) == 1
    assert "the same run as" in collection.skipped[str(tmp_path / "b")]


# --- tables --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_by_two(tmp_path):
    for seed in (1, 2):
        for task in (HOPPER, WALKER):
            make_run(tmp_path / f"{task.name}-me-{seed}", task, "me_es", seed, quality=0.2)
            make_run(tmp_path / f"{task.name}-pga-{seed}", task, "pga_me", seed, quality=0.8)
    return collect([tmp_path])


def test_means_over_trials(two_by_two):
    mine = two_by_two.final.query("task == 'qd_hopper' and algorithm == 'me_es'")["qd_score"]
    table = tables.means(two_by_two, "qd_score")
    assert table.at["me_es", "qd_hopper"] == pytest.approx(mine.sum() / 2)
    assert (tables.trials(two_by_two) == 2).all(axis=None)


def test_markdown_and_latex(two_by_two):
    metric = tables.METRICS["qd_score"]
    table = tables.means(two_by_two, "qd_score")
    number = f"{table.at['pga_me', 'qd_walker']:,.2f}"
    markdown = tables.to_markdown(table, two_by_two, metric)
    assert markdown.splitlines()[0] == "|  | QD Hopper | QD Walker |"
    assert f"**{number}** |" in markdown  # the better one is bold
    assert "| ME-ES |" in markdown
    latex = tables.to_latex(table, two_by_two, metric)
    assert f"\\textbf{{{number}}} \\\\" in latex
    assert latex.count("\\\\\n") == 3
    assert "PGA-MAP-Elites &" in latex


def test_runtime_is_best_when_low(two_by_two):
    table = pd.DataFrame({"qd_hopper": [1.0, 2.0]}, index=["a", "b"])
    assert tables.best_in_columns(table, tables.METRICS["runtime_hours"])["qd_hopper"].tolist() == [True, False]
    assert tables.best_in_columns(table, tables.METRICS["best"])["qd_hopper"].tolist() == [False, True]
    assert not tables.best_in_columns(0 * table, tables.METRICS["best"]).any(axis=None)  # all are the same


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.891, "1,234,567.89"), (-51.624, "-51.62"), (0.0, "0.00"), (np.nan, "–"), (0.00123, "0.0012"), (0.961, "0.96")],
)
def test_numbers_print_as_the_paper_prints(value, text):
    assert tables.format_number(value, tables.METRICS["best"]) == text


def test_the_papers_own_numbers(two_by_two):
    assert paper_numbers.means("qd_score").at["pga_me", "qd_hopper"] == 2068953.54
    assert paper_numbers.means("qd_score_auc").at["me_es", "qd_walker"] == 0.07e12
    assert set(paper_numbers.means("runtime_hours")) == {"qd_ant", "qd_half_cheetah", "qd_hopper", "qd_walker"}
    assert tables.paper(two_by_two, "robustness") is None  # these tasks have other grids than the paper's
    assert "Not as in the paper, QD Walker: grid = 3x3, hidden = 4." in two_by_two.notes


def test_the_papers_numbers_beside_the_papers_tasks(tmp_path):
    make_run(tmp_path / "a", gaits.make_task("qd_walker"), "me_es", solution_dim=1)
    make_run(tmp_path / "b", gaits.make_task("qd_walker"), "map_elites", solution_dim=1, settings={"sigma": 0.1})
    shown = tables.paper(collect([tmp_path]), "robustness")
    assert shown.at["me_es", "qd_walker"] == 2.05
    assert np.isnan(shown.at["map_elites", "qd_walker"])
    assert tables.paper(collect([tmp_path]), "corrected_best") is None


def test_only_what_is_in_the_paper_can_be_otherwise_there(tmp_path):
    make_run(tmp_path / "a", WALKER, "pga_budget", settings={"batch_size": 50})
    make_run(tmp_path / "b", WALKER, "map_elites", settings={"sigma": 0.1})
    make_run(tmp_path / "c", gaits.make_task("mj_walker", grid=(3, 3)), "map_elites", settings={"sigma": 0.1})
    assert collect([tmp_path]).notes == [
        "Not as in the paper, QD Walker: grid = 3x3, hidden = 4.",
        "Not its defaults, PGA-MAP-Elites (budget): batch_size = 50.",
        "Not as in the paper, MAP-Elites: sigma = 0.1.",
        "Not its defaults, MuJoCo Walker: grid = 3x3.",
    ]


def test_titles_are_escaped():
    assert tables.escape_latex("a_b {$x^2$}") == "a\\_b \\{\\$x\\textasciicircum{}2\\$\\}"
    assert tables.escape_markdown("a|<b>") == "a\\|&lt;b>"
