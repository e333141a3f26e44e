from __future__ import annotations

import json

import numpy as np
import pytest
from conformance.algorithm import small_task
from helpers import unbind

import gaits
from gaits.analysis import tables
from gaits.analysis.collect import collect
from gaits.analysis.compare import compare
from gaits.analysis.robustness import evaluate_run
from gaits.archives import make_archive
from gaits.archives.cells import centres
from gaits.cli import main
from gaits.runs.evaluation import Evaluation, load_evaluation


def by_hand(**changes):
    fields = {
        "cell": np.array([0, 1, 2]),
        "recorded": np.array([10.0, -5.0, 8.0]),
        "objective": np.array([[8.0, 10.0], [-5.0, -1.0], [2.0, 0.0]]),
        "measures": np.array([[[0.05], [0.15]], [[0.9], [0.9]], [[0.12], [0.12]]]),
        "failed": np.zeros(3, bool),
        "seed": 42,
        "evaluations": 100,
    }
    return Evaluation(**{**fields, **changes})


def test_robustness_by_hand():
    evaluation = by_hand()
    np.testing.assert_array_equal(evaluation.elite_robustness, [-1, 2, -7])
    assert evaluation.robustness == -2


def test_the_corrected_archive_by_hand():
    """Means 9, -3 and 1; the first and the last now meet in one cell, and the better one stays."""
    archive = by_hand().corrected(small_task(grid=(4,)))
    assert sorted(archive.data("objective").tolist()) == [-3, 9]
    without = by_hand(failed=np.array([True, False, False])).corrected(small_task(grid=(4,)))
    assert sorted(without.data("objective").tolist()) == [-3, 1]


def test_the_median_by_hand():
    """Of 3 episodes: medians 8, -5 and 2, and medians of the measures keep the last apart, which means do not."""
    three = {"objective": np.array([[8.0, 8.0, 100.0], [-5.0, -5.0, 1.0], [2.0, 2.0, -9.0]])}
    three["measures"] = np.array([[[0.1], [0.1], [0.1]], [[0.9], [0.9], [0.1]], [[0.3], [0.3], [0.0]]])
    evaluation = by_hand(**three)
    assert sorted(evaluation.corrected(small_task(grid=(4,)), by="median").data("objective").tolist()) == [-5, 2, 8]
    assert sorted(evaluation.corrected(small_task(grid=(4,))).data("objective").tolist()) == [-3, 116 / 3]


def test_the_summary_by_hand():
    """In a grid of four cells, whose centres are 0.125, 0.375, ..; the elites are recorded in the first three."""
    task = small_task(grid=(4,), objective_range=(-10.0, 100.0))
    numbers = by_hand().numbers(task)
    assert numbers["recorded"]["qd_score"] == 20 + 5 + 18
    assert numbers["corrected"]["qd_score"] == 19 + 7
    assert numbers["loss"] == {"qd_score": 17, "coverage": 0.25, "objective_max": 1}
    assert numbers["expected_qd_score"] == 19 + 7 + 11
    np.testing.assert_allclose(by_hand().distance(task), [0.05, 0.525, 0.505])
    np.testing.assert_allclose(by_hand().objective_std, np.sqrt([2, 8, 2]))
    np.testing.assert_allclose(by_hand().measures_std[:, 0], [np.sqrt(0.005), 0, 0], atol=1e-15)
    profile = {name: values[[0, 50, 100]] for name, values in by_hand().profile(task).items()}
    np.testing.assert_allclose(profile["objective"], [-5, 2.5, 10])
    assert (profile["recorded"].tolist(), profile["corrected"].tolist()) == ([3, 2, 1], [2, 1, 0])
    one = by_hand(failed=np.array([False, False, True]))
    failed = one.numbers(task)
    assert failed["expected_qd_score"] == 19 + 7
    assert failed["mean_elite_robustness"] == one.elite_robustness[:2].mean()
    assert failed["distance_to_centre"] == one.distance(task)[:2].mean()
    assert failed["objective_std"] == one.objective_std[:2].mean()
    assert failed["measures_std"] == {task.measure_names[0]: one.measures_std[:2, 0].mean()}
    lucky = by_hand(objective=np.array([[0.0, 0, 9], [0, 0, 0], [0, 0, 0]]), measures=np.full((3, 3, 1), 0.5))
    assert lucky.profile(task)["corrected"][60] == 0
    assert lucky.profile(task)["corrected"][45] == 1  # by the mean, 3; the median is 0
    alone = by_hand(objective=np.ones((3, 1)), measures=np.ones((3, 1, 1)))
    assert alone.numbers(task)["objective_std"] is None


def test_the_centres_of_a_cvt():
    task = small_task(archive="cvt", cells=16)
    cells = np.array([3, 0, 15])
    archive = make_archive(task)
    np.testing.assert_array_equal(archive.index_of(centres(archive, cells)), cells)
    here = by_hand(cell=cells, measures=np.repeat(centres(archive, cells)[:, None], 2, axis=1))
    np.testing.assert_array_equal(here.distance(task), [0, 0, 0])


@pytest.mark.parametrize("algorithm", ["map_elites", "me_es"])
def test_every_elite_plays_the_same_new_episodes(tmp_path, algorithm):
    run = gaits.train(small_task(), algorithm, evaluations=48, out=tmp_path / "run", batch_size=16)
    seen = []
    evaluation = evaluate_run(run, episodes=3, workers=2, progress=lambda done, of: seen.append((done, of)))
    elites = run.archive.data()
    n = len(elites["index"])
    assert seen[-1] == (n, n)
    assert evaluation.objective.shape == (n, 3)
    np.testing.assert_array_equal(evaluation.recorded, elites["objective"])
    with gaits.LocalEvaluator(run.task) as evaluator:
        from gaits.search import episode_seeds

        for i in (0, n - 1):
            statistics = {name: elites[name][i : i + 1] for name in ("obs_mean", "obs_std") if name in elites}
            again = evaluator.evaluate(elites["solution"][i : i + 1], episode_seeds(42, 0, 3)[None], **statistics)
            np.testing.assert_array_equal(evaluation.objective[i], again.episode_objective[0])
            np.testing.assert_array_equal(evaluation.measures[i], again.episode_measures[0])


def test_it_is_saved_beside_the_run_and_compared(tmp_path):
    run = gaits.train(small_task(), "map_elites", evaluations=48, out=tmp_path / "run", batch_size=16)
    evaluation = evaluate_run(run, episodes=2)
    loaded = load_evaluation(run)
    np.testing.assert_array_equal(loaded.objective, evaluation.objective)
    summary = json.loads((run.folder / "evaluation.json").read_text())
    assert summary["mean_elite_robustness"] == evaluation.robustness
    assert summary["corrected"]["elites"] == len(evaluation.corrected(run.task))
    row = collect([run.folder]).final.iloc[0]
    assert row["robustness"] == evaluation.robustness
    assert row["corrected_coverage"] == summary["corrected"]["coverage"]
    assert row["corrected_qd_score"] == pytest.approx(summary["corrected"]["qd_score"])
    assert row["median_corrected_best"] == summary["corrected_by_median"]["objective_max"]
    assert row["lost_qd_score"] == pytest.approx(summary["loss"]["qd_score"])
    for column, name in (("qd_score", "qd_score"), ("coverage", "coverage"), ("best", "objective_max")):
        assert row[f"median_lost_{column}"] == pytest.approx(summary["loss_by_median"][name])
        assert f"median_lost_{column}" in tables.metrics(collect([run.folder]))
    low, high = run.task.objective_range
    assert row["corrected_qd_score_normalized"] == row["corrected_qd_score"] / (run.task.total_cells * (high - low))
    assert row["expected_qd_score"] == pytest.approx(summary["expected_qd_score"])
    for name in ("distance_to_centre", "objective_std"):
        assert row[name] == pytest.approx(summary[name])
    gaits.resume(run.folder, evaluations=64)
    later = collect([run.folder])
    assert np.isnan(later.final["robustness"].iloc[0])  # it was of a younger archive
    assert any("its robustness is left out. Make it again" in note for note in later.notes)
    earlier = collect([run.folder], evaluations=16).notes
    (told,) = (note for note in earlier if "its robustness is left out. Only whole runs have it" in note)
    assert "Make it again" in told
    assert "ends.csv" not in told  # where the run ends, nothing was played again either


def test_the_summary_of_elites_that_all_failed_is_strict_json(tmp_path):
    """The corrected archive is empty: it has no best, and JSON has no NaN."""
    run = gaits.train(small_task(grid=(4,)), "map_elites", evaluations=16, out=tmp_path, batch_size=16)
    by_hand(failed=np.ones(3, bool), objective=np.full((3, 2), np.nan)).save(run)

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    summary = json.loads((tmp_path / "evaluation.json").read_text(), parse_constant=refuse)
    assert summary["mean_elite_robustness"] is None
    assert summary["corrected"]["elites"] == 0
    assert summary["corrected"]["objective_max"] is None


@pytest.mark.usefixtures("undrawn")
def test_corrected_numbers_lead(tmp_path, capsys):
    run = gaits.train(small_task(), "map_elites", evaluations=32, out=tmp_path / "run", batch_size=16)
    assert main(["evaluate", str(run.folder), "--episodes", "2"]) == 0
    told = capsys.readouterr().out
    for words in ("corrected by the mean", "by the median", "expected QD score", "elites at or above", "standard deviation"):
        assert words in told
    compare([run.folder], tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "highest mean" not in page  # of one run
    assert 0 < page.index("<h3>Corrected QD score</h3>") < page.index("<h3>QD score</h3>")
    assert main(["compare", str(run.folder), "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert told.index("Corrected QD score") < told.index("\nQD score")


@pytest.mark.usefixtures("undrawn")
def test_the_best_is_the_best_without_luck(tmp_path):
    for name in ("map_elites", "map_elites_line"):
        for seed in (1, 2):
            run = gaits.train(small_task(), name, evaluations=16, out=tmp_path / f"{name}-{seed}", batch_size=16, seed=seed)
            evaluate_run(run, episodes=2)
    collection = compare([tmp_path], tmp_path / "out")[0]
    best = collection.titles[str(tables.means(collection, "corrected_qd_score")["qd_hopper"].idxmax())]
    told = f"On QD Hopper, {best} has the highest mean corrected QD score."
    assert told in (tmp_path / "out" / "report.html").read_text()


def test_an_evaluation_of_an_older_version_is_made_again(tmp_path):
    run = gaits.train(small_task(), "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    evaluate_run(run, episodes=2)
    arrays = dict(np.load(run.folder / "evaluation.npz"))
    np.savez(run.folder / "evaluation.npz", **{**arrays, "measures": arrays["measures"].mean(axis=1)})
    with pytest.raises(ValueError, match=r"older version.*Make it again: gaits evaluate"):
        load_evaluation(run)
    assert evaluate_run(run, episodes=2).measures.ndim == load_evaluation(run).measures.ndim == 3


def test_what_was_evaluated_is_not_played_again(tmp_path, monkeypatch):
    run = gaits.train(small_task(), "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    first = evaluate_run(run, episodes=2)
    monkeypatch.setattr("gaits.analysis.robustness.make_evaluator", None)
    np.testing.assert_array_equal(evaluate_run(run, episodes=2).objective, first.objective)


def test_an_archive_older_than_its_metrics(tmp_path):
    """As after kill -9: the evaluation is of the archive, not of the last row of metrics."""
    stop = {"callback": lambda row, _: row["evaluations"] >= 32}
    run = gaits.train(small_task(), "map_elites", evaluations=64, out=tmp_path / "run", batch_size=16, **stop)
    path = run.folder / "metrics.csv"
    last = path.read_text().splitlines()[-1]
    path.write_text(path.read_text() + last.replace("2,32,", "3,48,", 1) + "\n")
    assert evaluate_run(run, episodes=1).evaluations == 32


def test_a_function_has_no_luck(tmp_path):
    run = gaits.train("lp_sphere", "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    with pytest.raises(ValueError, match="there is no luck in it"):
        evaluate_run(run)


def test_no_metrics(tmp_path):
    run = gaits.train(small_task(), "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    (run.folder / "metrics.csv").write_text("a,b\n1,2\n")
    unbind(run.folder)
    with pytest.raises(ValueError, match="has no iteration and no evaluations and no seconds"):
        evaluate_run(run)


def test_a_damaged_evaluation_is_named_and_the_run_still_compared(tmp_path):
    run = gaits.train(small_task(), "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    (run.folder / "evaluation.npz").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(ValueError, match="Make it again: gaits evaluate"):
        load_evaluation(run)
    collection = collect([run.folder])
    assert len(collection.final) == 1
    assert any("Make it again: gaits evaluate" in note for note in collection.notes)


@pytest.mark.parametrize("episodes", [0, -1, 1.5, True])
def test_impossible_episodes(tmp_path, episodes):
    run = gaits.train(small_task(), "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    with pytest.raises(ValueError, match="episodes must be a whole number of at least 1"):
        evaluate_run(run, episodes=episodes)
