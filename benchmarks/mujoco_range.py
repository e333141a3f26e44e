"""How the MuJoCo tasks' minimum objectives were found. Usage: python benchmarks/mujoco_range.py [EPISODES]

The paper takes the lowest objective that any of its experiments inserted. Nobody published that for these tasks, so this
plays random policies of three kinds, from gentle to thrashing, and prints the lowest return of each kind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from gaits.evaluation import LocalEvaluator
from gaits.tasks import Task
from gaits.tasks.mujoco import MUJOCO

KINDS = ("Xavier", "Xavier x 3", "Xavier + N(0, 0.5)")


def solutions(task: Task, kind: str, n: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for _ in range(n):
        solution = task.policy.init(rng)
        if kind == "Xavier x 3":
            solution *= 3
        elif kind == "Xavier + N(0, 0.5)":
            solution += rng.normal(0, 0.5, solution.size).astype(np.float32)
        yield solution


def returns(task: Task, kind: str, n: int) -> np.ndarray:
    with LocalEvaluator(task) as evaluator:
        return evaluator.evaluate(list(solutions(task, kind, n)), range(n)).objective


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{'task':<16}{'policies':<20}{'episodes':>10}{'lowest':>10}{'median':>10}{'highest':>10}")
    for task in MUJOCO:
        for kind in KINDS:
            objective = returns(task, kind, n)
            row = (objective.min(), np.median(objective), objective.max())
            print(f"{task.name:<16}{kind:<20}{n:>10}{row[0]:>10.1f}{row[1]:>10.1f}{row[2]:>10.1f}", flush=True)
