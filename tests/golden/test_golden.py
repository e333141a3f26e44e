"""Episodes recorded from the original QDGym come back number for number, by steps and whole, in the engine and in Bullet."""

from __future__ import annotations

import itertools
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from helpers import ROBOTS

import gaits
from gaits.episodes import TERMINATED, TRUNCATED, Batch, make_job
from gaits.physics import make_player
from gaits.physics.world import start_angles

HERE = Path(__file__).parent


def some_episodes(name, backend):
    """All that were recorded; through the module, which is slow, the first."""
    return itertools.islice(episodes(name), 1 if backend == "pybullet" else None)


def episodes(name):
    with np.load(HERE / f"{name}.npz") as data:
        for k in range(int(data["n_episodes"])):
            yield {key.removeprefix(f"ep{k}_"): data[key] for key in data if key.startswith(f"ep{k}_")}


@pytest.mark.parametrize("name", ROBOTS)
def test_table_agrees_with_the_recording(name):
    task = gaits.make_task(name)
    with np.load(HERE / f"{name}.npz") as data:
        assert tuple(data["joint_names"]) == task.robot.joints
        assert tuple(data["foot_list"]) == task.robot.feet


@pytest.mark.parametrize("name", ROBOTS)
def test_environment(name, backend):
    env = gymnasium.make(gaits.make_task(name).env_id, disable_env_checker=True)
    for episode in some_episodes(name, backend):
        obs, _ = env.reset(seed=int(episode["seed"]))
        rows, rewards, contacts = [obs], [], []
        for action in episode["actions"]:
            obs, reward, terminated, truncated, info = env.step(action)
            rows.append(obs)
            rewards.append(reward)
            contacts.append(info["feet_contact"])
            assert reward == pytest.approx(sum(info["reward_terms"].values()), abs=1e-9)
        np.testing.assert_array_equal(rows, episode["obs"])
        np.testing.assert_allclose(rewards, episode["rewards"], rtol=0, atol=1e-9)
        np.testing.assert_array_equal(contacts, episode["feet_contact"])
        np.testing.assert_array_equal(info["measures"], episode["measures"])
        assert (terminated, truncated) == (not episode["truncated"], bool(episode["truncated"]))
    env.close()


@pytest.mark.parametrize("name", ROBOTS)
def test_whole_episodes(name, backend, monkeypatch):
    """A policy of zeros acts 0; the recorded actions are played as its noise."""
    task = gaits.make_task(name)
    recorded = {int(episode["seed"]): episode for episode in some_episodes(name, backend)}

    def noise(seed, scale, steps, size):
        np.testing.assert_array_equal(start_angles(seed, size), recorded[seed]["q0"])
        actions = recorded[seed]["actions"]
        return np.concatenate([actions, np.zeros((steps - len(actions), size), np.float32)])

    monkeypatch.setattr("gaits.episodes.job.draw_noise", noise)
    monkeypatch.setattr("gaits.physics.engine.player.draw_noise", noise)
    solutions = np.zeros((len(recorded), task.solution_dim))
    job = make_job(task, Batch(solutions, transitions=True, action_noise=1.0), list(recorded))
    player = make_player(task)
    player.play(job)
    player.close()
    for i, episode in enumerate(recorded.values()):
        played = job.episode(i)
        assert played.length == len(episode["rewards"])
        assert played.end == (TRUNCATED if episode["truncated"] else TERMINATED)
        np.testing.assert_array_equal(played.steps.obs, episode["obs"])
        np.testing.assert_array_equal(played.steps.actions, episode["actions"])
        np.testing.assert_allclose(played.steps.rewards, episode["rewards"], rtol=0, atol=1e-9)
        np.testing.assert_array_equal(played.measures, episode["measures"])
        assert played.objective == pytest.approx(float(episode["return"]), abs=1e-7)
