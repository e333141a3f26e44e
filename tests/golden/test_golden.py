"""Episodes recorded from the original QDGym come back number for number, three ways."""

from __future__ import annotations

import itertools
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from conftest import ROBOTS

import gaits
from gaits.episodes import TERMINATED, TRUNCATED, Setup
from gaits.physics import make_simulator
from gaits.physics.world import start_angles

HERE = Path(__file__).parent


def some_episodes(name, backend):
    """All that were recorded; through the module, which is slow, the first."""
    return itertools.islice(episodes(name), None if backend == "native" else 1)


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
def test_whole_rollout(name, backend):
    """A policy of zeros acts 0; the recorded actions are played as its noise."""
    task = gaits.make_task(name)
    simulator = make_simulator(task)
    zeros = np.zeros(task.obs_dim, np.float32)
    for episode in some_episodes(name, backend):
        q0 = start_angles(int(episode["seed"]), task.action_dim)
        np.testing.assert_array_equal(q0, episode["q0"])
        solution = np.zeros(task.solution_dim, np.float32)
        played = simulator.rollout(Setup(solution, 0, zeros, zeros + 1, episode["actions"], record=True), q0)
        assert played.length == len(episode["rewards"])
        assert played.end == (TRUNCATED if episode["truncated"] else TERMINATED)
        np.testing.assert_array_equal(played.steps.obs, episode["obs"])
        np.testing.assert_array_equal(played.steps.actions, episode["actions"])
        np.testing.assert_allclose(played.steps.rewards, episode["rewards"], rtol=0, atol=1e-9)
        np.testing.assert_array_equal(played.measures, episode["measures"])
        assert played.objective == pytest.approx(float(episode["return"]), abs=1e-7)
    simulator.close()
