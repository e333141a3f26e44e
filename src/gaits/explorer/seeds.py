"""Which episode an elite got its place with: archives do not say, but a run's seeds can be derived again."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from gaits.archives import NOT_ADDED
from gaits.explorer.files import read_table, stamp
from gaits.runs import Run, history
from gaits.search import episode_seeds, seed_key


def candidate_seeds(run: Run, cell: int, objective: float) -> list[int]:
    """Seeds that may have given the elite of a cell its objective, the likeliest first; empty if nothing is known.

    Solutions are inserted in the order in which they were evaluated. Where an iteration also evaluates some that are not
    inserted, they come between the first one and the rest (CMA-MEGA) or before all (ME-ES); a greedy actor may be
    inserted late. So a solution's place among the iteration's episodes counts from their end, or from their beginning.
    """
    try:
        iteration, cells, objectives = _read_insertions(run.folder / "history.npz", stamp(run.folder / "history.npz"))
        last, episodes = _read_episodes(run.folder / "metrics.csv", stamp(run.folder / "metrics.csv"))
    except (OSError, ValueError, KeyError):
        return []
    rows = np.flatnonzero((cells == cell) & (objectives == objective))
    if not rows.size:
        return []
    row = rows[-1]
    when = iteration[row]
    begin, end = np.searchsorted(iteration, [when, when + 1])
    before, after = np.searchsorted(last, [when - 1, when])
    if after >= len(last) or last[after] != when:
        return []
    first = int(episodes[before]) if when > 1 and last[before] == when - 1 else 0
    until = int(episodes[after])
    from_end = until - int(end - row)
    places = dict.fromkeys((from_end, first + int(row - begin), from_end + 1))
    key = seed_key(run.config.seed)
    return [int(episode_seeds(key, place, 1)[0]) for place in places if first <= place < until]


@functools.lru_cache(maxsize=4)
def _read_insertions(path: Path, version: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Iteration, cell and objective of every solution that was offered; cell -1 where it was not accepted."""
    rows = history.load(path)
    return rows["iteration"], np.where(rows["status"] != NOT_ADDED, rows["cell"], -1), rows["objective"]


@functools.lru_cache(maxsize=4)
def _read_episodes(path: Path, version: str) -> tuple[np.ndarray, np.ndarray]:
    """Every iteration, and how many episodes had been played after it."""
    table = read_table(path)
    return table["iteration"].to_numpy(int), table["episodes"].to_numpy(int)
