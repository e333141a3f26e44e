"""Runs nobody trained: the files of a run of any size, made up in a moment, to test and measure what reads them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gaits import archives
from gaits.archives import insert, make_archive, summary
from gaits.runs import Run, load_run
from gaits.runs.config import make_config
from gaits.runs.files import write_whole
from gaits.runs.history import History
from gaits.tasks.task import Task


def make_run(
    folder: Path,
    task: Task,
    algorithm: str,
    seed: int = 1,
    *,
    iterations: int = 20,
    batch: int = 100,
    quality: float = 0.5,
    solution_dim: int | None = None,
    settings: dict[str, Any] | None = None,
) -> Run:
    """A finished run whose objectives grow towards ``quality`` of the task's range, plus luck of its seed."""
    folder.mkdir(parents=True)
    config = make_config(task, algorithm, settings or {}, seed=seed, evaluations=iterations * batch)
    config = dataclasses.replace(config, versions={**config.versions, "gaits": "0.1"})  # which bound no files, as here
    config.save(folder)
    rng = np.random.default_rng([seed, *algorithm.encode()])
    low, high = task.objective_range
    level = quality * rng.uniform(0.9, 1.1) * (1 - np.exp(-4 * np.arange(1, iterations + 1) / iterations))
    archive = make_archive(task, solution_dim=solution_dim)
    history, rows = History(len(task.grid)), []
    for i in range(iterations):
        objective = low + (high - low) * np.clip(level[i] * rng.random(batch), 0, 1)
        measures = np.stack([rng.uniform(*limits, batch) for limits in task.ranges], axis=1)
        width = task.solution_dim if solution_dim is None else solution_dim
        history.add(i + 1, [insert(archive, np.zeros((batch, width), np.float32), objective, measures)])
        seconds = {name: (i + 1) * share for name, share in (("seconds", 2.0), ("seconds_evaluate", 1.9))}
        spent = {"steps": (i + 1) * batch * 1000, **seconds}
        rows.append({"iteration": i + 1, "evaluations": (i + 1) * batch, **summary(archive, low), **spent})
    pd.DataFrame(rows).to_csv(folder / "metrics.csv", index=False)
    write_whole(folder / "archive.npz", lambda file: archives.save(archive, file))
    write_whole(folder / "history.npz", history.save)
    return load_run(folder)
