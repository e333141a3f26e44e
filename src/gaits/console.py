"""What gaits says to people while it works."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Iterator


def say(message: str) -> None:
    """One line on stderr, where it does not mix with results."""
    print(f"gaits: {message}", file=sys.stderr, flush=True)


def say_from_signal(message: str) -> None:
    """The same for a signal's handler: a signal may come in the middle of a print, and Python refuses a second inside it."""
    with contextlib.suppress(OSError):
        os.write(2, f"gaits: {message}\n".encode())


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
