"""TD3 against a plain NumPy transcription with back-propagation by hand, and TD3 learning by itself."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from gaits import states
from gaits.evaluation.results import Transitions
from gaits.gradients import TD3, Diverged, TD3Settings, devices
from gaits.gradients.actor_critic import ActorCritic, Networks
from gaits.policies import MLP

POLICY = MLP(3, (5, 4), 2)
SETTINGS = TD3Settings(
    critic_steps=4,
    critic_batch=6,
    critic_hidden=(7, 6),
    critic_learning_rate=0.02,
    actor_learning_rate=0.01,
    discount=0.9,
    target_rate=0.1,
    smoothing_noise=0.4,
    buffer_size=50,
)
MATHS = ActorCritic(POLICY, SETTINGS)
CLOSE = {"rtol": 2e-4, "atol": 2e-6}


# --- the transcription: float64, one state at a time, back-propagation written out --------------------------------------


def forward(shape, vector, x, hidden, last):
    """Inputs of every layer, and the output."""
    inputs, layers = [], shape.layers(vector)
    for i, (w, b) in enumerate(layers):
        inputs.append(x)
        x = (last if i == len(layers) - 1 else hidden)(w @ x + b)
    return inputs, x


def relu(z):
    return np.maximum(z, 0)


def linear(z):
    return z


def backward(shape, vector, inputs, output, out_gradient, kind):
    """Gradients with respect to the parameters and the input; ``kind``: tanh everywhere, or ReLU with a linear end."""
    layers = shape.layers(vector)
    parts, delta, after = [], out_gradient, output
    for i in reversed(range(len(layers))):
        if kind == "tanh":
            delta = delta * (1 - after**2)
        elif i < len(layers) - 1:
            delta = delta * (after > 0)
        parts = [np.outer(delta, inputs[i]).ravel(), delta, *parts]
        delta, after = layers[i][0].T @ delta, inputs[i]
    return np.concatenate(parts), delta


class Slow:
    def __init__(self, critics, actor):
        self.theta = [c.astype(float) for c in critics]
        self.theta_target = [c.copy() for c in self.theta]
        self.phi = actor.astype(float)
        self.phi_target = self.phi.copy()
        self.adam = {name: [0.0, 0.0, 0] for name in ("1", "2", "actor")}

    def q(self, theta, s, a):
        return forward(MATHS.critic, theta, np.concatenate([s, a]), relu, linear)

    def act(self, phi, s):
        return forward(POLICY, phi, s, np.tanh, np.tanh)

    def target(self, batch, noise):
        y = []
        for s2, r, end, z in zip(batch["next_obs"], batch["reward"], batch["terminal"], noise, strict=True):
            epsilon = np.clip(0.4 * z, -0.5, 0.5)
            a2 = np.clip(self.act(self.phi_target, s2)[1] + epsilon, -1, 1)
            y.append(r + 0.9 * (1 - end) * min(self.q(t, s2, a2)[1][0] for t in self.theta_target))
        return np.array(y)

    def critic_gradient(self, theta, batch, y):
        loss, gradient = 0.0, 0.0
        for s, a, yi in zip(batch["obs"], batch["action"], y, strict=True):
            inputs, q = self.q(theta, s, a)
            loss += (yi - q[0]) ** 2 / len(y)
            gradient = gradient + backward(MATHS.critic, theta, inputs, q, 2 * (q - yi) / len(y), "relu")[0]
        return loss, gradient

    def policy_gradient(self, phi, theta, states):
        gradient = 0.0
        for s in states:
            inputs, a = self.act(phi, s)
            q_inputs, q = self.q(theta, s, a)
            _, dx = backward(MATHS.critic, theta, q_inputs, q, np.ones(1), "relu")
            gradient = gradient + backward(POLICY, phi, inputs, a, dx[len(s) :], "tanh")[0] / len(states)
        return gradient

    @staticmethod
    def adam_step(memory, gradient, learning_rate):
        memory[2] += 1
        memory[0] = 0.9 * memory[0] + 0.1 * gradient
        memory[1] = 0.999 * memory[1] + 0.001 * gradient**2
        m, v = memory[0] / (1 - 0.9 ** memory[2]), memory[1] / (1 - 0.999 ** memory[2])
        return learning_rate * m / (np.sqrt(v) + 1e-8)

    def step(self, t, batch, noise):
        y = self.target(batch, noise)
        loss = 0.0
        for i, name in enumerate(("1", "2")):
            part, gradient = self.critic_gradient(self.theta[i], batch, y)
            loss += part
            self.theta[i] = self.theta[i] - self.adam_step(self.adam[name], gradient, 0.02)
        if t % 2 == 0:
            gradient = self.policy_gradient(self.phi, self.theta[0], batch["obs"])
            self.phi = self.phi + self.adam_step(self.adam["actor"], gradient, 0.01)
            self.theta_target = [0.1 * a + 0.9 * b for a, b in zip(self.theta, self.theta_target, strict=True)]
            self.phi_target = 0.1 * self.phi + 0.9 * self.phi_target
        return loss


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def slow(rng):
    return Slow(rng.normal(0, 0.5, (2, MATHS.critic.solution_dim)), rng.normal(0, 0.5, POLICY.solution_dim))


def networks(slow) -> Networks:
    return MATHS.init(np.float32(slow.theta), np.float32(slow.phi))


def draw(rng, n=6):
    """Rows of a buffer, the same taken apart, and noise; terminal in some rows, with noise beyond the clip."""
    batch = {
        "obs": rng.normal(size=(n, 3)),
        "action": rng.uniform(-1, 1, (n, 2)),
        "next_obs": rng.normal(size=(n, 3)),
        "reward": rng.normal(size=n),
        "terminal": np.arange(n) % 3 == 0,
    }
    rows = np.concatenate([np.float32(v).reshape(n, -1) for v in batch.values()], axis=1)
    return rows, batch, np.float32(2 * rng.normal(size=(n, 2)))


def test_target_and_critic_gradient(rng, slow):
    rows, batch, noise = draw(rng)
    slow.theta_target = [t + 0.1 for t in slow.theta]
    slow.phi_target = slow.phi - 0.1
    nets = networks(slow)._replace(critics_target=np.float32(slow.theta_target), actor_target=np.float32(slow.phi_target))
    y = slow.target(batch, noise)
    np.testing.assert_allclose(MATHS.target(nets, MATHS.split(rows), noise), y, **CLOSE)
    assert y[0] == batch["reward"][0]  # terminal: no value beyond

    import jax

    loss, gradient = jax.value_and_grad(MATHS.critic_loss)(nets.critics, MATHS.split(rows), np.float32(y))
    expected = [slow.critic_gradient(theta, batch, y) for theta in slow.theta]
    assert float(loss) == pytest.approx(sum(part for part, _ in expected), rel=1e-4)
    np.testing.assert_allclose(gradient, [g for _, g in expected], **CLOSE)


@pytest.mark.parametrize("n", [1, 6, 11])
def test_policy_gradient_in_chunks(rng, slow, n, monkeypatch):
    monkeypatch.setattr("gaits.gradients.actor_critic.CHUNK", 4)
    states = np.float32(rng.normal(size=(n, 3)))
    fast = MATHS.gradient(np.float32(slow.phi), np.float32(slow.theta[0]), states)
    np.testing.assert_allclose(fast, slow.policy_gradient(slow.phi, slow.theta[0], states), **CLOSE)


def test_training_steps(rng, slow):
    """Critics, Adam, the delayed actor and the targets, over several steps: the compiled loop, and step by step."""
    drawn = [draw(rng) for _ in range(5)]
    nets, losses = MATHS.train(networks(slow), np.stack([d[0] for d in drawn]), np.stack([d[2] for d in drawn]))
    one_by_one = networks(slow)
    for t, (rows, batch, noise) in enumerate(drawn, start=1):
        one_by_one, loss = MATHS.step(one_by_one, rows, noise)
        assert float(loss) == pytest.approx(slow.step(t, batch, noise), rel=1e-4)
        assert float(losses[t - 1]) == pytest.approx(float(loss), rel=1e-5)
    for name in ("critics", "critics_target", "actor", "actor_target"):
        np.testing.assert_allclose(getattr(nets, name), getattr(one_by_one, name), rtol=1e-5, atol=1e-6, err_msg=name)
    tolerance = {"rtol": 1e-3, "atol": 1e-5}
    np.testing.assert_allclose(nets.critics, slow.theta, **tolerance)
    np.testing.assert_allclose(nets.critics_target, slow.theta_target, **tolerance)
    np.testing.assert_allclose(nets.actor, slow.phi, **tolerance)
    np.testing.assert_allclose(nets.actor_target, slow.phi_target, **tolerance)
    assert int(nets.steps) == 5


def test_variation_of_all_parents(rng, slow):
    parents = np.float32(rng.normal(0, 0.5, (3, POLICY.solution_dim)))
    states = np.float32(rng.normal(size=(3, 4, 5, 3)))  # 3 parents, 4 steps, 5 states each
    fast = MATHS.vary(parents, np.float32(slow.theta[0]), states, 0.05)
    for parent, minibatches, offspring in zip(parents, states, fast, strict=True):
        phi, memory = parent.astype(float), [0.0, 0.0, 0]
        for minibatch in minibatches:
            phi = phi + slow.adam_step(memory, slow.policy_gradient(phi, slow.theta[0], minibatch), 0.05)
        np.testing.assert_allclose(offspring, phi, rtol=1e-3, atol=1e-5)


# --- the whole -----------------------------------------------------------------------------------------------------------


def episode(n, rng, obs_dim=3, action_dim=2) -> Transitions:
    """An episode nobody played, that ran into the step limit."""
    last = np.arange(n) == n - 1
    obs = rng.normal(size=(n + 1, obs_dim)).astype(np.float32)
    action = rng.uniform(-1, 1, (n, action_dim)).astype(np.float32)
    return Transitions(obs[:-1], action, rng.normal(size=n), obs[1:], np.zeros(n, bool), last, np.zeros(n, int))


def test_networks_begin_as_pytorch_makes_them():
    policy = MLP(50, (40,), 10)
    td3 = TD3(policy, SETTINGS, seed=0)
    for network, shape in ((td3.greedy, policy), (np.asarray(td3.nets.critics[0]), td3.maths.critic)):
        for weights, biases in shape.layers(network):
            bound = 1 / np.sqrt(weights.shape[1])
            assert np.abs(weights).max() <= bound
            assert np.abs(biases).max() <= bound
            assert weights.std() == pytest.approx(bound / np.sqrt(3), rel=0.25)
    assert not np.array_equal(td3.nets.critics[0], td3.nets.critics[1])
    np.testing.assert_array_equal(td3.nets.critics, td3.nets.critics_target)
    np.testing.assert_array_equal(td3.nets.actor, td3.nets.actor_target)


def test_nothing_is_learnt_from_an_empty_buffer():
    td3 = TD3(POLICY, SETTINGS, seed=0)
    before = td3.greedy.copy()
    td3.learn()
    np.testing.assert_array_equal(td3.greedy, before)
    gradients = [td3.gradient(before, 8) for _ in range(50)]  # N(0, I)
    assert np.std(gradients) == pytest.approx(1, rel=0.1)


def test_the_schedules(rng):
    """Overlapping: trains only while episodes run, on what was remembered before. The paper's: only when remembering."""
    steps = {}
    for schedule in ("overlap", "paper"):
        td3 = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "td3_schedule": schedule}), seed=0)
        counts = []
        for _ in range(2):
            td3.learn()
            counts.append(int(td3.nets.steps))
            td3.remember(episode(10, rng))
            counts.append(int(td3.nets.steps))
        steps[schedule] = counts
    assert steps == {"overlap": [0, 0, 4, 4], "paper": [0, 4, 4, 8]}


@pytest.mark.parametrize("terminal", [True, False])
def test_the_step_limit_is_an_end_or_not(rng, terminal):
    td3 = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "timeout_terminal": terminal}), seed=0)
    td3.remember(episode(5, rng))
    np.testing.assert_array_equal(td3.buffer.rows[:5, -1], [0, 0, 0, 0, terminal])


def test_state_round_trips(rng):
    a, b = (TD3(POLICY, SETTINGS, seed) for seed in (1, 2))
    for _ in range(3):
        a.remember(episode(30, rng))
        a.learn()
    b.restore(states.copy(a.state(), like=b.state()))
    for td3 in (a, b):
        td3.learn()
    np.testing.assert_array_equal(a.greedy, b.greedy)
    np.testing.assert_array_equal(a.gradient(a.greedy, 20), b.gradient(a.greedy, 20))
    parents = np.stack([a.greedy] * 2)
    np.testing.assert_array_equal(a.vary(parents, 3, 4, 0.1), b.vary(parents, 3, 4, 0.1))


def test_variation_climbs_the_first_critic(rng):
    """On so many states of the buffer, so many steps of this size."""
    td3 = TD3(POLICY, SETTINGS, seed=0)
    td3.remember(episode(30, rng))
    parents = np.stack([td3.greedy, -td3.greedy, 2 * td3.greedy])
    obs = td3.buffer.sample_obs(copy.deepcopy(td3.rng), 3, 4, 5)
    expected = td3.maths.vary(parents, td3.nets.critics[0], obs, 0.05)
    np.testing.assert_array_equal(td3.vary(parents, steps=4, batch=5, learning_rate=0.05), expected)


def test_cores_change_nothing():
    """At sizes where XLA shares its work out: the same numbers on one core as on all, or first on one and then on all."""
    script = """
        import hashlib, os, sys
        import numpy as np
        if sys.argv[1] == "pinned":
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
        from gaits.gradients.devices import on_cores
        from gaits.gradients import TD3, TD3Settings
        from gaits.policies import MLP
        td3 = TD3(MLP(26, (128, 128), 6), TD3Settings(buffer_size=1000), seed=0)
        td3.buffer.rows[:] = td3.rng.standard_normal(td3.buffer.rows.shape)
        td3.buffer.size = 1000
        with on_cores(None if sys.argv[1] == "pinned" else 1):
            td3.train(3)
        td3.train(3)
        gradient, offspring = td3.gradient(td3.greedy, 10_000), td3.vary(td3.greedy[None], 2, 256, 0.1)
        for numbers in (td3.greedy, td3.nets.critics, gradient, offspring):
            print(hashlib.sha256(np.asarray(numbers).tobytes()).hexdigest())
    """
    printed = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), how], capture_output=True, text=True, check=True
        ).stdout
        for how in ("limited at first", "pinned" if hasattr(os, "sched_setaffinity") else "limited at first")
    }
    assert len(printed) == 1
    assert len(printed.pop().split()) == 4


def test_a_diverged_critic_is_reported_and_does_not_replace_the_good_one(rng):
    td3 = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "critic_learning_rate": 1e30, "critic_steps": 20}), seed=0)
    td3.remember(episode(40, rng))
    before = td3.greedy.copy()
    with pytest.raises(Diverged, match=r"The critic diverged: its loss is (nan|inf)"):
        td3.learn()
    np.testing.assert_array_equal(td3.greedy, before)


def test_an_unknown_device_is_named():
    import jax

    if any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("this machine has a GPU")
    with pytest.raises(ValueError, match="device 'gpu' was asked for, and JAX finds only: cpu"):
        devices.find_device("gpu")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critic_steps": 0}, "critic_steps must be a whole number of at least 1"),
        ({"discount": 1.5}, "discount must be a number from 0 to 1"),
        ({"smoothing_noise": -1}, "smoothing_noise must be a number of at least 0"),
        ({"critic_hidden": (0,)}, "A layer of critic_hidden must be a whole number of at least 1"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        TD3Settings(**settings)


def test_it_learns_by_itself():
    """A point that should go home, and is shown only random moves: the greedy actor learns to go there."""
    rng = np.random.default_rng(0)
    policy = MLP(2, (32,), 2)
    settings = TD3Settings(critic_steps=300, critic_batch=128, critic_hidden=(64, 64), critic_learning_rate=3e-3,
                           actor_learning_rate=3e-3, discount=0.9, target_rate=0.02)  # fmt: skip
    td3 = TD3(policy, settings, seed=0)
    obs = rng.uniform(-1, 1, (4000, 2)).astype(np.float32)
    action = rng.uniform(-1, 1, (4000, 2)).astype(np.float32)
    next_obs = np.clip(obs + np.float32(0.3) * action, -1, 1)
    nowhere = np.zeros(4000, bool)
    td3.remember(
        Transitions(obs, action, -np.linalg.norm(next_obs, axis=1), next_obs, nowhere, nowhere, nowhere.astype(int))
    )

    def distance_after(steps):
        points = obs[:200]
        for _ in range(steps):
            points = np.clip(points + np.float32(0.3) * policy.act(td3.greedy, points), -1, 1)
        return float(np.linalg.norm(points, axis=1).mean())

    before = distance_after(6)
    for _ in range(4):
        td3.learn()
    assert before > 0.5
    assert distance_after(6) < 0.15
