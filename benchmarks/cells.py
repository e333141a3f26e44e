"""The cells of a CVT archive: how long they take to make and how even they are, beside ribs' own k-means.

Usage: python benchmarks/cells.py
"""

import time
from collections.abc import Callable

import numpy as np
from ribs.archives import k_means_centroids
from scipy.spatial import KDTree

from gaits.archives.centroids import unit_centroids

POINTS = 1000
"""Random points per cell that sizes are measured with."""


def ribs_centroids(cells: int, k: int) -> np.ndarray:
    return k_means_centroids(centroids=cells, ranges=[(0, 1)] * k, seed=1)[0]


def describe(make: Callable[[int, int], np.ndarray], cells: int, k: int) -> str:
    began = time.process_time()  # of all threads, so that a busy machine does not matter
    centroids = make(cells, k)
    seconds = time.process_time() - began
    points = np.random.default_rng(1).random((POINTS * cells, k))
    size = np.bincount(KDTree(centroids).query(points)[1], minlength=cells) / POINTS
    return f"{seconds:8.1f} {size.min():9.2f} {size.max():9.2f} {size.std():9.2f}"


if __name__ == "__main__":
    print("cells measures by      CPU s  smallest   largest deviation")
    for cells, k in ((1024, 1), (1024, 2), (1296, 4)):
        print(f"{cells:5} {k:8} gaits {describe(unit_centroids, cells, k)}")
        print(f"{cells:5} {k:8} ribs  {describe(ribs_centroids, cells, k)}")
