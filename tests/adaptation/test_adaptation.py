from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from conformance.algorithm import small_task
from helpers import unbind

import gaits
from gaits.adaptation import recovery
from gaits.adaptation.damage import Damage, parse_damage
from gaits.adaptation.search import ALPHA, CONFIRM, KAPPA, LENGTH_SCALE, NOISE, Choice, adapt, find_prior, map_based_search
from gaits.analysis.robustness import evaluate_run
from gaits.archives.cells import find_cell
from gaits.search import episode_seeds

LEG = parse_damage(["leg_joint=0.3"])
SMALL = {"trials": 4, "episodes": 2, "workers": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train(tmp_path_factory.mktemp("run") / "run")


def train(folder, algorithm="map_elites", **changes):
    return gaits.train(small_task(**changes), algorithm, evaluations=48, out=folder, batch_size=16)


# ---------------------------------------------------------------------------------------------------------------------
# The search
# ---------------------------------------------------------------------------------------------------------------------


def gaussian_process(places, seen, residuals):
    """Mean and standard deviation by the textbook formula."""

    def kernel(a, b):
        d = np.sqrt(5) * np.linalg.norm(a[:, None] - b[None], axis=2) / (LENGTH_SCALE * np.sqrt(2 / 6))
        return (1 + d + d**2 / 3) * np.exp(-d)

    k = kernel(places, places[seen])
    inverse = np.linalg.inv(kernel(places[seen], places[seen]) + NOISE * np.eye(len(seen)))
    return k @ inverse @ residuals, np.sqrt(1 - np.einsum("ij,jk,ik->i", k, inverse, k))


def two_hills(n=15):
    """Places on a square, and a prior with a high hill in one corner and a lower one in the opposite."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    first, second = (np.exp(-20 * ((places - corner) ** 2).sum(axis=1)) for corner in (0.15, 0.85))
    return places, first + 0.8 * second


def test_every_step_follows_the_formula():
    places, prior = two_hills()
    truth = np.random.default_rng(0).uniform(0, 0.3, len(prior))
    tried, values, belief = map_based_search(prior, places, lambda row, again: truth[row], trials=6)
    assert len(set(tried)) == 6
    for t in range(len(tried)):
        mean, std = gaussian_process(places, tried[:t], truth[tried[:t]] - prior[tried[:t]]) if t else (0 * prior, 1.0)
        promise = prior + mean + KAPPA * std
        promise[tried[:t]] = -np.inf
        assert tried[t] == np.argmax(promise)
    expected = prior + gaussian_process(places, tried, truth[tried] - prior[tried])[0]
    expected[tried] = truth[tried]
    np.testing.assert_allclose(belief, expected, atol=1e-8)
    assert values == truth[tried].tolist()


def test_it_leaves_a_broken_region_after_a_trial():
    """All gaits of the best corner fail: best-first would try 30 of them before one of the other corner."""
    places, prior = two_hills(30)
    truth = np.where(places.sum(axis=1) < 1, 0.0, prior)
    tried, values, _ = map_based_search(prior, places, lambda row, again: truth[row], trials=20)
    assert len(tried) == 1 + CONFIRM
    assert len(set(tried)) == 2
    assert max(values) >= 0.7
    best_first = np.argsort(-prior)
    assert np.flatnonzero(truth[best_first] >= 0.7)[0] == 30


def test_it_stops_when_nothing_much_better_is_expected():
    places, prior = two_hills()
    tried, _, _ = map_based_search(prior, places, lambda row, again: ALPHA * prior.max() + 0.01, trials=20)
    assert tried == [np.argmax(prior)] * CONFIRM
    tried, _, _ = map_based_search(prior, places, lambda row, again: -1.0, trials=20)
    assert len(tried) == len(set(tried)) == 20


def test_luck_does_not_hold_it():
    """The champion's first trial is as good as ever, and the next shows that it is broken."""
    places, prior = two_hills()
    champion = int(np.argmax(prior))
    tried, _, belief = map_based_search(
        prior, places, lambda row, again: 0.1 if row == champion and again else prior[row], trials=20
    )
    assert tried[:2] == [champion, champion]
    assert tried[-CONFIRM:] == [tried[-1]] * CONFIRM
    assert tried[-1] != champion
    assert belief[champion] == pytest.approx((prior[champion] + 0.1) / 2)


# ---------------------------------------------------------------------------------------------------------------------
# On a run
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["map_elites", "me_es"])
def test_trials_are_episodes_on_the_damaged_robot(tmp_path, algorithm):
    run = train(tmp_path / "run", algorithm)
    found = adapt(run.folder, LEG, **SMALL)
    data = run.archive.data()
    n = len(data["index"])
    statistics = {name: data[name] for name in ("obs_mean", "obs_std") if name in data}
    with gaits.LocalEvaluator(LEG.apply(run.task), workers=1) as evaluator:
        truth = evaluator.evaluate(data["solution"], episode_seeds(42, 0, n), **statistics).objective
        again = evaluator.evaluate(data["solution"], np.tile(episode_seeds(42, n, 2), (n, 1)), **statistics)
    for choice in found.choices.values():
        _, first = np.unique(choice.rows, return_index=True)  # what is tried again plays other episodes
        np.testing.assert_allclose(choice.returns[first], truth[choice.rows[first]])
        np.testing.assert_array_equal(choice.damaged, again.episode_objective[choice.row])
        assert choice.rows[choice.found - 1] == choice.row
        assert choice.trial_return == choice.best_so_far[-1]
    with gaits.LocalEvaluator(run.task, workers=1) as evaluator:
        sound = evaluator.evaluate(data["solution"], np.tile(episode_seeds(42, n, 2), (n, 1)), **statistics)
    np.testing.assert_array_equal(found.chosen.sound, sound.episode_objective[found.chosen.row])


def test_the_ways_of_choosing(run):
    found = adapt(run, LEG, **SMALL)
    objective = run.archive.data("objective")
    best_first = np.argsort(-objective)
    choices = found.choices
    assert list(choices) == ["bayesian", "unchanged", "best_first", "random", "exhaustive"]
    assert choices["unchanged"].rows.tolist() == best_first[:1].tolist()
    np.testing.assert_array_equal(objective[choices["best_first"].rows], objective[best_first[:4]])
    assert len(set(choices["random"].rows)) == 4
    assert choices["exhaustive"].rows.tolist() == list(range(len(objective)))
    assert choices["exhaustive"].returns.max() == max(choices[name].returns.max() for name in ("best_first", "random"))
    assert choices["bayesian"].rows[0] == best_first[0]
    assert 1 <= len(choices["bayesian"].rows) <= 4


def test_same_seed_same_answer_for_any_number_of_workers(run):
    one, two = (adapt(run, LEG, **{**SMALL, "workers": workers}).summary() for workers in (1, 2))
    assert one == two
    other = adapt(run, LEG, **SMALL, seed=7).summary()
    assert other["choices"]["random"]["tried"] != one["choices"]["random"]["tried"]


def test_without_the_exhaustive_search_the_choices_are_the_same(run):
    seen = []
    short = adapt(run, LEG, **SMALL, exhaustive=False, progress=lambda *done: seen.append(done))
    full = adapt(run, LEG, **SMALL).summary()["choices"]
    full.pop("exhaustive")
    assert short.summary()["choices"] == full
    assert all(0 < done <= total for done, total in seen)
    assert seen == sorted(seen)


def test_more_trials_than_elites(run):
    found = adapt(run, LEG, **{**SMALL, "trials": 1000})
    assert len(found.choices["best_first"].rows) == len(run.archive)


def test_an_evaluated_archive_knows_better(tmp_path):
    run = train(tmp_path / "run")
    assert not find_prior(run, run.archive).evaluated
    evaluation = evaluate_run(run, episodes=2, workers=1)
    prior = find_prior(run, run.archive)
    assert prior.evaluated
    np.testing.assert_array_equal(prior.objective, evaluation.objective.mean(axis=1))
    found = adapt(run, LEG, **SMALL, exhaustive=False)
    assert found.choices["unchanged"].row == np.argmax(prior.objective)
    assert found.summary()["prior"] == "evaluated"
    gaits.resume(run.folder, evaluations=64)
    assert not find_prior(run, run.archive).evaluated  # it is of a younger archive


# ---------------------------------------------------------------------------------------------------------------------
# What is reported
# ---------------------------------------------------------------------------------------------------------------------


def by_hand(found, **damaged):
    """The same with made-up returns: the champion falls from 100 to 20."""
    sound = np.array([90.0, 110.0])
    choices = {
        name: dataclasses.replace(choice, damaged=np.full(2, damaged.get(name, 20.0)), sound=sound)
        for name, choice in found.choices.items()
    }
    return dataclasses.replace(found, choices=choices)


def test_shares_by_hand(run):
    found = by_hand(adapt(run, LEG, **SMALL), bayesian=60.0, exhaustive=100.0)
    assert found.share_of_sound("bayesian") == pytest.approx(0.6)
    assert found.share_recovered("bayesian") == pytest.approx(0.5)
    assert found.share_recovered("unchanged") == 0
    assert found.share_recovered("exhaustive") == 1
    assert np.isnan(by_hand(found, unchanged=100.0).share_recovered("bayesian"))


def test_luck_is_named(run):
    found = adapt(run, LEG, **SMALL)
    lucky, sure = (
        dataclasses.replace(found, choices={**found.choices, "bayesian": dataclasses.replace(found.chosen, damaged=returns)})
        for returns in (np.full(2, 0.4) * found.chosen.trial_return, np.full(2, found.chosen.trial_return))
    )
    assert "was luck; another --seed" in " ".join(recovery.sentences(lucky))
    assert "was luck; another --seed" not in " ".join(recovery.sentences(sure))


def test_choice_by_hand():
    choice = Choice("random", np.array([7, 3, 5]), np.array([1.0, 4.0, 2.0]), np.zeros(1), np.zeros(1))
    assert (choice.found, choice.row) == (2, 3)
    assert choice.best_so_far.tolist() == [1, 4, 4]


def test_table_and_files(run, tmp_path):
    found = adapt(run, LEG, **SMALL)
    text = recovery.save(found, tmp_path / "new" / "folder")
    summary = json.loads(text)
    assert (tmp_path / "new" / "folder" / "adapt.json").read_text() == text
    assert (tmp_path / "new" / "folder" / "adapt.png").read_bytes().startswith(b"\x89PNG")
    chosen = summary["choices"]["bayesian"]
    assert run.archive.data("index")[find_cell(run.archive, chosen["cell"])] == chosen["index"]
    assert chosen["trials"] == len(chosen["tried"]) == len(chosen["returns"])
    assert summary["damage"] == {"joints": {"leg_joint": 0.3}, "friction": {}}
    rows = recovery.table(found)
    assert len(rows) == 6
    assert len({len(row) for row in rows}) == 1
    text = " ".join(recovery.sentences(found))
    assert "leg_joint at 30% strength" in text
    assert f"gaits evaluate {run.folder}" in text


@pytest.mark.parametrize(("task", "grid"), [("qd_walker", (8, 8)), ("qd_ant", (3, 3, 3, 3)), ("mj_walker", (8, 8))])
@pytest.mark.parametrize("exhaustive", [True, False])
def test_maps_of_several_measures(tmp_path, task, grid, exhaustive):
    task = gaits.make_task(task, hidden=(4,), max_steps=20, grid=grid)
    run = gaits.train(task, "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    found = adapt(run, Damage({task.problem.joints[0]: 0.0}, {task.problem.feet[0]: 0.5}), **SMALL, exhaustive=exhaustive)
    figure = recovery.draw(found)
    assert len(figure.axes) == 4  # curves, two maps, a colour bar
    recovery.save(found, tmp_path)


def test_numbers_of_trials_do_not_touch():
    np.testing.assert_allclose(recovery.spread(np.array([0.5, 0.1, 0.52]), 0.1), [0.5, 0.1, 0.6])
    np.testing.assert_allclose(recovery.spread(np.array([1.0, 0.98]), 0.1), [1.0, 0.9])
    crowd = recovery.spread(np.full(20, 0.9), 0.065)
    np.testing.assert_allclose(np.diff(np.sort(crowd)), 1 / 19)
    assert recovery.spread(np.zeros(0), 0.1).size == 0


def test_a_damage_that_breaks_the_numbers_counts_as_the_worst(run, monkeypatch):
    original = gaits.LocalEvaluator.evaluate

    def broken(self, *args, **options):
        results = original(self, *args, **options)
        return dataclasses.replace(results, failed=np.ones_like(results.failed))

    monkeypatch.setattr(gaits.LocalEvaluator, "evaluate", broken)
    found = adapt(run, LEG, **SMALL)
    assert set(found.choices["exhaustive"].returns) == {run.task.objective_range[0]}


@pytest.mark.parametrize(
    ("damage", "options", "message"),
    [
        (Damage(), {}, r"No damage is given: weaken a joint \(thigh_joint, leg_joint, foot_joint\)"),
        (parse_damage(["leg_joint=1"]), {}, "No damage is given"),
        (parse_damage(["leg=0"]), {}, "Did you mean 'leg_joint'"),
        (LEG, {"trials": 0}, "trials must be a whole number of at least 1; got 0"),
        (LEG, {"episodes": 0}, "episodes must be a whole number of at least 1; got 0"),
        (LEG, {"seed": -1}, "A seed must be"),
        (LEG, {"workers": 0}, "workers must be a whole number of at least 1"),
    ],
)
def test_mistakes(run, damage, options, message):
    with pytest.raises(ValueError, match=message):
        adapt(run, damage, **options)


def test_an_empty_archive(tmp_path):
    run = train(tmp_path / "run")
    empty = gaits.archives.make_archive(run.task)
    with open(run.folder / "archive.npz", "wb") as file:
        gaits.archives.save(empty, file)
    unbind(run.folder)
    with pytest.raises(ValueError, match="archive is empty"):
        adapt(run, LEG)


def test_a_function_has_no_robot(tmp_path):
    run = gaits.train("lp_sphere", "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    with pytest.raises(ValueError, match="lp_sphere is a function, not a robot"):
        adapt(run, LEG)
