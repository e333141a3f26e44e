"""Options that several commands share, and the table they print."""

# No `from __future__ import annotations` in this package: tyro reads the types of functions, some made inside others.

from collections.abc import Sequence
from typing import Annotated

from tyro.conf import arg

from gaits.console import plain, tell

OWN_TASK = "MODULE:NAME of a task of your own that this needs; files never decide which code runs."
Flat = arg(name="")
"""For a record whose fields are options of the command."""
Workers = Annotated[int | None, arg(help="Threads to play episodes on. Default: one per core.")]
OwnTask = Annotated[tuple[str, ...], arg(metavar="MODULE:NAME", help=OWN_TASK)]


def import_tasks(names: Sequence[str]) -> None:
    """Make tasks of the user's own known, before anything is read that names them."""
    from gaits.tasks import import_task

    for name in names:
        import_task(name)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    rows = [tuple(plain(cell) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        tell("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
