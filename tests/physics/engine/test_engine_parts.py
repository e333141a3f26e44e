"""The engine's smallest parts against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import gaits
from gaits.lanes import (
    EIGHT,
    FOUR,
    ONE,
    any_lane,
    cos,
    lanes,
    like,
    one_lane,
    opposite,
    part,
    select,
    sin,
    sqrt,
    width,
)
from gaits.physics.engine import algebra, contact, gjk, reading, seeds, solver, spots
from gaits.physics.policy import Actor
from gaits.physics.world import start_angles

rng = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308])
PAIRS = np.array([(a, b) for a in SPECIAL for b in SPECIAL] + [*rng.normal(size=(19, 2))])  # a hundred: a multiple of four


# ---------------------------------------------------------------------------------------------------------------------
# Lanes
# ---------------------------------------------------------------------------------------------------------------------


@njit(error_model="numpy")
def arithmetic(a, b, out, w):
    x, y, z = lanes(a, w), lanes(b, w), lanes(out, w)
    for k in range(a.size // width(x)):
        n = 16 * k
        z[n], z[n + 1], z[n + 2], z[n + 3] = x[k] + y[k], x[k] - y[k], x[k] * y[k], x[k] / y[k]
        z[n + 4], z[n + 5], z[n + 6], z[n + 7] = -x[k], sqrt(x[k]), x[k] + 1.5, 2.0 - x[k]
        z[n + 8], z[n + 9] = select(x[k] < y[k], x[k], y[k]), select(x[k] <= y[k], x[k], y[k])
        z[n + 10], z[n + 11] = select(x[k] > y[k], like(x[k], 1.0), 0.0), select(x[k] >= y[k], like(x[k], 1.0), 0.0)
        z[n + 12] = select((x[k] > 0.0) & (y[k] > 0.0), like(x[k], 1.0), 0.0)
        z[n + 13] = select((x[k] > 0.0) | (y[k] > 0.0), like(x[k], 1.0), 0.0)
        z[n + 14] = select(opposite(x[k] < y[k]), like(x[k], 1.0), 0.0)
        z[n + 15] = like(x[k], 1.0 if any_lane(x[k] > y[k]) else 0.0)


def expected(a, b, w):
    with np.errstate(all="ignore"):
        rows = [a + b, a - b, a * b, a / b, -a, np.sqrt(a), a + 1.5, 2.0 - a, np.where(a < b, a, b), np.where(a <= b, a, b)]
        rows += [1.0 * (a > b), 1.0 * (a >= b), 1.0 * ((a > 0) & (b > 0)), 1.0 * ((a > 0) | (b > 0)), 1.0 * ~(a < b)]
        anywhere = (a > b).reshape(-1, w).any(axis=1).repeat(w)
        return np.stack([*rows, 1.0 * anywhere])


@pytest.mark.parametrize("side_by_side", [ONE, FOUR])
def test_every_operation_is_numpys_in_every_lane(side_by_side):
    a, b = np.ascontiguousarray(PAIRS.T)
    w = len(side_by_side)
    out = np.zeros((len(a) // w, 16, w))
    arithmetic(a, b, out, side_by_side)
    found, wanted = out.transpose(1, 0, 2).reshape(16, -1), expected(a, b, w)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)  # also zeros have their signs
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@njit(error_model="numpy")
def angles(a, out, w):
    x, z = lanes(a, w), lanes(out, w)
    for k in range(a.size // width(x)):
        z[2 * k], z[2 * k + 1] = sin(x[k]), cos(x[k])


def test_sine_and_cosine_are_the_c_librarys():
    import math

    a = np.concatenate([rng.normal(size=200), rng.normal(0, 50, 200)])
    four, one = np.zeros((100, 2, 4)), np.zeros((400, 2))
    angles(a, four, FOUR)
    angles(a, one, ONE)
    wanted = np.array([(math.sin(x), math.cos(x)) for x in a])
    np.testing.assert_array_equal(one, wanted)
    np.testing.assert_array_equal(four.transpose(0, 2, 1).reshape(400, 2), wanted)


@njit
def pick(a, lane, start, w):
    view = lanes(a, w)
    total = 0.0
    for k in range(3):
        total += one_lane(part(view, start), lane)[k] * 10.0**k
    return total


def test_one_lane_and_a_part_of_a_view():
    a = np.arange(24.0)
    for lane in range(4):
        assert pick(a, lane, 2, FOUR) == sum(a.reshape(6, 4)[2 + k, lane] * 10**k for k in range(3))


@njit(error_model="numpy")
def add_floats(a, b, out):
    lanes(out, EIGHT)[0] = lanes(a, EIGHT)[0] + lanes(b, EIGHT)[0] * lanes(a, EIGHT)[0]


def test_nothing_is_contracted():
    """A fused multiply-add would round once."""
    a, b = (rng.normal(size=(100, 8)).astype(np.float32) for _ in range(2))
    out = np.zeros_like(a)
    for row in range(100):
        add_floats(a[row], b[row], out[row])
    np.testing.assert_array_equal(out, a + b * a)


# ---------------------------------------------------------------------------------------------------------------------
# Algebra
# ---------------------------------------------------------------------------------------------------------------------


def skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def turn(q):
    """The matrix of a quaternion of any length, by Rodrigues' formula."""
    v, w = np.array(q[:3]), q[3]
    return np.eye(3) + 2 * (w * skew(v) + skew(v) @ skew(v)) / (v @ v + w * w)


def test_vectors_and_matrices():
    for _ in range(20):
        (a, b), (m, n) = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
        flat = m.ravel(), n.ravel()
        for found, wanted in (
            (algebra.dot(a, b), a @ b),
            (algebra.cross(a, b), np.cross(a, b)),
            (algebra.unit(a), a / np.linalg.norm(a)),
            (algebra.mv(flat[0], a), m @ a),
            (algebra.mtv(flat[0], a), m.T @ a),
            (algebra.mm(*flat), (m @ n).ravel()),
            (algebra.transpose(flat[0]), m.T.ravel()),
            (algebra.outer(a, b), np.outer(a, b).ravel()),
            (algebra.m_skew(flat[0], a), (m @ skew(a)).ravel()),
            (algebra.skew_m(a, flat[0]), (skew(a) @ m).ravel()),
            (algebra.inverse(flat[0]), np.linalg.inv(m).ravel()),
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_quaternions():
    for _ in range(20):
        (p, q), v = rng.normal(size=(2, 4)), rng.normal(size=3)
        np.testing.assert_allclose(np.reshape(algebra.to_matrix(q), (3, 3)), turn(q), atol=1e-12)
        product = turn(algebra.qmul(p, q))
        np.testing.assert_allclose(product, turn(p) @ turn(q), atol=1e-12)
        unit = q / np.linalg.norm(q)
        np.testing.assert_allclose(algebra.rotate(unit, v), turn(q) @ v, atol=1e-12)
        np.testing.assert_allclose(turn(algebra.conjugate(q)), turn(q).T, atol=1e-12)


def test_quaternions_of_matrices():
    """Whichever of its items is the largest."""
    largest = set()
    for _ in range(50):
        q = rng.normal(size=4)
        q /= np.linalg.norm(q)
        found = np.array(reading.quaternion(turn(q).ravel()))
        np.testing.assert_allclose(found * np.sign(found @ q), q, atol=1e-12)
        largest.add(int(abs(q).argmax()))
    assert largest == {0, 1, 2, 3}


# ---------------------------------------------------------------------------------------------------------------------
# Contacts
# ---------------------------------------------------------------------------------------------------------------------


def bullet_sort(items, key, low, high):
    """btAlignedObjectArray::quickSortInternal."""
    i, j, pivot = low, high, key[items[(low + high) // 2]]
    while True:
        while key[items[i]] < pivot:
            i += 1
        while pivot < key[items[j]]:
            j -= 1
        if i <= j:
            items[i], items[j] = items[j], items[i]
            i, j = i + 1, j - 1
        if i > j:
            break
    if low < j:
        bullet_sort(items, key, low, j)
    if i < high:
        bullet_sort(items, key, i, high)


@pytest.mark.parametrize("values", [1, 2, 4, 100])
def test_sorting_leaves_ties_as_bullet_does(values):
    unstable = False
    for n in list(range(1, 30)) * 3:
        key = rng.integers(0, values, n)
        found, wanted = np.arange(n), list(range(n))
        spots.quicksort(found, key, n, np.zeros(2 * n + 8, np.int64))
        bullet_sort(wanted, key, 0, n - 1)
        assert found.tolist() == wanted
        unstable |= wanted != np.argsort(key, kind="stable").tolist()
    assert unstable  # else the comparison would say nothing


@njit
def lowest(kind, shape, pose):
    return contact._lowest(kind, lanes(shape, ONE), lanes(pose, ONE))


@pytest.mark.parametrize("kind", [gjk.BALLS, gjk.CAPSULE])
def test_of_two_ends_that_are_as_low_the_first_counts(kind):
    """A shape that lies flat: its ends are at ±0.3 along its own z axis, which is the world's x axis."""
    shape = np.array([0.0, 0, 1, 0, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0.04, 0.3, 0, 0, 0.3, 0.04, 0, 0, -0.3, 0.04])
    pose = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0.5])
    np.testing.assert_allclose(lowest(kind, shape, pose), (0.3, 0, 0.46), atol=1e-15)


def test_nothing_to_sort():
    spots.quicksort(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, np.zeros(8, np.int64))


@pytest.mark.parametrize(("bare", "order"), [(False, [1.0, 2.0]), (True, [2.0, 1.0])])
def test_a_compound_forgets_points_before_it_adds_one(bare, order):
    """A bare shape does so afterwards, and its last point takes the place of the one that is gone."""
    pose = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    known = np.zeros((4, contact.POINT))
    assert contact.update(known.ravel(), 0, pose, (0.0, 0.0, 0.0), 0.05, bare) == 1
    assert contact.update(known.ravel(), 1, pose, (1.0, 0.0, 0.0), 0.05, bare) == 2
    known[0, 3] = 0.1  # the first one's spot on the floor: further away than the threshold
    assert contact.update(known.ravel(), 2, pose, (2.0, 0.0, 0.0), 0.05, bare) == 2
    assert known[:2, 0].tolist() == order


def test_a_new_point_replaces_the_nearest():
    pose, known = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]), np.zeros((4, contact.POINT))
    for count, x in enumerate((0.0, 0.08)):
        assert contact.update(known.ravel(), count, pose, (x, 0.0, 0.0), 0.05, True) == count + 1
    assert contact.update(known.ravel(), 2, pose, (0.035, 0.0, 0.0), 0.05, True) == 2
    assert known[:2, 0].tolist() == [0.035, 0.08]


def bullet_choice(points, depths, local, depth):
    """btPersistentManifold::sortCachedPoints."""
    deepest = min([(depth, -1), *((d, i) for i, d in enumerate(depths))])[1]
    corners = ((1, 3, 2), (0, 3, 2), (0, 3, 1), (0, 2, 1))
    areas = [np.cross(local - points[a], points[b] - points[c]) for a, b, c in corners]
    return int(np.argmax([0.0 if i == deepest else area @ area for i, area in enumerate(areas)]))


def test_a_fifth_point_replaces_the_one_that_bullet_gives_up():
    """So rare that hardly any episode has it."""
    pose, chosen, rng = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]), set(), np.random.default_rng(5)
    square = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    ties = [np.array([*square, last], float) for last in ((0, 0.5, 0), (0.5, 0, 0))]  # the first of equal areas
    for points in (*ties, *rng.normal(size=(100, 5, 3)) * (1, 1, 1e-4)):
        known, count = np.zeros((4, contact.POINT)), 0
        for i, point in enumerate(points):
            before = known.copy()
            count = contact.update(known.ravel(), count, pose, tuple(point), 0.001, True)
            assert count == min(i + 1, 4)
        (slot,) = np.flatnonzero((known != before).any(axis=1))
        assert slot == bullet_choice(points[:4], points[:4, 2], points[4], points[4, 2])
        np.testing.assert_array_equal(known[slot, [0, 1, 2, 3, 4, 5]], points[4, [0, 1, 2, 0, 1, 2]])
        chosen.add(int(slot))
    assert chosen == {0, 1, 2, 3}


def test_the_larger_of_two_numbers_is_the_second_where_one_is_none():
    """ENGINE 6.6: no robot's rows tell it from any other maximum."""
    assert (solver.larger(2.0, 1.0), solver.larger(1.0, 2.0), solver.larger(np.nan, 1.0)) == (2.0, 2.0, 1.0)
    assert np.isnan(solver.larger(1.0, np.nan))


# ---------------------------------------------------------------------------------------------------------------------
# Starts and policies
# ---------------------------------------------------------------------------------------------------------------------


def test_starts_are_numpys():
    few = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**63 - 1]
    for seed in [*few, *range(2, 500), *rng.integers(0, 2**63, 500).tolist()]:
        out = np.zeros(17)
        seeds.start_angles(seed, -0.1, 0.1, out, 17)
        np.testing.assert_array_equal(out, start_angles(seed, 17))


def obvious(policy, solution, x):
    """Bias first, then weight times input, input by input, in float32; tanh to a few ulp."""
    at = 0
    for n_in, n_out in zip(policy.sizes[:-1], policy.sizes[1:], strict=True):
        weights, at = solution[at : at + n_in * n_out].reshape(n_out, n_in), at + n_in * n_out
        total, at = solution[at : at + n_out].copy(), at + n_out
        for i in range(n_in):
            total += weights[:, i] * x[i]
        x = np.tanh(total.astype(float)).astype(np.float32)
    return x


@pytest.mark.parametrize(
    "sizes", [(28, 128, 128, 8), (5, 70, 9, 200, 2), (15, 64, 3), (3, 8, 8, 1), (9, 7), (1, 1)], ids=str
)
def test_policies_act_alike(sizes):
    policy = gaits.MLP(sizes[0], sizes[1:-1], sizes[-1])
    actor = Actor(policy.sizes)
    for scale in (0.3, 1.0, 4.0):
        solution = np.float32(scale) * (policy.init(rng) + rng.normal(0, 0.1, policy.solution_dim).astype(np.float32))
        obs, mean = rng.uniform(-5, 5, (2, sizes[0])).astype(np.float32)
        std = rng.uniform(0.5, 2, sizes[0]).astype(np.float32)
        actor.take(solution)
        action = actor.act(obs, mean, std)
        np.testing.assert_allclose(action, obvious(policy, solution, (obs - mean) / std), rtol=0, atol=1e-5)
        np.testing.assert_allclose(action, policy.act(solution, (obs - mean) / std), rtol=0, atol=1e-4)
    actor.take(np.zeros_like(solution))  # nothing of the last solution is left, also where layers are padded
    np.testing.assert_array_equal(actor.act(obs, mean, std), np.zeros(sizes[-1], np.float32))
