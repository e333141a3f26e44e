"""Size of a checkpoint, and seconds to write and to read one, on QD Hopper with the paper's settings.

Usage: python benchmarks/checkpoints.py [TRANSITIONS]
"""

import inspect
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.archives import insert
from gaits.runs import checkpoint

REPEATS = 5


def make(name: str, filled: float, transitions: int) -> Any:
    """An algorithm with a share of its archive filled, and a replay buffer with so many transitions."""
    task, rng = gaits.make_task("qd_hopper"), np.random.default_rng(0)
    algorithm = ALGORITHMS[name].make(task, ALGORITHMS[name].settings(), np.random.SeedSequence(1))
    n = int(filled * task.total_cells)
    measures = (rng.permutation(task.total_cells)[:n, None] + 0.5) / task.total_cells
    for rows in np.array_split(np.arange(n), max(1, n // 100)):
        solutions = rng.standard_normal((len(rows), task.solution_dim), np.float32)
        insert(algorithm.archive, solutions, rng.random(len(rows)), measures[rows])
    if transitions:
        buffer = algorithm.td3.buffer
        buffer.rows[:transitions] = rng.standard_normal((transitions, buffer.rows.shape[1]), np.float32)
        buffer.size, buffer.next = transitions, transitions % len(buffer.rows)
    return algorithm


def seconds(call: Callable[[], object]) -> float:
    """The fastest of some."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    transitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{'':42}{'MB':>8}{'write s':>9}{'read s':>9}")
    cases: tuple[tuple[str, str, float, int], ...] = (
        ("MAP-Elites, empty archive", "map_elites", 0.0, 0),
        ("MAP-Elites, archive half full", "map_elites", 0.5, 0),
        (f"PGA-ME, half full, {transitions:,} transitions", "pga_me", 0.5, transitions),
    )
    for title, name, filled, rows in cases:
        algorithm = make(name, filled, rows)
        # Checkpoints of gaits 0.1 were read without the state that they should be like.
        like = [make(name, 0.0, 0).state()] if "like" in inspect.signature(checkpoint.load).parameters else []
        with tempfile.TemporaryDirectory() as folder:
            path = checkpoint.save(Path(folder), algorithm.state(), "a", 1)
            written = seconds(lambda: checkpoint.save(Path(folder), algorithm.state(), "a", 1))  # noqa: B023
            read = seconds(lambda: make(name, 0.0, 0).restore(checkpoint.load(path, "a", *like)))  # noqa: B023
            read -= seconds(lambda: make(name, 0.0, 0))  # noqa: B023
            print(f"{title:42}{path.stat().st_size / 1e6:8.1f}{written:9.3f}{read:9.3f}", flush=True)
