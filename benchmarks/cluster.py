"""What a Dask cluster costs: the same batches on 2 threads and on 2 workers, side by side; and how far both go.

Usage: python benchmarks/cluster.py [ROUNDS] [TASK...]

The second table projects what more cores would do, from what one process has to do alone for a batch, measured here:
checking it and putting results together; with Dask also the client's and the scheduler's time for every chunk and megabyte.
"""

import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import psutil  # type: ignore[import-untyped]
from distributed import Client

import gaits
from gaits.episodes import Batch, Pool, make_job
from gaits.evaluation.chunks import cut
from gaits.evaluation.cluster import ClusterEvaluator
from gaits.evaluation.results import assemble
from gaits.evaluation.schedulers import open_cluster

BATCH = 100
CORES = 2, 16, 64, 128
TASKS = ("qd_half_cheetah", "qd_ant", "qd_hopper")


def main(rounds: int = 5, names: tuple[str, ...] = TASKS) -> None:
    print(f"Batches of {BATCH} first policies: 2 threads, and 2 Dask workers of one thread; medians of {rounds} rounds")
    print("task              transitions steps each     threads     cluster  ratio  chunks  kB each")
    with open_cluster("local", 2) as address:
        with Client(address, set_as_default=False) as client:
            block = np.zeros(1_000_000, np.uint8)
            per_chunk = cpu(lambda: client.gather(client.map(abs, range(300), pure=False))) / 300
            per_megabyte = cpu(lambda: client.gather(client.map(np.copy, [block] * 30, pure=False), direct=True)) / 60
        projections = [side_by_side(name, rounds, address, per_chunk, per_megabyte) for name in names]
    print(f"\nClient and scheduler: {1e3 * per_chunk:.1f} ms for a chunk and {1e3 * per_megabyte:.1f} ms for a megabyte.")
    print("Episodes per second on more cores, and the share of what as many cores could play:")
    print(f"{'task':18}{'batch':>6}{'':9}" + "".join(f"{f'{cores} cores':>16}" for cores in CORES))
    print("\n".join(line for lines in projections for line in lines))


def side_by_side(name: str, rounds: int, address: str, per_chunk: float, per_megabyte: float) -> list[str]:
    """Print what was measured; return what follows for more cores."""
    task = gaits.make_task(name)
    rng = np.random.default_rng(0)
    solutions = np.stack([task.policy.init(rng) for _ in range(BATCH)])
    with ExitStack() as stack:
        local = stack.enter_context(gaits.LocalEvaluator(task, 2))
        cluster = stack.enter_context(ClusterEvaluator(task, address))
        for evaluator in (local, cluster):  # compile, start, fill caches, learn how long episodes are
            for keep in (True, False):
                evaluator.evaluate(solutions, range(BATCH), transitions=keep)
        for keep in (False, True):
            seconds: dict[str, list[float]] = {"threads": [], "cluster": []}
            batch, steps, before = Batch(solutions, transitions=keep), 0, carried()
            for i in range(rounds):
                for side, evaluator in (("threads", local), ("cluster", cluster)):
                    began = time.perf_counter()
                    steps = evaluator.submit(batch, np.arange(BATCH) + 1000 * i).result().length.sum()
                    seconds[side].append(time.perf_counter() - began)
            a, b = (steps / statistics.median(seconds[side]) for side in ("threads", "cluster"))
            ratio = statistics.median(np.divide(seconds["threads"], seconds["cluster"]))
            chunks = len(list(cut(BATCH, 2, cluster.sizes(1))))
            each = (carried() - before) / rounds / BATCH / 1e3
            kind = "kept" if keep else "not kept"
            columns = f"{steps / BATCH:>10,.0f}{a:>10,.0f}/s{b:>10,.0f}/s{ratio:>7.0%}{chunks:>8}{each:>9,.0f}"
            print(f"{name:18}{kind:12}{columns}", flush=True)
        episode = 2 * statistics.median(seconds["threads"]) / BATCH
    job = make_job(task, batch, range(BATCH))
    Pool(1).play(task, job)
    together = median(lambda: Pool(1).play(task, job.part(0, task.problem.side_by_side)))
    serial = median(lambda: make_job(task, batch, range(BATCH))) + median(lambda: assemble(job))
    megabytes = 2 * solutions.nbytes / 1e6 + sum(array.nbytes for steps in job.steps.values() for array in steps) / 1e6
    lines = []
    for n in (BATCH, 10 * BATCH):
        for side in ("threads", "Dask"):
            cells = []
            for cores in CORES:
                alone = serial * n / BATCH
                if side == "Dask":
                    chunks = len(list(cut(n, cores, cluster.sizes(1))))
                    alone += chunks * per_chunk + megabytes * n / BATCH * per_megabyte
                speed = n / (max(n * episode / cores, together) + alone)
                cells.append(f"{speed:>10,.0f}{speed * episode / cores:>6.0%}")
            lines.append(f"{name:18}{n:>6,} {side:8}" + "".join(cells))
    return lines


def carried() -> int:
    """Bytes that processes of this machine have sent each other."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def cpu(action: Callable[[], object]) -> float:
    """Processor seconds of this process, in which client and scheduler are; the median of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return statistics.median(times)


def median(action: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    words = sys.argv[1:]
    rounds = int(words.pop(0)) if words and words[0].isdigit() else 5
    main(rounds, tuple(words) or TASKS)
