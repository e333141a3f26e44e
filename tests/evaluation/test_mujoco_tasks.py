"""MuJoCo's tasks through the evaluators, and trained on."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.evaluator import EvaluatorSuite
from helpers import assert_same_archive, random_solutions, same

import gaits
from gaits.cli import main

pytest.importorskip("mujoco", reason="needs gaits[mujoco]")


class TestMujoco(EvaluatorSuite):
    @pytest.fixture
    def task(self):
        return gaits.make_task("mj_hopper", max_steps=60)

    def make(self, task, workers):
        return gaits.LocalEvaluator(task, workers)


def feet(trajectory):
    return trajectory.info("x_velocity").mean(keepdims=True)


def test_it_is_the_environment_played_without_python():
    task = gaits.make_task("mj_hopper", max_steps=100)
    through_gymnasium = gaits.Task.from_env("Hopper-v5", measures=feet, grid=(10,), objective_range=(0, 1), max_steps=100)
    solutions = random_solutions(task, 6)
    with gaits.LocalEvaluator(task, 2) as a, gaits.LocalEvaluator(through_gymnasium, 1) as b:
        one, other = (e.evaluate(solutions, range(6), transitions=True) for e in (a, b))
    for name, values in vars(one.transitions).items():
        np.testing.assert_array_equal(values, getattr(other.transitions, name))


@pytest.mark.parametrize("name", ["mj_ant", "mj_half_cheetah", "mj_walker"])
def test_every_task_on_any_number_of_threads(name):
    task = gaits.make_task(name, max_steps=100)
    results = []
    for workers in (1, 3):
        with gaits.LocalEvaluator(task, workers) as evaluator:
            results.append(evaluator.evaluate(random_solutions(task, 6), range(6)))
    assert same(*results)


def test_training_is_the_same_on_1_and_2_threads_and_on_2_processes(tmp_path):
    options = ["--evaluations", "60", "--batch-size", "20", "--max-steps", "100"]
    for place, how in (
        ("1", ["--workers", "1"]),
        ("2", ["--workers", "2"]),
        ("p", ["--scheduler", "local", "--workers", "2"]),
    ):
        assert main(["train", "mj_walker", "map_elites", *options, *how, "--out", str(tmp_path / place)]) == 0
    assert_same_archive(tmp_path / "1", tmp_path / "2")
    assert_same_archive(tmp_path / "1", tmp_path / "p")
    assert main(["export", str(tmp_path / "1")]) == 0
