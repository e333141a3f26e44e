"""Centroids that divide a measure space into cells of about equal size: a centroidal Voronoi tessellation.

They are made by k-means (Lloyd's algorithm), as in CVT-MAP-Elites, but from fixed points, so that all runs everywhere share
the same cells. scikit-learn's k-means is no help there: its last bits change with the number of threads and the processor,
and from random starts its cells are less even.
"""

from __future__ import annotations

import functools

import numpy as np
import scipy  # whose parts come when they are used

from gaits.console import say_if_slow

SAMPLES = 50
"""Points per cell that k-means clusters."""
ROUNDS = 20


@functools.cache
def unit_centroids(cells: int, n_measures: int) -> np.ndarray:
    """Centroids (cells, n_measures) in the unit cube: a function of its arguments alone, on any machine.

    Sums are made in the order of the samples, and a nearest centroid is nearest however it is searched for. Samples have a
    little noise, so that none is as far from one centroid as from another.
    """
    sequence = scipy.stats.qmc.Halton(n_measures, scramble=False).fast_forward(1)  # its first point is the corner
    samples = sequence.random(SAMPLES * cells)
    words = np.random.PCG64(0).random_raw(samples.size).reshape(samples.shape)
    samples = (samples + words * 2.0**-84) % 1.0  # up to a millionth
    centroids = samples[:cells]
    with say_if_slow(f"dividing the measure space into {cells:,} cells ..."):
        for _ in range(ROUNDS):
            nearest = scipy.spatial.KDTree(centroids).query(samples, workers=-1)[1]
            count = np.bincount(nearest, minlength=cells)
            total = np.stack([np.bincount(nearest, column, cells) for column in samples.T], axis=1)
            centroids = np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centroids)
    centroids.setflags(write=False)
    return centroids
