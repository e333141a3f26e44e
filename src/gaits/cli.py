"""The command line: finds the command, runs it, and turns mistakes into messages. The commands are in ``commands/``."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import itertools
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence

from gaits.checks import lookup
from gaits.console import say, tell

COMMANDS = {
    "train": "training",
    "resume": "training",
    "check": "upkeep",
    "prune": "upkeep",
    "study": "studies",
    "sweep": "sweeps",
    "evaluate": "studies",
    "compare": "studies",
    "explore": "repertoire",
    "demo": "repertoire",
    "adapt": "repertoire",
    "video": "repertoire",
    "export": "repertoire",
    "tasks": "lists",
    "algorithms": "lists",
    "bench": "lists",
}
"""Every command, and the file of ``commands/`` that has it. Only that file is imported, so that each starts at once."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the return value is the exit code. Mistakes end with 2 and no traceback."""
    args = list(sys.argv[1:] if args is None else args)
    print_anything()
    try:
        check_lines(args)
        if not args or args[0] in ("-h", "--help", "help"):
            tell(overview())
        elif args[0] in ("-V", "--version"):
            import gaits

            tell(f"gaits {gaits.__version__}")
        else:
            run(args)
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


def run(args: list[str]) -> None:
    """Parse the words after a command's name, and call it."""
    name, *words = args
    lookup("command", name, COMMANDS)
    if name == "train":
        from gaits.commands.run_file import expand

        words = expand(words)
    check_names([name, *words])
    check_repeats(words)
    import tyro

    from gaits.commands.options import say_defaults_once

    function = find(name, words)
    say_defaults_once(function)
    if {"-h", "--help"} & set(words):  # tyro would join the lines of a description again
        tell(fit(inspect.getdoc(function) or "", shutil.get_terminal_size().columns) + "\n")
    tyro.cli(function, prog=program(name, words), args=words, description="")


def find(name: str, words: Sequence[str] = ()) -> Callable[..., None]:
    """The function behind a command. ``train`` takes the settings of the algorithm that is named on the command line."""
    module = importlib.import_module(f"gaits.commands.{COMMANDS[name]}")
    return module.make_train(words) if name == "train" else getattr(module, name)


def overview() -> str:
    """What ``gaits`` alone says: a line for each command."""
    width = shutil.get_terminal_size().columns
    lines = ["Train repertoires of policies: many ways to walk instead of one.", ""]
    for name in COMMANDS:
        first = (inspect.getdoc(find(name)) or "").partition("\n\n")[0].replace("\n", " ")
        indent = " " * 14
        lines += textwrap.wrap(f"  {name:<12}{first}", max(width, 40), subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join([*lines, "", "Options and examples of one: gaits COMMAND --help", "Its version: gaits --version"])


def fit(text: str, width: int) -> str:
    """A docstring's paragraphs in a terminal's width. Examples stay commands that can be pasted: no value is cut in two."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        example = paragraph.startswith("Example: ")
        lines = textwrap.wrap(
            " ".join(paragraph.split()),
            max(width, 40) - 2 * example,
            subsequent_indent="    " if example else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        paragraphs.append((" \\\n" if example else "\n").join(lines))
    return "\n\n".join(paragraphs)


def print_anything() -> None:
    """Print a question mark for what the terminal's encoding, latin-1 say, does not have, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, io.UnsupportedOperation):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def check_lines(args: list[str]) -> None:
    """Refuse a name of several lines, of which one could look like ours, and options with control characters.

    A stranger's folder can have any name, and ``*`` stands for all of them. What is no option is spelled out when printed.
    """
    for i, word in enumerate(args):
        option = i == 0 or word.startswith("-")
        if len(word.splitlines()) > 1 or word.endswith(("\n", "\r")) or (option and not word.isprintable()):
            raise ValueError(f"{word!r:.300} has control characters. Rename what is called so, then try again.")


def program(name: str, words: Sequence[str]) -> str:
    """How its help is asked for. The options of ``train`` are those of the algorithm that is named."""
    named = names(words)[:2] if name == "train" else []
    if len(named) == 2:
        from gaits.tasks import TASKS

        if named[0] in TASKS:  # a word that nobody has checked is not printed; the algorithm's has been
            return " ".join(["gaits", name, *named])
    return f"gaits {name}"


def names(args: Sequence[str]) -> list[str]:
    """The words before the first option."""
    return list(itertools.takewhile(lambda word: not word.startswith("-"), args))


def check_names(args: list[str]) -> None:
    """Answer a typo in a name with the nearest, before settings of an unknown algorithm are complained about."""
    words = names(args)
    if words[:1] == ["train"] and len(words) >= 3:
        from gaits.algorithms import ALGORITHMS
        from gaits.tasks import TASKS

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
