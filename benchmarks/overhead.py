"""What a run costs besides simulation: wall time and memory of an algorithm.

Usage: python benchmarks/overhead.py [ALGORITHM] [TASK] [EVALUATIONS]

"other" is everything in the run's wall time that is not waiting for episodes: proposing and inserting solutions, metrics,
history, checkpoints (here one per iteration that is due, as in any run). Memory is the process's, imports included.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

import gaits


def megabytes(which: str = "VmRSS") -> float:
    match = re.search(which + r":\s+(\d+)", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1]) / 1024


if __name__ == "__main__":
    defaults = ("map_elites", "qd_half_cheetah", "1200")
    algorithm, task, evaluations = (*sys.argv[1:4], *defaults[len(sys.argv) - 1 :])
    rows: list[tuple[float, float, float]] = []

    def note(row: dict[str, float], archive: object) -> None:
        rows.append((time.perf_counter(), row["seconds_evaluate"], megabytes()))

    with tempfile.TemporaryDirectory() as folder:
        gaits.train(
            task, algorithm, evaluations=int(evaluations), out=Path(folder, "run"), callback=note, checkpoint_iterations=5
        )
        ended = time.perf_counter()
    wall, evaluate = ended - rows[0][0], rows[-1][1] - rows[0][1]
    header = ("algorithm", "task", "iterations", "wall s", "simulation s", "other", "MB at 2nd", "MB at peak")
    print("{:<17}{:<17}{:>11}{:>9}{:>14}{:>8}{:>11}{:>11}".format(*header))
    print(
        f"{algorithm:<17}{task:<17}{len(rows) - 1:>11}{wall:>9.1f}{evaluate:>14.1f}{1 - evaluate / wall:>8.1%}"
        f"{rows[1][2]:>11.0f}{megabytes('VmHWM'):>11.0f}"
    )
    print("\nFrom the end of the first iteration to the end of the run.")
    print("Targets: other under 3 %, memory under 1 GB; with a critic 5 % and 2 GB.")
