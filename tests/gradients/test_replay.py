from __future__ import annotations

import numpy as np
import pytest

from gaits import states
from gaits.evaluation.results import Transitions
from gaits.gradients import TD3Settings
from gaits.gradients.experience import Lesson, experience
from gaits.gradients.replay import ReplayBuffer


def numbered(first, n, timeout_terminal=True, **changes):
    """Transitions whose every number tells which they are."""
    number = np.arange(first, first + n)
    fields = {
        "obs": np.repeat(number[:, None], 2, axis=1).astype(np.float32),
        "action": number[:, None].astype(np.float32) + 0.25,
        "reward": number + 0.5,
        "next_obs": np.repeat(number[:, None], 2, axis=1).astype(np.float32) + 1,
        "terminated": number % 3 == 0,
        "truncated": number % 5 == 0,
        "solution": np.zeros(n, int),
    }
    return experience(Lesson(Transitions(**{**fields, **changes})), TD3Settings(timeout_terminal=timeout_terminal))


def numbers(buffer):
    return buffer.rows[: buffer.size, 0].tolist()


def test_rows_hold_whole_transitions():
    buffer = ReplayBuffer(10, 2, 1)
    buffer.add(numbered(3, 3))
    np.testing.assert_array_equal(
        buffer.rows[:3],
        [[3, 3, 3.25, 4, 4, 3.5, 1], [4, 4, 4.25, 5, 5, 4.5, 0], [5, 5, 5.25, 6, 6, 5.5, 1]],
    )
    buffer.add(numbered(5, 1, timeout_terminal=False))
    assert buffer.rows[3, -1] == 0


@pytest.mark.parametrize("sizes", [(3, 4), (7, 7), (10, 3), (6, 25), (0, 4, 4, 4, 4), (31,)])
def test_the_oldest_are_overwritten(sizes):
    """Against a list that forgets its oldest."""
    buffer, kept, first = ReplayBuffer(10, 2, 1), [], 0
    for n in sizes:
        buffer.add(numbered(first, n))
        kept = (kept + list(range(first, first + n)))[-10:]
        first += n
        assert sorted(numbers(buffer)) == kept
        in_order = numbers(buffer)[buffer.next :] + numbers(buffer)[: buffer.next] if buffer.size == 10 else numbers(buffer)
        assert in_order == kept


@pytest.mark.parametrize("field", ["obs", "action", "reward", "next_obs"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_what_is_not_finite_never_enters(field, bad):
    steps = numbered(0, 6)
    values = getattr(steps, field).astype(float)
    values[2] = bad
    buffer = ReplayBuffer(10, 2, 1)
    assert buffer.add(numbered(0, 6, **{field: values})) == 1
    assert numbers(buffer) == [0, 1, 3, 4, 5]


def test_what_is_refused_overwrites_nothing():
    buffer = ReplayBuffer(4, 2, 1)
    buffer.add(numbered(0, 6))
    before = buffer.rows.copy()
    assert buffer.add(numbered(6, 2, reward=np.array([np.nan, np.inf]))) == 2
    np.testing.assert_array_equal(buffer.rows, before)


def test_samples_are_uniform_with_replacement():
    buffer = ReplayBuffer(10, 2, 1)
    buffer.add(numbered(0, 4))
    rng = np.random.default_rng(0)
    which = buffer.draw(rng, 100, 40)
    assert which.shape == (100, 40)
    np.testing.assert_allclose(np.bincount(which.ravel()) / 4000, 0.25, atol=0.03)


@pytest.mark.parametrize("added", [0, 4, 10, 23])
def test_state_round_trips(added):
    a, b = ReplayBuffer(10, 2, 1), ReplayBuffer(10, 2, 1)
    a.add(numbered(0, added))
    b.restore(states.copy(a.state(), like=b.state()))
    for buffer in (a, b):
        buffer.add(numbered(100, 3))
    np.testing.assert_array_equal(a.rows, b.rows)
    np.testing.assert_array_equal(*(buffer.rows[buffer.draw(np.random.default_rng(0), 20)] for buffer in (a, b)))


def test_a_million_half_cheetah_transitions():
    buffer = ReplayBuffer(1_000_000, 26, 6)
    assert buffer.rows.nbytes <= 250e6
