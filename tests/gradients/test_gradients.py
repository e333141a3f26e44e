"""ES gradients against the paper's pseudo-code, and what they converge to."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import made_up
from conformance.gradient_source import TASK, GradientSourceSuite, evaluate

from gaits import states
from gaits.evaluation.results import Transitions
from gaits.gradients import (
    TD3,
    CriticGradient,
    Displacement,
    EvolutionStrategy,
    ExactGradients,
    Lesson,
    MeasureCritic,
    TD3Settings,
)
from gaits.gradients.es import centred_ranks
from gaits.policies import MLP


class TestEvolutionStrategy(GradientSourceSuite):
    def make(self, seed):
        return EvolutionStrategy(400, 0.02, seed)


class TestExactGradients(GradientSourceSuite):
    def make(self, seed):
        return ExactGradients(TASK.function)


class TestCriticGradient(GradientSourceSuite):
    """A critic that has seen what actions are worth: r(s, a) = -(a - sin 2s)², and then it is over."""

    policy = MLP(1, (8,), 1)
    solution = policy.init(np.random.default_rng(5))
    rows = 1

    def make(self, seed):
        td3 = TD3(self.policy, TD3Settings(critic_hidden=(32, 32), critic_learning_rate=3e-3), seed)
        obs, action = np.random.default_rng(0).uniform(-1, 1, (2, 3000, 1)).astype(np.float32)
        over, not_cut = np.ones(3000, bool), np.zeros(3000, bool)
        steps = Transitions(obs, action, self.reward(obs, action), obs, over, not_cut, not_cut.astype(int))
        td3.remember(Lesson(steps))
        td3.learn()
        return CriticGradient(td3, 2000)

    def copy_state(self, source, other):
        other.td3.restore(states.copy(source.td3.state(), like=other.td3.state()))

    @staticmethod
    def reward(obs, action):
        return -((action - np.sin(2 * obs))[:, 0] ** 2)

    def truth(self, solution):
        obs = np.linspace(-1, 1, 500).astype(np.float32)[:, None]

        def value(vector):
            return self.reward(obs, self.policy.act(vector, obs)).mean()

        steps = np.float32(1e-2) * np.eye(solution.size, dtype=np.float32)
        return np.array([[value(solution + step) - value(solution - step) for step in steps]])


class TestCriticGradientOfMeasures(TestCriticGradient):
    """With a critic that has seen what each step added to a measure, in episodes of one step."""

    rows = 2

    def learnt(self, seed):
        settings = TD3Settings(critic_hidden=(32, 32), critic_learning_rate=3e-3, discount=0.0)
        td3 = TD3(self.policy, settings, seed, sums=2)
        obs, action = np.random.default_rng(0).uniform(-1, 1, (2, 3000, 1)).astype(np.float32)
        over, not_cut = np.ones(3000, bool), np.zeros(3000, bool)
        steps = Transitions(obs, action, self.reward(obs, action), obs, over, not_cut, np.arange(3000))
        td3.remember(Lesson(steps, flags=self.measured(obs, action)))
        td3.learn()
        critic = MeasureCritic(self.policy, td3, measures=1, steps=600, seed=seed)
        critic.train()
        return td3, critic

    def make(self, seed):
        td3, critic = self.learnt(seed)
        return CriticGradient(td3, 2000, critic)

    def copy_state(self, source, other):
        super().copy_state(source, other)
        other.restore(states.copy(source.state(), like=other.state()))

    @staticmethod
    def measured(obs, action):
        return 0.5 + 0.4 * np.tanh(2 * action - obs)

    def values(self, vector):
        """Of the objective and of the measure, over the states that the critics have seen."""
        obs = np.linspace(-1, 1, 500).astype(np.float32)[:, None]
        action = self.policy.act(vector, obs)
        return np.array([self.reward(obs, action).mean(), self.measured(obs, action).mean()])

    def truth(self, solution):
        steps = np.float32(1e-2) * np.eye(solution.size, dtype=np.float32)
        return np.transpose([(self.values(solution + step) - self.values(solution - step)) / 0.02 for step in steps])


class TestDisplacement(TestCriticGradientOfMeasures):
    """Where Adam gets to on what the critics have learnt."""

    def make(self, seed):
        td3, critic = self.learnt(seed)
        return Displacement(td3, 20, 1000, 0.01, critic)

    def truth(self, solution):
        return np.stack([self.climbed(solution, row) for row in range(self.rows)]) - solution

    def climbed(self, solution, row):
        solution, m, v = np.float64(solution), 0, 0
        for t in range(1, 21):
            gradient = super().truth(np.float32(solution))[row]
            m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
            solution = solution + 0.01 * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return solution


@pytest.mark.parametrize("measures", [False, True])
def test_critics_that_know_nothing_give_random_directions(measures):
    td3 = TD3(MLP(3, (5,), 2), TD3Settings(critic_hidden=(4,)), 0, sums=3)
    source = CriticGradient(td3, 8, MeasureCritic(MLP(3, (5,), 2), td3, 2, 1, 0) if measures else None)
    gradients = [source.jacobian(np.zeros(32, np.float32), None) for _ in range(50)]  # N(0, I)
    assert gradients[0].shape == (3 if measures else 1, 32)
    assert np.std(gradients) == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(("schedule", "trained"), [("overlap", [300, 300]), ("paper", [0, 300])])
def test_measures_are_learnt_as_the_schedule_says(schedule, trained):
    """While episodes run, or before the next gradient, on what the last iteration left."""
    td3 = TD3(MLP(3, (5,), 2), TD3Settings(critic_hidden=(4,), td3_schedule=schedule, critic_batch=4), 0, sums=3)
    rng = np.random.default_rng(0)
    obs, action, flags = (np.float32(rng.normal(size=(20, n))) for n in (3, 2, 2))
    never = np.zeros(20, bool)
    td3.remember(Lesson(Transitions(obs, action, rng.normal(size=20), obs, never, never, np.zeros(20, int)), flags=flags))
    critic = MeasureCritic(MLP(3, (5,), 2), td3, 2, steps=300, seed=0)
    source, counts = CriticGradient(td3, 8, critic), []
    for step in (source.prepare, lambda: source.jacobian(np.zeros(32, np.float32), None)):
        step()
        counts.append(critic.trained)
    assert counts == trained


def slow_gradients(noise, sigma, objective, measures):
    """ES_Gradients of the paper, line by line."""
    half, n = len(noise), 2 * len(noise)
    rows = []
    for j in range(1 + measures.shape[1]):
        values = [float(v) for v in (objective if j == 0 else measures[:, j - 1])]
        order = sorted(range(n), key=lambda i: values[i])  # L: all x_i and x'_i, sorted; stable
        rank = [0.0] * n
        for position, i in enumerate(order):
            rank[i] = position / (n - 1) - 0.5  # rank normalization to [-0.5, 0.5]
        gradient = np.zeros(noise.shape[1])
        for i in range(half):
            gradient += noise[i].astype(float) * (rank[i] - rank[half + i])
        rows.append(gradient / (half * sigma))
    return np.array(rows)


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_the_slow_loop(seed):
    rng = np.random.default_rng(seed)
    source = EvolutionStrategy(20, 0.05, seed)
    solution = rng.normal(size=7).astype(np.float32)
    samples = source.samples(solution)
    np.testing.assert_allclose(samples[:10], solution + 0.05 * source.noise, rtol=1e-6)
    np.testing.assert_allclose(samples[10:], solution - 0.05 * source.noise, rtol=1e-6)
    objective, measures = rng.normal(size=20), rng.random((20, 2)).round(1)  # measures with ties
    got = source.jacobian(solution, made_up(objective, measures))
    np.testing.assert_allclose(got, slow_gradients(source.noise, 0.05, objective, measures), rtol=1e-4, atol=1e-4)


def test_direction_converges_to_the_true_gradient():
    solution = np.random.default_rng(0).uniform(-3, 3, 12).astype(np.float32)
    truth = TASK.function.jacobian(solution)

    def alignment(samples):
        cosines = []
        for seed in range(5):
            source = EvolutionStrategy(samples, 0.02, seed)
            estimate = source.jacobian(solution, evaluate(source.samples(solution)))
            cosines.append((estimate * truth).sum(1) / np.linalg.norm(estimate, axis=1) / np.linalg.norm(truth, axis=1))
        return np.mean(cosines, axis=0)

    few, some, many = alignment(20), alignment(200), alignment(4000)
    assert (few < some).all()
    assert (some < many).all()
    assert (many > 0.995).all()


def test_ties():
    """All equal: in order, the first half ranks below the second, so the gradient is a random direction; averaged, 0."""
    np.testing.assert_allclose(centred_ranks(np.zeros(5)), [-0.5, -0.25, 0, 0.25, 0.5])
    np.testing.assert_allclose(centred_ranks(np.zeros(5), "average"), 0)
    np.testing.assert_allclose(centred_ranks(np.array([3.0, 1.0, 3.0]), "average"), [0.25, -0.5, 0.25])
    results = made_up(np.arange(8), np.ones((8, 1)))
    solution = np.zeros(6, np.float32)
    for ties, expect_zero in (("order", False), ("average", True)):
        source = EvolutionStrategy(8, 0.02, 0, ties)
        source.samples(solution)
        row = source.jacobian(solution, results)[1]
        assert (np.abs(row).max() < 1e-6) == expect_zero
        if ties == "order":
            np.testing.assert_allclose(row, -source.noise.sum(axis=0) * (4 / 7) / (4 * 0.02), rtol=1e-4)


def test_a_failed_sample_ranks_last():
    solution = np.zeros(3, np.float32)
    objective, failed = np.array([9.0, 1.0, 2.0, 3.0]), np.array([True, False, False, False])
    a, b = EvolutionStrategy(4, 0.1, 0), EvolutionStrategy(4, 0.1, 0)
    a.samples(solution)
    b.samples(solution)
    measures = np.zeros((4, 1))
    np.testing.assert_array_equal(
        a.jacobian(solution, made_up(objective, measures, failed))[0],
        b.jacobian(solution, made_up([-9.0, 1.0, 2.0, 3.0], measures))[0],
    )
