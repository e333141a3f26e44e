"""``gaits train`` and ``gaits resume``."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from gaits.commands.options import Flat, OwnTask, import_tasks
from gaits.console import command, say, tell
from gaits.evaluation.compute import Compute
from gaits.tasks import Changes, make_task


def make_train(settings_type: type) -> Callable[..., None]:
    """The train command for an algorithm with these settings."""

    def train(
        task: Annotated[Positional[str], arg(metavar="TASK", help="One of: gaits tasks. Or MODULE:NAME, one of your own.")],
        algorithm: Annotated[Positional[str], arg(metavar="ALGORITHM", help="One of: gaits algorithms.")],
        settings: Annotated[settings_type, Flat],  # type: ignore[valid-type]
        *,
        evaluations: Annotated[
            int, arg(help="Stop after this many evaluations (one episode of one policy each).")
        ] = 1_000_000,
        seed: Annotated[int, arg(help="Same seed, same run.")] = 1,
        compute: Annotated[Compute, Flat] = Compute(),  # noqa: B008 - it is frozen
        out: Annotated[Path | None, arg(help="Folder of the run; default: runs/TASK-ALGORITHM-seedSEED.")] = None,
        changes: Annotated[Changes, Flat] = Changes(),  # noqa: B008
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

        chosen = make_task(task, **vars(changes))
        folder = out or Path("runs", f"{chosen.name}-{algorithm}-seed{seed}")
        values = {field.name: getattr(settings, field.name) for field in fields(settings_type)}

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
                **vars(compute),
                **values,
            )

        follow(go, folder, chosen.name, algorithm, evaluations, tensorboard)

    return train


def resume(
    run: Annotated[Positional[Path], arg(metavar="RUN", help="Folder of the run.")],
    *,
    evaluations: Annotated[int | None, arg(help="A new total, to make a finished run longer.")] = None,
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

    import_tasks(task)
    config = load_run(run).config

    def go(watchers: tuple) -> Any:
        return training.resume(
            run,
            evaluations=evaluations,
            previous=previous,
            watchers=watchers,
            **vars(compute),
        )

    follow(go, run, config.task, config.algorithm, evaluations or config.evaluations, tensorboard)


def follow(go: Callable[[tuple], Any], folder: Path, task: str, algorithm: str, evaluations: int, tensorboard: bool) -> None:
    """Run something while watching it, and say where the results are and what to do next."""
    from gaits.archives import summary
    from gaits.archives.heatmaps import save_archive_figure
    from gaits.progress import TensorBoardWatcher, duration, make_watcher
    from gaits.runs.files import write_whole
    from gaits.training import Interrupted

    watchers: list[Any] = [TensorBoardWatcher(folder)] if tensorboard else []
    watchers.append(make_watcher(f"{algorithm} on {task}", evaluations))
    say(f"training {algorithm} on {task}, results in {folder}")
    try:
        run = go(tuple(watchers))
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
    picture = folder / "archive.png"
    write_whole(picture, lambda file: save_archive_figure(archive, run.task, file))
    numbers = summary(archive, run.task.objective_range[0])
    seconds = run.metrics["seconds"].iloc[-1]
    what = "the archive" if run.task.unwatchable else "the policies at play"
    tell(
        f"Done in {duration(seconds)}: {numbers['elites']:.0f} elites, coverage {numbers['coverage']:.1%}, "
        f"QD score {numbers['qd_score']:,.0f}, best {numbers['objective_max']:,.1f}.\n"
        f"Results are in {folder}. Look at {picture}, or at {what} in the browser:\n  {command('explore', folder)}\n"
        f"Make it longer with:\n  {again(folder)} --evaluations {2 * evaluations}"
    )


def again(folder: Path) -> str:
    """The command that goes on with a run."""
    from gaits.runs import load_run

    return load_run(folder).config.resume_command(folder)
