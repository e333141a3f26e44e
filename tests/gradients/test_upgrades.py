"""What goes beyond the paper's TD3, against plain transcriptions: norms, bounds, several steps, balance, goals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gaits.evaluation.results import Transitions
from gaits.gradients import TD3, TD3Settings
from gaits.gradients.actor_critic import ActorCritic
from gaits.gradients.experience import Experience, Lesson, experience
from gaits.gradients.goals import fold, scaled, similarity, towards, unfold
from gaits.gradients.learner import CompiledLearner
from gaits.gradients.networks import NO_GOAL, Networks, begin
from gaits.gradients.replay import ReplayBuffer
from gaits.policies import MLP

SETTINGS = TD3Settings(critic_steps=4, critic_batch=6, critic_hidden=(7, 6), critic_learning_rate=0.02, buffer_size=500)
GOALS = 2
POLICY = MLP(3, (5, 4), 2)
ACTOR = MLP(3 + GOALS, POLICY.hidden, 2)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def both(settings, actor=POLICY):
    critic = MLP(actor.obs_dim + 2, settings.critic_hidden, 1)
    return [kind(POLICY, actor, critic, settings) for kind in (CompiledLearner, ActorCritic)]


def networks(rng, actor=POLICY):
    critic = MLP(actor.obs_dim + 2, SETTINGS.critic_hidden, 1)
    return begin(*(np.float32(rng.normal(0, 0.5, size)) for size in ((2, critic.solution_dim), actor.solution_dim)))


def rows_of(rng, n, state=3, more=0):
    return np.float32(rng.normal(size=(n, 2 * state + 2 + 2 + more)))


def assert_close(one, other, tolerance=1e-3):
    for name, a, b in zip(Networks._fields, one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-5, err_msg=name)


# --- norms and bounds -----------------------------------------------------------------------------------------------------


def test_normed_critics(rng):
    """The value as written down; training and climbing as JAX differentiates that value."""
    settings = dataclasses.replace(SETTINGS, layer_norm=True)
    fast, maths = both(settings)
    nets, rows = networks(rng), rows_of(rng, 30)
    x = np.float64(rows[0, :5])
    (w1, b1), (w2, b2), (w3, b3) = maths.critic.layers(np.float64(nets.critics[0]))
    for w, b in ((w1, b1), (w2, b2)):
        z = w @ x + b
        x = np.maximum((z - z.mean()) / np.sqrt(z.var() + 1e-5), 0)
    expected = w3 @ x + b3
    np.testing.assert_allclose(maths.value(nets.critics[0], rows[:1, :3], rows[:1, 3:5]), expected, rtol=1e-4)
    which, noise = rng.integers(30, size=(5, 6)), np.float32(rng.normal(size=(5, 6, 2)))
    (a, losses), (b, others) = (learner.train(nets, 0, rows, which, noise) for learner in (fast, maths))
    np.testing.assert_allclose(losses, others, rtol=1e-3)
    assert_close(a, b, 3e-3)
    climbed = [one.gradient(nets.actor, nets.critics[0], NO_GOAL, rows, np.arange(30)) for one in (fast, maths)]
    np.testing.assert_allclose(*climbed, rtol=1e-3, atol=1e-6)


def test_a_target_is_at_least_its_bound(rng):
    fast, maths = both(dataclasses.replace(SETTINGS, return_bound=True))
    nets, rows, noise = networks(rng), rows_of(rng, 6, more=1), np.float32(rng.normal(size=(6, 2)))
    plain = np.asarray(maths.target(nets, maths.split(rows[:, :-1]), noise))
    assert (plain > rows[:, -1]).any(), "the bound decides nothing"
    assert (plain < rows[:, -1]).any(), "the bound decides everything"
    np.testing.assert_allclose(maths.target(nets, maths.split(rows), noise), np.maximum(plain, rows[:, -1]), rtol=1e-5)
    trained = [one.train(nets, 0, rows, np.arange(6)[None], noise[None])[0] for one in (fast, maths)]
    assert_close(*trained)
    low = rows.copy()
    low[:, -1] = -1e30
    a, b = (fast.train(nets, 0, r, np.arange(6)[None], noise[None])[0] for r in (low, rows[:, :-1].copy()))
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


# --- what episodes say ----------------------------------------------------------------------------------------------------


def episodes(rng, lengths, ends):
    """Episodes nobody played, that end as told: "fell", "limit", or "failed", which is neither."""
    n = sum(lengths)
    last = np.cumsum(lengths) - 1
    fell, limit = np.zeros((2, n), bool)
    fell[last], limit[last] = [e == "fell" for e in ends], [e == "limit" for e in ends]
    obs, next_obs = np.float32(rng.normal(size=(2, n, 3)))
    solution = np.repeat(np.arange(len(lengths)), lengths)
    return Transitions(obs, np.float32(rng.normal(size=(n, 2))), rng.normal(size=n), next_obs, fell, limit, solution)


@pytest.mark.parametrize("n", [1, 2, 3, 20, 10**12])
@pytest.mark.parametrize("timeout_terminal", [False, True])
def test_several_steps_and_returns(rng, n, timeout_terminal):
    lengths, ends = [5, 1, 4, 3], ["fell", "limit", "limit", "failed"]
    steps = episodes(rng, lengths, ends)
    settings = TD3Settings(n_step=n, discount=0.9, return_bound=True, timeout_terminal=timeout_terminal)
    rows = experience(Lesson(steps), settings)
    start = 0
    for length, end in zip(lengths, ends, strict=True):
        for t in range(length):
            i, m = start + t, min(n, length - t)
            assert rows.reward[i] == pytest.approx(sum(0.9**k * steps.reward[i + k] for k in range(m)))
            np.testing.assert_array_equal(rows.next_obs[i], steps.next_obs[i + m - 1])
            over = t + m == length and (end == "fell" or (end == "limit" and timeout_terminal))
            assert 0.9 * (1 - rows.terminal[i]) == pytest.approx(0.0 if over else 0.9**m)
            assert rows.bound[i] == pytest.approx(sum(0.9**k * steps.reward[i + k] for k in range(length - t)))
        start += length


def test_balanced_samples_come_evenly_from_cells():
    cells = np.array([7] * 90 + [3] * 9 + [0])
    buffer = ReplayBuffer(200, 1, 1, cells=True)
    one = np.arange(100.0)[:, None]
    buffer.add(Experience(one, one, one, one[:, 0], np.zeros(100), cell=cells))
    drawn = buffer.draw(np.random.default_rng(0), 30, 100)
    assert drawn.shape == (30, 100)
    shares = [(cells[drawn] == cell).mean() for cell in (7, 3, 0)]
    np.testing.assert_allclose(shares, 1 / 3, atol=0.03)
    assert len(np.unique(drawn)) == 100
    other = ReplayBuffer(200, 1, 1, cells=True)
    other.restore({"rows": buffer.rows[:100], "next": 100, "cells": buffer.cells[:100]})
    np.testing.assert_array_equal(other.draw(np.random.default_rng(0), 30, 100), drawn)


def test_bounds_that_are_not_finite_never_enter():
    one = np.zeros((3, 1))
    buffer = ReplayBuffer(5, 1, 1, bounds=True)
    assert buffer.add(Experience(one, one, one, one[:, 0], one[:, 0], np.array([0.0, np.inf, 1.0]))) == 1
    np.testing.assert_array_equal(buffer.rows[:2, -1], [0.0, 1.0])


# --- goals ----------------------------------------------------------------------------------------------------------------


def test_fold_and_unfold(rng):
    vector, obs = np.float32(rng.normal(size=ACTOR.solution_dim)), np.float32(rng.normal(size=(20, 3)))
    goals = np.float32(rng.uniform(-1, 1, (4, GOALS)))
    for policy, goal in zip(fold(ACTOR, vector, goals), goals, strict=True):
        told = np.concatenate([obs, np.broadcast_to(goal, (20, GOALS))], axis=1)
        np.testing.assert_allclose(POLICY.act(policy, obs), ACTOR.act(vector, told), rtol=0, atol=1e-6)
    plain = np.float32(rng.normal(size=POLICY.solution_dim))
    again = unfold(ACTOR, plain, np.zeros((5, GOALS)))
    np.testing.assert_array_equal(fold(ACTOR, again, goals), np.broadcast_to(plain, (4, plain.size)))


def test_an_actor_without_hidden_layers_can_be_told_goals(rng):
    actor, policy = MLP(3 + GOALS, (), 2), MLP(3, (), 2)
    vector, obs = np.float32(rng.normal(size=actor.solution_dim)), np.float32(rng.normal(size=(20, 3)))
    goals = np.float32(rng.uniform(-1, 1, (4, GOALS)))
    for solution, goal in zip(fold(actor, vector, goals), goals, strict=True):
        told = np.concatenate([obs, np.broadcast_to(goal, (20, GOALS))], axis=1)
        np.testing.assert_allclose(policy.act(solution, obs), actor.act(vector, told), rtol=0, atol=1e-6)


def test_rewards_count_as_far_as_goals_are_reached(rng):
    steps = episodes(rng, [30, 40], ["fell", "limit"])
    ranges = np.array([[0.0, 1.0], [-2.0, 2.0]])
    reached, wanted = scaled(np.array([[0.5, 0.0], [1.0, -2.0]]), ranges), np.float32([[0.0, 0.0], [0.7, -0.6]])
    np.testing.assert_allclose(reached, [[0, 0], [1, -1]])
    options = {"lengthscale": 0.5, "offset": 0.3, "rng": rng}
    told = towards(steps, reached, wanted, hindsight=0.0, **options)
    np.testing.assert_array_equal(told.obs, np.concatenate([steps.obs, wanted[steps.solution]], axis=1))
    np.testing.assert_array_equal(told.next_obs[:, 3:], wanted[steps.solution])
    assert similarity(reached, wanted, 0.5) == pytest.approx([1.0, np.exp(-1.0)])  # 0.3, 0.4: half a unit apart
    count = np.where(steps.solution == 0, 1.0, np.exp(-1.0))
    np.testing.assert_allclose(told.reward, count * np.maximum(steps.reward + 0.3, 0), rtol=1e-6)
    assert (told.reward >= 0).all()
    hindsight = towards(steps, reached, wanted, hindsight=1.0, **options)
    np.testing.assert_array_equal(hindsight.obs[:, 3:], reached[steps.solution])
    np.testing.assert_allclose(hindsight.reward, np.maximum(steps.reward + 0.3, 0))


def test_an_episode_has_one_goal(rng):
    """So its return, and several steps of it, are of one goal too: what bounds a value is what was paid for that goal."""
    n, lengths = 40, [6] * 40
    steps = episodes(rng, lengths, ["fell"] * n)
    reached, wanted = np.float32(rng.uniform(-1, 0, (n, GOALS))), np.float32(rng.uniform(0, 1, (n, GOALS)))
    told = towards(steps, reached, wanted, hindsight=0.5, lengthscale=0.5, offset=9.0, rng=rng)
    settings = dataclasses.replace(SETTINGS, return_bound=True, n_step=3)
    rows = experience(Lesson(told), settings)
    goals = rows.obs[:, -GOALS:]
    np.testing.assert_array_equal(goals, rows.next_obs[:, -GOALS:])
    own = (goals == reached[steps.solution]).all(axis=1)
    assert 0.2 < own.mean() < 0.8
    np.testing.assert_array_equal(goals[~own], wanted[steps.solution][~own])
    for t, whose in enumerate(steps.solution):
        rest = np.flatnonzero((steps.solution == whose) & (np.arange(len(own)) >= t))
        paid = (steps.reward[rest] + 9.0) * similarity(reached[[whose]], goals[[t]], 0.5)
        paid = paid * settings.discount ** np.arange(len(rest))
        assert rows.bound[t] == pytest.approx(paid.sum()), "what is paid for this row's goal, to the end"
        assert rows.reward[t] == pytest.approx(paid[:3].sum())


def test_climbing_with_a_goal(rng):
    """A goal is a part of the state that the policy does not see."""
    fast, maths = both(SETTINGS, ACTOR)
    nets, rows = networks(rng, ACTOR), rows_of(rng, 40, state=5)
    theta, goals = nets.critics[0], np.float32(rng.normal(size=(3, GOALS)))
    parents = np.float32(rng.normal(0, 0.5, (3, POLICY.solution_dim)))
    which = rng.integers(40, size=(1, 4, 6))
    varied = [one.vary(parents, theta, goals, rows, which, 0.05) for one in (fast, maths)]
    np.testing.assert_allclose(*varied, rtol=1e-3, atol=1e-5)
    apart = fast.vary(parents, theta, goals, rows, np.repeat(which, 3, axis=0), 0.05)
    np.testing.assert_array_equal(varied[0], apart, err_msg="shared minibatches are the same for each")
    climbed = [one.gradient(parents[0], theta, goals[0], rows, which.ravel()) for one in (fast, maths)]
    np.testing.assert_allclose(*climbed, rtol=1e-3, atol=1e-6)
    noise = np.float32(rng.normal(size=(3, 6, 2)))
    trained = [one.train(nets, 0, rows, which[0, :3], noise)[0] for one in (fast, maths)]
    assert_close(*trained)


def test_without_similarity_and_weights_for_goals_it_is_the_paper_s_critic(rng):
    """Bit for bit: goals of zero leave the weights for them alone, which begin as zero."""
    plain, told = TD3(POLICY, SETTINGS, seed=0), TD3(POLICY, SETTINGS, seed=0, goal_dim=GOALS)
    critics = np.stack([unfold_critic(theta) for theta in plain.nets.critics])
    actor = unfold(ACTOR, plain.greedy, np.zeros((5, GOALS)))
    told.nets = begin(critics, actor)
    told.rng = np.random.default_rng(5)
    plain.rng = np.random.default_rng(5)
    steps = episodes(rng, [30, 40], ["fell", "limit"])
    zero = np.zeros((2, GOALS), np.float32)
    goals = towards(steps, zero, zero, lengthscale=0.1, offset=100.0, hindsight=0.0, rng=rng)
    plain.remember(Lesson(dataclasses.replace(steps, reward=steps.reward + 100.0)))
    told.remember(Lesson(goals))
    for td3 in (plain, told):
        td3.train(6)
    assert plain.loss == told.loss
    for a, b in zip(plain.nets.critics, told.nets.critics, strict=True):
        np.testing.assert_array_equal(unfold_critic(a), b)
    np.testing.assert_array_equal(fold(ACTOR, told.greedy, zero[:1])[0], plain.greedy)
    parents = np.float32(rng.normal(0, 0.5, (3, POLICY.solution_dim)))
    offspring = plain.vary(parents, 3, 8, 0.01), told.vary(parents, 3, 8, 0.01, np.zeros((3, GOALS)))
    np.testing.assert_array_equal(*offspring)


def unfold_critic(theta):
    """The same critic with goals between states and actions, and no weight on them."""
    (w, b), *others = MLP(5, SETTINGS.critic_hidden, 1).layers(theta)
    first = np.concatenate([w[:, :3], np.zeros((len(w), GOALS)), w[:, 3:]], axis=1)
    return np.concatenate([first.ravel(), b, *(p.ravel() for layer in others for p in layer)], dtype=np.float32)
