"""The command line: parses, calls, prints."""

import itertools
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
                *(task.name, task.env_id if task.robot else "-", *(str(n or "-") for n in (task.obs_dim, task.action_dim))),
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
    workers: Annotated[int | None, arg(help="Threads to play episodes on; default: one per core.")] = None,
    learner_cores: Annotated[int | None, arg(help=LEARNER_CORES)] = None,
    previous: Annotated[bool, arg(help="Go back to the checkpoint before the newest.")] = False,
    tensorboard: Annotated[bool, arg(help="Also log to RUN/tensorboard (needs gaits[tensorboard]).")] = False,
) -> None:
    """Continue a run where it stopped, exactly as if it never had.

    Example: gaits resume runs/qd_hopper-map_elites-seed1
    """
    from gaits import training
    from gaits.runs import load_run

    config = load_run(run).config

    def go(watchers: tuple) -> Any:
        return training.resume(
            run,
            evaluations=evaluations,
            workers=workers,
            learner_cores=learner_cores,
            previous=previous,
            watchers=watchers,
        )

    follow(go, run, config.task, config.algorithm, evaluations or config.evaluations, tensorboard)


def make_train(settings_type: type) -> Callable[..., None]:
    """The train command for an algorithm with these settings."""

    def train(
        task: Annotated[Positional[str], arg(metavar="TASK", help="One of: gaits tasks.")],
        algorithm: Annotated[Positional[str], arg(metavar="ALGORITHM", help="One of: gaits algorithms.")],
        settings: Annotated[settings_type, arg(name="")],  # type: ignore[valid-type]
        *,
        evaluations: Annotated[
            int, arg(help="Stop after this many evaluations (one episode of one policy each).")
        ] = 1_000_000,
        seed: Annotated[int, arg(help="Same seed, same run.")] = 1,
        workers: Annotated[int | None, arg(help="Threads to play episodes on; default: one per core.")] = None,
        learner_cores: Annotated[int | None, arg(help=LEARNER_CORES)] = None,
        out: Annotated[Path | None, arg(help="Folder of the run; default: runs/TASK-ALGORITHM-seedSEED.")] = None,
        grid: Annotated[tuple[int, ...] | None, arg(help="Cells along each measure, instead of the task's.")] = None,
        objective_range: Annotated[
            tuple[float, float] | None, arg(help="Min and max objective, instead of the task's.")
        ] = None,
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

        chosen = make_task(task, grid=grid, objective_range=objective_range)
        folder = out or Path("runs", f"{task}-{algorithm}-seed{seed}")
        values = {field.name: getattr(settings, field.name) for field in fields(settings_type)}

        def go(watchers: tuple) -> Any:
            return training.train(
                chosen,
                algorithm,
                evaluations=evaluations,
                seed=seed,
                workers=workers,
                learner_cores=learner_cores,
                out=folder,
                checkpoint_iterations=checkpoint_iterations,
                checkpoint_minutes=checkpoint_minutes,
                watchers=watchers,
                **values,
            )

        follow(go, folder, task, algorithm, evaluations, tensorboard)

    return train


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
        print(
            f"Left at once. Go on from the last checkpoint with: gaits resume {folder}" if begun else "Left before it began."
        )
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ValueError(
            f"{error.strerror or error} ({error.filename or folder}). The last checkpoint is intact. "
            f"Make room or fix the folder, then: gaits resume {folder}"
        ) from None
    archive = run.archive
    picture = folder / "archive.png"
    save_archive_figure(archive, run.task, picture)
    numbers = summary(archive, run.task.objective_range[0])
    seconds = run.metrics["seconds"].iloc[-1]
    print(
        f"Done in {duration(seconds)}: {numbers['elites']:.0f} elites, coverage {numbers['coverage']:.1%}, "
        f"QD score {numbers['qd_score']:,.0f}, best {numbers['objective_max']:,.1f}.\n"
        f"Results are in {folder}. Look at {picture}.\n"
        f"Make it longer with:\n  gaits resume {folder} --evaluations {2 * evaluations}"
    )


def make_app(args: Sequence[str]) -> tyro.extras.SubcommandApp:
    """The commands. ``train`` takes the settings of the algorithm that is named on the command line."""
    settings: type = AnySettings
    if args[:1] == ["train"]:
        from gaits.algorithms import ALGORITHMS

        named = [word for word in args[1:] if word in ALGORITHMS]
        settings = ALGORITHMS[named[0]].settings if named else AnySettings
    app = tyro.extras.SubcommandApp()
    for command in (make_train(settings), resume, tasks, algorithms, bench):
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

        make_task(words[1])
        lookup("algorithm", words[2], ALGORITHMS)


if __name__ == "__main__":
    sys.exit(main())
