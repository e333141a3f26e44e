"""``gaits train`` and ``gaits resume``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from gaits.commands.options import Count, Flat, OwnTask, import_tasks
from gaits.console import command, say, tell
from gaits.evaluation.compute import Compute
from gaits.tasks import TASKS, Changes, make_task


@dataclass(frozen=True)
class AnySettings:
    """Stands for the settings of an algorithm that is not named yet."""


def find_settings(words: Sequence[str]) -> Any:
    """The default settings of the algorithm that is named in a command line, on the task that is."""
    if not words:
        return AnySettings()
    from gaits.algorithms import ALGORITHMS, settings_for

    algorithm = next((word for word in words if word in ALGORITHMS), None)
    task = next((word for word in words if word in TASKS), None)
    if algorithm is None:
        return AnySettings()
    return ALGORITHMS[algorithm].settings() if task is None else settings_for(TASKS[task], algorithm, {})


def make_train(words: Sequence[str] = ()) -> Callable[..., None]:
    """The train command, with the settings of the algorithm that is named in its words."""
    defaults = find_settings(words)

    def train(
        task: Annotated[Positional[str], arg(metavar="TASK", help="One of: gaits tasks. Or MODULE:NAME, one of your own.")],
        algorithm: Annotated[Positional[str], arg(metavar="ALGORITHM", help="One of: gaits algorithms.")],
        *,
        evaluations: Annotated[
            Count, arg(help="Stop after this many evaluations (one episode of one policy each).")
        ] = 1_000_000,
        seed: Annotated[int, arg(help="Same seed, same run.")] = 1,
        settings: Annotated[type(defaults), Flat] = defaults,  # type: ignore[valid-type]
        compute: Annotated[Compute, Flat] = Compute(),  # noqa: B008 - it is frozen
        out: Annotated[Path | None, arg(help="Folder of the run; default: runs/TASK-ALGORITHM-seedSEED.")] = None,
        changes: Annotated[Changes, Flat] = Changes(),  # noqa: B008
        name: Annotated[str | None, arg(help="What the run is compared as; default: its algorithm.")] = None,
        checkpoint_iterations: Annotated[int, arg(help="A checkpoint every so many iterations ...")] = 100,
        checkpoint_minutes: Annotated[
            float, arg(help="... or minutes, whichever comes first; never so often that it costs over 1 % of the time.")
        ] = 5.0,
        tensorboard: Annotated[bool, arg(help="Also log to RUN/tensorboard (needs gaits[tensorboard]).")] = False,
        config: Annotated[
            Path | None,
            arg(metavar="FILE", help="Take task, algorithm and options from a TOML file or from a run; others given win."),
        ] = None,
    ) -> None:
        """Train a repertoire: an archive of policies, each the best found for its own way of walking.

        Example: gaits train qd_hopper map_elites --evaluations 25000 --seed 1

        Example: gaits train --config examples/run.toml --seed 2

        The settings of an algorithm: gaits train TASK ALGORITHM --help

        Ctrl-C finishes the iteration under way and saves; gaits resume goes on from there.
        """
        from gaits import training

        chosen = make_task(task, **vars(changes))
        folder = out or Path("runs", f"{chosen.name}-{algorithm}-seed{seed}")
        # A task of one's own may have better defaults than those that were shown.
        given = {key: value for key, value in vars(settings).items() if value != getattr(defaults, key)}

        def go(watchers: tuple) -> Any:
            return training.train(
                chosen,
                algorithm,
                evaluations=evaluations,
                seed=seed,
                out=folder,
                name=name,
                checkpoint_iterations=checkpoint_iterations,
                checkpoint_minutes=checkpoint_minutes,
                watchers=watchers,
                progress=False,
                **vars(compute),
                **given,
            )

        follow(go, folder, evaluations, tensorboard)

    return train


def resume(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    evaluations: Annotated[Count | None, arg(help="A new total, to make a finished run longer.")] = None,
    task: OwnTask = (),
    compute: Annotated[Compute, Flat] = Compute(),  # noqa: B008 - it is frozen
    previous: Annotated[bool, arg(help="Go back to the checkpoint before the newest.")] = False,
    tensorboard: Annotated[bool, arg(help="Also log to RUN/tensorboard (needs gaits[tensorboard]).")] = False,
) -> None:
    """Continue a run where it stopped, exactly as if it never had.

    Example: gaits resume runs/qd_hopper-map_elites-seed1
    """
    from gaits import training
    from gaits.runs import load_run
    from gaits.runs.verify import check_run

    import_tasks(task)
    found = load_run(run)
    total = evaluations or found.config.evaluations
    if evaluations in (None, found.config.evaluations) and not previous and not check_run(run).wrong and found.finished:
        tell(f"{run} is finished: it has its {total:,} evaluations.\n{what_next(found, total)}")
        return

    def go(watchers: tuple) -> Any:
        return training.resume(
            run, evaluations=evaluations, previous=previous, watchers=watchers, progress=False, **vars(compute)
        )

    follow(go, run, total, tensorboard)


def follow(go: Callable[[tuple], Any], folder: Path, evaluations: int, tensorboard: bool) -> None:
    """Run something while watching it, and say where the results are and what to do next."""
    from gaits.archives import summary
    from gaits.archives.heatmaps import save_archive_figure
    from gaits.loggers import TensorBoard
    from gaits.progress import duration, make_watcher
    from gaits.runs.files import write_whole
    from gaits.training import Interrupted

    watchers = (*((TensorBoard(),) if tensorboard else ()), announcer(), make_watcher())
    try:
        run = go(watchers)
    except Interrupted as stopped:
        tell(stopped)
        raise KeyboardInterrupt from None
    except KeyboardInterrupt:
        begun = (folder / "config.json").exists()
        tell(f"Left at once. Go on from the last checkpoint with: {again(folder)}" if begun else "Left before it began.")
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        if not (folder / "config.json").exists():
            raise
        raise ValueError(
            f"{error.strerror or error} ({error.filename or folder}). The last checkpoint is intact. "
            f"Make room or fix the folder, then: {again(folder)}"
        ) from None
    archive = run.archive
    write_whole(folder / "archive.png", lambda file: save_archive_figure(archive, run.task, file))
    numbers = summary(archive, run.task.objective_range[0])
    seconds = run.metrics["seconds"].iloc[-1]
    tell(
        f"Done in {duration(seconds)}: {numbers['elites']:.0f} elites, coverage {numbers['coverage']:.1%}, "
        f"QD score {numbers['qd_score']:,.0f}, best {numbers['objective_max']:,.1f}.\n{what_next(run, evaluations)}"
    )


def announcer() -> Any:
    """A watcher that says that a run begins, once nothing can be refused any more."""
    from gaits.progress import Watcher

    class Announcer(Watcher):
        def begin(self, config: Any, folder: Path) -> None:
            say(f"training {config.algorithm} on {config.task}, results in {folder}")

    return Announcer()


def what_next(run: Any, evaluations: int) -> str:
    """Where a finished run is, and the commands that people want then."""
    what = "the archive" if run.task.unwatchable else "the policies at play"
    return (
        f"Results are in {run.folder}. Look at {run.folder / 'archive.png'}, or at {what} in the browser:\n"
        f"  {command('explore', run.folder)}\n"
        f"Make it longer with:\n  {run.config.resume_command(run.folder)} --evaluations {2 * evaluations}"
    )


def again(folder: Path) -> str:
    """The command that goes on with a run."""
    from gaits.runs import load_run

    return load_run(folder).config.resume_command(folder)
