"""Options that several commands share, and the table they print."""

# No `from __future__ import annotations` in this package: tyro reads the types of functions, some made inside others.

from collections.abc import Sequence
from typing import Annotated

from tyro.conf import arg

LEARNER_CORES = (
    "Cores that critics train on while episodes run; default: all, shared with the workers. Changes the speed only."
)
WORKERS = "Threads to play episodes on; processes, for an environment in Python. Default: one per core."
SCHEDULER = (
    "Play episodes on a Dask cluster (needs gaits[cluster]): its address such as tcp://HOST:8786, its scheduler's file, "
    "local for --workers processes here, or slurm for --workers jobs."
)
DEADLINE = "Seconds without an answer, after which a cluster's workers are given up and their episodes played elsewhere."
OWN_TASK = "MODULE:NAME of a task of your own that this needs; files never decide which code runs."
Workers = Annotated[int | None, arg(help=WORKERS)]
Scheduler = Annotated[str | None, arg(metavar="ADDRESS", help=SCHEDULER)]
Deadline = Annotated[float, arg(help=DEADLINE)]
LearnerCores = Annotated[int | None, arg(help=LEARNER_CORES)]
OwnTask = Annotated[tuple[str, ...], arg(metavar="MODULE:NAME", help=OWN_TASK)]


def import_tasks(names: Sequence[str]) -> None:
    """Make tasks of the user's own known, before anything is read that names them."""
    from gaits.tasks import import_task

    for name in names:
        import_task(name)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
