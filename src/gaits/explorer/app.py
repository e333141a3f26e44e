"""What ``gaits explore`` answers. Runs are addressed by number and files by a fixed list: no path comes from a URL."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gaits.adaptation.damage import Damage
from gaits.console import describe, say
from gaits.episodes import check_seed
from gaits.explorer.assets import ASSETS, read_asset
from gaits.explorer.files import NotNow, NotThere
from gaits.explorer.guard import Guard
from gaits.explorer.players import Players, describe_robot
from gaits.explorer.records import Record

MAX_BODY = 16 * 1024
MAX_BODY_SECONDS = 10.0
MAX_EPISODES, MAX_EPISODES_EACH = 24, 12
"""Played or waiting at once: in all, and for one browser."""
MAX_MESSAGE = 500
BINARY = "application/octet-stream"


class Answer(JSONResponse):
    """JSON in ASCII: a file can hold half a surrogate pair, which UTF-8 cannot."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def make_app(
    records: list[Record],
    host: str = "127.0.0.1",
    ready: Callable[[], object] = lambda: None,
    token: str | None = None,
) -> Guard:
    """The application that shows these runs; ``ready`` is called once it answers. With a token, it answers who has it."""
    players = Players()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warm = threading.Thread(target=_warm, args=(players, records), daemon=True)
        warm.start()
        ready()
        yield
        players.close()

    routes = [
        Route("/", _page),
        Route("/static/{name}", _asset),
        Route("/api/runs", _runs),
        Route("/api/runs/{run}/metrics", _of_run(lambda record, request: Answer(record.metrics()))),
        Route("/api/runs/{run}/archive", _of_run(_archive)),
        Route("/api/runs/{run}/history", _of_run(lambda record, request: Response(record.history(), media_type=BINARY))),
        Route("/api/runs/{run}/robot", _of_run(_robot)),
        Route("/api/runs/{run}/episode", _episode, methods=["POST"]),
    ]
    handlers: dict[Any, Any] = {
        NotThere: lambda request, error: _explain(error, 404),
        NotNow: lambda request, error: _explain(error, 409),
        ValueError: lambda request, error: _explain(error, 422),
        HTTPException: lambda request, error: _explain(error.detail, error.status_code, error.headers),
        Exception: lambda request, error: _explain("Something went wrong here; the terminal says what.", 500),
    }
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.state.records, app.state.players, app.state.playing = records, players, Counter()
    return Guard(app, host, token)  # outside of Starlette's own answers to unexpected errors


def _warm(players: Players, records: list[Record]) -> None:
    """Compile and build before the first click; a task that fails here will say so when it is played."""
    for task in list(dict.fromkeys(record.run.task for record in records if not record.unplayable))[:3]:
        with contextlib.suppress(Exception):
            players.warm(task)
            describe_robot(task)


def _explain(error: object, status: int, headers: Any = None) -> JSONResponse:
    text = str(error).encode(errors="backslashreplace").decode()
    return Answer({"error": text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} …"}, status, headers)


def _find(request: Request) -> Record:
    records, number = request.app.state.records, request.path_params["run"]
    if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number) < len(records)):
        raise NotThere(f"There is no run {number[:20]}; they are numbered from 0 to {len(records) - 1}.")
    return records[int(number)]


def _of_run(answer: Callable[[Record, Request], Response]) -> Callable[[Request], Response]:
    """An endpoint about one run, on a thread of its own: reading files and JSON take a while."""

    def endpoint(request: Request) -> Response:
        record = _find(request)
        with _explained(record):
            return answer(record, request)

    return endpoint


@contextlib.contextmanager
def _explained(record: Record) -> Iterator[None]:
    """A run may come from a stranger: whatever its files make us stumble over is an answer about that run."""
    try:
        yield
    except (ValueError, HTTPException):
        raise
    except Exception as error:
        say(f"{record.name}: {describe(error)}")
        raise ValueError(f"{record.name} cannot be shown; its files may be damaged ({type(error).__name__}).") from None


def _page(request: Request) -> Response:
    return Response(read_asset("index.html"), media_type=ASSETS["index.html"])


def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ASSETS:
        raise NotThere("There is no such file.")
    return Response(read_asset(name), media_type=ASSETS[name])


def _runs(request: Request) -> Response:
    return Answer([_describe(record) for record in request.app.state.records])


def _describe(record: Record) -> dict[str, Any]:
    """What the list says of a run; one that cannot be described says why, and hides no other."""
    try:
        with _explained(record):
            return record.describe()
    except ValueError as error:
        return record.describe_briefly(str(error)[:MAX_MESSAGE])


def _archive(record: Record, request: Request) -> Response:
    """The archive on the page. A click will follow, so its policies are checked meanwhile."""
    return Answer(record.archive(), background=BackgroundTask(record.check_policies))


def _robot(record: Record, request: Request) -> Response:
    if record.unplayable:
        raise NotThere(record.unplayable)
    return Answer(describe_robot(record.run.task))


async def _episode(request: Request) -> Response:
    record = _find(request)
    if record.unplayable:
        raise NotThere(record.unplayable)
    cell, seed, damage, asked = _parse_episode(await _read_json(request))
    with _turn(request), _explained(record):
        content = await run_in_threadpool(request.app.state.players.play, record, cell, seed, damage, asked)
    return Response(content, media_type=BINARY)


@contextlib.contextmanager
def _turn(request: Request) -> Iterator[None]:
    """Refuse an episode when too many are under way: waiting ones hold threads that other answers need."""
    playing = request.app.state.playing
    client = request.scope.get("client_name") or (request.client.host if request.client else "")
    if playing.total() >= MAX_EPISODES or playing[client] >= MAX_EPISODES_EACH:
        raise HTTPException(429, "Too many episodes are being played at once; try again in a moment.")
    playing[client] += 1
    try:
        yield
    finally:
        playing[client] -= 1
        if not playing[client]:
            del playing[client]


async def _read_json(request: Request) -> Any:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "Send JSON, as application/json.")
    body = b""
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise HTTPException(413, f"A request may have up to {MAX_BODY:,} bytes.")
    except TimeoutError:
        raise HTTPException(408, f"A request has to arrive within {MAX_BODY_SECONDS:g} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The request was cut short.") from None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"This is not JSON: {error}") from None


def _parse_episode(wanted: Any) -> tuple[int, int | None, Damage, bool]:
    if not isinstance(wanted, dict) or not {"cell"} <= wanted.keys() <= {"cell", "seed", "damage", "asked"}:
        raise ValueError('An episode is asked for as {"cell": 12, "seed": 1, "damage": {"joints": {}, "friction": {}}}.')
    cell, asked = wanted["cell"], wanted.get("asked", False)
    if isinstance(cell, bool) or not isinstance(cell, int):
        raise ValueError(f"cell must be a whole number; got {cell!r:.50}.")
    if not isinstance(asked, bool):
        raise ValueError(f"asked must be true or false; got {asked!r:.50}.")
    damage = wanted.get("damage", {})
    if not isinstance(damage, dict) or not damage.keys() <= {"joints", "friction"}:
        raise ValueError('damage must be {"joints": {NAME: FACTOR}, "friction": {NAME: FACTOR}}.')
    factors = {name: _parse_factors(name, values) for name, values in damage.items()}
    seed = wanted.get("seed")
    return cell, None if seed is None else check_seed(seed), Damage(**factors), asked


def _parse_factors(kind: str, values: Any) -> tuple[tuple[str, float], ...]:
    if not isinstance(values, dict):
        raise ValueError(f"{kind} must be a table of names and factors.")
    for name, factor in values.items():
        if isinstance(factor, bool) or not isinstance(factor, (int, float)):
            raise ValueError(f"The factor of {name[:50]} must be a number; got {factor!r:.50}.")
    try:
        return tuple((name, float(factor)) for name, factor in values.items())
    except OverflowError:
        raise ValueError(f"A factor of {kind} is far too large.") from None
