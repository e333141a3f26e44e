"""Options that several commands share, and the table they print."""

# No `from __future__ import annotations` in this package: tyro reads the types of functions, some made inside others.

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated

from tyro.conf import arg
from tyro.constructors import PrimitiveConstructorSpec

from gaits.console import plain, tell

Flat = arg(name="")
"""For a record whose fields are options of the command."""


def read_count(text: str) -> int:
    """A count as people write it: 100000, 100_000 or 1e5."""
    try:
        number = float(text) if "e" in text.lower() else int(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{text!r} is no whole number, such as 100000 or 1e5.")


Count = Annotated[
    int,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: read_count(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]
"""A number of evaluations, which tend to be large and round."""
Workers = Annotated[int | None, arg(help="Threads to play episodes on; default: one per core.")]
OwnTask = Annotated[
    tuple[str, ...],
    arg(metavar="MODULE:NAME", help="A task of your own that this needs; files never decide which code runs."),
]


def say_defaults_once(function: Callable[..., None]) -> None:
    """Let help say nothing of defaults that are None or empty: the words of such an option say what happens without it."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is None or parameter.default == ():
            function.__annotations__[name] = Annotated[parameter.annotation, arg(help_behavior_hint="")]


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
