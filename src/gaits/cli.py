"""The command line: finds the command, runs it, and turns mistakes into messages. The commands are in ``commands/``."""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from gaits.commands.lists import algorithms, bench, tasks
from gaits.commands.repertoire import adapt, demo, explore, export, video
from gaits.commands.studies import compare, evaluate, study
from gaits.commands.training import make_train, resume
from gaits.commands.upkeep import check, prune
from gaits.console import say
from gaits.tasks import TASKS


@dataclass(frozen=True)
class AnySettings:
    """Stands for the settings of an algorithm that is not named yet."""


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
        check,
        prune,
        study,
        evaluate,
        compare,
        explore,
        demo,
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
        check_lines(args)
        check_names(args)
        check_repeats(args)
        make_app(args).cli(
            prog="gaits",
            args=args,
            description="Train repertoires of policies: many ways to walk instead of one.",
        )
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return 0
        say(str(error))
        return 2
    except MemoryError as error:
        say(f"Not enough memory: {error}. Choose a smaller grid, batch or network.")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def check_lines(args: list[str]) -> None:
    """Refuse a name of several lines, of which one could look like ours, and options with control characters.

    A stranger's folder can have any name, and ``*`` stands for all of them. What is no option is spelled out when printed.
    """
    for i, word in enumerate(args):
        option = i == 0 or word.startswith("-")
        if len(word.splitlines()) > 1 or word.endswith(("\n", "\r")) or (option and not word.isprintable()):
            raise ValueError(f"{word!r:.300} has control characters. Rename what is called so, then try again.")


def check_names(args: list[str]) -> None:
    """Answer a typo in a name with the nearest, before settings of an unknown algorithm are complained about."""
    words = list(itertools.takewhile(lambda word: not word.startswith("-"), args))
    if words[:1] == ["train"] and len(words) >= 3:
        from gaits.algorithms import ALGORITHMS
        from gaits.checks import lookup

        if ":" not in words[1]:
            lookup("task", words[1], TASKS)
        lookup("algorithm", words[2], ALGORITHMS)


def check_repeats(args: list[str]) -> None:
    """Refuse an option that is given twice: its first values would be lost without a word."""
    options = [word.partition("=")[0].replace("--cells", "--cell") for word in args if word.startswith("--")]
    twice = [option for option in options if options.count(option) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is given {options.count(twice[0])} times. Give it once, with all its values after it.")


if __name__ == "__main__":
    sys.exit(main())
