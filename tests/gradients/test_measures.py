"""Measures have critics: their labels are the episodes' own sums, and climbing them changes what an episode measures."""

from __future__ import annotations

import numpy as np
import pytest

import gaits
from gaits.gradients import TD3, Displacement, MeasureCritic, TD3Settings
from gaits.gradients.experience import Experience, last_steps, measure_sums
from gaits.gradients.goals import scaled
from gaits.policies import MLP

POLICY = MLP(3, (5, 4), 2)


@pytest.mark.parametrize("name", ["qd_hopper", "qd_walker", "qd_half_cheetah", "qd_ant", "qd_humanoid"])
def test_flags_are_those_that_the_measures_count(name):
    """Against the contacts of the same episodes, traced."""
    task = gaits.make_task(name, max_steps=60)
    rng = np.random.default_rng(0)
    solutions = np.stack([task.init(rng) for _ in range(4)])
    with gaits.LocalEvaluator(task, 1) as evaluator:
        results = evaluator.evaluate(solutions, range(4), transitions=True)
    steps, feet = results.transitions, list(task.problem.measured_feet)
    last = last_steps(steps.solution)
    flags = task.problem.step_measures(task, steps.next_obs, last, results.measures[steps.solution])
    from gaits.episodes import Batch, Pool, make_job

    job = make_job(task, Batch(solutions), range(4), trace=True)
    Pool(1).play(task, job)
    contacts = np.concatenate([job.traces[i].contacts for i in range(4)])[:, feet]
    np.testing.assert_array_equal(flags, contacts)
    assert 0 < flags.mean() < 1


def test_labels_are_the_discounted_sums_of_an_episode():
    rng = np.random.default_rng(0)
    solution, flags = np.repeat([0, 1, 2], [4, 1, 6]), rng.integers(0, 2, (11, 2)).astype(float)
    sums = measure_sums(flags, last_steps(solution), 0.9)
    for t in range(11):
        here = [i for i in range(t, 11) if solution[i] == solution[t]]
        weights = 0.1 * 0.9 ** np.arange(len(here))
        np.testing.assert_allclose(sums[t], [weights.sum(), *(weights @ flags[here])])


def make(goal_dim=0, **settings):
    settings = TD3Settings(**{"critic_batch": 64, "critic_hidden": (32,), "buffer_size": 4000, **settings})
    td3 = TD3(POLICY, settings, seed=0, goal_dim=goal_dim, sums=3)
    return td3, MeasureCritic(POLICY, td3, measures=2, steps=300, seed=1)


def fill(td3, seed=0, n=4000):
    """Steps after which all is over, and whose two measures are known functions of state and action."""
    rng = np.random.default_rng(seed)
    obs, action = np.float32(rng.normal(size=(n, td3.actor.obs_dim))), np.float32(rng.uniform(-1, 1, (n, 2)))
    shares = 0.5 + 0.4 * np.stack([action[:, 0], np.tanh(obs[:, 0]) * action[:, 1]], axis=1)
    whole = np.full((n, 1), 0.6)
    td3.buffer.add(Experience(obs, action, obs, np.zeros(n), np.ones(n), sums=np.concatenate([whole, 0.6 * shares], axis=1)))
    return obs


@pytest.mark.parametrize("layer_norm", [False, True])
def test_solutions_climb_what_is_measured(layer_norm):
    td3, critic = make(layer_norm=layer_norm, critic_learning_rate=3e-3)
    obs = fill(td3)
    for _ in range(4):
        critic.train()
    assert critic.loss < 2e-3
    phi, td3.steps = POLICY.init(np.random.default_rng(3)), 1
    _, one, other = phi + Displacement(td3, 60, 128, 0.01, critic).jacobian(phi, None)
    first = POLICY.act(one, obs[:500])[:, 0] - POLICY.act(phi, obs[:500])[:, 0]
    assert first.mean() > 0.3
    second = np.tanh(obs[:500, 0]) * (POLICY.act(other, obs[:500])[:, 1] - POLICY.act(phi, obs[:500])[:, 1])
    assert second.mean() > 0.1


def test_the_gradient_of_a_share_is_the_difference_it_makes():
    """Of ψ_j / ψ_0, numerically: one step of Adam goes along the sign of its gradient."""
    td3, critic = make(goal_dim=1)
    obs = fill(td3, n=50)
    td3.goal = np.float32([0.4])
    shape = MLP(6, (32,), 3)
    critic.psi[-3] += 2.0  # the first output's bias: no share of next to nothing
    phi = POLICY.init(np.random.default_rng(3)).astype(np.float64)

    def share(phi, head):
        states = np.concatenate([obs[:50, :3], np.full((50, 1), 0.4), POLICY.act(phi, obs[:50, :3])], axis=1)
        (w, b), (v, c) = shape.layers(critic.psi.astype(np.float64))
        out = np.maximum(states @ w.T + b, 0) @ v.T + c
        return (out[:, head] / out[:, 0]).mean()

    monkey = np.tile(np.arange(50), (1, 1, 1))
    td3.buffer.draw = lambda rng, *shape: monkey
    for head in (1, 2):
        moved = critic.vary(phi[None].astype(np.float32), np.array([head]), 1, 50, 1e-3)[0] - np.float32(phi)
        for i in np.random.default_rng(0).choice(phi.size, 12, replace=False):
            step = np.zeros(phi.size)
            step[i] = 1e-4
            slope = (share(phi + step, head) - share(phi - step, head)) / 2e-4
            if abs(slope) > 1e-4:
                assert np.sign(moved[i]) == np.sign(slope)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_training_is_adam_down_the_squared_error(layer_norm):
    """Against JAX's derivative of the loss as it is written, with Adam in float64, over several minibatches."""
    import jax
    import jax.numpy as jnp

    td3, critic = make(layer_norm=layer_norm, critic_learning_rate=0.01, critic_batch=8)
    fill(td3, n=30)
    critic.steps, which = 6, np.random.default_rng(7).integers(30, size=(6, 8))
    td3.buffer.draw = lambda rng, *shape: which
    x, sums = td3.buffer.rows[:, :5], td3.buffer.sums
    shape = MLP(5, (32,), 3)

    def loss(psi, rows):
        (w, b), (v, c) = shape.layers(psi)
        z = x[rows] @ w.T + b
        if layer_norm:
            z = (z - z.mean(1, keepdims=True)) / jnp.sqrt(z.var(1, keepdims=True) + 1e-5)
        return ((jnp.maximum(z, 0) @ v.T + c - sums[rows]) ** 2).sum(1).mean()

    psi, m, v, losses = np.float64(critic.psi), 0, 0, []
    for t, rows in enumerate(which, 1):
        value, gradient = jax.value_and_grad(loss)(jnp.asarray(psi, jnp.float32), rows)
        gradient = np.float64(gradient)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        psi = psi - 0.01 * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        losses.append(float(value))
    critic.train()
    assert critic.loss == pytest.approx(np.mean(losses), rel=1e-4)
    np.testing.assert_allclose(critic.psi, psi, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("middle", [2.0, 0.1])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_gradients_are_those_of_the_share(layer_norm, middle):
    """Of mean ψ_j / ψ_0, as JAX differentiates it, where ψ_0 is at least what the time of one step is, 1 - γ."""
    import jax
    import jax.numpy as jnp

    td3, critic = make(goal_dim=1, layer_norm=layer_norm, discount=0.9)
    obs = fill(td3, n=50)
    td3.goal = np.float32([0.4])
    shape, phi = MLP(6, (32,), 3), POLICY.init(np.random.default_rng(3))
    td3.buffer.draw = lambda rng, *shape: np.arange(50)

    def share(phi, head):
        action = obs[:, :3]
        for w, b in POLICY.layers(phi):
            action = jnp.tanh(action @ w.T + b)
        (w, b), (v, c) = shape.layers(jnp.asarray(critic.psi))
        z = jnp.concatenate([obs[:, :3], jnp.full((50, 1), 0.4), action], axis=1) @ w.T + b
        if layer_norm:
            z = (z - z.mean(1, keepdims=True)) / jnp.sqrt(z.var(1, keepdims=True) + 1e-5)
        out = jnp.maximum(z, 0) @ v.T + c
        return out[:, 0] if head == 0 else (out[:, head] / jnp.maximum(out[:, 0], 0.1)).mean()

    critic.psi[-3] += middle - np.median(share(phi, 0))  # half the states are below what there can be, or none is
    assert (np.asarray(share(phi, 0)) < 0.1).mean() == (0.5 if middle == 0.1 else 0)
    expected = [jax.grad(share)(jnp.asarray(phi), head) for head in (1, 2)]
    np.testing.assert_allclose(critic.gradients(phi, 50), expected, rtol=2e-3, atol=2e-6)


def test_goals_of_measures():
    np.testing.assert_allclose(scaled(np.array([[0.0], [1.0]]), np.array([[0.0, 1.0]])), [[-1], [1]])


def test_tasks_that_do_not_tell(monkeypatch):
    task = gaits.make_task("lp_sphere")
    with pytest.raises(ValueError, match="lp_sphere does not tell step by step"):
        task.problem.step_measures(task, np.zeros((0, 1)), np.zeros(0, int), np.zeros((0, 2)))


def test_a_displacement_is_where_the_goal_is():
    """The objective's row climbs the critic told the goal of the point, as the measures' rows do."""
    td3, critic = make(goal_dim=1)
    fill(td3, n=50)
    td3.steps, td3.goal, phi = 1, np.float32([0.9]), POLICY.init(np.random.default_rng(3))
    td3.buffer.draw = lambda rng, *shape: np.arange(8).reshape(1, 1, 8)
    row = Displacement(td3, 1, 8, 0.01, critic).jacobian(phi, None)[0]
    there, elsewhere = (td3.vary(phi[None], 1, 8, 0.01, np.float32([[goal]]), shared=True)[0] - phi for goal in (0.9, 0.0))
    np.testing.assert_array_equal(row, there)
    assert (there != elsewhere).any()
