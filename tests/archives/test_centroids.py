"""The cells of a CVT: even, and the same for everyone."""

from __future__ import annotations

import numpy as np
import pytest

from gaits.archives.centroids import unit_centroids

GOLDEN = [
    [0.5229605772143412, 0.5029116794175782],
    [0.2364707012858669, 0.8125955411587837],
    [0.8082803880902724, 0.23045313604354048],
    [0.13975174590939174, 0.40423127986117857],
    [0.7784835536704371, 0.7804303407834693],
    [0.3240494282701455, 0.13493809943667553],
]


def test_they_never_change():
    """Runs of other versions and machines must have these cells too, or their files would be read wrongly."""
    np.testing.assert_array_equal(unit_centroids(6, 2), GOLDEN)


@pytest.mark.parametrize("n_measures", [1, 2, 4])
def test_cells_are_even(n_measures):
    cells, each = 100, 200
    centroids = unit_centroids(cells, n_measures)
    points = np.random.default_rng(0).random((each * cells, n_measures))
    nearest = ((points[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    share = np.bincount(nearest, minlength=cells) / each
    assert 0.5 < share.min() <= share.max() < 1.5
    assert share.std() < 0.15  # of which 0.07 is the luck of 200 points


def test_one_cell():
    np.testing.assert_allclose(unit_centroids(1, 3), np.full((1, 3), 0.5), atol=0.02)


def test_shared_cells_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        unit_centroids(6, 2)[0] = 0
