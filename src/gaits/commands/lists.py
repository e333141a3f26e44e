"""``gaits tasks``, ``gaits algorithms`` and ``gaits bench``."""

from typing import Annotated, Literal

from tyro.conf import Positional, arg

from gaits.commands.options import print_table
from gaits.console import tell
from gaits.tasks import TASKS


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
                *("x".join(map(str, task.grid)), f"{low:,.2f} .. {high:,.0f}", join_names(task.measure_names)),
            )
        )
    print_table(rows)


def join_names(names: tuple[str, ...]) -> str:
    """Names in a row, with the words that all of them end with said once: left, right foot contact."""
    words = [name.split() for name in names]
    shared = 0
    while len({tuple(one[-shared - 1 :]) for one in words}) == 1 and all(len(one) > shared + 1 for one in words):
        shared += 1
    first = [" ".join(one[: len(one) - shared]) for one in words]
    return " ".join([", ".join(first), *words[0][len(words[0]) - shared :]])


def algorithms() -> None:
    """List the algorithms."""
    from gaits.algorithms import ALGORITHMS

    rows = [("algorithm", "name", "what it does")]
    rows += [(name, entry.title, entry.summary) for name, entry in ALGORITHMS.items()]
    print_table(rows)
    tell("\nSettings of one, and their defaults: gaits train TASK ALGORITHM --help")


def bench(
    what: Positional[Literal["rollout"]],
    *,
    tasks: Annotated[
        tuple[str, ...], arg(help="QDGym's tasks to measure, such as qd_humanoid; default: the paper's four.")
    ] = (),
    rounds: Annotated[int, arg(help="How often each side is measured; medians are reported.")] = 7,
    steps: Annotated[int, arg(help="Simulated steps of bare Bullet per round; other sides play as long.")] = 4000,
    threads: Annotated[int, arg(help="Threads of the parallel columns.")] = 2,
) -> None:
    """Measure speed on this machine.

    rollout: bare Bullet, gaits, and the original environments, side by side on the same episodes (about two minutes). Needs
    Bullet: pip install 'gaits[bullet]'
    """
    from gaits.bench import TASK_NAMES, rollout

    for name, value in (("rounds", rounds), ("steps", steps), ("threads", threads)):
        if value < 1:
            raise ValueError(f"--{name} must be at least 1; got {value}.")
    rollout(tasks or TASK_NAMES, rounds, steps, threads)
