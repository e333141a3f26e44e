"""Watch what a run that trains costs: python replication/watch.py PID RUN > memory.csv (on Linux)

A row every ten seconds until the process ends: evaluations and steps done, processor time, memory, the newest checkpoint
and all of the folder. keep.py takes it along if it is RUN/memory.csv.
"""

import contextlib
import os
import sys
import time
from pathlib import Path

SECONDS = 10
COLUMNS = ("evaluations", "steps", "cpu_seconds", "memory_mb", "checkpoint_mb", "folder_mb")


def sizes(run: Path) -> tuple[float, float]:
    checkpoints = [path.stat().st_size for path in sorted(run.glob("checkpoint/*"))]
    files = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    return max(checkpoints, default=0) / 1e6, files / 1e6


def row(pid: int, run: Path) -> tuple[float, ...]:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    with (run / "metrics.csv").open() as file:
        names = file.readline().strip().split(",")
        file.seek(max(file.seek(0, os.SEEK_END) - 4000, 0))
        last = dict(zip(names, file.read().rpartition("\n")[0].rpartition("\n")[2].split(","), strict=True))
    cpu = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return int(last["evaluations"]), int(last["steps"]), cpu, resident, *sizes(run)


if __name__ == "__main__":
    pid, run = int(sys.argv[1]), Path(sys.argv[2])
    print(",".join(COLUMNS))
    while Path(f"/proc/{pid}").exists():
        with contextlib.suppress(OSError, ValueError):  # it has just ended, or has no row yet
            print(",".join(f"{value:.10g}" for value in row(pid, run)), flush=True)
        time.sleep(SECONDS)
