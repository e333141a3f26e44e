"""What the server tells, to whom, and what it says to those it does not."""

from __future__ import annotations

import json
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from explorer.small_runs import make_centroid_run, make_conditioned_run, make_small_runs
from helpers import unbind
from synthetic import make_run

import gaits
from gaits.episodes import Episode
from gaits.explorer import players
from gaits.explorer.app import make_app
from gaits.explorer.assets import ASSETS
from gaits.explorer.packing import unpack
from gaits.explorer.records import make_records
from gaits.runs import load_run
from gaits.runs.conditioned import load_conditioned
from gaits.runs.evaluation import load_evaluation

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer ones would rather have httpx2
    from starlette.testclient import TestClient

HOPPER, WALKER, ANT, SPHERE = range(4)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return make_small_runs(tmp_path_factory)


@pytest.fixture(scope="module")
def client(records):
    with TestClient(make_app(records), base_url="http://127.0.0.1:8000") as client:
        yield client


def client_of(folder):
    """For answers that are read from files only."""
    return TestClient(make_app(make_records([load_run(folder)])), base_url="http://localhost", raise_server_exceptions=False)


def episode(client, run, **asked):
    response = client.post(f"/api/runs/{run}/episode", json=asked)
    assert response.status_code == 200, response.text
    return unpack(response.content)


# --- what it tells ---------------------------------------------------------------------------------------------------


def test_the_runs(client, records):
    told = client.get("/api/runs").json()
    assert [run["name"] for run in told] == ["hopper", "walker", "ant", "sphere"]
    hopper = told[HOPPER]
    assert (hopper["task_title"], hopper["algorithm"], hopper["seed"]) == ("QD Hopper", "MAP-Elites", 1)
    assert (hopper["done"], hopper["evaluations"]) == (60, 60)
    assert hopper["numbers"]["qd_score"] == records[HOPPER].run.metrics["qd_score"].iloc[-1]
    corrected = load_evaluation(records[HOPPER].run).numbers(records[HOPPER].run.task)["corrected"]
    assert hopper["corrected"] == {name: corrected[name] for name in ("qd_score", "coverage", "objective_max")}
    assert told[WALKER]["corrected"] is None
    assert ["batch size", "20"] in hopper["details"]
    assert hopper["unplayable"] == ""
    assert "is a function, not a robot" in told[SPHERE]["unplayable"]
    assert str(records[0].run.folder.parent) not in json.dumps(told)  # no paths of this machine


@pytest.mark.parametrize("run", [HOPPER, WALKER, ANT, SPHERE])
def test_the_archive(client, records, run):
    told, data = client.get(f"/api/runs/{run}/archive").json(), records[run].run.archive.data()
    order = np.argsort(data["index"])
    assert told["cell"] == data["index"][order].tolist()
    np.testing.assert_array_equal(told["objective"], data["objective"][order])
    np.testing.assert_array_equal(told["measures"], data["measures"][order])
    assert (told["dims"], told["cells"]) == (list(records[run].run.task.grid), int(np.prod(records[run].run.task.grid)))


def test_robustness(client, records):
    told = client.get(f"/api/runs/{HOPPER}/archive").json()
    found = load_evaluation(records[HOPPER].run)
    np.testing.assert_array_equal(told["robustness"], found.elite_robustness)
    assert client.get(f"/api/runs/{WALKER}/archive").json()["robustness"] is None


def test_robustness_of_elites_that_were_replaced_is_not_told(tmp_path, records):
    folder = shutil.copytree(records[HOPPER].run.folder, tmp_path / "run")
    found = load_evaluation(load_run(folder))
    found.recorded[0] -= 1.0
    found.save(load_run(folder))
    told = client_of(folder).get("/api/runs/0/archive").json()["robustness"]
    assert told[0] is None
    assert None not in told[1:]
    replace(found, evaluations=40).save(load_run(folder))  # of an earlier archive
    assert client_of(folder).get("/api/runs").json()[0]["corrected"] is None


@pytest.mark.parametrize("iteration", [0, 1, 2, 3])
def test_the_archive_at_any_iteration(client, records, iteration):
    """Redrawn as the page does from the history: it is the one that the run had."""
    data = records[HOPPER].run.archive_at(iteration).data()
    elites = dict(zip(data["index"].tolist(), data["objective"].tolist(), strict=True))
    header, log = unpack(client.get(f"/api/runs/{HOPPER}/history").content)
    redrawn = {int(c): f for i, c, f in zip(*log.values(), strict=True) if i <= iteration}
    assert header == {"last": 3}
    assert redrawn == {cell: np.float32(objective) for cell, objective in elites.items()}


def test_curves_are_thinned(client, tmp_path):
    short = client.get(f"/api/runs/{HOPPER}/metrics").json()
    assert short["evaluations"] == [20, 40, 60]
    assert len(short["steps"]) == len(short["seconds"]) == 3
    run = make_run(tmp_path / "run", gaits.make_task("qd_hopper", hidden=(4,)), "map_elites", iterations=1000, batch=2)
    long = client_of(run.folder).get("/api/runs/0/metrics").json()
    assert len(long["qd_score"]) == 300
    assert (long["iteration"][0], long["iteration"][-1]) == (1, 1000)
    assert long["qd_score"][-1] == run.metrics["qd_score"].iloc[-1]


def test_an_archive_that_is_shown_is_checked_before_the_first_click(tmp_path):
    make_centroid_run(tmp_path / "run")
    record, *_ = make_records([load_run(tmp_path / "run")])
    with TestClient(make_app([record]), base_url="http://localhost") as client:
        assert client.get("/api/runs/0/archive").status_code == 200
    checked = dict(record._checked)
    assert "archive" in checked
    record.elite(record.archive()["cell"][0])
    assert record._checked == checked


def test_an_archive_of_centroids(tmp_path):
    make_centroid_run(tmp_path / "run")
    told = client_of(tmp_path / "run").get("/api/runs/0/archive").json()
    assert "dims" not in told
    assert (told["cells"], len(told["centroids"])) == (48, 48)


# --- episodes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [HOPPER, WALKER, ANT])
def test_a_cell_plays_the_episode_that_the_archive_recorded(client, records, run):
    """Also for ME-ES, whose elites have statistics of their observations."""
    for elite in records[run].run.archive:
        header, _ = episode(client, run, cell=int(elite["index"]))
        assert header["objective"] == header["sound"] == elite["objective"]
        assert header["seed"] == header["recorded"]["seed"] == str(elite["seed"])
        assert header["measures"] == header["recorded"]["measures"] == elite["measures"].tolist()


@pytest.mark.parametrize("run", [HOPPER, WALKER, ANT])
def test_an_episode_with_a_seed_is_the_evaluators(client, records, run):
    elite = next(iter(records[run].run.archive))
    statistics = {name: elite[name] for name in ("obs_mean", "obs_std") if name in elite}
    header, arrays = episode(client, run, cell=int(elite["index"]), seed=7)
    with gaits.LocalEvaluator(records[run].run.task, workers=1) as evaluator:
        wanted = evaluator.evaluate([elite["solution"]], [7], **statistics)
    assert (header["objective"], header["length"], header["seed"]) == (wanted.objective[0], wanted.length[0], "7")
    assert header["measures"] == wanted.measures[0].tolist()
    robot = client.get(f"/api/runs/{run}/robot").json()
    n = header["length"]
    assert arrays["ends"].shape == (n + 1, len(robot["capsules"]), 2, 3)
    assert arrays["contacts"].shape == (n, len(robot["feet"]))
    lowest = arrays["root"][:, None, None, 2] + arrays["ends"][..., 2] / header["units_per_metre"]
    assert -0.1 < lowest.min() < 0.5  # it stands on the ground


def test_a_long_episode_is_small():
    task = gaits.make_task("qd_ant")

    from gaits.explorer.players import pack_episode
    from gaits.physics.world import make_trace

    trace = make_trace(task)
    trace.positions[:, 6] = 1.0  # upright
    nothing = Episode(0.0, np.zeros(4), 1000, 0, trace=trace)
    assert len(pack_episode(nothing, task.problem.make_puppet(task), {})) < 175_000


def test_damage(client, records):
    cell = int(next(iter(records[ANT].run.archive))["index"])
    sound, _ = episode(client, ANT, cell=cell)
    limp = {"joints": dict.fromkeys(("ankle_1", "hip_1", "ankle_2", "hip_2"), 0), "friction": {"left_back_foot": 0.1}}
    header, _ = episode(client, ANT, cell=cell, damage=limp)
    assert header["objective"] != header["sound"] == sound["objective"]
    assert header["seed"] == sound["seed"]
    assert "ankle_1 limp" in header["damage"]
    again, _ = episode(client, ANT, cell=cell, damage={"joints": {"ankle_1": 1.0}})
    assert again["objective"] == sound["objective"]


def test_a_run_that_kept_no_seeds_says_so(records, tmp_path):
    folder = shutil.copytree(records[HOPPER].run.folder, tmp_path / "run")
    with np.load(folder / "archive.npz") as file:
        np.savez(tmp_path / "run" / "archive.npz", **{name: file[name] for name in file.files if name != "seed"})
    unbind(folder)
    client = client_of(folder)
    cell = int(records[HOPPER].run.archive.data("index")[0])
    header, _ = episode(client, 0, cell=cell)
    assert (header["seed"], header["recorded"]["seed"]) == ("1", None)


@pytest.mark.parametrize("known", [0, 1])
def test_many_threads_ask_for_damaged_robots_at_once(records, monkeypatch, known):
    """What is known of the sound robot may be forgotten at any moment, and at once."""
    monkeypatch.setattr(players, "KNOWN", known)
    record, damage = records[HOPPER], gaits.Damage({"foot_joint": 0.5})
    cells = record.run.archive.data("index").tolist()[:4]
    ours = players.Players()
    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda i: ours.play(record, cells[i % 4], i % 3, damage), range(48)))
    ours.close()
    assert len(done) == 48
    assert len({bytes(one) for one in done}) == 12


def test_the_robot(client):
    ant = client.get(f"/api/runs/{ANT}/robot").json()
    assert [foot["label"] for foot in ant["feet"]] == [
        "front left foot",
        "front right foot",
        "back left foot",
        "back right foot",
    ]
    assert len(ant["capsules"]) == 13
    assert sorted(part["foot"] for part in ant["capsules"] if part["foot"] >= 0) == [0, 1, 2, 3]
    assert not ant["flat"]
    assert client.get(f"/api/runs/{WALKER}/robot").json()["flat"]


# --- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("/api/runs/4/archive", "/api/runs/-1/archive", "/api/runs/x/metrics", "/api/runs/99999999999999999999/history"),
        *("/api/runs/²/archive", f"/api/runs/{SPHERE}/robot"),
        *(
            "/nowhere",
            "/static/nothing.js",
            "/static/..%2f..%2fapp.py",
            "/static/%2e%2e/app.py",
            "/static//etc/passwd",
        ),
        *("/api", "/api/runs/../../etc/passwd", "/api/runs/%2e%2e%2f%2e%2e/archive"),
    ],
)
def test_what_is_not_there(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert response.json()["error"]


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[" * 10_000, 400, "not JSON"),
        (b'{"cell": 1' + b"0" * 5000 + b"}", 400, "not JSON"),
        (b"[]", 422, "An episode is asked for as"),
        (b"{}", 422, "An episode is asked for as"),
        (b'{"cell": 1, "more": 2}', 422, "An episode is asked for as"),
        (b'{"cell": "1"}', 422, "cell must be a whole number; got '1'"),
        (b'{"cell": true}', 422, "cell must be"),
        (b'{"cell": 1e400}', 422, "cell must be"),
        (b'{"cell": 63, "seed": -1}', 422, "A seed must be"),
        (b'{"cell": 63, "seed": 1.5}', 422, "A seed must be"),
        (rb'{"cell": 63, "seed": "\ud800"}', 422, r"A seed must be a whole number from 0 to 2**63 - 1; got \ud800."),
        (b'{"cell": 63, "seed": "' + b"9" * 15_000 + b'"}', 422, "A seed must be"),
        (b'{"cell": 64}', 404, "Cell 64 of hopper is empty"),
        (b'{"cell": 63, "damage": [1]}', 422, "damage must be"),
        (b'{"cell": 63, "damage": {"joints": [1]}}', 422, "joints must be a table"),
        (b'{"cell": 63, "damage": {"joints": {"foot_joint": "x"}}}', 422, "must be a number; got 'x'"),
        (b'{"cell": 63, "damage": {"joints": {"foot_joint": NaN}}}', 422, "must be a factor from 0 to 1"),
        (b'{"cell": FILLED, "damage": {"joints": {"foot": 0.5}}}', 422, "Did you mean 'foot_joint'"),
        (b'{"cell": FILLED, "damage": {"joints": {"' + b"a" * 15_000 + b'": 0.5}}}', 422, "aaaa"),
        (b'{"cell": 63, "damage": {"joints": {"foot_joint": 1' + b"0" * 400 + b"}}}", 422, "far too large"),
        (b'{"cell": -1}', 404, "Cell -1 of hopper is empty"),
        (b'{"cell": 1' + b"0" * 400 + b"}", 404, "is empty"),
        (b'{"cell": 63, "asked": 1}', 422, "asked must be true or false; got 1"),
        (b'{"cell": 63, "asked": true}', 404, "hopper has no policy that can be asked for a gait"),
        (b'{"cell": 63, "seed": ' + b" " * 20_000 + b"1}", 413, "16,384 bytes"),
    ],
)
def test_requests_that_are_not_understood(client, records, content, status, message):
    filled = int(next(iter(records[HOPPER].run.archive))["index"])
    content = content.replace(b"FILLED", str(filled).encode())
    response = client.post(f"/api/runs/{HOPPER}/episode", content=content, headers={"Content-Type": "application/json"})
    assert (response.status_code, message in response.json()["error"]) == (status, True), response.text
    assert len(response.text) < 600


def test_a_policy_that_can_be_asked_for_a_gait(tmp_path):
    """What it is asked for is the middle of the cell; what it then does is what its checkpoint's policy does."""
    record = make_conditioned_run(tmp_path / "run")
    with TestClient(make_app([record]), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/api/runs").json()[0]["conditioned"]
        told, _ = episode(client, 0, cell=9, asked=True)
        assert (told["asked"], told["recorded"]) == (True, {"objective": None, "measures": [0.1875, 0.1875], "seed": None})
        solution = load_conditioned(record.run).solution([0.1875, 0.1875])
        with gaits.LocalEvaluator(record.run.task, workers=1) as evaluator:
            results = evaluator.evaluate([solution], [players.DEFAULT_SEED])
        assert (told["objective"], told["measures"]) == (results.objective[0], results.measures[0].tolist())
        answer = client.post("/api/runs/0/episode", json={"cell": 64, "asked": True})
        assert (answer.status_code, "has no cell 64" in answer.text) == (404, True)
        (newest, *_) = sorted((tmp_path / "run" / "checkpoint").iterdir(), reverse=True)
        newest.write_bytes(b"nothing")
        answer = client.post("/api/runs/0/episode", json={"cell": 9, "asked": True})
        assert (answer.status_code, "run cannot be asked for a gait" in answer.text) == (409, True)
        shutil.rmtree(tmp_path / "run" / "checkpoint")
        assert not client.get("/api/runs").json()[0]["conditioned"]


def test_other_refusals(client):
    assert client.post(f"/api/runs/{HOPPER}/episode", content=b"{}").status_code == 415
    assert client.post(f"/api/runs/{SPHERE}/episode", json={"cell": 1}).status_code == 404
    for method, path in (("GET", "/api/runs/0/episode"), ("POST", "/api/runs"), ("DELETE", "/"), ("PUT", "/static/app.js")):
        response = client.request(method, path)
        assert (response.status_code, bool(response.json()["error"])) == (405, True)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "0.0.0.0", "[::2]", "[", "", "a b"]
)
def test_names_that_are_not_its_own(client, host):
    response = client.get("/api/runs", headers={"Host": host})
    assert response.status_code == 421
    assert "answers to" in response.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9999", "LOCALHOST", "[::1]:80"])
def test_its_own_names(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_a_server_for_others(records):
    everywhere = TestClient(make_app(records, "0.0.0.0"))
    assert everywhere.get("/", headers={"Host": "192.168.1.7:8000"}).status_code == 200
    assert everywhere.get("/", headers={"Host": "evil.example"}).status_code == 421
    named = TestClient(make_app(records, "lab.example"))
    assert named.get("/", headers={"Host": "lab.example:1"}).status_code == 200
    assert named.get("/", headers={"Host": "192.168.1.7"}).status_code == 421


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/runs", {"Origin": "http://evil.example"}, 403),
        ("/api/runs", {"Origin": "null"}, 403),
        ("/api/runs", {"Origin": "http://127.0.0.1:9999"}, 403),
        ("/api/runs", {"Origin": "http://["}, 403),
        ("/api/runs", {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-origin"}, 200),
        ("/api/runs", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/api/runs", {"Sec-Fetch-Site": "same-site"}, 403),
        ("/", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403),
        ("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200),
        ("/api/runs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
        ("/", {"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_requests_from_other_sites(client, path, headers, status):
    assert client.get(path, headers=headers).status_code == status


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/static/app.js", 200), ("/nowhere", 404), ("/api/runs", 200)])
def test_every_answer_has_the_security_headers(client, path, status):
    response = client.get(path)
    assert response.status_code == status
    assert response.headers["Content-Security-Policy"].startswith("default-src 'self'; ")
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Frame-Options"] == "DENY"


def test_so_has_the_answer_to_an_unexpected_error(records, monkeypatch):
    monkeypatch.setattr("gaits.explorer.app.read_asset", lambda name: 1 / 0)
    client = TestClient(make_app(records), base_url="http://localhost", raise_server_exceptions=False)
    response = client.get("/")
    assert (response.status_code, response.headers["X-Frame-Options"]) == (500, "DENY")
    assert "the terminal says what" in response.json()["error"]


def test_the_files_are_those_of_the_page(client):
    for name, kind in ASSETS.items():
        response = client.get(f"/static/{name}")
        assert (response.status_code, response.headers["Content-Type"].partition(";")[0]) == (200, kind)
    assert "http" not in client.get("/").text.replace("http-equiv", "")


# --- runs that are being written -------------------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path, records):
    return shutil.copytree(records[HOPPER].run.folder, tmp_path / "run")


@pytest.mark.parametrize("name", ["archive.npz", "history.npz"])
@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 half"])
def test_files_that_are_missing_or_damaged(copied, name, content):
    if content is None:
        (copied / name).unlink()
    else:
        (copied / name).write_bytes(content)
    client = client_of(copied)
    path = {"archive.npz": "archive", "history.npz": "history"}[name]
    response = client.get(f"/api/runs/0/{path}")
    assert (response.status_code, bool(response.json()["error"])) == (409, True)
    assert client.get("/api/runs").status_code == 200
    if name == "archive.npz":
        assert client.post("/api/runs/0/episode", json={"cell": 1}).status_code == 409


@pytest.mark.parametrize("text", ["", "iteration,eval", "iteration,evaluations\n", "nonsense\n1,2,3\n4\n", "\x00\n\x00\n"])
def test_metrics_that_are_not_there_yet(copied, text):
    (copied / "metrics.csv").write_text(text)
    client = client_of(copied)
    assert client.get("/api/runs").json()[0]["done"] == 0
    response = client.get("/api/runs/0/metrics")
    assert response.status_code == 409 or response.json()["evaluations"] == []
    (cell, *_) = client.get("/api/runs/0/archive").json()["cell"]
    assert episode(client, 0, cell=cell)[0]["length"] > 0  # with another seed than the recorded one


def test_a_row_that_is_being_written_waits(copied):
    whole = (copied / "metrics.csv").read_text()
    (copied / "metrics.csv").write_text(whole + "4,80,1")
    client = client_of(copied)
    assert client.get("/api/runs").json()[0]["done"] == 60
    assert client.get("/api/runs/0/metrics").json()["evaluations"] == [20, 40, 60]


def test_an_archive_that_is_replaced_is_read_anew(copied, records):
    client = client_of(copied)
    before = client.get("/api/runs").json()[0]["version"]
    told = client.get("/api/runs/0/archive").json()
    shutil.copy(records[ANT].run.folder / "archive.npz", copied / "archive.npz")  # policies for another robot
    assert client.get("/api/runs").json()[0]["version"] != before
    for response in (client.get("/api/runs/0/archive"), client.post("/api/runs/0/episode", json={"cell": told["cell"][0]})):
        assert (response.status_code, bool(response.json()["error"])) == (409, True)


def test_names_that_tell_runs_apart(tmp_path, records):
    folders = [shutil.copytree(records[HOPPER].run.folder, tmp_path / study / "run") for study in ("a", "b")]
    deep = shutil.copytree(records[HOPPER].run.folder, tmp_path / "other" / "a" / "run")
    runs = [load_run(folder) for folder in [*folders, deep, deep]]
    assert [record.name for record in make_records(runs[:2])] == ["a/run", "b/run"]
    assert [record.name for record in make_records(runs)][1:] == ["b/run", "other/a/run", "other/a/run"]
