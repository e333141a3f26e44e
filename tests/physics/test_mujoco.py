"""MuJoCo episodes in compiled code, against Gymnasium's own environments."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest
from helpers import random_solutions

import gaits
from gaits.cli import main
from gaits.episodes import NON_FINITE, TERMINATED, TRUNCATED, Setup
from gaits.episodes.episode import draw_noise
from gaits.physics import mujoco as ours
from gaits.physics import mujoco_figure
from gaits.physics.policy import Actor
from gaits.tasks.mujoco import MUJOCO

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'gaits[mujoco]'")

TASKS = [task.name for task in MUJOCO]


def make(task):
    return task.problem.make_player(task)


@pytest.fixture(scope="module", params=TASKS)
def player(request):
    player = make(gaits.make_task(request.param))
    yield player
    player.close()


@pytest.fixture
def env(player):
    """Gymnasium's environment, made without the file that MuJoCo writes when it reads an old-fashioned model."""
    mujoco.set_mju_user_warning(lambda message: None)
    env = gymnasium.make(player.task.env_id)
    mujoco.set_mju_user_warning(None)
    yield env
    env.close()


def play(player, solution, seed=0, noise=0.0, record=True):
    mean, std = np.zeros(player.task.obs_dim, np.float32), np.ones(player.task.obs_dim, np.float32)
    return player.rollout(Setup(solution, seed, mean, std, draw_noise(seed, noise, 1000, player.task.action_dim), record))


def feet_on_floor(env, task):
    """Which feet have a contact with the floor that MuJoCo's solver counts."""
    model, data = env.unwrapped.model, env.unwrapped.data
    touching = {frozenset(contact.geom) for contact in data.contact if contact.efc_address >= 0}
    return [frozenset((model.geom("floor").id, model.geom(foot).id)) in touching for foot in task.problem.feet]


def same_episode(a, b):
    return all(np.array_equal(x, y) for x, y in zip((*a[:4], *a.steps), (*b[:4], *b.steps), strict=True))


@pytest.mark.parametrize(("seed", "scale", "noise"), [(0, 1, 0.0), (1, 3, 0.0), (2, 1, 0.5), (2**63 - 1, 0, 1.0)])
def test_an_episode_is_gymnasiums_to_the_last_bit(player, env, seed, scale, noise):
    """Policies, with noise beyond the action's limits, and (scale 0) random actions alone."""
    task = player.task
    episode = play(player, random_solutions(task, 1, seed % 97, scale)[0], seed, noise)
    first, _ = env.reset(seed=seed)
    obs, rewards, touched = [first], [], np.zeros(len(task.problem.feet))
    for action in episode.steps.actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        obs.append(observation)
        rewards.append(reward)
        touched += feet_on_floor(env, task)
        assert len(rewards) == episode.length or not (terminated or truncated)
    np.testing.assert_array_equal(episode.steps.obs, np.array(obs, np.float32))
    np.testing.assert_array_equal(episode.steps.rewards, rewards)
    assert (episode.end == TERMINATED, episode.end == TRUNCATED) == (terminated, truncated)
    assert episode.objective == sum(map(float, rewards))
    np.testing.assert_array_equal(episode.measures, touched / episode.length)
    assert episode.length == len(rewards) > 5
    assert touched.any()


def test_it_is_drawn_where_mujoco_has_it(player, env):
    """Positions, contacts and both ends of every geom, after each step of an episode."""
    task = player.task
    solution = random_solutions(task, 1, 1, 3)[0]
    plain = play(player, solution, 5)
    zeros = np.zeros(task.obs_dim, np.float32)
    episode = player.rollout(Setup(solution, 5, zeros, zeros + 1, draw_noise(5, 0.0, 1000, task.action_dim), True, True))
    assert same_episode(episode, plain)
    puppet, model, data = task.problem.make_puppet(task), env.unwrapped.model, env.unwrapped.data
    ends = puppet.find_ends(episode.trace.positions)
    assert puppet.seconds_per_step == env.unwrapped.dt
    env.reset(seed=5)
    for t, action in enumerate(plain.steps.actions[:100]):
        env.step(action)
        np.testing.assert_array_equal(episode.trace.positions[t + 1], data.qpos)
        assert episode.trace.contacts[t].tolist() == feet_on_floor(env, task)
        mujoco.mj_kinematics(model, data)  # what Gymnasium leaves there is a substep older
        for name, (start, end), radius in zip(puppet.parts, ends[t + 1], puppet.figure.radii, strict=True):
            geom, placed = model.geom(name), data.geom(name)
            np.testing.assert_allclose((start + end) / 2, placed.xpos, atol=1e-12)
            half = geom.size[1] if geom.type == int(mujoco.mjtGeom.mjGEOM_CAPSULE) else 0.0
            np.testing.assert_allclose(end - start, 2 * half * placed.xmat.reshape(3, 3)[:, 2], atol=1e-12)
            assert radius == geom.size[0]
    lit = [puppet.parts[i] for i in np.flatnonzero(puppet.figure.feet >= 0)]
    assert sorted(lit) == sorted(task.problem.feet)
    assert len(episode.trace.positions) == len(episode.trace.contacts) + 1 == episode.length + 1


def test_a_robot_of_other_shapes_says_so(player, monkeypatch):
    monkeypatch.setattr(mujoco_figure, "_load", lambda *_: player.model)
    kinds = player.model.geom_type.copy()
    player.model.geom_type[-1] = int(mujoco.mjtGeom.mjGEOM_BOX)  # a foot: they come last
    with pytest.raises(ValueError, match=rf"{player.task.name} cannot be drawn: \w+ of this Gymnasium's model"):
        player.task.problem.make_puppet(player.task)
    player.model.geom_type[:] = kinds


def test_damage(player):
    """Torques of the motors named, and what a foot's contact with the floor has of friction; nothing else."""
    task, robot = player.task, player.robot
    joint, foot = robot.joints[-1], robot.feet[-1]
    damage = gaits.Damage({joint: 0.5}, {foot: 0.25})
    hurt, sound = make(damage.apply(damage.apply(task))), player.model
    joints = [sound.joint(i).name for i in sound.actuator_trnid[:, 0]]
    assert tuple(joints) == robot.joints
    gear = np.array([0.25 if name == joint else 1.0 for name in joints])[:, None]
    np.testing.assert_array_equal(hurt.model.actuator_gear, gear * sound.actuator_gear)
    before, after = (friction_of(one.model, robot, foot) for one in (player, hurt))
    assert after == pytest.approx((0.0625 * before[0], *before[1:]))
    same = make(gaits.Damage({joint: 1.0}, {foot: 1.0}).apply(task))
    solution = random_solutions(task, 1)[0]
    assert same_episode(play(same, solution, 3), play(player, solution, 3))
    assert play(hurt, solution, 3).objective != play(player, solution, 3).objective


def friction_of(model, robot, foot):
    """Friction and shape of the contact of a foot with the floor, of a robot sunk into it."""
    data = mujoco.MjData(model)
    data.qpos[robot.hidden_positions] = -10.0
    mujoco.mj_fwdPosition(model, data)
    found = next(one for one in data.contact if set(one.geom) == {model.geom("floor").id, model.geom(foot).id})
    return found.friction[0], found.dim, *found.solref, *found.solimp


def test_table(player, env):
    task, robot, original = player.task, player.robot, env.unwrapped
    assert (task.obs_dim,) == env.observation_space.shape
    assert env.action_space == gymnasium.spaces.Box(-1, 1, (task.action_dim,), np.float32)
    assert (task.max_steps, robot.frame_skip) == (env.spec.max_episode_steps, original.frame_skip)
    assert task.objective_range[1] == (env.spec.reward_threshold or 3800)
    assert len(robot.feet) == len(task.measure_names)
    assert original.fullpath.endswith(robot.model)


def test_actions_are_the_shared_policys(player):
    task, solution = player.task, random_solutions(player.task, 1)[0]
    mean, std = np.full(task.obs_dim, 0.1, np.float32), np.full(task.obs_dim, 2.0, np.float32)
    noise = draw_noise(3, 0.1, task.max_steps, task.action_dim)
    episode = player.rollout(Setup(solution, 3, mean, std, noise, True))
    actor = Actor(task.policy.sizes)
    actor.take(solution)
    for obs, noise_row, action in zip(episode.steps.obs, noise, episode.steps.actions, strict=False):
        np.testing.assert_array_equal(action, actor.act(obs, mean, std) + noise_row)


def test_an_episode_depends_on_its_policy_and_seed_alone(player):
    first, second = random_solutions(player.task, 2)
    expected = play(player, first, 7)
    play(player, second, 8)
    assert same_episode(play(player, first, 7), expected)
    assert play(player, first, 8).objective != expected.objective
    short = play(player, first, 7, record=False)
    assert short[:1] + short[2:4] == expected[:1] + expected[2:4]
    assert short.steps is None


def test_players_play_at_once(player):
    solutions = random_solutions(player.task, 6)
    expected = [play(player, solution, seed) for seed, solution in enumerate(solutions)]

    def work(seeds):
        own = make(player.task)
        return [play(own, solutions[seed], seed) for seed in seeds]

    with ThreadPoolExecutor(2) as threads:
        evens, odds = threads.map(work, (range(0, 6, 2), range(1, 6, 2)))
    assert all(map(same_episode, evens + odds, expected[::2] + expected[1::2]))


def test_numbers_that_are_not_finite_end_an_episode_just_before(player):
    task, solution = player.task, random_solutions(player.task, 1)[0]
    expected = play(player, solution)
    noise = np.zeros((task.max_steps, task.action_dim), np.float32)
    noise[4, 0] = np.nan
    zeros = np.zeros(task.obs_dim, np.float32)
    episode = player.rollout(Setup(solution, 0, zeros, zeros + 1, noise, True))
    assert (episode.length, episode.end) == (4, NON_FINITE)
    np.testing.assert_array_equal(episode.steps.obs, expected.steps.obs[:5])
    player.data.qvel[:] = player.data.qacc_warmstart[:] = np.nan
    assert same_episode(play(player, solution), expected)


def test_an_unstable_simulation_ends_the_episode_in_silence(player, tmp_path, monkeypatch, capfd):
    """MuJoCo would start again from its model's pose, print, and write MUJOCO_LOG.TXT into the working directory."""
    monkeypatch.chdir(tmp_path)
    wild = dataclasses.replace(player.task, problem=dataclasses.replace(player.robot, reset_noise=1e8))
    solution = random_solutions(player.task, 1)[0]
    unstable = make(wild)
    for seed in range(3):
        episode = play(unstable, solution, seed)
        assert (episode.length, episode.end, episode.objective) == (0, NON_FINITE, 0.0)
    assert list(tmp_path.iterdir()) == []
    assert "".join(capfd.readouterr()) == ""


def test_without_mujoco(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    ours.load.cache_clear()
    with pytest.raises(ValueError, match=r"mj_hopper needs MuJoCo. Install it with: pip install 'gaits\[mujoco\]'"):
        make(gaits.make_task("mj_hopper"))
    ours.load.cache_clear()


def test_training_without_mujoco(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert main(["train", "mj_hopper", "map_elites", "--out", str(tmp_path / "run")]) == 2
    assert "mj_hopper needs MuJoCo. Install it with: pip install 'gaits[mujoco]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_old_mujoco_is_refused(monkeypatch):
    monkeypatch.delattr(mujoco, ours.NEEDED)
    ours.load.cache_clear()
    with pytest.raises(ValueError, match="too old"):
        make(gaits.make_task("mj_hopper"))
    ours.load.cache_clear()


def test_listing_tasks_does_not_import_mujoco():
    code = "import sys, gaits; [task.solution_dim for task in gaits.TASKS.values()]; assert 'mujoco' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
