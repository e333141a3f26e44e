from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import ROBOTS, random_solutions

import gaits

IDS = [task.env_id for task in map(gaits.make_task, ROBOTS)]


def test_ids():
    assert [f"gaits/QD{robot}-v0" for robot in ("Ant", "HalfCheetah", "Hopper", "Walker", "Humanoid")] == IDS


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_accepts_it(env_id, backend):
    env = gymnasium.make(env_id, render_mode="rgb_array")
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_an_evaluation_is_the_episode_of_its_seed(name):
    task = gaits.make_task(name)
    solution = random_solutions(task, 1, seed=3)[0]
    with gaits.LocalEvaluator(task, workers=1) as evaluator:
        results = evaluator.evaluate([solution], [4321], transitions=True)
    env = gymnasium.make(task.env_id)
    obs, _ = env.reset(seed=4321)
    total, over, steps = 0.0, False, 0
    while not over:
        np.testing.assert_array_equal(obs, results.transitions.obs[steps])
        obs, reward, terminated, truncated, info = env.step(results.transitions.action[steps])
        over = terminated or truncated
        total, steps = total + reward, steps + 1
    assert (total, steps) == (results.objective[0], results.length[0])
    assert type(reward) is float
    np.testing.assert_array_equal(info["measures"], results.measures[0])
    assert results.transitions.terminated[-1] == terminated
    assert results.transitions.truncated[-1] == truncated
    env.close()


def test_reset_without_a_seed_goes_on_with_the_last_one():
    env = gymnasium.make("gaits/QDHopper-v0")
    first = env.reset(seed=5)[0]
    second = env.reset()[0]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(env.reset(seed=5)[0], first)
    np.testing.assert_array_equal(env.reset()[0], second)
    env.close()


def test_pictures_follow_the_robot(backend):
    env = gymnasium.make("gaits/QDHalfCheetah-v0", render_mode="rgb_array", width=160, height=120)
    env.reset(seed=0)
    pictures = []
    for _ in range(2):
        for _ in range(40):
            env.step(env.action_space.sample())
        pictures.append(env.render())
    for picture in pictures:
        assert picture.shape == (120, 160, 3)
        assert picture.dtype == np.uint8
        orange = picture[..., 0].astype(int) - picture[..., 2] > 100
        assert 50 < orange.sum() < 2000
        assert 40 < np.argwhere(orange)[:, 1].mean() < 120  # in the middle of the picture
    assert not np.array_equal(*pictures)
    env.close()


def test_pictures_tell_time_and_return():
    env = gymnasium.make("gaits/QDHopper-v0", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(np.zeros(3, np.float32))
    changed = np.argwhere((env.render() != before).any(axis=2))
    assert ((changed[:, 0] < 60) & (changed[:, 1] < 160)).any()
    np.testing.assert_array_equal(env.reset(seed=0) and env.render(), before)
    env.close()


def test_looking_changes_nothing():
    totals = []
    for render_mode in (None, "rgb_array"):
        env = gymnasium.make("gaits/QDAnt-v0", render_mode=render_mode)
        env.reset(seed=0)
        actions = np.random.default_rng(0).uniform(-1, 1, (20, 8)).astype(np.float32)
        total = 0.0
        for action in actions:
            total += env.step(action)[1]
            if render_mode:
                env.render()
        totals.append(total)
        env.close()
    assert totals[0] == totals[1]


@pytest.mark.parametrize("action", [np.zeros(2), np.full(3, np.nan)])
def test_bad_actions(action):
    env = gymnasium.make("gaits/QDHopper-v0", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="qd_hopper is 3 finite numbers"):
        env.step(action)
    env.close()


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5])
def test_bad_seeds(seed):
    env = gymnasium.make("gaits/QDHopper-v0").unwrapped
    with pytest.raises(ValueError, match=r"from 0 to 2\*\*63 - 1; got"):
        env.reset(seed=seed)
    env.close()


def test_steps_out_of_order():
    env = gymnasium.make("gaits/QDHopper-v0", render_mode="rgb_array").unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(3))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()
    env.reset(seed=0)
    env.close()
    env.close()
    for call in (lambda: env.step(np.zeros(3)), lambda: env.reset(), lambda: env.render()):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_unknown_render_mode():
    with pytest.raises(ValueError, match="rgb_array"):
        gaits.physics.envs.QDEnv("qd_hopper", render_mode="human")
