"""The command line: parses, calls, prints."""

import itertools
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import Positional, arg

from gaits.tasks import TASKS, make_task

# No `from __future__ import annotations` here: tyro reads the types of functions that are made inside `make_app`.

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


@dataclass(frozen=True)
class AnySettings:
    """Stands for the settings of an algorithm that is not named yet."""


def tasks() -> None:
    """List the tasks: what can be trained on."""
    header = ("task", "environment", "obs", "actions", "parameters", "grid", "objective range", "measures")
    rows: list[tuple[str, ...]] = [header]
    for task in TASKS.values():
        low, high = task.objective_range
        rows.append(
            (
                *(task.name, task.env_id, *(str(n or "-") for n in (task.obs_dim, task.action_dim))),
                f"{task.solution_dim:,}",
                *("x".join(map(str, task.grid)), f"{low:,.2f} .. {high:,.0f}", ", ".join(task.measure_names)),
            )
        )
    print_table(rows)


def algorithms() -> None:
    """List the algorithms and their settings."""
    from gaits.algorithms import ALGORITHMS

    rows = [("algorithm", "name", "what it does", "settings (default)")]
    for name, entry in ALGORITHMS.items():
        settings = ", ".join(f"{field.name} ({field.default})" for field in fields(entry.settings))
        rows.append((name, entry.title, entry.summary, settings))
    print_table(rows)
    print("\nSettings of one, explained: gaits train TASK ALGORITHM --help")


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def bench(
    what: Positional[Literal["rollout"]],
    *,
    rounds: Annotated[int, arg(help="How often each side is measured; medians are reported.")] = 15,
    steps: Annotated[int, arg(help="Simulated steps per side and round.")] = 4000,
    threads: Annotated[int, arg(help="Threads of the parallel columns.")] = 2,
) -> None:
    """Measure speed on this machine.

    rollout: bare physics, gaits, and the original environments, side by side on the same episodes (about five minutes).
    """
    from gaits.bench import rollout

    for name, value in (("rounds", rounds), ("steps", steps), ("threads", threads)):
        if value < 1:
            raise ValueError(f"--{name} must be at least 1; got {value}.")
    rollout.main(rounds=rounds, steps=steps, threads=threads)


def resume(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    evaluations: Annotated[int | None, arg(help="A new total, to make a finished run longer.")] = None,
    task: OwnTask = (),
    workers: Workers = None,
    scheduler: Scheduler = None,
    deadline: Deadline = 300.0,
    learner_cores: LearnerCores = None,
    previous: Annotated[bool, arg(help="Go back to the checkpoint before the newest.")] = False,
    tensorboard: Annotated[bool, arg(help="Also log to RUN/tensorboard (needs gaits[tensorboard]).")] = False,
) -> None:
    """Continue a run where it stopped, exactly as if it never had.

    Example: gaits resume runs/qd_hopper-map_elites-seed1
    """
    from gaits import training
    from gaits.runs import load_run

    import_tasks(task)
    config = load_run(run).config

    def go(watchers: tuple) -> Any:
        return training.resume(
            run,
            evaluations=evaluations,
            workers=workers,
            scheduler=scheduler,
            deadline=deadline,
            learner_cores=learner_cores,
            previous=previous,
            watchers=watchers,
        )

    follow(go, run, config.task, config.algorithm, evaluations or config.evaluations, tensorboard)


def study(
    study: Annotated[
        Positional[Path | None], arg(metavar="STUDY", help="A TOML file, or the folder of a study begun.")
    ] = None,
    *,
    preset: Annotated[
        str | None, arg(help="Instead of a file: paper, the paper's 5 algorithms, 4 tasks and 5 seeds.")
    ] = None,
    evaluations: Annotated[int | None, arg(help="Evaluations of each run, instead of the study's.")] = None,
    seeds: Annotated[str | None, arg(help="Seeds such as 1..5 or 1,2,7, instead of the study's.")] = None,
    out: Annotated[Path | None, arg(help="Folder of the study; default: runs/NAME, or where it was begun.")] = None,
    task: OwnTask = (),
    workers: Workers = None,
    scheduler: Scheduler = None,
    deadline: Deadline = 300.0,
    at_once: Annotated[int, arg(help="Runs that share a cluster, each in a process of its own; needs --scheduler.")] = 1,
    learner_cores: LearnerCores = None,
    dry_run: Annotated[bool, arg(help="Only list the runs.")] = False,
) -> None:
    """Make many runs: tasks x algorithms x seeds. Begun runs are resumed, finished ones skipped; failures do not stop it.

    Example: gaits study --preset paper --evaluations 10000 --seeds 1..3

    Example: gaits study examples/study.toml
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
        print("\n".join(run.name for run in plan.runs))
        print(f"{len(plan.runs)} runs of {plan.evaluations:,} evaluations, in {folder}.")
        return
    report = run_study(
        plan,
        folder,
        workers,
        learner_cores,
        make_overview(plan),
        scheduler=scheduler,
        deadline=deadline,
        at_once=at_once,
    )
    print(report)
    if report.interrupted:
        raise KeyboardInterrupt
    if report.failed:
        raise ValueError(f"{len(report.failed)} of {report.planned} runs failed; see above.")


def evaluate(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    episodes: Annotated[int, arg(help="New episodes per elite.")] = 10,
    seed: Annotated[int, arg(help="Same seed, same episodes, for all elites of all runs.")] = 42,
    task: OwnTask = (),
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Play every elite again: how robust the archive is, and what is left of it without luck.

    Writes evaluation.npz and evaluation.json beside the run; gaits compare reads them.

    Example: gaits evaluate runs/qd_hopper-pga_me-seed1
    """
    from gaits.analysis.collect import expand
    from gaits.analysis.robustness import evaluate_run
    from gaits.archives import summary
    from gaits.console import say
    from gaits.progress import make_counter
    from gaits.runs import load_run

    import_tasks(task)
    found_runs = [load_run(folder) for folder in expand(runs)]  # all of them first: a typo should not cost an hour
    if not found_runs:
        raise ValueError("Give at least one run's folder.")
    failed = 0
    for run in found_runs:
        folder = run.folder
        try:
            with make_counter(f"{folder.name}: elites played again") as progress:
                found = evaluate_run(run, episodes, seed, workers, progress, scheduler)
        except ValueError as error:
            if len(found_runs) == 1:
                raise
            say(f"left out {folder}: {error}")
            failed += 1
            continue
        before = summary(run.archive, run.task.objective_range[0])
        after = summary(found.corrected(run.task), run.task.objective_range[0])
        print(f"{folder}: mean elite robustness {found.robustness:,.2f} over {episodes} episodes")
        for name, title in (("qd_score", "QD score"), ("coverage", "coverage"), ("objective_max", "best")):
            form = ".1%" if name == "coverage" else ",.1f"
            print(f"  {title}: {before[name]:{form}}, corrected {after[name]:{form}}")
    print(f"Compare runs with:\n  gaits compare {shlex.join(map(str, runs))}")
    if failed:
        raise ValueError(f"{failed} of {len(found_runs)} runs were left out; see above.")


def compare(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    out: Annotated[Path, arg(help="Folder for the tables, statistics, figures and the report.")] = Path("comparison"),
    evaluations: Annotated[
        int | None, arg(help="Compare after so many evaluations; default: where the shortest run of each task ends.")
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
) -> None:
    """Compare runs: the paper's tables, statistics and figures, and one HTML report to send.

    Example: gaits compare runs/paper --out comparison
    """
    from gaits.analysis import tables
    from gaits.analysis.compare import compare as compare_runs
    from gaits.console import say

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
        command=shlex.join(["gaits", *sys.argv[1:]]),
        progress=lambda step: say(f"{step} ..."),
    )
    for name, why in collection.skipped.items():
        say(f"left out {name}: {why}")
    for note in collection.notes:
        say(note)
    metric = tables.METRICS["qd_score"]
    text = tables.printed(tables.means(collection, "qd_score"), collection, metric)
    print_table([(metric.title, *text.header), *((title, *(number for number, _ in row)) for title, row in text.rows)])
    print()
    for sentence in findings.verdicts.values():
        print(sentence)
    n = len(collection.final)
    print(f"{n} run{'s' * (n != 1)} compared. Everything is in {out}. Open {out / 'report.html'}")


DAMAGE = "Weakened joints, such as bfoot=0.3: the strength that is left, from 0 (limp) to 1 (sound)."
FRICTION = "Slippery feet, such as bfoot=0.1: a factor on the foot's friction; 0 is ice."


def adapt(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    damage: Annotated[tuple[str, ...], arg(metavar="JOINT=FACTOR ...", help=DAMAGE)] = (),
    friction: Annotated[tuple[str, ...], arg(metavar="FOOT=FACTOR ...", help=FRICTION)] = (),
    trials: Annotated[int, arg(help="The most trials on the damaged robot; a trial is one episode of one policy.")] = 20,
    episodes: Annotated[int, arg(help="New episodes of each policy chosen, to tell it from a lucky one.")] = 10,
    exhaustive: Annotated[bool, arg(help="Also try every policy, to know the best there was. Takes longest.")] = True,
    seed: Annotated[int, arg(help="Same seed, same answer.")] = 42,
    workers: Annotated[int | None, arg(help="Threads to play episodes on; default: one per core.")] = None,
    out: Annotated[Path | None, arg(help="Folder for adapt.json and adapt.png; default: RUN/adapt.")] = None,
    json: Annotated[bool, arg(help="Print JSON, and nothing else, on stdout.")] = False,
) -> None:
    """Damage the robot, then find, with few trials, a policy of the archive that still walks.

    Example: gaits adapt runs/qd_half_cheetah-pga_me-seed1 --damage bfoot=0 bshin=0.5

    Example: gaits adapt runs/qd_walker-pga_me-seed1 --friction foot_left=0.1 --no-exhaustive
    """
    from gaits.adaptation import adapt as find
    from gaits.analysis import recovery
    from gaits.damage import parse_damage
    from gaits.progress import make_counter

    wrong = parse_damage(damage, friction)
    with make_counter("episodes", sys.stderr if json else sys.stdout) as progress:
        found = find(
            run,
            wrong,
            trials=trials,
            episodes=episodes,
            exhaustive=exhaustive,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    folder = out or run / "adapt"
    text = recovery.save(found, folder)
    if json:
        print(text, end="")
        return
    print_table(recovery.table(found))
    print("\n".join(["", *recovery.sentences(found), f"Look at {folder / 'adapt.png'}. Watch the policy with:"]))
    words = [word for name, values in (("--damage", damage), ("--friction", friction)) if values for word in (name, *values)]
    print("  " + shlex.join(["gaits", "video", str(run), "--cell", found.cell(), *words]))


def video(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    cell: Annotated[
        tuple[str, ...],
        arg(
            aliases=("--cells",), metavar="I,J ...", help="Cells such as 3,12, or plain indices; several play side by side."
        ),
    ] = (),
    best: Annotated[bool, arg(help="The best policy; the default without --cell, and before the others with it.")] = False,
    out: Annotated[
        Path | None, arg(metavar="FILE.mp4", help="Default: best.mp4 or cell-I-J.mp4 in the run's folder.")
    ] = None,
    seed: Annotated[int, arg(help="Seed of the episode; the same for all.")] = 42,
    fps: Annotated[int, arg(help="Frames per second; always real time.")] = 30,
    size: Annotated[
        tuple[int, int] | None, arg(metavar="W H", help="Size of each picture; default: 480 360, of several 320 240.")
    ] = None,
    seconds: Annotated[float | None, arg(help="Stop after so many seconds; default: when the last episode ends.")] = None,
    damage: Annotated[tuple[str, ...], arg(metavar="JOINT=FACTOR ...", help=DAMAGE)] = (),
    friction: Annotated[tuple[str, ...], arg(metavar="FOOT=FACTOR ...", help=FRICTION)] = (),
) -> None:
    """Film policies of an archive: an mp4 of the best, of a cell, or of several side by side. Needs gaits[video] or ffmpeg.

    Example: gaits video runs/qd_walker-pga_me-seed1 --cells 3,12 20,8 31,31 --seconds 5
    """
    from gaits.damage import parse_damage
    from gaits.progress import make_counter
    from gaits.video import make_video

    wrong = parse_damage(damage, friction)
    options: dict[str, Any] = {"out": out, "seed": seed, "fps": fps, "size": size, "seconds": seconds, "damage": wrong}
    with make_counter("frames") as progress:
        made = make_video(run, cell, best=best, progress=progress, **options)
    for played in made.played:
        ended = "fell" if played.fell else "ended"
        print(f"cell {played.cell}: return {played.episode.objective:,.1f}, {ended} after {played.seconds:.1f} s")
    print(f"{made.path}: {made.seconds:.1f} s, {made.path.stat().st_size / 1e6:.1f} MB")
    print("Take a policy out with:\n  " + shlex.join(["gaits", "export", str(run), "--cell", made.played[0].cell]))


def export(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    cell: Annotated[str | None, arg(metavar="I,J", help="A cell such as 3,12, or a plain index; default: the best.")] = None,
    best: Annotated[bool, arg(help="The best policy; the default without --cell.")] = False,
    out: Annotated[
        Path | None, arg(metavar="FILE", help="An .npz, .safetensors or .onnx file; default: an .npz in the run's folder.")
    ] = None,
) -> None:
    """Take one policy out of an archive, as a file that runs without gaits.

    .safetensors needs gaits[safetensors], .onnx needs gaits[onnx].

    Example: gaits export runs/qd_walker-pga_me-seed1 --cell 3,12 --out policy.onnx
    """
    from gaits.export import export_policy

    if best and cell is not None:
        raise ValueError("Give --best or --cell, not both.")
    path, about = export_policy(run, cell, out)
    measures = ", ".join(f"{name} {v:.2f}" for name, v in zip(about["measure_names"], about["measures"], strict=True))
    print(f"{path}: cell {about['cell']}, objective {about['objective']:,.1f}, {measures}")
    print(f"{len(about['observations'])} observations, {len(about['actions'])} actions: {', '.join(about['actions'])}")
    print("Watch it with:\n  " + shlex.join(["gaits", "video", str(run), "--cell", about["cell"]]))


def explore(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help="Folders of runs, or of studies.")],
    *,
    host: Annotated[str, arg(help="Address to listen on. The default can be reached from this machine only.")] = "127.0.0.1",
    port: Annotated[int, arg(help="Port to listen on; default: any free one.")] = 0,
    browser: Annotated[bool, arg(help="Open the page in the browser, if there is one.")] = True,
    export: Annotated[
        Path | None, arg(metavar="FILE", help="Instead, write one HTML file that works without a server.")
    ] = None,
    cells: Annotated[
        tuple[str, ...],
        arg(help="Cells whose policies the file has, such as 3,12; default: a dozen of the best, well spread."),
    ] = (),
) -> None:
    """Look at archives in the browser: click a cell and watch that policy walk. Needs gaits[explore].

    Example: gaits explore runs/qd_walker-pga_me-seed1

    Example: gaits explore runs/study --export study.html
    """
    from gaits.explorer.serve import find_records, serve
    from gaits.progress import make_counter

    if not runs:
        raise ValueError("Give at least one run's folder.")
    if cells and export is None:
        raise ValueError("--cells are for --export; the page itself can play every cell.")
    records = find_records(runs)
    if export is None:
        serve(records, host, port, browser)
        return
    from gaits.explorer.export import export as write

    with make_counter("episodes played") as progress:
        n = write(records, export, cells, progress)
    print(f"{export}: {export.stat().st_size / 1e6:.1f} MB, {n} policies to watch. Open it in any browser.")


def make_train(settings_type: type) -> Callable[..., None]:
    """The train command for an algorithm with these settings."""

    def train(
        task: Annotated[Positional[str], arg(metavar="TASK", help="One of: gaits tasks. Or MODULE:NAME, one of your own.")],
        algorithm: Annotated[Positional[str], arg(metavar="ALGORITHM", help="One of: gaits algorithms.")],
        settings: Annotated[settings_type, arg(name="")],  # type: ignore[valid-type]
        *,
        evaluations: Annotated[
            int, arg(help="Stop after this many evaluations (one episode of one policy each).")
        ] = 1_000_000,
        seed: Annotated[int, arg(help="Same seed, same run.")] = 1,
        workers: Workers = None,
        scheduler: Scheduler = None,
        deadline: Deadline = 300.0,
        learner_cores: LearnerCores = None,
        out: Annotated[Path | None, arg(help="Folder of the run; default: runs/TASK-ALGORITHM-seedSEED.")] = None,
        grid: Annotated[tuple[int, ...] | None, arg(help="Cells along each measure, instead of the task's.")] = None,
        archive: Annotated[
            str | None, arg(help="grid (default), or cvt: cells of about equal size around centroids.")
        ] = None,
        cells: Annotated[int | None, arg(help="Cells of a cvt archive; default: as many as the grid has.")] = None,
        objective_range: Annotated[
            tuple[float, float] | None, arg(help="Min and max objective, instead of the task's.")
        ] = None,
        max_steps: Annotated[int | None, arg(help="Longest episode, instead of the task's.")] = None,
        hidden: Annotated[tuple[int, ...] | None, arg(help="Hidden layers of the policy, instead of the task's.")] = None,
        name: Annotated[str | None, arg(help="What the run is compared as; default: its algorithm.")] = None,
        checkpoint_iterations: Annotated[int, arg(help="A checkpoint every so many iterations ...")] = 100,
        checkpoint_minutes: Annotated[
            float, arg(help="... or minutes, whichever comes first; never so often that it costs over 1 % of the time.")
        ] = 5.0,
        tensorboard: Annotated[bool, arg(help="Also log to RUN/tensorboard (needs gaits[tensorboard]).")] = False,
    ) -> None:
        """Train a repertoire: an archive of policies, each the best found for its own way of walking.

        Example: gaits train qd_hopper map_elites --evaluations 25000 --seed 1

        The settings of an algorithm: gaits train TASK ALGORITHM --help

        Ctrl-C finishes the iteration under way and saves; gaits resume goes on from there.
        """
        from gaits import training

        chosen = make_task(
            task,
            grid=grid,
            objective_range=objective_range,
            max_steps=max_steps,
            hidden=hidden,
            archive=archive,
            cells=cells,
        )
        folder = out or Path("runs", f"{chosen.name}-{algorithm}-seed{seed}")
        values = {field.name: getattr(settings, field.name) for field in fields(settings_type)}

        def go(watchers: tuple) -> Any:
            return training.train(
                chosen,
                algorithm,
                evaluations=evaluations,
                seed=seed,
                workers=workers,
                scheduler=scheduler,
                deadline=deadline,
                learner_cores=learner_cores,
                out=folder,
                name=name,
                checkpoint_iterations=checkpoint_iterations,
                checkpoint_minutes=checkpoint_minutes,
                watchers=watchers,
                **values,
            )

        follow(go, folder, chosen.name, algorithm, evaluations, tensorboard)

    return train


def import_tasks(names: Sequence[str]) -> None:
    """Make tasks of the user's own known, before anything is read that names them."""
    from gaits.tasks import import_task

    for name in names:
        import_task(name)


def follow(go: Callable[[tuple], Any], folder: Path, task: str, algorithm: str, evaluations: int, tensorboard: bool) -> None:
    """Run something while watching it, and say where the results are and what to do next."""
    from gaits.analysis.figures import save_archive_figure
    from gaits.archives import summary
    from gaits.console import say
    from gaits.progress import TensorBoardWatcher, duration, make_watcher
    from gaits.training import Interrupted

    watchers: list[Any] = [TensorBoardWatcher(folder)] if tensorboard else []
    watchers.append(make_watcher(f"{algorithm} on {task}", evaluations))
    say(f"training {algorithm} on {task}, results in {folder}")
    try:
        run = go(tuple(watchers))
    except Interrupted as stopped:
        print(stopped)
        raise KeyboardInterrupt from None
    except KeyboardInterrupt:
        begun = (folder / "config.json").exists()
        print(f"Left at once. Go on from the last checkpoint with: {again(folder)}" if begun else "Left before it began.")
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ValueError(
            f"{error.strerror or error} ({error.filename or folder}). The last checkpoint is intact. "
            f"Make room or fix the folder, then: {again(folder)}"
        ) from None
    archive = run.archive
    picture = folder / "archive.png"
    save_archive_figure(archive, run.task, picture)
    numbers = summary(archive, run.task.objective_range[0])
    seconds = run.metrics["seconds"].iloc[-1]
    print(
        f"Done in {duration(seconds)}: {numbers['elites']:.0f} elites, coverage {numbers['coverage']:.1%}, "
        f"QD score {numbers['qd_score']:,.0f}, best {numbers['objective_max']:,.1f}.\n"
        f"Results are in {folder}. Look at {picture}, or at the policies:\n  gaits explore {folder}\n"
        f"Make it longer with:\n  {again(folder)} --evaluations {2 * evaluations}"
    )


def again(folder: Path) -> str:
    """The command that goes on with a run."""
    from gaits.runs import load_run

    return load_run(folder).config.resume_command(folder)


def make_app(args: Sequence[str]) -> tyro.extras.SubcommandApp:
    """The commands. ``train`` takes the settings of the algorithm that is named on the command line."""
    settings: type = AnySettings
    if args[:1] == ["train"]:
        from gaits.algorithms import ALGORITHMS

        named = [word for word in args[1:] if word in ALGORITHMS]
        settings = ALGORITHMS[named[0]].settings if named else AnySettings
    app = tyro.extras.SubcommandApp()
    for command in (
        make_train(settings),
        resume,
        study,
        evaluate,
        compare,
        explore,
        adapt,
        video,
        export,
        tasks,
        algorithms,
        bench,
    ):
        app.command(command)
    return app


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the return value is the exit code. Mistakes end with 2 and no traceback."""
    args = list(sys.argv[1:] if args is None else args)
    try:
        check_names(args)
        make_app(args).cli(
            prog="gaits",
            args=args,
            description="Train repertoires of policies: many ways to walk instead of one.",
        )
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return 0
        print(f"gaits: {error}", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"gaits: Not enough memory: {error}. Choose a smaller grid, batch or network.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def check_names(args: list[str]) -> None:
    """Answer a typo in a name with the nearest, before settings of an unknown algorithm are complained about."""
    words = list(itertools.takewhile(lambda word: not word.startswith("-"), args))
    if words[:1] == ["train"] and len(words) >= 3:
        from gaits.algorithms import ALGORITHMS
        from gaits.names import lookup

        if ":" not in words[1]:
            lookup("task", words[1], TASKS)
        lookup("algorithm", words[2], ALGORITHMS)


if __name__ == "__main__":
    sys.exit(main())
