"""Loading and comparing a hundred runs of the paper's size: time and memory of ``gaits compare``.

Usage: python benchmarks/compare.py [SEEDS]

Synthesizes 4 tasks x 5 algorithms x 5 seeds (3 GB of files): 5,000 or 10,000 rows of metrics, every insertion of half a
million or a million in the history, archives with all their solutions. Target: 60 seconds and 2 GB.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import gaits
from gaits.runs import Run
from gaits.runs.files import write_whole
from gaits.study import preset

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from synthetic import make_run


def lengthen(run: Run, seed: int) -> None:
    """Make metrics and history as long as the paper's; five seeds share the file of one archive to save disk."""
    slow = run.config.algorithm in ("cma_mega_es", "cma_mega_td3_es", "me_es")
    iterations = 5_000 if slow else 10_000
    rng = np.random.default_rng(seed)
    table = run.metrics
    x = np.linspace(0, len(table) - 1, iterations)
    long = pd.DataFrame({name: np.interp(x, np.arange(len(table)), table[name]) for name in table})
    noise = np.sort(rng.random(iterations)) * 1e4
    long = long.assign(iteration=range(1, iterations + 1), objective_sum=long["objective_sum"] + noise)
    long["evaluations"] = long["iteration"] * (1_000_000 // iterations)
    long.to_csv(run.folder / "metrics.csv", index=False)
    per_iteration = 1 if run.config.algorithm == "me_es" else 100
    rows = rng.integers(len(run.history["cell"]), size=iterations * per_iteration)
    history = {name: values[rows] for name, values in run.history.items()}
    history["iteration"] = np.repeat(np.arange(1, iterations + 1, dtype=np.int32), per_iteration)
    write_whole(run.folder / "history.npz", lambda file: np.savez(file, **history))  # type: ignore[arg-type]


def synthesize(folder: Path, seeds: int) -> int:
    study = preset("paper").with_(seeds=range(1, seeds + 1))
    for planned in study.runs:
        place = folder / planned.name
        run = make_run(place, planned.task, planned.algorithm, planned.seed, iterations=40, batch=100)
        first = folder / f"{planned.task.name}-{planned.algorithm}-seed1" / "archive.npz"
        if planned.seed > 1:
            (place / "archive.npz").unlink()
            os.link(first, place / "archive.npz")
        lengthen(run, planned.seed)
        text = (place / "config.json").read_text().replace('"evaluations": 4000', '"evaluations": 1000000')
        (place / "config.json").write_text(text)
    return len(study.runs)


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    try:
        n = synthesize(folder, int(sys.argv[1]) if len(sys.argv) > 1 else 5)
        began = time.perf_counter()
        command = [sys.executable, "-m", "gaits.cli", "compare", str(folder), "--out", str(folder / "out")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - began
        megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        assert f"{n} runs compared" in done.stdout, done.stderr
        print(
            f"gaits {gaits.__version__}: {n} runs compared in {seconds:.1f} s with {megabytes:.0f} MB. Target: 60 s, 2 GB."
        )
    finally:
        shutil.rmtree(folder)
