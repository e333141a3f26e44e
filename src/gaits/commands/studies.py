"""``gaits study``, ``gaits evaluate`` and ``gaits compare``."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from gaits.commands.options import Count, Flat, OwnTask, import_tasks, print_table
from gaits.console import command, say, tell
from gaits.evaluation.compute import Compute

SHOWN = range(0, 101, 20)
"""Places of a profile that are printed."""


def study(
    study: Annotated[
        Positional[Path | None], arg(metavar="STUDY", help="A TOML file, or the folder of a study begun.")
    ] = None,
    *,
    preset: Annotated[
        str | None, arg(help="Instead of a file: paper, the paper's 5 algorithms, 4 tasks and 5 seeds.")
    ] = None,
    evaluations: Annotated[Count | None, arg(help="Evaluations of each run, instead of the study's.")] = None,
    seeds: Annotated[str | None, arg(help="Seeds such as 1..5 or 1,2,7, instead of the study's.")] = None,
    out: Annotated[Path | None, arg(help="Folder of the study; default: runs/NAME, or where it was begun.")] = None,
    task: OwnTask = (),
    compute: Annotated[Compute, Flat] = Compute(),  # noqa: B008 - it is frozen
    at_once: Annotated[int, arg(help="Runs that share a cluster, each in a process of its own; needs --scheduler.")] = 1,
    prune: Annotated[bool, arg(help="Delete checkpoints of finished runs; they cannot be made longer then.")] = False,
    dry_run: Annotated[bool, arg(help="Only list the runs.")] = False,
    price: Annotated[bool, arg(help="Only say what it would take here: a few iterations of each are tried.")] = False,
) -> None:
    """Make many runs: tasks x algorithms x seeds. Begun runs are resumed, finished ones skipped; failures do not stop it.

    Example: gaits study --preset paper --evaluations 10000 --seeds 1..3

    Example: gaits study examples/study.toml --price
    """
    from gaits.study import load_study, make_overview, run_study
    from gaits.study import preset as find_preset

    import_tasks(task)
    if (study is None) == (preset is None):
        raise ValueError("Give a study's TOML file or folder, or --preset paper; one of the two.")
    plan = load_study(study) if study is not None else find_preset(str(preset))
    plan = plan.with_(evaluations=evaluations, seeds=seeds)
    folder = out or (study if study is not None and study.is_dir() else Path("runs", plan.name))
    if dry_run:
        tell("\n".join(run.name for run in plan.runs))
        tell(f"{len(plan.runs)} runs of {plan.evaluations:,} evaluations, in {folder}.")
        return
    if price:
        print_prices(plan, folder, compute)
        return
    report = run_study(plan, folder, watcher=make_overview(plan), at_once=at_once, prune=prune, **vars(compute))
    tell(report)
    if report.interrupted:
        raise KeyboardInterrupt
    if report.failed:
        raise ValueError(f"{len(report.failed)} of {report.planned} runs failed; see above.")


def print_prices(plan: Any, folder: Path, compute: Compute) -> None:
    from gaits.progress import make_counter
    from gaits.study.price import price_study

    with make_counter("algorithms tried") as progress:
        prices = price_study(plan, folder, compute, progress)
    rows = [
        (
            p.run.task.name,
            p.run.variant.name,
            f"{p.runs}",
            f"{p.evaluations:,}",
            _hours(p.soon, p.late),
            f"{p.gigabytes:.1f}",
        )
        for p in prices
    ]
    print_table([("task", "algorithm", "runs", "evaluations left", "hours", "GB"), *rows])
    total = _hours(sum(p.soon for p in prices), sum(p.late for p in prices))
    tell(f"In all {total} hours and {sum(p.gigabytes for p in prices):.1f} GB, one run after the other, on this machine.")
    tell("The first number is for episodes as they are at the beginning, the second if all of them last to the step limit.")
    tell("It begins, or goes on, with the same command without --price.")


def _hours(soon: float, late: float) -> str:
    one, other = (f"{hours:.1f}" if hours >= 0.1 else f"{hours:.2f}" for hours in (soon, late))
    return one if one == other else f"{one} to {other}"


def evaluate(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    episodes: Annotated[int, arg(help="New episodes per elite.")] = 32,
    seed: Annotated[int, arg(help="Same seed, same episodes, for all elites of all runs.")] = 42,
    task: OwnTask = (),
    compute: Annotated[Compute, Flat] = Compute(),  # noqa: B008 - it is frozen
) -> None:
    """Play every elite again: how robust the archive is, and what is left of it without luck.

    Writes evaluation.npz and evaluation.json beside the run; gaits compare reads them.

    Example: gaits evaluate runs/qd_hopper-pga_me-seed1
    """
    from gaits.analysis.robustness import evaluate_run
    from gaits.progress import make_counter
    from gaits.runs import find_runs, load_run

    import_tasks(task)
    found_runs = [load_run(folder) for folder in find_runs(runs)]  # all of them first: a typo should not cost an hour
    if not found_runs:
        raise ValueError("Give at least one run's folder.")
    failed = 0
    for run in found_runs:
        folder = run.folder
        try:
            with make_counter(f"{folder.name}: elites played again") as progress:
                found = evaluate_run(run, episodes, seed, progress, **vars(compute))
        except ValueError as error:
            if len(found_runs) == 1:
                raise
            say(f"left out {folder}: {error}")
            failed += 1
            continue
        _tell_luck(run, found)
    tell(f"Compare runs with:\n  {command('compare', *runs)}")
    if failed:
        raise ValueError(f"{failed} of {len(found_runs)} runs were left out; see above.")


def _tell_luck(run: Any, found: Any) -> None:
    """What is left of an archive, and how its elites vary."""
    numbers = found.numbers(run.task)
    tell(f"{run.folder}: {len(found.cell):,} elites, {numbers['episodes']} new episodes each")
    rows: list[tuple[str, ...]] = [("", "recorded", "corrected by the mean", "by the median")]
    for name, title in (("qd_score", "QD score"), ("coverage", "coverage"), ("objective_max", "best")):
        form = ".1%" if name == "coverage" else ",.1f"
        recorded, *left = (numbers[kind][name] for kind in ("recorded", "corrected", "corrected_by_median"))
        told = [f"{one:{form}} ({_change(recorded, one)})" if one is not None else "none left" for one in left]
        rows.append((title, f"{recorded:{form}}", *told))
    print_table(rows)
    measures = ", ".join(f"{name} {_plain(std, '.3f')}" for name, std in numbers["measures_std"].items())
    tell(f"mean elite robustness {_plain(found.robustness, ',.2f')}")
    tell(f"standard deviation of an elite: objective {_plain(numbers['objective_std'], ',.1f')}, {measures}")
    expected, distance = numbers["expected_qd_score"], numbers["distance_to_centre"]
    tell(f"in place: expected QD score {_plain(expected, ',.1f')}, {_plain(distance, '.3f')} from the cell's centre")
    profile = numbers["profile"]
    print_table(
        [
            ("elites at or above", *(f"{profile['objective'][i]:,.0f}" for i in SHOWN)),
            *((kind, *(f"{profile[kind][i]:,}" for i in SHOWN)) for kind in ("recorded", "corrected")),
        ]
    )


def _change(before: float, after: float) -> str:
    return f"{after / before - 1:+.1%}" if before > 0 else f"{after - before:+,.1f}"


def _plain(number: float | None, form: str) -> str:
    return "unknown" if number is None or number != number else f"{number:{form}}"


def compare(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    out: Annotated[Path, arg(help="Folder for the tables, statistics, figures and the report.")] = Path("comparison"),
    evaluations: Annotated[
        Count | None, arg(help="Compare after so many evaluations; default: where the shortest run of each task ends.")
    ] = None,
    min_objective: Annotated[
        str, arg(help="Offset of the QD score: task, scan (the lowest objective inserted in these runs), or a number.")
    ] = "task",
    welch: Annotated[
        Literal["auto", "yes", "no"],
        arg(help="t tests that allow for unequal variances; auto: where groups differ in size."),
    ] = "auto",
    unfinished: Annotated[bool, arg(help="Also compare runs that have not done all their evaluations.")] = False,
    growth: Annotated[bool, arg(help="Also draw a GIF per task of an archive filling up.")] = False,
    against: Annotated[
        Literal["evaluations", "steps", "hours"],
        arg(help="What to compare at equal cost of: evaluations, environment steps, or hours (of the same machine)."),
    ] = "evaluations",
) -> None:
    """Compare runs: the paper's tables, statistics and figures, and one HTML report to send.

    Example: gaits compare runs/paper --out comparison
    """
    from gaits.analysis import report, tables
    from gaits.analysis.compare import compare as compare_runs

    if not runs:
        raise ValueError("Give at least one run's folder.")
    offset: Any = min_objective
    if min_objective not in ("task", "scan"):
        try:
            offset = float(min_objective)
        except ValueError:
            raise ValueError(f"--min-objective must be task, scan or a number; got {min_objective!r}.") from None
    collection, findings = compare_runs(
        runs,
        out,
        evaluations=evaluations,
        min_objective=offset,
        welch={"auto": "auto", "yes": True, "no": False}[welch],  # type: ignore[arg-type]
        unfinished=unfinished,
        growth=growth,
        against=against,
        command=command(*sys.argv[1:], program="gaits"),
        progress=lambda step: say(f"{step} ..."),
    )
    for name, why in collection.skipped.items():
        say(f"left out {name}: {why}")
    for note in collection.notes:
        say(note)
    header, rows = tables.own_ends(collection)
    if rows and not collection.evaluated:  # some were not played again, or are compared earlier than they end
        print_table([tuple(header), *map(tuple, rows)])
        tell()
    for name in [one for one in report.LEAD if one in tables.metrics(collection)]:
        metric = tables.metrics(collection)[name]
        text = tables.printed(tables.means(collection, name), collection, metric)
        print_table([(metric.title, *text.header), *((title, *(number for number, _ in row)) for title, row in text.rows)])
        tell()
    for sentence in findings.verdicts.values():
        tell(sentence)
    n = len(collection.final)
    tell(f"{n} run{'s' * (n != 1)} compared. Everything is in {out}. Open {out / 'report.html'}")
