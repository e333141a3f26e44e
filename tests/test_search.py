from __future__ import annotations

import numpy as np

from gaits.search import episode_seeds


def test_seeds_depend_on_the_index_alone():
    whole = episode_seeds(123, 0, 20)
    np.testing.assert_array_equal(np.concatenate([episode_seeds(123, 0, 7), episode_seeds(123, 7, 13)]), whole)
    assert len(set(whole.tolist())) == 20
    assert (whole >= 0).all()
    assert not set(whole.tolist()) & set(episode_seeds(124, 0, 20).tolist())
