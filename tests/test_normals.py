"""Normal numbers are NumPy's, bit for bit, and leave the generator where NumPy would."""

from __future__ import annotations

import numpy as np
import pytest

from gaits.normals import Normals, normal, standard_normal
from gaits.states import generator_state

SIGMA = float(np.float32(0.02))


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_numpy(seed):
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    for shape in ((3,), (500_000,), (0,), (7, 11)):  # half a million have hundreds beyond the ziggurat's last layer
        np.testing.assert_array_equal(standard_normal(ours, shape), theirs.standard_normal(shape, np.float32))
        single = theirs.normal(scale=SIGMA, size=shape).astype(np.float32)
        np.testing.assert_array_equal(normal(ours, shape, SIGMA), single)
        assert ours.bit_generator.state == theirs.bit_generator.state  # also the half of a word that is left over


@pytest.mark.parametrize("sigma", [None, SIGMA])
def test_drawing_ahead_changes_nothing(sigma):
    ahead, plain, restored = (Normals(np.random.default_rng(1), sigma) for _ in range(3))
    ahead.prepare()  # nothing yet: it does not know how many
    for shape in ((3, 5), (3, 5), (2, 5)):
        assert ahead.state() == plain.state() == generator_state(plain.rng)
        restored.prepare()
        restored.restore(ahead.state())
        lot = plain.take(*shape)
        np.testing.assert_array_equal(ahead.take(*shape), lot)
        np.testing.assert_array_equal(restored.take(*shape), lot)
        ahead.prepare()
        ahead.prepare()
