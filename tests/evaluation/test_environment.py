"""Any Gymnasium environment as a task, played in worker processes."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import gymnasium
import numpy as np
import own_tasks
import pytest
from conformance.evaluator import EvaluatorSuite
from gymnasium import spaces
from helpers import assert_same_archive, random_solutions, same
from PIL import Image

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.checks import make_settings
from gaits.cli import main
from gaits.episodes import NON_FINITE, Batch, EpisodeFailed, Setup, make_job
from gaits.episodes.process import ProcessPlayer
from gaits.physics.pictures import Camera
from gaits.search import Search
from gaits.tasks.environment import Actions, _importable

LOCK = threading.Lock()


@pytest.fixture(autouse=True)
def forget_own_tasks():
    known = dict(gaits.TASKS)
    yield
    gaits.TASKS.clear()
    gaits.TASKS.update(known)


@pytest.fixture(scope="module")
def shared():
    """Evaluators by number of workers: a process takes a second to start."""
    with contextlib.ExitStack() as stack:
        evaluators = {}

        def find(task, workers):
            if workers not in evaluators:
                evaluators[workers] = stack.enter_context(gaits.LocalEvaluator(task, workers))
            return contextlib.nullcontext(evaluators[workers])

        yield find


@pytest.mark.parametrize(
    ("options", "reason"), [({"env": own_tasks.Point}, "Point takes no render_mode"), ({"render_mode": "ansi"}, "'ansi'")]
)
def test_what_cannot_be_watched_says_why(options, reason):
    task = own_tasks.point(**{"env": own_tasks.Drawn, **options})
    assert reason in task.unwatchable
    with pytest.raises(ValueError, match=reason):
        task.problem.make_puppet(task)


def test_pictures_that_are_none_say_what_was_expected():
    task = own_tasks.point(env=own_tasks.Drawn, trouble="render")
    assert not task.unwatchable
    job = make_job(task, Batch(random_solutions(task, 1)), [1], trace=True)
    with pytest.raises(EpisodeFailed, match=r"render\(\) of an environment .* must give an array .*; it gave NoneType"):
        task.problem.make_player(task).play(job)


def test_pictures_are_small_and_few():
    """A long episode of large pictures, a thousand steps a second."""

    class Large(own_tasks.Drawn):
        metadata = {"render_fps": 1000}  # noqa: RUF012

        def render(self):
            return np.repeat(np.repeat(super().render(), 10, axis=0), 10, axis=1)

    camera = Camera(Large(render_mode="rgb_array"), max_steps=300_000)
    camera.env.reset(seed=1)
    for step in range(501):
        camera.look(step)
    images, every, seconds = camera.develop()
    assert (len(images), every, seconds) == (2, 500, 0.001)
    assert Image.open(io.BytesIO(images[0])).size == (400, 300)


class TestInProcesses(EvaluatorSuite):
    @pytest.fixture(autouse=True)
    def share(self, shared):
        self.make = shared

    @pytest.fixture
    def task(self):
        return own_tasks.hopper_as_env()

    def test_closed(self, task):
        evaluator = gaits.LocalEvaluator(task, 1)
        ((_, player),) = evaluator._pool._idle
        evaluator.close()
        assert not player.process.is_alive()
        with pytest.raises(RuntimeError, match="closed"):
            evaluator.evaluate(np.zeros((1, task.solution_dim)), [0])

    def test_it_equals_the_same_task_without_gymnasium(self, task):
        solutions = random_solutions(task, 8)
        with self.make(task, 2) as a, gaits.LocalEvaluator(gaits.make_task("qd_hopper", max_steps=60), 2) as b:
            one, other = (e.evaluate(solutions, range(8), transitions=True, action_noise=0.1) for e in (a, b))
        assert same(one, other)
        for name, values in vars(one.transitions).items():
            np.testing.assert_array_equal(values, getattr(other.transitions, name))


def play(task, seed=0):
    player = task.problem.make_player(task)
    return player.rollout(
        Setup(
            random_solutions(task, 1)[0],
            seed,
            np.zeros(task.obs_dim, np.float32),
            np.ones(task.obs_dim, np.float32),
            np.zeros((0, task.action_dim), np.float32),
            True,
        )
    )


def test_measures_are_the_last_info_or_a_function_of_the_trajectory():
    last, mean = play(own_tasks.point()), play(own_tasks.point(own_tasks.mean_place))
    np.testing.assert_array_equal(last.steps.obs, mean.steps.obs)
    np.testing.assert_allclose(last.measures, last.steps.obs[-1, :2], rtol=1e-6)
    np.testing.assert_allclose(mean.measures, last.steps.obs[1:, :2].mean(axis=0), rtol=1e-6)
    assert last.objective == pytest.approx(last.steps.rewards.sum())


def test_an_environment_may_reuse_its_arrays():
    one, other = (play(own_tasks.point(own_tasks.mean_place, env=env)) for env in (own_tasks.Point, own_tasks.Reusing))
    np.testing.assert_array_equal(one.steps.obs, other.steps.obs)
    np.testing.assert_array_equal(one.measures, other.measures)


def test_measures_are_not_asked_of_an_episode_that_met_nan():
    task = own_tasks.point(env=own_tasks.AtTheEnd, trouble="reward")
    assert play(task, seed=2).end != NON_FINITE
    assert play(task, seed=3).end == NON_FINITE


def test_an_observation_of_another_size_than_its_space():
    with pytest.raises(ValueError, match="point gave an observation of 4 numbers; its space has 3"):
        play(own_tasks.point(env=own_tasks.Undeclared))


def test_measures_of_the_wrong_size_and_unknown_keys():
    with pytest.raises(ValueError, match=r"The grid has 1 measure\(s\), and an episode gave measures of shape \(2,\)"):
        play(own_tasks.point(grid=(5,), measure_range=(0, 1)))
    with pytest.raises(ValueError, match="info has no 'places'; it has: place"):
        play(own_tasks.point("places"))


def test_the_task_is_described_by_its_environment():
    task = gaits.Task.from_env("CartPole-v1", measures=own_tasks.mean_place, grid=[4, 4], objective_range=(0, 500))
    assert (task.name, task.title, task.obs_dim, task.action_dim, task.max_steps) == (
        "cartpole-v1",
        "CartPole-v1",
        4,
        2,
        500,
    )
    assert task.measure_names == ("measure 1", "measure 2")
    assert own_tasks.point().measure_names == ("place 1", "place 2")
    assert task.env_id == "CartPole-v1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"env": "NoSuchEnv-v0"}, "Gymnasium cannot make 'NoSuchEnv-v0': .* write 'MODULE:NoSuchEnv-v0'"),
        ({"color": "red"}, r"env must be callable as env\(color\), and is env\(trouble.*unexpected keyword"),
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1; got 0"),
        ({"env": 5}, "env must be an id that Gymnasium knows"),
        ({"env": dict}, "must make a gymnasium.Env; it made dict"),
        ({"measure_name": ["x", "y"]}, "No field of a task is called 'measure_name'. Did you mean 'measure_names'?"),
        ({"measures": ()}, "measures must be keys of info"),
        ({"measures": 3}, "measures must be keys of info"),
        ({"grid": (3,)}, "measure_range must be two finite numbers"),
        ({"grid": (0, 4)}, "positive whole"),
        ({"objective_range": (1, 1)}, "min < max"),
        ({"measure_range": ((0, 1), (3, 2))}, "low < high"),
        ({"name": "a/b"}, "becomes part of folder names"),
        ({"deadline": 0}, "deadline must be a number above 0"),
    ],
)
def test_bad_descriptions(change, message):
    whole = {"env": own_tasks.Point, "measures": "place", "grid": (4, 4), "objective_range": (0, 1)}
    whole |= {"measure_range": ((-1, 1), (-1, 1))}
    with pytest.raises(ValueError, match=message):
        gaits.Task.from_env(**{**whole, **change})


def test_what_is_defined_on_the_spot(tmp_path):
    """Lambdas, and classes inside functions, are played in this process, for no other could import them."""

    class Pushed(own_tasks.Point):
        pass

    task = gaits.Task.from_env(
        lambda: Pushed(),
        measures=lambda trajectory: trajectory.info("place")[-1],
        **{"grid": (4, 4), "objective_range": (0, 1), "measure_range": (-1, 1), "name": "here", "max_steps": 5},
    )
    run = gaits.train(task, "map_elites", evaluations=8, batch_size=8, workers=1, out=tmp_path / "run")
    assert run.metrics["steps"].iloc[-1] == 40


@pytest.mark.parametrize(
    ("change", "here"),
    [({}, False), ({"env": lambda: own_tasks.Point()}, True), ({"measures": lambda trajectory: [0, 0]}, True)],
)
def test_only_what_cannot_be_imported_is_played_in_this_process(change, here):
    task = own_tasks.point(**change)
    player = task.problem.make_local_player(task)
    player.close()
    assert isinstance(player, ProcessPlayer) != here


def test_what_a_process_can_import():
    assert all(map(_importable, ("Point-v0", 5, own_tasks.Point, functools.partial(own_tasks.Point, flag="x"))))
    assert not any(
        map(_importable, (lambda: 0, functools.partial(lambda: 0), functools.partial(own_tasks.Point, flag=lambda: 0)))
    )


def test_what_a_cell_defines_is_played_in_this_process(monkeypatch):
    """A notebook's __main__ comes from no file, a script's does."""
    cell = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", cell)
    exec("def make():\n    import own_tasks\n    return own_tasks.Point()", cell.__dict__)
    assert not _importable(cell.make)
    cell.__file__ = "script.py"
    assert _importable(cell.make)


def test_what_cannot_be_sent_to_a_process_says_so():
    with pytest.raises(ValueError, match=r"point cannot be sent to a worker process \(.*lock.*\). Let its environment make"):
        gaits.LocalEvaluator(own_tasks.point(flag=LOCK), workers=1)


def test_actions():
    box = Actions(spaces.Box(np.float32([-2, 0]), np.float32([2, 1])))
    np.testing.assert_allclose(box.convert(np.float32([0.5, -3])), [1, 0])
    assert box.convert(np.float32([0, 0])).dtype == np.float32
    assert Actions(spaces.Discrete(3, start=5)).convert(np.float32([0, 2, 1])) == 6
    assert Actions(spaces.Box(-1, 1, (2, 2), np.float32)).convert(np.zeros(4, np.float32)).shape == (2, 2)
    small = Actions(spaces.Box(-128, 127, (2,), np.int8))
    np.testing.assert_array_equal(small.convert(np.float32([-1, 1])), [-128, 127])
    narrow = Actions(spaces.Box(-3, -2.7, (1,), np.float32))
    assert narrow.space.contains(narrow.convert(np.float32([1])))
    for space in (spaces.Box(-np.inf, np.inf, (2,)), spaces.MultiBinary(3)):
        with pytest.raises(ValueError, match="have no policy here"):
            Actions(space)


def evaluate(trouble, workers=2, **changes):
    task = own_tasks.point(trouble=trouble, **changes)
    with gaits.LocalEvaluator(task, workers) as evaluator:
        return evaluator.evaluate(random_solutions(task, 5), range(5))


def test_an_error_comes_home_with_its_traceback():
    with pytest.raises(EpisodeFailed) as caught:
        evaluate("raise")
    for text in ("solution 3 with seed 3", "ZeroDivisionError: the user's own mistake", "own_tasks.py", "in _misbehave"):
        assert text in str(caught.value)


def test_a_process_that_always_dies():
    with pytest.raises(EpisodeFailed, match=r"solution 3 with seed 3. .* 3 times in a row \(killed by SIGKILL\)"):
        evaluate("die", workers=1)


def test_a_process_that_dies_or_hangs_once_costs_nothing(tmp_path):
    died = evaluate("die once", workers=1, flag=str(tmp_path / "died"))
    hung = evaluate("hang once", workers=1, flag=str(tmp_path / "hung"), deadline=3.0)
    assert same(died, hung)
    assert (tmp_path / "died").exists()
    assert (tmp_path / "hung").exists()
    assert not died.failed.any()


@pytest.mark.timeout(60)
def test_closing_does_not_wait_for_an_environment_that_hangs(tmp_path):
    """As after a second Ctrl-C: its process is killed, though the deadline is far away."""
    task = own_tasks.point(trouble="hang once", flag=str(tmp_path / "hung"), deadline=600.0)
    evaluator = gaits.LocalEvaluator(task, 1)
    pending = evaluator.submit(Batch(random_solutions(task, 5)), range(5))
    while not (tmp_path / "hung").exists():
        time.sleep(0.01)
    evaluator.close()
    with pytest.raises(RuntimeError, match="closed while"):
        pending.result()


@pytest.mark.timeout(120)
def test_a_second_ctrl_c_does_not_wait_for_an_environment_that_hangs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(HANGS)
    path = os.pathsep.join([str(Path(own_tasks.__file__).parent), *sys.path])
    with subprocess.Popen([sys.executable, script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}) as process:
        try:
            while not (tmp_path / "hung").exists():
                assert process.poll() is None
                time.sleep(0.05)
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                time.sleep(0.5)
            assert process.wait() != 0
        finally:
            process.kill()


HANGS = """
import gaits
import own_tasks

if __name__ == "__main__":
    gaits.train(own_tasks.point(env=own_tasks.Hangs, flag="hung"), "map_elites", workers=1, out="run")
"""


def test_a_reward_that_is_not_finite_is_flagged():
    np.testing.assert_array_equal(evaluate("reward", workers=1).failed, np.arange(5) == 3)


CRITIC = {"critic_steps": 5, "critic_hidden": (8,), "critic_batch": 16, "buffer_size": 1000}
SMALL = {
    "map_elites": {"batch_size": 10},
    "cma_mega_es": {"batch_size": 8, "es_samples": 8},
    "cma_mega_td3_es": {"batch_size": 8, "es_samples": 8, "gradient_states": 64, **CRITIC},
    "pga_me": {"batch_size": 10, "pg_batch": 16, **CRITIC},
    "me_es": {"batch_size": 10},
}


def test_every_algorithm_takes_a_task_of_ones_own():
    task = own_tasks.point()
    with gaits.LocalEvaluator(task, 1) as evaluator:
        for name, settings in SMALL.items():
            entry = ALGORITHMS[name]
            algorithm = entry.make(task, make_settings(entry.settings, name, settings), np.random.SeedSequence(1))
            search = Search(algorithm, evaluator, seed_key=1)
            for _ in range(3):
                search.iterate()
            assert len(algorithm.archive) > 0


def test_training_is_the_same_on_any_number_of_processes_and_resumes(tmp_path):
    task = own_tasks.point()
    for workers in (1, 2):
        gaits.train(task, "map_elites", evaluations=60, batch_size=20, workers=workers, out=tmp_path / str(workers))
    gaits.train(task, "map_elites", evaluations=40, batch_size=20, workers=1, out=tmp_path / "resumed")
    del gaits.TASKS["point"]
    run = gaits.load_run(tmp_path / "resumed")
    assert (run.task.title, run.task.ranges) == ("point", task.ranges)
    assert len(run.archive) > 1
    with pytest.raises(ValueError, match=r"files never run code.*--task MODULE:NAME, or gaits.register_task"):
        gaits.resume(run.folder, evaluations=60)
    gaits.register_task(task)
    gaits.resume(run.folder, evaluations=60, workers=1)
    for other in ("2", "resumed"):
        assert_same_archive(tmp_path / "1", tmp_path / other)


def test_another_task_of_the_same_name_is_not_taken_for_it(tmp_path):
    gaits.train(own_tasks.point(), "map_elites", evaluations=20, batch_size=20, workers=1, out=tmp_path / "run")
    gaits.register_task(own_tasks.point(measure_names=("east", "north")))
    with pytest.raises(ValueError, match="another; this run's had measure_names = "):
        gaits.load_run(tmp_path / "run")


def test_a_task_that_changed_is_trained_again(tmp_path):
    """As in a notebook, where a task is defined over and over."""
    for i, names in enumerate([("x", "y"), ("east", "north")]):
        task = own_tasks.point(measure_names=names, max_steps=np.int64(3), objective_range=np.float32([-20, 30]))
        run = gaits.train(task, "map_elites", evaluations=4, batch_size=4, workers=1, out=tmp_path / str(i))
        assert run.task.measure_names == names


MY_ROBOTS = """
import gymnasium
from own_tasks import point

gymnasium.register("MyPoint-v0", entry_point="own_tasks:Point")


def pt():
    return point(env="MyPoint-v0")


def wrong():
    return int("x")


def quits():
    raise SystemExit(0)
"""


def test_a_task_of_ones_own_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_robots.py").write_text(MY_ROBOTS)
    options = ["map_elites", "--evaluations", "40", "--batch-size", "20", "--workers", "1"]
    assert main(["train", "my_robots:pt", *options]) == 0
    assert "gaits resume runs/point-map_elites-seed1 --task my_robots:pt --evaluations 80" in capsys.readouterr().out
    assert (
        json.loads((tmp_path / "runs/point-map_elites-seed1/config.json").read_text())["own_task"]["source"]
        == "my_robots:pt"
    )
    del gaits.TASKS["point"]
    assert main(["evaluate", "runs/point-map_elites-seed1"]) == 2
    assert "name the task again: --task my_robots:pt" in capsys.readouterr().err
    assert main(["evaluate", "runs/point-map_elites-seed1", "--task", "my_robots:pt", "--episodes", "2"]) == 0
    for name, message in (
        ("my_robot:pt", "There is no module 'my_robot'"),
        ("my_robots:pp", "Did you mean 'pt'?"),
        ("my_robots:wrong", 'my_robots.py", line'),
        ("my_robots:quits", "SystemExit"),
        ("my_robots.py:pt", "a module as Python imports it: my_robots:biped; got 'my_robots.py:pt'"),
        ("own_tasks:mean_place", "mean_place"),
        ("own_tasks:not_a_task", "No task in own_tasks is called 'not_a_task'"),
    ):
        assert main(["train", name, *options]) == 2
        assert message in capsys.readouterr().err


def test_no_file_decides_which_code_runs(tmp_path, monkeypatch):
    """A run or a study of a stranger may name any module; nothing of it is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\n")
    run = gaits.train(own_tasks.point(), "map_elites", evaluations=20, batch_size=20, workers=1, out=tmp_path / "run")
    config = json.loads((run.folder / "config.json").read_text())
    config["own_task"]["source"] = "trap:task"
    for name in ("stranger", "trap:task"):
        (run.folder / "config.json").write_text(json.dumps({**config, "task": name}))
        with pytest.raises(ValueError, match=r"--task trap:task|folder names|was changed"):
            gaits.resume(run.folder, evaluations=60)
    (tmp_path / "study.toml").write_text(
        'tasks = ["trap:task"]\nalgorithms = ["map_elites"]\nseeds = [1]\nevaluations = 10\n'
    )
    with pytest.raises(ValueError, match="No task is called 'trap:task'"):
        gaits.load_study(tmp_path / "study.toml")


def test_tasks_of_ours_cannot_be_replaced():
    with pytest.raises(ValueError, match="comes with gaits"):
        gaits.register_task(own_tasks.point(name="qd_hopper"))
    with pytest.raises(ValueError, match="Only a Task"):
        gaits.register_task("qd_hopper")


def test_gymnasium_environments_of_all_kinds_can_be_played():
    for name in ("CartPole-v1", "MountainCarContinuous-v0", "FrozenLake-v1"):
        task = gaits.Task.from_env(name, measures=first_and_last, grid=(4,), objective_range=(0, 1), max_steps=20)
        episode = play(task)
        assert 0 < episode.length <= 20
        assert episode.steps.obs.shape == (episode.length + 1, spaces.flatdim(gymnasium.make(name).observation_space))


def first_and_last(trajectory):
    return [float(np.abs(trajectory.obs[-1] - trajectory.obs[0]).mean())]
