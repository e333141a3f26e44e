from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conformance.evaluator import EvaluatorSuite
from helpers import ROBOTS, random_solutions, same
from numba import typeof

import gaits
from gaits.episodes import Batch, make_job


class TestLocalEvaluator(EvaluatorSuite):
    def make(self, task, workers):
        return gaits.LocalEvaluator(task, workers=workers)


class TestBullet(EvaluatorSuite):
    @pytest.fixture(autouse=True)
    def force_bullet(self, monkeypatch):
        pytest.importorskip("pybullet", reason="needs gaits[bullet]")
        monkeypatch.setenv("GAITS_PHYSICS", "bullet")

    def make(self, task, workers):
        return gaits.LocalEvaluator(task, workers=workers)


class TestThroughTheModule(EvaluatorSuite):
    @pytest.fixture(autouse=True)
    def force_module(self, monkeypatch):
        monkeypatch.setenv("GAITS_PHYSICS", "pybullet")

    def make(self, task, workers):
        return gaits.LocalEvaluator(task, workers=workers)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_task_on_any_number_of_threads(name):
    task = gaits.make_task(name, max_steps=150)
    solutions = random_solutions(task, 12)
    results = []
    for workers in (1, 3):
        with gaits.LocalEvaluator(task, workers) as evaluator:
            results.append(evaluator.evaluate(solutions, range(12)))
    assert same(*results)


def test_to_numba_all_batches_are_of_one_type():
    """For another, the physics would be compiled again."""
    task = gaits.make_task("qd_hopper")
    plain = make_job(task, Batch(random_solutions(task, 3)), range(3))
    solutions, mean = random_solutions(task, 3), np.zeros((3, task.obs_dim), np.float32)
    for array in (solutions, mean):
        array.flags.writeable = False
    for statistics in (mean, mean[0]):
        job = make_job(task, Batch(solutions, obs_mean=statistics, obs_std=statistics + 1), range(3))
        for name in ("solutions", "seeds", "record", "obs_mean", "obs_std"):
            assert typeof(getattr(job, name)) == typeof(getattr(plain, name)), name


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two"])
def test_impossible_workers(workers):
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1; got"):
        gaits.LocalEvaluator(gaits.make_task("qd_hopper"), workers=workers)


def test_two_batches_at_once():
    task = gaits.make_task("qd_hopper", max_steps=60)
    solutions = random_solutions(task, 8)
    with gaits.LocalEvaluator(task, workers=2) as evaluator:
        first, second = (
            evaluator.submit(Batch(solutions), range(8)),
            evaluator.submit(Batch(solutions[::-1]), range(8)[::-1]),
        )
        a, b = first.result(), second.result()
    np.testing.assert_array_equal(a.objective, b.objective[::-1])


def test_closing_stops_a_batch():
    task = gaits.make_task("qd_half_cheetah")
    evaluator = gaits.LocalEvaluator(task, workers=1)
    pending = evaluator.submit(Batch(random_solutions(task, 50)), range(50))
    evaluator.close()
    with pytest.raises(RuntimeError, match="closed while"):
        pending.result()
    assert not [t for t in threading.enumerate() if t.name.startswith("gaits-rollout")]


LEAK_CHECK = """
import gc, re, threading
import gaits
from gaits.episodes import Batch

def megabytes():
    gc.collect()
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

task = gaits.make_task("qd_hopper", max_steps=20)
solution = [[0.0] * task.solution_dim] * 4
for i in range(30):
    with gaits.LocalEvaluator(task, workers=2) as evaluator:
        evaluator.evaluate(solution, range(4), transitions=True)
    if i == 9:
        before = megabytes()
print(threading.active_count(), megabytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_evaluators_leak_nothing():
    done = subprocess.run([sys.executable, "-c", LEAK_CHECK], check=True, capture_output=True, text=True)
    threads, growth = done.stdout.split()
    assert int(threads) == 1
    assert float(growth) < 30  # one physics client alone takes 28 MB
