"""The explorer with strangers' runs, and with strangers."""

from __future__ import annotations

import random
import shutil
import socket
import threading
import time
import warnings

import pytest

pytest.importorskip("starlette", reason="needs gaits[explore]")
import uvicorn

import gaits
from gaits.explorer import app as explorer
from gaits.explorer import connections
from gaits.explorer.app import make_app
from gaits.explorer.connections import Connection
from gaits.explorer.launch import find_records
from gaits.explorer.records import make_records
from gaits.runs import load_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones would rather have httpx2
    from starlette.testclient import TestClient

TOKEN = "t0ken"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    task = gaits.make_task("qd_hopper", grid=(6,), max_steps=20, hidden=(4,))
    return gaits.train(task, "map_elites", out=folder, evaluations=48, batch_size=16, workers=1).folder


@pytest.fixture
def copied(made, tmp_path):
    return shutil.copytree(made, tmp_path / "run")


def client_of(*folders, token=None):
    records = make_records([load_run(folder) for folder in folders])
    return TestClient(make_app(records, token=token), base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


# --- who may ask ---------------------------------------------------------------------------------------------------------


def test_without_the_token_there_is_an_explanation(made):
    client = client_of(made, token=TOKEN)
    for path in ("/", "/?token=wrong", "/?token=", "/api/runs", "/static/app.js", "/?token=%ff"):
        answer = client.get(path)
        assert (answer.status_code, "gaits explore printed" in answer.json()["error"]) == (403, True)
        assert "set-cookie" not in answer.headers


def test_the_token_is_kept_in_a_cookie(made):
    client = client_of(made, token=TOKEN)
    cookie = client.get(f"/?token={TOKEN}").headers["set-cookie"]
    assert cookie.startswith(f"gaits-8000={TOKEN}.")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert client.get("/api/runs").status_code == 200
    client.cookies.clear()
    assert client.get("/api/runs", headers={"Cookie": f"gaits-8000={TOKEN}x.1"}).status_code == 403
    assert client.get("/api/runs", headers={"Cookie": f"gaits-8000={TOKEN}.1"}).status_code == 200
    assert client.get("/api/runs", headers={"Cookie": f"gaits-9000={TOKEN}.1"}).status_code == 403  # another explorer's


# --- strangers' runs -----------------------------------------------------------------------------------------------------


def test_changed_policies_are_not_played(copied):
    """Bits flipped where the solutions are."""
    path, chance = copied / "archive.npz", random.Random(0)
    content = path.read_bytes()
    start = content.index(b"solution.npy") + 200
    client = client_of(copied)
    cell = client.get("/api/runs/0/archive").json()["cell"][0]
    assert client.post("/api/runs/0/episode", json={"cell": cell}).status_code == 200
    for _ in range(60):
        place = start + chance.randrange(200)
        flipped = bytearray(content)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        answer = client.post("/api/runs/0/episode", json={"cell": cell})
        assert (answer.status_code, "cannot be" in answer.json()["error"]) == (409, True)
    path.write_bytes(content)
    assert client.post("/api/runs/0/episode", json={"cell": cell}).status_code == 200


def test_one_bad_run_hides_no_other(made, tmp_path, capsys):
    bad = [shutil.copytree(made, tmp_path / name) for name in ("a", "b", "c")]
    (bad[0] / "config.json").write_text("[" * 100_000)
    (bad[1] / "metrics.csv").write_text("iteration,evaluations,qd_score\n1,nan,inf\n")
    (bad[2] / "archive.npz").write_bytes(b"")
    shutil.copytree(made, tmp_path / "good")
    records = find_records([tmp_path])
    assert "left out" in capsys.readouterr().err
    client = TestClient(make_app(records), base_url="http://127.0.0.1", raise_server_exceptions=False)
    assert [run["name"] for run in client.get("/api/runs").json()] == ["b", "c", "good"]
    for i, record in enumerate(records):
        for what in ("archive", "metrics", "history", "robot"):
            answer = client.get(f"/api/runs/{i}/{what}")
            assert answer.status_code < 500
            assert answer.status_code == 200 or (record.name != "good" and answer.json()["error"])


def test_a_run_that_cannot_be_described_says_so(made, monkeypatch):
    monkeypatch.setattr("gaits.explorer.records.read_last_row", lambda path: 1 / 0)
    (told,) = client_of(made).get("/api/runs").json()
    assert "cannot be shown" in told["unplayable"]


def test_episodes_without_an_end_are_not_played(made, tmp_path):
    task = gaits.make_task("qd_hopper", grid=(6,), max_steps=10**6, hidden=(4,))
    record = make_records([load_run(made)])[0]
    record.run.__dict__["task"] = task
    try:
        assert "steps" in record.unplayable
    finally:
        del record.run.__dict__["task"]


# --- strangers -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def port(made, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 8)
    monkeypatch.setattr(explorer, "MAX_BODY_SECONDS", 1.0)
    listener = socket.create_server(("127.0.0.1", 0))
    app = make_app(make_records([load_run(made)]))
    server = uvicorn.Server(uvicorn.Config(app, http=Connection, ws="none", log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()


def ask(port: int, head: str, body: bytes = b"", wait: float = 10.0) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as one:
        one.sendall(f"{head} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode() + body)
        return one.recv(100)


def test_idle_connections_give_way(port):
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    for one in idle[20:]:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")  # and never the rest
    assert ask(port, "GET /api/runs", b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
    for one in idle:
        one.close()


def test_slow_bodies_end(port):
    head = b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    began = time.monotonic()
    assert ask(port, "POST /api/runs/0/episode", head).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began < 5


def test_too_many_episodes_at_once(made, monkeypatch):
    monkeypatch.setattr(explorer, "MAX_EPISODES_EACH", 0)
    answer = client_of(made).post("/api/runs/0/episode", json={"cell": 1})
    assert (answer.status_code, "try again" in answer.json()["error"]) == (429, True)


def test_memory_stays_flat(made):
    client = client_of(made)
    cells = client.get("/api/runs/0/archive").json()["cell"]

    def click(n: int) -> float:
        for i in range(n):
            assert client.post("/api/runs/0/episode", json={"cell": cells[i % len(cells)], "seed": i}).status_code == 200
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096 / 1e6

    before = click(150)
    assert click(200) - before < 15
