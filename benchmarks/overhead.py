"""What a run costs besides simulation: wall time and memory of MAP-Elites.

Usage: python benchmarks/overhead.py [TASK] [ITERATIONS]

"other" is everything in the run's wall time that is not waiting for episodes: proposing and inserting solutions, metrics,
history, checkpoints (here one per iteration that is due, as in any run). Memory is the process's, imports included.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

import gaits


def megabytes() -> float:
    match = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) / 1024


if __name__ == "__main__":
    task = sys.argv[1] if len(sys.argv) > 1 else "qd_half_cheetah"
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    rows: list[tuple[float, float, float]] = []

    def note(row: dict[str, float], archive: object) -> None:
        rows.append((time.perf_counter(), row["seconds_evaluate"], megabytes()))

    with tempfile.TemporaryDirectory() as folder:
        gaits.train(
            task, "map_elites", evaluations=100 * iterations, out=Path(folder, "run"), callback=note, checkpoint_iterations=5
        )
        ended = time.perf_counter()
    wall, evaluate = ended - rows[0][0], rows[-1][1] - rows[0][1]
    print(f"{'task':<18}{'iterations':>11}{'wall s':>10}{'simulation s':>14}{'other':>8}{'MB at 2nd':>11}{'MB at end':>11}")
    print(
        f"{task:<18}{iterations - 1:>11}{wall:>10.1f}{evaluate:>14.1f}{1 - evaluate / wall:>8.1%}"
        f"{rows[1][2]:>11.0f}{max(row[2] for row in rows):>11.0f}"
    )
    print("\nFrom the end of the first iteration to the end of the run. Targets: other under 3 %, memory under 1 GB.")
