"""How QD Humanoid's minimum objective was found. Usage: python benchmarks/humanoid_range.py

The paper takes the lowest objective that any of its experiments inserted. Nobody published that for Humanoid, so this
plays policies of many sizes of weights, from almost still to thrashing, and prints the lowest return of each size.
"""

import numpy as np

import gaits

if __name__ == "__main__":
    task = gaits.make_task("qd_humanoid")
    print(f"{'scale':>6}{'episodes':>10}{'lowest':>10}{'median':>10}{'highest':>10}")
    with gaits.LocalEvaluator(task) as evaluator:
        for scale in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
            rng = np.random.default_rng(0)
            solutions = [scale * task.policy.init(rng) for _ in range(2000)]
            objective = evaluator.evaluate(solutions, np.arange(2000)).objective
            row = (objective.min(), np.median(objective), objective.max())
            print(f"{scale:>6}{len(solutions):>10}{row[0]:>10.1f}{row[1]:>10.1f}{row[2]:>10.1f}")
