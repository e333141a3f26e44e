"""Running the server until Ctrl-C."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gaits
from gaits.console import say, tell
from gaits.explorer.records import Record, make_records
from gaits.runs import Run, find_runs, load_run


def find_records(folders: Iterable[str | Path]) -> list[Record]:
    """The runs in these folders. One that cannot be read is named and left out, unless it is the only one."""
    runs: list[Run] = []
    problems = []
    for folder in find_runs(folders):
        try:
            runs.append(load_run(folder))
        except Exception as error:  # whatever is wrong with one, the others are shown
            problems.append(str(error) or f"{folder} cannot be read ({type(error).__name__}).")
    if not runs:
        raise ValueError(problems[0] if problems else "Give at least one run's folder.")
    for problem in problems:
        say(f"left out: {problem}")
    return make_records(runs)


def find_demo() -> list[Path]:
    """The runs that come with gaits; ``tools/make_demo.py`` makes them."""
    folders = sorted(path.parent for path in Path(gaits.__file__).parent.glob("demo/*/config.json"))
    if not folders:
        raise ValueError("This gaits came without its demo. Install it again: pip install --force-reinstall gaits")
    return folders


def serve(records: list[Record], host: str = "127.0.0.1", port: int = 0, browser: bool = True) -> None:
    """Show the runs until Ctrl-C. Port 0 takes any free one."""
    uvicorn, make_app = import_server()
    listener = listen(host, port)
    token = secrets.token_urlsafe(24)
    address = f"{_address(host, listener.getsockname()[1])}?token={token}"
    n = len(records)
    tell(f"{n} run{'s' * (n != 1)} at {address}\nStop with Ctrl-C.")
    if host not in ("127.0.0.1", "localhost", "::1"):
        say("anybody who has this address, or listens on the way to it, can look at these runs and play episodes here.")

    def ready() -> None:
        if browser and has_browser():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    from gaits.explorer.connections import Connection

    app = make_app(records, host, ready, token)
    config = uvicorn.Config(app, http=Connection, ws="none", log_level="warning", timeout_graceful_shutdown=1)
    with contextlib.closing(listener), contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    tell("Stopped.")


def import_server() -> tuple[Any, Callable[..., Any]]:
    """uvicorn and make_app, or an error that names the extra they come with."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise ValueError(f"gaits explore needs {error.name}: pip install 'gaits[explore]'") from None
    from gaits.explorer.app import make_app

    return uvicorn, make_app


def listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise ValueError(f"--port must be from 0 to 65535; got {port}.")
    try:
        family, _, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        listener = socket.create_server(address[:2], family=family)
        # Its connections have this too. asyncio sets it only for sockets that name their protocol, and the end of an answer
        # would wait 40 ms for the receiver to confirm what came before.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        remedy = "Leave --port out to take any free one." if taken else "Leave --host out to listen on this machine only."
        where = f"{host}, port {port}" if port else host
        raise ValueError(f"Cannot listen on {where}: {error.strerror or error}. {remedy}") from None


def _address(host: str, port: int) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def has_browser() -> bool:
    """Whether there is a screen; without one, webbrowser may start a text browser in this terminal."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    with contextlib.suppress(webbrowser.Error):
        webbrowser.get()
        return True
    return False
