"""The compiled arithmetic against a slow obvious form."""

from __future__ import annotations

import numpy as np
import pytest

import gaits
from gaits.compiling import compiled
from gaits.physics import walking
from gaits.physics.bullet import capi
from gaits.physics.policy import Actor, tanh32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 3, 7, 8, 11, 16, 17, 22, 40])
def test_sums_are_numpy_sums(dtype, n):
    for values in np.random.default_rng(n).standard_normal((50, n)).astype(dtype):
        assert walking.pairwise_sum(values, n) == values.sum()


def test_euler_angles_are_pybullets():
    quaternions = np.random.default_rng(0).standard_normal((200, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    p = capi.pybullet()
    over = [(0.0, np.sin(half), 0.0, np.cos(half)) for half in (-1.3, -0.9, 0.9, 1.3)]  # in a plane, beyond a right angle
    steep = [(0.3, sign * np.arcsin(sine), 0.7) for sign in (-1, 1) for sine in (0.99998, 0.999995)]  # where one begins
    for q in (*quaternions, *over, *map(p.getQuaternionFromEuler, steep)):
        np.testing.assert_allclose(walking.euler(*q), p.getEulerFromQuaternion(q), rtol=0, atol=1e-15)


@pytest.mark.parametrize("pitch", [-np.pi / 2, np.pi / 2])
@pytest.mark.parametrize("yaw", np.linspace(-3, 3, 7))
def test_at_a_right_angle_of_pitch_all_else_is_yaw(pitch, yaw):
    c, s, sign = np.cos(yaw / 2) * np.sqrt(0.5), np.sin(yaw / 2) * np.sqrt(0.5), np.sign(pitch)
    q = (-sign * s, sign * c, s, c)
    np.testing.assert_allclose(walking.euler(*q), (0, pitch, yaw), rtol=0, atol=1e-12)
    np.testing.assert_allclose(walking.euler(*q), capi.pybullet().getEulerFromQuaternion(q), rtol=0, atol=1e-15)


@compiled
def tanh(x):
    return tanh32(x)


def test_tanh():
    x = np.concatenate([np.linspace(-20, 20, 100_001), np.logspace(-30, 0, 1000)]).astype(np.float32)
    y = np.array([tanh(v) for v in x])
    np.testing.assert_allclose(y, np.tanh(x.astype(float)), rtol=5e-7, atol=0)
    assert np.abs(y).max() <= 1
    assert np.isnan(tanh(np.float32(np.nan)))
    assert tanh(np.float32(np.inf)) == pytest.approx(1)


@pytest.mark.parametrize("hidden", [(128, 128), (7,), (), (33, 5, 64)])
def test_three_forward_passes_agree(hidden):
    policy = gaits.MLP(15, hidden, 3)
    rng = np.random.default_rng(0)
    solution = policy.init(rng) + rng.normal(0, 0.1, policy.solution_dim).astype(np.float32)
    obs = rng.uniform(-5, 5, (20, 15)).astype(np.float32)
    actor = Actor(policy.sizes)
    actor.take(solution)
    actions = [actor.act(row, np.zeros(15, np.float32), np.ones(15, np.float32)) for row in obs]
    np.testing.assert_allclose(actions, policy.act(solution, obs), rtol=0, atol=3e-6)
    np.testing.assert_allclose(actions, policy.act_jax(solution, obs), rtol=0, atol=3e-6)
