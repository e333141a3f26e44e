"""What a whole iteration of PGA-MAP-Elites takes, against its parts one after the other, for splits of the cores.

Usage: python benchmarks/overlap.py [ROUNDS] [TASK]

An iteration proposes (which includes the policy-gradient variation), plays episodes while critics train, inserts and
remembers. Simulation alone plays the same episodes on all cores, training alone does as many critic steps on all cores, and
variation alone lets as many parents climb.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import gaits
from gaits.algorithms.pga_me import PgaMe, PgaMeSettings
from gaits.evaluation import available_cores
from gaits.search import Search


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def main(rounds: int, task_name: str) -> None:
    task, settings, cores = gaits.make_task(task_name), PgaMeSettings(), available_cores()
    algorithm = PgaMe(task, settings, np.random.SeedSequence(0))
    splits: dict[str, tuple[int, int | None]] = {
        "all cores for both (default)": (cores, None),
        "critics on one core": (cores, 1),
        "critics on one core, episodes on the others": (max(cores - 1, 1), 1),
    }
    with gaits.LocalEvaluator(task) as everything, gaits.LocalEvaluator(task, max(cores - 1, 1)) as others:
        searches = [
            Search(algorithm, everything if workers == cores else others, 0, learner_cores)
            for workers, learner_cores in splits.values()
        ]
        for _ in range(2):
            searches[0].iterate()  # compile, and have something to learn from
        ratios: list[list[float]] = [[] for _ in searches]
        alone: list[tuple[float, ...]] = []
        for _ in range(rounds):
            for search, ratio in zip(searches, ratios, strict=True):
                whole = seconds(search.iterate)
                asked = algorithm.solutions
                simulation = seconds(partial(everything.evaluate, asked, range(len(asked)), transitions=True))
                training = seconds(partial(algorithm.td3.train, settings.critic_steps))
                variation = seconds(partial(algorithm.pg.ask, settings.batch_size - settings.iso_line - 1))
                alone.append((simulation, training, variation))
                ratio.append(whole / sum(alone[-1]))
    parts = zip(("simulation", "training", "variation"), map(statistics.median, zip(*alone, strict=True)), strict=True)
    told = ", ".join(f"{name} {value:.2f} s" for name, value in parts)
    print(f"{task_name}, {cores} cores, {rounds} rounds. Alone: {told}\n")
    print(f"{'split':<48}{'iteration / the sum of them':>36}")
    for name, ratio in zip(splits, ratios, strict=True):
        print(f"{name:<48}{statistics.median(ratio):>35.2f}x")
    print("\nMedians. Target for the default: at most 1.1x.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, sys.argv[2] if len(sys.argv) > 2 else "qd_half_cheetah")
