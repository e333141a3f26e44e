"""``gaits check`` and ``gaits prune``."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from gaits.commands.options import OwnTask, import_tasks
from gaits.console import tell


def check(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    task: OwnTask = (),
) -> None:
    """Verify that runs are as they were written: no file damaged, no setting or number changed. Exit code 1 if not.

    Example: gaits check runs/qd_hopper-pga_me-seed1
    """
    from gaits.runs import find_runs
    from gaits.runs.verify import check_run

    import_tasks(task)
    if not runs:
        raise ValueError("Give at least one run's folder.")
    verdicts = [check_run(folder) for folder in find_runs(runs)]
    tell("\n".join(map(str, verdicts)))
    if any(verdict.wrong for verdict in verdicts):
        raise SystemExit(1)


def prune(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
) -> None:
    """Delete the checkpoints of finished runs, which then cannot be made longer. All else stays.

    A policy that takes measures (gaits export RUN --conditioned) is part of the checkpoint: export it before.

    Example: gaits prune runs/paper
    """
    from gaits.console import say
    from gaits.runs import find_runs, load_run
    from gaits.runs.verify import prune as prune_run

    if not runs:
        raise ValueError("Give at least one run's folder.")
    left, total = 0, 0
    for folder in find_runs(runs):
        try:
            freed = prune_run(load_run(folder))
        except ValueError as error:
            say(str(error))
            left += 1
        else:
            tell(f"{folder}: {freed / 1e6:,.1f} MB freed")
            total += freed
    tell(f"{total / 1e6:,.1f} MB freed in all.")
    if left:
        raise ValueError(f"{left} run{'s were' if left > 1 else ' was'} left alone; see above.")
