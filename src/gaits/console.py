"""What gaits says to people while it works."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO


def plain(text: object) -> str:
    """Text that cannot steer a terminal: what is not printable, but for ends of lines and tabs, is spelled out.

    Names and files come from strangers. An escape sequence in one could hide lines, change the window's title, or turn the
    direction of writing so that a command reads as another.
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(one if one.isprintable() or one in "\n\t" else _spell(one) for one in words)


def _spell(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def brief(text: object, most: int = 1000) -> str:
    """What may quote a stranger's file, as part of a message: on one line, so that none looks like ours, and not long."""
    line = plain(str(text)[: most + 1]).replace("\n", "\\n")
    return line if len(line) <= most else f"{line[:most]} ..."


def tell(message: object = "", stream: TextIO | None = None, end: str = "\n") -> None:
    """Print something for a person to read, on stdout unless told otherwise."""
    print(plain(message), file=stream, end=end, flush=True)


def command(*words: object, program: str | None = None) -> str:
    """A command of gaits, to be pasted into a shell whatever the names in it are: command("resume", folder).

    It begins as gaits was called, where its plain name is not known to the shell: after ``make train``, say. What others
    will read, elsewhere, gives a ``program``.
    """
    return " ".join([program or _program(), *(_quote(str(word)) for word in words)])


def _program() -> str:
    script = Path(sys.argv[0])
    found = shutil.which("gaits")
    if script.name != "gaits" or not script.is_file() or (found is not None and os.path.samefile(found, script)):
        return "gaits"
    return _quote(os.path.relpath(script) if script.resolve().is_relative_to(Path.cwd()) else str(script))


def _quote(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    letters = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in os.fsencode(word))
    return f"$'{''.join(letters)}'"  # what bash and zsh read as these bytes


def say(message: str) -> None:
    """One line on stderr, where it does not mix with results."""
    tell(f"gaits: {message}", sys.stderr)


def say_from_signal(message: str) -> None:
    """The same for a signal's handler: a signal may come in the middle of a print, and Python refuses a second inside it."""
    with contextlib.suppress(OSError):
        os.write(2, f"gaits: {plain(message)}\n".encode())


@contextlib.contextmanager
def say_if_slow(message: str, seconds: float = 2.0) -> Iterator[None]:
    """Say something only if the block takes longer than ``seconds``."""
    timer = threading.Timer(seconds, say, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def describe(error: BaseException) -> str:
    """An error and where it happened, as text: what raised it may not exist at home."""
    return f"{type(error).__name__}: {error}\n\n{''.join(traceback.format_exception(error)).rstrip()}"
