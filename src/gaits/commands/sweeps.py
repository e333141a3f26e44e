"""``gaits sweep``."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from gaits.commands.options import Flat, OwnTask, import_tasks, print_table
from gaits.console import command, say, tell
from gaits.evaluation.compute import Compute


def sweep(
    file: Annotated[Positional[Path], arg(metavar="STUDY", help="A TOML file: a study of one algorithm, with a [sweep].")],
    *,
    trials: Annotated[int | None, arg(help="Settings to try, instead of the file's number.")] = None,
    out: Annotated[Path | None, arg(help="Folder of the sweep; default: runs/NAME.")] = None,
    task: OwnTask = (),
    compute: Annotated[Compute, Flat] = Compute(),  # noqa: B008 - it is frozen
) -> None:
    """Search for good settings of an algorithm in ranges that a file gives. Needs gaits[sweep].

    Settings are proposed by Optuna; those that are behind the others at a quarter or half of their evaluations are given up.
    Ctrl-C saves, and the same command goes on.

    Example: gaits sweep examples/sweep.toml --trials 20
    """
    from dataclasses import replace

    from gaits.study.sweep import Trial, load_sweep, run_sweep

    import_tasks(task)
    plan = load_sweep(file)
    plan = plan if trials is None else replace(plan, trials=trials)
    folder = out or Path("runs", plan.study.name)
    say(f"{plan.trials} trials of {len(plan.study.tasks) * len(plan.study.seeds)} runs each, in {folder}")

    def show(trial: Trial) -> None:
        ended = f"failed: {trial.reason}" if trial.status == "failed" else f"{trial.status} | score {trial.score:.4f}"
        tell(f"trial {trial.number}: {_settings(trial.settings)} | {ended}")

    found = run_sweep(plan, folder, progress=show, **vars(compute))
    done = sorted((one for one in found if one.status == "done"), key=lambda one: -one.score)
    if len(found) < plan.trials:
        tell(f"Stopped after {len(found)} trials; everything is saved. The same command goes on.")
        raise KeyboardInterrupt
    if not done:
        raise ValueError(f"None of {len(found)} trials came to its end; see above.")
    tell("\nBest first; the score is the mean QD score as a share of the most there could be:")
    rows = [(str(one.number), f"{one.score:.4f}", _settings(one.settings)) for one in done[:5]]
    print_table([("trial", "score", "settings"), *rows])
    words = [word for name, value in done[0].settings.items() for word in (f"--{name.replace('_', '-')}", value)]
    tell("Train with the best:\n  " + command("train", plan.study.tasks[0].name, plan.algorithm, *words))


def _settings(settings: dict) -> str:
    texts = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in settings.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items())
