"""What a Dask cluster costs: the same batches on 2 threads and on 2 workers, side by side; and how far it goes.

Usage: python benchmarks/cluster.py [rounds] [task]

The last table projects where more workers saturate, from what was measured here: episodes per second of one worker, bytes
that travel per episode, and the chunks per second and megabytes per second that one scheduler and one client pass on.
"""

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from distributed import Client

import gaits
from gaits.evaluation.cluster import ClusterEvaluator
from gaits.evaluation.schedulers import open_cluster

BATCH = 100
TARGETS = {"with transitions": 0.90, "without": 0.95}


def main(rounds: int = 5, name: str = "qd_half_cheetah") -> None:
    task = gaits.make_task(name)
    rng = np.random.default_rng(0)
    solutions = np.stack([task.policy.init(rng) for _ in range(BATCH)])
    with ExitStack() as stack:
        address = stack.enter_context(open_cluster("local", 2))
        local = stack.enter_context(gaits.LocalEvaluator(task, 2))
        cluster = stack.enter_context(ClusterEvaluator(task, address))
        for evaluator in (local, cluster):  # compile, start, fill caches
            evaluator.evaluate(solutions[:4], range(4))
        speeds: dict[tuple[str, str], list[float]] = {}
        for i in range(rounds):
            for kind, keep in (("without", False), ("with transitions", True)):
                for side, evaluator in (("threads", local), ("cluster", cluster)):
                    began = time.perf_counter()
                    steps = evaluator.evaluate(solutions, np.arange(BATCH) + 1000 * i, transitions=keep).length.sum()
                    speeds.setdefault((kind, side), []).append(steps / (time.perf_counter() - began))
        print(f"{task.title}: batches of {BATCH}; 2 threads, and 2 Dask workers of one thread; medians of {rounds} rounds")
        print(f"{'':18}{'threads':>12}{'cluster':>12}{'ratio':>8}{'target':>8}")
        for kind, target in TARGETS.items():
            a, b = (statistics.median(speeds[kind, side]) for side in ("threads", "cluster"))
            ratio = statistics.median(np.divide(speeds[kind, "cluster"], speeds[kind, "threads"]))
            print(f"{kind:18}{a:>10,.0f}/s{b:>10,.0f}/s{ratio:>8.0%}{target:>8.0%}")
        project(task, solutions, local, address)


def project(task: gaits.Task, solutions: np.ndarray, local: gaits.LocalEvaluator, address: str) -> None:
    began = time.perf_counter()
    results = local.evaluate(solutions[:20], range(20), transitions=True)
    per_worker = 20 / (time.perf_counter() - began) / 2  # episodes per second of one thread
    back = sum(getattr(results.transitions, name).nbytes for name in ("obs", "action", "reward")) / 20
    out = solutions[0].nbytes
    with Client(address, set_as_default=False) as client:
        tasks = rate(lambda: client.gather(client.map(abs, range(2000), pure=False)), 2000)
        block = np.zeros(1_000_000, np.uint8)
        megabytes = rate(lambda: client.gather(client.map(np.copy, [block] * 60, pure=False)), 2 * 60)
    print(
        f"\nAn episode takes {1 / per_worker:.2f} s of a worker; {out / 1e3:.0f} kB go out, {back / 1e3:.0f} kB come back."
    )
    print(f"The scheduler and the client here pass on {tasks:,.0f} chunks/s and {megabytes:,.0f} MB/s, there and back.")
    print(f"{'workers':>8}{'episodes/s':>12}{'chunks/s':>10}{'of limit':>10}{'MB/s':>8}{'of limit':>10}")
    for workers in (2, 100, 1000):
        episodes = workers * per_worker
        volume = episodes * (out + back) / 1e6
        shares = f"{episodes / tasks:>10.0%}{volume:>8.0f}{volume / megabytes:>10.0%}"
        print(f"{workers:>8,}{episodes:>12,.0f}{episodes:>10,.0f}{shares}")
    limit = min(tasks / per_worker, megabytes * 1e6 / (out + back) / per_worker)
    print(f"With a chunk per episode, the worst case, {limit:,.0f} workers saturate it. Batches must grow with the cluster:")
    print("1,000 workers need chunks of ten episodes: tens of thousands of solutions, or a scheduler for each run.")


def rate(action: Callable[[], object], n: int) -> float:
    """Things per second, the median of three."""
    speeds = []
    for _ in range(3):
        began = time.perf_counter()
        action()
        speeds.append(n / (time.perf_counter() - began))
    return statistics.median(speeds)


if __name__ == "__main__":
    main(*(int(word) if word.isdigit() else word for word in sys.argv[1:]))  # type: ignore[arg-type]
