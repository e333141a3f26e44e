"""Roll out policies on all cores. Usage: python examples/01_evaluate.py [POLICIES]"""

import sys

import numpy as np

import gaits

n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
task = gaits.make_task("qd_walker")
rng = np.random.default_rng(0)
solutions = [task.policy.init(rng) for _ in range(n)]

with gaits.LocalEvaluator(task) as evaluator:
    results = evaluator.evaluate(solutions, seeds=range(n), transitions=True)

best = results.objective.argmax()
print(f"{n} policies, {results.length.sum():,} steps; the best returned {results.objective[best]:.1f}")
for name, share in zip(task.measure_names, results.measures[best], strict=True):
    print(f"  {name}: {share:.0%} of the time")
print(f"  transitions kept: {len(results.transitions.reward):,}")
