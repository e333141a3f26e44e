"""Kill a run with SIGKILL at random moments, resume it each time, and compare with one that was never killed.

Usage: python benchmarks/kill.py [KILLS]
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gaits

TRAIN = """
import sys, gaits
from gaits.runs import directory
directory.MAX_CHECKPOINT_SHARE = 0.5  # checkpoints as often as can be, to be hit while writing
begun = []
def ready(row, archive):
    if not begun:
        begun.append(print("ready", flush=True))
task = gaits.make_task("qd_hopper", hidden=(64, 64), max_steps=100)
if len(sys.argv) > 2:
    gaits.train(task, "map_elites", evaluations=int(sys.argv[2]), out=sys.argv[1], checkpoint_iterations=1, callback=ready)
else:
    gaits.resume(sys.argv[1], callback=ready)
"""


def start(*args: object) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", TRAIN, *map(str, args)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


if __name__ == "__main__":
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    evaluations = 1000 * kills
    moments = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        expected, killed = Path(folder, "expected"), Path(folder, "killed")
        assert start(expected, evaluations).wait() == 0
        iterations = []
        for n in range(kills):
            process = start(killed, *([] if (killed / "config.json").exists() else [evaluations]))
            time.sleep(moments.uniform(0.0, 0.3))  # after its first iteration, however long a busy machine takes to that
            process.kill()
            process.wait()
            found = sorted((killed / "checkpoint").glob("*.ckpt"))
            iterations.append(int(found[-1].stem) if found else 0)
            print(f"kill {n + 1}/{kills}: newest checkpoint is iteration {iterations[-1]}", flush=True)
        process = start(killed)
        assert process.wait() == 0, "the run could not be resumed"
        a, b = gaits.load_run(expected), gaits.load_run(killed)
        columns = [name for name in a.metrics.columns if not str(name).startswith("seconds")]
        archives = [archive.data() for archive in (a.archive, b.archive)]
        rows = len(a.metrics)
        same = a.metrics[columns].equals(b.metrics[columns]) and all(
            np.array_equal(archives[0][key], archives[1][key]) for key in archives[0]
        )
    moved = sum(after > before for before, after in zip([0, *iterations], iterations, strict=False))
    print(f"\nkills  with progress between  iterations in all  identical\n{kills:<7}{moved:<23}{rows:<19}{same}")
