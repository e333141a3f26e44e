"""The command line: parses, calls, prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from gaits.tasks import TASKS

app = tyro.extras.SubcommandApp()


@app.command
def tasks() -> None:
    """List the tasks: what can be trained on."""
    header = (
        "task",
        "environment",
        "obs",
        "actions",
        "parameters",
        "grid",
        "cells",
        "objective range",
        "measures: contact of",
    )
    rows = [header]
    for task in TASKS.values():
        cells = 1
        for n in task.grid:
            cells *= n
        low, high = task.objective_range
        rows.append(
            (
                *(task.name, task.env_id, str(task.obs_dim), str(task.action_dim), f"{task.solution_dim:,}"),
                *("x".join(map(str, task.grid)), f"{cells:,}", f"{low:,.2f} .. {high:,.0f}", ", ".join(task.measure_names)),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@app.command
def bench(
    what: tyro.conf.Positional[Literal["rollout"]],
    *,
    rounds: Annotated[int, tyro.conf.arg(help="How often each side is measured; medians are reported.")] = 15,
    steps: Annotated[int, tyro.conf.arg(help="Simulated steps per side and round.")] = 4000,
    threads: Annotated[int, tyro.conf.arg(help="Threads of the parallel columns.")] = 2,
) -> None:
    """Measure speed on this machine.

    rollout: bare physics, gaits, and the original environments, side by side on the same episodes (about five minutes).
    """
    from gaits.bench import rollout

    for name, value in (("rounds", rounds), ("steps", steps), ("threads", threads)):
        if value < 1:
            raise ValueError(f"--{name} must be at least 1; got {value}.")
    rollout.main(rounds=rounds, steps=steps, threads=threads)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the return value is the exit code. Mistakes of the user end with 2 and no traceback."""
    try:
        app.cli(
            prog="gaits",
            args=args,
            description="Train repertoires of policies: many ways to walk instead of one.",
        )
    except ValueError as error:
        print(f"gaits: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
