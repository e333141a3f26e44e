"""The repertoires that ``gaits demo`` shows, from runs: a few dozen gaits of each robot, as runs that ship with the package.

Usage: python tools/make_demo.py RUN [RUN ...]

Of every run: the cells of a coarser grid, in each the best policies by their records; their weights rounded to half
precision, which halves the file; then played again, so that none is there by luck: a policy's record is the middle one of
its new episodes. The best one of a cell stays, if it walks at all. The same runs give the same files.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gaits
from gaits import archives
from gaits.archives import Archive, insert, make_archive, summary
from gaits.runs import Run, load_run
from gaits.runs.binding import bind, save_manifest
from gaits.runs.config import Config, make_config
from gaits.runs.files import write_whole
from gaits.runs.history import History
from gaits.search import episode_seeds

HERE = Path(__file__).parents[1] / "src" / "gaits" / "demo"
GRIDS = {1: (36,), 2: (6, 6), 4: (3, 2, 2, 3)}
"""By the number of measures: three dozen cells."""
CANDIDATES, EPISODES, SEED = 5, 5, 1
WALKS = 0.1
"""Share of the best return from which on a policy counts as a gait; those that do nothing return about 0."""
TIMES = dict.fromkeys(("seconds", "seconds_evaluate", "seconds_learn", "steps"), 0)


def main(folders: list[str]) -> None:
    if not folders:
        sys.exit(__doc__)
    shutil.rmtree(HERE, ignore_errors=True)
    for i, run in enumerate(map(load_run, folders), 1):
        folder = HERE / f"{i}_{run.task.name}"  # shown in this order
        made = make_demo(run, folder)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"{folder}: {len(made)} gaits, returns {made.data('objective').min():.0f} to", end=" ")
        print(f"{made.data('objective').max():.0f}, {size:.1f} MB")


def make_demo(run: Run, folder: Path) -> Archive:
    task = run.task.with_(grid=GRIDS[len(run.task.measure_names)])
    data = run.archive.data()
    rows = choose(make_archive(task, solution_dim=0).index_of(data["measures"]), data["objective"])
    solutions = data["solution"][rows].astype(np.float16).astype(np.float32)
    statistics = {name: data[name][rows] for name in ("obs_mean", "obs_std") if name in data}
    each = np.repeat(np.arange(len(rows)), EPISODES)  # an episode at a time: the measures of each are wanted
    with gaits.LocalEvaluator(task) as evaluator:
        again = {name: values[each] for name, values in statistics.items()}
        played = evaluator.evaluate(solutions[each], episode_seeds(SEED, 0, len(each)), **again)
    order = np.argsort(played.objective.reshape(-1, EPISODES), axis=1)
    middle = np.arange(len(rows)) * EPISODES + order[:, EPISODES // 2]
    fields: dict[str, Any] = {name: (values.shape[1:], values.dtype) for name, values in statistics.items()}
    archive = make_archive(task, fields={**fields, **archives.SEED})
    walks = played.objective[middle] > WALKS * played.objective[middle].max()
    outcomes = played.objective[middle], played.measures[middle], played.failed[middle] | ~walks, played.seed[middle]
    history = History(len(task.grid))
    history.add(0, [insert(archive, solutions, *outcomes, **statistics)])
    save(run.config, task, archive, history, folder)
    return archive


def choose(cells: np.ndarray, objective: np.ndarray) -> np.ndarray:
    """Rows of the best records of every cell."""
    best = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    return np.concatenate([rows[np.argsort(-objective[rows])[:CANDIDATES]] for rows in best])


def save(config: Config, task: gaits.Task, archive: Archive, history: History, folder: Path) -> None:
    """A run of one iteration, bound like any other."""
    kept = {name: getattr(config, name) for name in ("seed", "evaluations", "id", "created", "git_revision")}
    config = make_config(task, config.algorithm, config.settings, machine={}, **kept)
    folder.mkdir(parents=True)
    config.save(folder)
    row = {"iteration": 0, "evaluations": config.evaluations, **summary(archive, task.objective_range[0]), **TIMES}
    lines = [(",".join(map(str, line)) + "\n").encode() for line in (row, row.values())]
    arrays: Any = archives.to_arrays(archive)
    write_whole(folder / "metrics.csv", lambda file: file.writelines(lines))
    write_whole(folder / "archive.npz", lambda file: np.savez_compressed(file, **arrays))
    write_whole(folder / "history.npz", history.save)
    save_manifest(folder, config.id, bind(config, lines, arrays, history.arrays()))


if __name__ == "__main__":
    main(sys.argv[1:])
