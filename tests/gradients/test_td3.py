"""TD3 against a plain NumPy transcription with back-propagation by hand, and TD3 learning by itself."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from gaits import states
from gaits.evaluation.results import Transitions
from gaits.gradients import TD3, Diverged, Lesson, TD3Settings, devices, hands
from gaits.gradients.actor_critic import ActorCritic
from gaits.gradients.devices import on_cores
from gaits.gradients.learner import CompiledLearner
from gaits.gradients.networks import NO_GOAL, Networks, begin
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
CRITIC = MLP(5, SETTINGS.critic_hidden, 1)
MATHS = ActorCritic(POLICY, POLICY, CRITIC, SETTINGS)
LEARNERS = [CompiledLearner(POLICY, POLICY, CRITIC, SETTINGS), MATHS]
both = pytest.mark.parametrize("learner", LEARNERS, ids=["compiled", "JAX"])
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
        return forward(CRITIC, theta, np.concatenate([s, a]), relu, linear)

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
            gradient = gradient + backward(CRITIC, theta, inputs, q, 2 * (q - yi) / len(y), "relu")[0]
        return loss, gradient

    def policy_gradient(self, phi, theta, states):
        gradient = 0.0
        for s in states:
            inputs, a = self.act(phi, s)
            q_inputs, q = self.q(theta, s, a)
            _, dx = backward(CRITIC, theta, q_inputs, q, np.ones(1), "relu")
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
    return Slow(rng.normal(0, 0.5, (2, CRITIC.solution_dim)), rng.normal(0, 0.5, POLICY.solution_dim))


def networks(slow) -> Networks:
    return begin(np.float32(slow.theta), np.float32(slow.phi))


def no_goals(parents):
    return np.zeros((len(parents), 0), np.float32)


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


@both
@pytest.mark.parametrize("n", [1, 6, 11])
def test_policy_gradient_in_chunks(rng, slow, n, learner, monkeypatch):
    monkeypatch.setattr("gaits.gradients.actor_critic.CHUNK", 4)
    monkeypatch.setattr("gaits.gradients.learner.CHUNK", 2)
    monkeypatch.setattr("gaits.gradients.learner.GROUPS", 3)
    rows, which = draw(rng, 20)[0], rng.integers(20, size=n)
    fast = learner.gradient(np.float32(slow.phi), np.float32(slow.theta[0]), NO_GOAL, rows, which)
    np.testing.assert_allclose(fast, slow.policy_gradient(slow.phi, slow.theta[0], rows[which, :3]), **CLOSE)


@both
def test_training_steps(rng, slow, learner):
    """Critics, Adam, the delayed actor and the targets, over several steps, at once and in two parts."""
    drawn = [draw(rng) for _ in range(5)]
    rows, noise = np.concatenate([d[0] for d in drawn]), np.stack([d[2] for d in drawn])
    which = np.arange(30).reshape(5, 6)
    nets, losses = learner.train(networks(slow), 0, rows, which, noise)
    some, _ = learner.train(networks(slow), 0, rows, which[:3], noise[:3])
    parts, _ = learner.train(some, 3, rows, which[3:], noise[3:])
    for name, one, other in zip(Networks._fields, nets, parts, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
    for t, (_, batch, z) in enumerate(drawn, start=1):
        assert losses[t - 1] == pytest.approx(slow.step(t, batch, z), rel=1e-4)
    tolerance = {"rtol": 1e-3, "atol": 1e-5}
    np.testing.assert_allclose(nets.critics, slow.theta, **tolerance)
    np.testing.assert_allclose(nets.critics_target, slow.theta_target, **tolerance)
    np.testing.assert_allclose(nets.actor, slow.phi, **tolerance)
    np.testing.assert_allclose(nets.actor_target, slow.phi_target, **tolerance)


def test_training_leaves_the_networks_it_was_given(rng, slow):
    before = networks(slow)
    nets = networks(slow)
    rows, _, noise = draw(rng)
    LEARNERS[0].train(nets, 0, rows, np.arange(6)[None], noise[None])
    for one, other in zip(nets, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("batch", [1, 7])
def test_minibatches_without_halves(rng, batch):
    settings = TD3Settings(**{**vars(SETTINGS), "critic_batch": batch})
    nets = begin(*(np.float32(rng.normal(0, 0.5, shape)) for shape in ((2, CRITIC.solution_dim), POLICY.solution_dim)))
    rows, which = draw(rng, 20)[0], rng.integers(20, size=(4, batch))
    noise = np.float32(rng.normal(size=(4, batch, 2)))
    both = [
        kind(POLICY, POLICY, CRITIC, settings).train(nets, 0, rows, which, noise) for kind in (CompiledLearner, ActorCritic)
    ]
    for name, one, other in zip(Networks._fields, *(nets for nets, _ in both), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5, err_msg=name)


@both
def test_variation_of_all_parents(rng, slow, learner):
    parents = np.float32(rng.normal(0, 0.5, (3, POLICY.solution_dim)))
    rows, which = draw(rng, 20)[0], rng.integers(20, size=(3, 4, 5))  # 3 parents, 4 steps, 5 states each
    before = parents.copy()
    fast = learner.vary(parents, np.float32(slow.theta[0]), no_goals(parents), rows, which, 0.05)
    np.testing.assert_array_equal(parents, before)
    for parent, minibatches, offspring in zip(parents, which, fast, strict=True):
        phi, memory = parent.astype(float), [0.0, 0.0, 0]
        for minibatch in minibatches:
            phi = phi + slow.adam_step(memory, slow.policy_gradient(phi, slow.theta[0], rows[minibatch, :3]), 0.05)
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
    for network, shape in ((td3.greedy, policy), (td3.nets.critics[0], td3.critic)):
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


def test_the_schedules(rng):
    """Overlapping: trains only while episodes run, on what was remembered before. The paper's: only when remembering."""
    steps = {}
    for schedule in ("overlap", "paper"):
        td3 = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "td3_schedule": schedule}), seed=0)
        counts = []
        for _ in range(2):
            td3.learn()
            counts.append(td3.steps)
            td3.remember(Lesson(episode(10, rng)))
            counts.append(td3.steps)
        steps[schedule] = counts
    assert steps == {"overlap": [0, 0, 4, 4], "paper": [0, 4, 4, 8]}


@pytest.mark.parametrize("terminal", [True, False])
def test_the_step_limit_is_an_end_or_not(rng, terminal):
    td3 = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "timeout_terminal": terminal}), seed=0)
    td3.remember(Lesson(episode(5, rng)))
    np.testing.assert_array_equal(td3.buffer.rows[:5, -1], [0, 0, 0, 0, terminal])


def test_state_round_trips(rng):
    a, b = (TD3(POLICY, SETTINGS, seed) for seed in (1, 2))
    for _ in range(3):
        a.remember(Lesson(episode(30, rng)))
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
    td3.remember(Lesson(episode(30, rng)))
    parents = np.stack([td3.greedy, -td3.greedy, 2 * td3.greedy])
    which = td3.buffer.draw(copy.deepcopy(td3.rng), 3, 4, 5)
    expected = td3.learner.vary(parents, td3.nets.critics[0], no_goals(parents), td3.buffer.rows, which, 0.05)
    np.testing.assert_array_equal(td3.vary(parents, steps=4, batch=5, learning_rate=0.05), expected)


def test_cores_change_nothing():
    """One thread, two that share the critics, and more than there are units of work."""
    found = []
    for cores in (1, 2, 5):
        td3 = TD3(MLP(26, (128, 128), 6), TD3Settings(buffer_size=1000), seed=0)
        td3.buffer.rows[:] = td3.rng.standard_normal(td3.buffer.rows.shape)
        td3.buffer.size = 1000
        with on_cores(cores):
            td3.train(5)
            gradient, offspring = td3.gradient(td3.greedy, 3_000), td3.vary(np.stack([td3.greedy] * 3), 2, 256, 0.1)
        found.append((*td3.nets, gradient, offspring))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_diverged_critic_is_reported_and_does_not_replace_the_good_one(rng):
    td3 = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "critic_learning_rate": 1e30, "critic_steps": 20}), seed=0)
    td3.remember(Lesson(episode(40, rng)))
    before = td3.greedy.copy()
    with pytest.raises(Diverged, match=r"The critic diverged: its loss is (nan|inf)"):
        td3.learn()
    np.testing.assert_array_equal(td3.greedy, before)


def test_a_gpu_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(devices, "find_platforms", lambda: {"cpu"})
    with pytest.raises(ValueError, match=r"device 'gpu' was asked for, and JAX finds only: cpu.*gaits\[gpu\]"):
        TD3(POLICY, TD3Settings(device="gpu"), seed=0)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"device 'gpu' was asked for, and JAX is not installed.*gaits\[gpu\]"):
        TD3(POLICY, TD3Settings(device="gpu"), seed=0)
    assert isinstance(TD3(POLICY, TD3Settings(device="auto"), seed=0).learner, CompiledLearner)


def test_a_gpu_that_is_there_is_used(monkeypatch, rng):
    monkeypatch.setattr(devices, "find_platforms", lambda: {"gpu"})
    td3 = TD3(POLICY, SETTINGS, seed=0)
    assert isinstance(td3.learner, ActorCritic)
    td3.remember(Lesson(episode(30, rng)))
    td3.learn()
    other = TD3(POLICY, TD3Settings(**{**vars(SETTINGS), "device": "cpu"}), seed=0)
    other.restore(states.copy(td3.state(), like=other.state()))  # a run may go on where there is no GPU
    np.testing.assert_array_equal(td3.greedy, other.greedy)


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
    steps = Transitions(obs, action, -np.linalg.norm(next_obs, axis=1), next_obs, nowhere, nowhere, nowhere.astype(int))
    td3.remember(Lesson(steps))

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


class TestPace:
    """Whether two hands or one: what takes less time, by a clock that says how long they take."""

    @pytest.fixture
    def run(self, monkeypatch):
        def run(costs, parts, pace=None):
            """The pace, and (steps, hands) of so many parts; ``costs`` are seconds per step of one and of two hands."""
            pace, now, done = pace or hands.Pace(), [0.0], []
            monkeypatch.setattr(hands.time, "perf_counter", lambda: now[0])
            while len(done) < parts:
                for part, n in pace.plan(100):
                    now[0] += costs[n - 1] * (part.stop - part.start)
                    done.append((part.stop - part.start, n))
            return pace, done[:parts]

        monkeypatch.setattr(hands, "cores", lambda: 2)
        return run

    def test_two_are_kept_where_they_are_faster(self, run):
        _, done = run((3.0, 2.0), 200)
        assert sum(n for steps, n in done if n == 1) < 20
        assert all(steps <= hands.Pace.TRIAL for steps, n in done if n == 1)

    def test_one_where_others_want_the_cores_and_two_again_later(self, run):
        pace, done = run((3.0, 30.0), 200)
        assert sum(steps for steps, n in done if n == 2) < 0.1 * sum(steps for steps, _ in done)
        pace, done = run((3.0, 2.0), 60, pace)
        assert [n for _, n in done[-20:]].count(2) >= 18

    def test_every_step_is_done_once(self, run):
        for steps in (1, 19, 20, 21, 300):
            done = [i for part, _ in hands.Pace().plan(steps) for i in range(part.start, part.stop)]
            assert done == list(range(steps))

    def test_one_core_has_one_hand(self, run, monkeypatch):
        monkeypatch.setattr(hands, "cores", lambda: 1)
        _, done = run((3.0, 2.0), 50)
        assert {n for _, n in done} == {1}
