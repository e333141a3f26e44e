"""Bring your own gradients to CMA-MEGA: finite differences instead of evolution strategies.

Usage: python examples/03_own_gradients.py [ITERATIONS]
"""

import sys

import numpy as np

from gaits.algorithms.base import spawn_ints
from gaits.algorithms.cma_mega import CmaMega, CmaMegaSettings
from gaits.evaluation import make_evaluator
from gaits.search import Search
from gaits.tasks.linear_projection import linear_projection


class FiniteDifferences:
    """A gradient source: one sample a step away along every axis, and one in the middle."""

    def samples(self, solution):
        return np.concatenate([solution[None], solution + 0.1 * np.eye(solution.size)]).astype(np.float32)

    def jacobian(self, solution, results):
        values = np.concatenate([results.objective[:, None], results.measures], axis=1)
        return ((values[1:] - values[0]) / 0.1).T

    def state(self):
        return {}

    def restore(self, state):
        pass


iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 300
task = linear_projection("sphere", dim=20, cells=20)
source = FiniteDifferences()
settings = CmaMegaSettings(batch_size=37, sigma0=5.0)
algorithm = CmaMega(task, settings, spawn_ints(np.random.SeedSequence(1), 3), objective=source, measures=source)
with make_evaluator(task) as evaluator:
    search = Search(algorithm, evaluator, seed_key=1)
    for _ in range(iterations):
        search.iterate()
score = algorithm.archive.stats.norm_qd_score
print(f"QD score per cell after {search.counters.evaluations:,} evaluations: {score:.1f} of 100")
