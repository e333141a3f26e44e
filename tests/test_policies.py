from __future__ import annotations

import numpy as np
import pytest

import gaits


def test_parameter_counts_of_the_paper():
    expected = {"qd_ant": 21256, "qd_half_cheetah": 20742, "qd_hopper": 18947, "qd_walker": 20230}
    assert {name: gaits.make_task(name).solution_dim for name in expected} == expected


def test_order_of_parameters():
    """Per layer: weights row by row (outputs x inputs), then biases."""
    policy = gaits.MLP(2, (3,), 1)
    (w1, b1), (w2, b2) = policy.layers(np.arange(13, dtype=np.float32))
    np.testing.assert_array_equal(w1, [[0, 1], [2, 3], [4, 5]])
    np.testing.assert_array_equal(b1, [6, 7, 8])
    np.testing.assert_array_equal(w2, [[9, 10, 11]])
    np.testing.assert_array_equal(b2, [12])


def test_init_is_xavier_uniform():
    policy = gaits.MLP(20, (300,), 10)
    solution = policy.init(np.random.default_rng(0))
    assert solution.dtype == np.float32
    for (weights, biases), (n_in, n_out) in zip(policy.layers(solution), ((20, 300), (300, 10)), strict=True):
        bound = np.sqrt(6 / (n_in + n_out))
        assert 0.98 * bound < np.abs(weights).max() <= bound
        assert weights.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)
        assert not biases.any()
    np.testing.assert_array_equal(solution, policy.init(np.random.default_rng(0)))


def test_act():
    policy = gaits.MLP(2, (2,), 1)
    solution = np.array([1, 0, 0, 1, 0.5, 0, 1, -1, 0.25], np.float32)
    obs = np.array([0.3, -0.2], np.float32)
    expected = np.tanh(np.tanh(0.8) - np.tanh(-0.2) + 0.25)
    assert policy.act(solution, obs) == pytest.approx([expected], abs=1e-6)
    assert policy.act(solution, np.tile(obs, (4, 5, 1))).shape == (4, 5, 1)


@pytest.mark.parametrize("sizes", [(0, (2,), 1), (2, (0,), 1), (2, (2,), -1), (2, (1.5,), 1)])
def test_impossible_sizes(sizes):
    with pytest.raises(ValueError, match="positive whole numbers"):
        gaits.MLP(*sizes)


def test_wrong_length():
    with pytest.raises(ValueError, match=r"has 9 parameters; got an array of shape \(8,\)"):
        gaits.MLP(2, (2,), 1).act(np.zeros(8), np.zeros(2))
