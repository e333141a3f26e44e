"""CMA-MEGA on the linear projection: exact gradients, estimated gradients, ribs alone, and no gradients.

Usage: python benchmarks/projection.py [SEEDS]
"""

import sys
from statistics import mean

import numpy as np
from ribs.archives import GridArchive
from ribs.emitters import GradientArborescenceEmitter
from ribs.schedulers import Scheduler

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.evaluation import make_evaluator
from gaits.search import Search

ITERATIONS, BRANCHES, STEP = 1500, 36, 10.0
TASK = gaits.make_task("lp_sphere")


def gaits_score(name: str, seed: int, **settings: float) -> float:
    entry = ALGORITHMS[name]
    with make_evaluator(TASK) as evaluator:
        search = Search(entry.make(TASK, entry.settings(**settings), np.random.SeedSequence(seed)), evaluator, seed)
        for _ in range(ITERATIONS):
            search.iterate()
    return float(search.algorithm.archive.stats.norm_qd_score)


def ribs_score(seed: int) -> float:
    """ribs' own loop, with nothing of gaits but the function."""
    function = TASK.function
    assert function is not None
    archive = GridArchive(solution_dim=function.dim, dims=TASK.grid, ranges=TASK.ranges, seed=seed)
    emitter = GradientArborescenceEmitter(
        *(archive,),
        x0=np.zeros(function.dim),
        sigma0=STEP,
        lr=1.0,
        ranker="2imp",
        selection_rule="mu",
        restart_rule="no_improvement",
        grad_opt="gradient_ascent",
        batch_size=BRANCHES,
        seed=seed + 1,
    )
    scheduler = Scheduler(archive, [emitter], add_mode="single")
    for _ in range(ITERATIONS):
        point = scheduler.ask_dqd()
        scheduler.tell_dqd(*function.evaluate(point), function.jacobian(point[0])[None])
        scheduler.tell(*function.evaluate(scheduler.ask()))
    return float(archive.stats.norm_qd_score)


if __name__ == "__main__":
    seeds = range(1, 1 + (int(sys.argv[1]) if len(sys.argv) > 1 else 3))
    common = {"batch_size": BRANCHES + 1, "sigma0": STEP}
    rows = {
        "ribs alone, exact gradients": [ribs_score(seed) for seed in seeds],
        "cma_mega, exact gradients": [gaits_score("cma_mega", seed, **common) for seed in seeds],
        "cma_mega_es, 1,000 samples": [gaits_score("cma_mega_es", seed, es_samples=1000, **common) for seed in seeds],
        "cma_mega_es, 100 samples": [gaits_score("cma_mega_es", seed, es_samples=100, **common) for seed in seeds],
        "map_elites, sigma 0.5": [gaits_score("map_elites", seed, batch_size=BRANCHES + 1, sigma=0.5) for seed in seeds],
    }
    exact = mean(rows["cma_mega, exact gradients"])
    print(f"{'lp_sphere':<30}{'QD score per cell':>18}{'of exact':>10}   by seed")
    for name, scores in rows.items():
        print(f"{name:<30}{mean(scores):>18.1f}{mean(scores) / exact:>10.0%}   {', '.join(f'{s:.1f}' for s in scores)}")
    print(f"\n{ITERATIONS} iterations of {BRANCHES} branches, initial step {STEP}, seeds {seeds[0]} to {seeds[-1]}.")
