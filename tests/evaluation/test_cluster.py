"""Evaluation on a Dask cluster: the same results, whatever happens to its workers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import own_tasks
import pytest
from conformance.evaluator import EvaluatorSuite
from helpers import assert_same_archive, random_solutions, same

import gaits
from gaits.cli import main
from gaits.episodes import Batch, Pool, make_job
from gaits.evaluation import Compute, EpisodeFailed, cluster, schedulers
from gaits.evaluation.chunks import Sizes, cut, play_chunk, take_outcomes
from gaits.evaluation.cluster import ClusterEvaluator
from gaits.evaluation.schedulers import ClusterLost, find_address, make_security, open_cluster

pytest.importorskip("distributed", reason="needs gaits[cluster]")
RUN = {"evaluations": 200, "batch_size": 40, "seed": 3}


@pytest.fixture(scope="module")
def address():
    with open_cluster("local", 2) as address:
        yield address


@pytest.fixture
def fragile():
    """A cluster of the test's own, to be broken."""
    with open_cluster("local", 2) as address:
        yield address


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The run that all others must equal."""
    folder = tmp_path_factory.mktemp("expected") / "run"
    return gaits.train(hopper(), "map_elites", workers=1, out=folder, **RUN).folder


def hopper():
    return gaits.make_task("qd_hopper", max_steps=200)


class TestCluster(EvaluatorSuite):
    @pytest.fixture(autouse=True)
    def use(self, address):
        self.make = lambda task, workers: ClusterEvaluator(task, address)

    def test_it_equals_the_local_evaluator(self, task):
        solutions = random_solutions(task, 40)
        keep = np.arange(40) % 3 == 0
        options = {
            "transitions": keep,
            "action_noise": 0.1,
            "obs_mean": np.ones((40, 15)),
            "obs_std": np.full((40, 15), 2.0),
        }
        with self.make(task, 2) as a, gaits.LocalEvaluator(task, 1) as b:
            one, other = (e.evaluate(solutions, np.arange(80).reshape(40, 2), **options) for e in (a, b))
        assert same(one, other)
        for name, values in vars(one.transitions).items():
            np.testing.assert_array_equal(values, getattr(other.transitions, name))


def test_a_local_cluster_needs_no_port_of_its_own():
    """Dask's usual ports may be another cluster's: nothing is said, and nothing fails."""
    with contextlib.ExitStack() as stack:
        for port in (8786, 8787):
            taken = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # taken indeed
                taken.bind(("", port))
                taken.listen()
        assert stack.enter_context(open_cluster("local", 1)).startswith("tcp://127.0.0.1:")


def test_workers_killed_all_the_time_change_nothing(fragile, expected, tmp_path):
    done = threading.Event()
    killed = []

    def kill():
        from distributed import Client

        with Client(fragile, set_as_default=False) as client:
            while not (killed and done.wait(2.0)):
                with contextlib.suppress(Exception):
                    victim = sorted(client.run(os.getpid).values())[len(killed) % 2]
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run = gaits.train(hopper(), "map_elites", scheduler=fragile, out=tmp_path / "run", **RUN)
    finally:
        done.set()
        killer.join()
    assert_same_archive(run.folder, expected)
    assert run.metrics["evaluations"].iloc[-1] == 200


def test_a_worker_that_hangs_is_given_up(fragile, tmp_path, capsys):
    tasks = [own_tasks.point(trouble="hang once", flag=str(tmp_path / "hung")), own_tasks.point()]
    solutions = random_solutions(tasks[0], 12)
    with ClusterEvaluator(tasks[0], fragile, deadline=6.0) as a, gaits.LocalEvaluator(tasks[1], 1) as b:
        one, other = (e.evaluate(solutions, range(12)) for e in (a, b))
    assert same(one, other)
    assert "no answer for 6 s, so restarting tcp://" in capsys.readouterr().err


def test_ctrl_c_is_not_for_the_workers(address):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        pids = client.run(os.getpid)
        for pid in pids.values():
            os.kill(pid, signal.SIGINT)
        assert client.run(os.getpid) == pids


def test_a_worker_that_is_only_slow_is_left_alone(address, capsys):
    """Chunks are no longer than the deadline has time for; of the first batch, single solutions."""
    task = own_tasks.point()
    solutions = random_solutions(task, 60)
    with ClusterEvaluator(task, address, deadline=60.0) as evaluator:
        assert evaluator.sizes(1) == Sizes(largest=1)
        evaluator.evaluate(solutions, range(60))
        assert evaluator.seconds > 0
        evaluator.seconds = evaluator.usual = 1.5
        assert evaluator.sizes(1).largest == 2
        assert evaluator.sizes(2).largest == 1
        sizes = [chunk.stop - chunk.start for chunk in evaluator.submit(Batch(solutions), range(60)).out.values()]
        assert max(sizes) == 2
    assert "restarting" not in capsys.readouterr().err


def test_an_error_comes_home_with_its_traceback(address):
    task = own_tasks.point(trouble="raise")
    with ClusterEvaluator(task, address) as evaluator, pytest.raises(EpisodeFailed) as caught:
        evaluator.evaluate(random_solutions(task, 12), range(12))
    for text in ("solution 3 with seed 3", "ZeroDivisionError: the user's own mistake", "in _misbehave"):
        assert text in str(caught.value)


def test_an_episode_that_kills_every_worker(fragile, monkeypatch):
    monkeypatch.setattr(cluster, "ATTEMPTS", 1)
    task = own_tasks.point(trouble="die")
    with (
        ClusterEvaluator(task, fragile) as evaluator,
        pytest.raises(EpisodeFailed, match=r"Solutions 0 to 0 .* cannot be played"),
    ):
        evaluator.evaluate(random_solutions(task, 1), [3])  # alone: Dask blames all that the dying worker was given


def test_workers_with_other_versions_are_refused(address, monkeypatch):
    task = own_tasks.point()
    versions = {**cluster.episode_versions(task), "numpy": "1.0"}
    monkeypatch.setattr(cluster, "episode_versions", lambda task: versions)
    with ClusterEvaluator(task, address) as evaluator, pytest.raises(EpisodeFailed, match=r"instead of 1.0.*same versions"):
        evaluator.evaluate(random_solutions(task, 4), range(4))


class Daemons:
    """A scheduler and a worker as a user starts them, to be killed."""

    def __init__(self, file):
        self.file, self.processes = file, []

    def start(self):
        options = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self._run("dask_scheduler", *options, "--port", "0" if not self.processes else self.port)
        while not self.file.exists():
            time.sleep(0.05)
        self.port = json.loads(self.file.read_text())["address"].rpartition(":")[2]
        self._run("dask_worker", *options, "--nthreads", "1", "--no-nanny")

    def _run(self, name, *options):
        command = [sys.executable, "-m", f"distributed.cli.{name}", *options]
        self.processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))

    def kill(self):
        for process in self.processes[-2:]:
            process.kill()
            process.wait()
        self.file.unlink(missing_ok=True)


def test_a_scheduler_that_restarts_and_one_that_does_not(tmp_path, monkeypatch, expected, capsys):
    monkeypatch.setattr(schedulers, "PATIENCE", 30.0)
    daemons = Daemons(tmp_path / "scheduler.json")
    daemons.start()
    rows = []

    def disturb(row, archive):
        rows.append(row)
        if len(rows) == 2:
            daemons.kill()
            threading.Timer(1.0, daemons.start).start()
        if len(rows) == 4:
            monkeypatch.setattr(schedulers, "PATIENCE", 1.0)
            daemons.kill()

    options = {"scheduler": str(tmp_path / "scheduler.json"), "out": tmp_path / "run", "checkpoint_iterations": 1}
    try:
        with pytest.raises(ClusterLost) as caught:
            gaits.train(hopper(), "map_elites", callback=disturb, **options, **RUN)
    finally:
        daemons.kill()
    assert "found the scheduler at" in capsys.readouterr().err
    assert len(rows) == 4
    assert "in iteration 5" in str(caught.value)
    assert f"Go on with: gaits resume {tmp_path / 'run'}" in str(caught.value)
    gaits.resume(tmp_path / "run", workers=1)
    assert_same_archive(tmp_path / "run", expected)


SBATCH = """
cp "$1" "$0.$$"
bash "$0.$$" >/dev/null 2>&1 &
echo "Submitted batch job $!"
"""


def test_slurm_jobs(tmp_path, monkeypatch):
    """A sbatch that runs the job at once stands for Slurm. Like the real one it copies the script, which is then removed."""
    pytest.importorskip("dask_jobqueue")
    import dask

    for name, text in (("sbatch", SBATCH), ("scancel", 'kill "$@"')):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    options = {"cores": 1, "processes": 1, "memory": "1GB", "interface": "lo", "log-directory": str(tmp_path)}
    options["scheduler-options"] = {"dashboard_address": ":0"}
    task = hopper()
    solutions = random_solutions(task, 10)
    configured = dask.config.set({f"jobqueue.slurm.{name}": value for name, value in options.items()})
    with configured, ClusterEvaluator(task, "slurm", 2) as a, gaits.LocalEvaluator(task, 1) as b:
        assert same(a.evaluate(solutions, range(10)), b.evaluate(solutions, range(10)))


def test_a_study_shares_a_cluster(address, expected, tmp_path):
    text = f'tasks = ["qd_hopper"]\nalgorithms = ["map_elites"]\nseeds = [3, 4]\nevaluations = {RUN["evaluations"]}\n'
    (tmp_path / "study.toml").write_text(
        text + "[task.qd_hopper]\nmax_steps = 200\n[settings.map_elites]\nbatch_size = 40\n"
    )
    folder = tmp_path / "out"
    arguments = ["study", str(tmp_path / "study.toml"), "--out", str(folder), "--at-once", "2"]
    assert main(arguments) == 2
    assert main([*arguments, "--scheduler", address]) == 0
    assert_same_archive(folder / "qd_hopper-map_elites-seed3", expected)
    assert gaits.load_run(folder / "qd_hopper-map_elites-seed4").finished


@pytest.mark.parametrize("threads", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize("n", [0, 1, 5, 100, 1001])
def test_chunks_cover_a_batch_and_get_smaller(n, threads):
    bounds = list(cut(n, threads, Sizes(together=4, worthwhile=8, largest=20)))
    assert [i for start, stop in bounds for i in range(start, stop)] == list(range(n))
    sizes = [stop - start for start, stop in bounds]
    assert sizes == sorted(sizes, reverse=True)
    assert all(4 <= size <= 20 for size in sizes[:-1])


def test_chunks_are_few_where_episodes_are_short_and_many_where_they_may_hang():
    def sizes(threads, **limits):
        return [stop - start for start, stop in cut(100, threads, Sizes(**limits))]

    assert sizes(2, together=4, worthwhile=1, largest=1000) == [40, 40, 8, 8, 4]
    assert sizes(200, together=4, worthwhile=1, largest=1000) == [4] * 25
    assert sizes(200, together=1, worthwhile=1, largest=1000) == [1] * 100
    assert sizes(2, together=4, worthwhile=900, largest=1000) == [50, 50]
    assert sizes(2, together=4, worthwhile=1, largest=1) == [1] * 100


@pytest.mark.parametrize("episodes", [1, 3])
@pytest.mark.parametrize("bounds", [[(0, 6)], [(0, 1), (1, 4), (4, 6)]])
def test_a_job_played_in_parts_is_the_job(bounds, episodes):
    task = own_tasks.point()
    keep = [True, False, False, True, True, False]
    make = partial(
        make_job, task, Batch(random_solutions(task, 6), transitions=keep), np.arange(6 * episodes).reshape(6, -1)
    )
    whole, cut_up = make(), make()
    Pool(1).play(task, whole)
    for start, stop in bounds:
        from distributed.protocol import serialize_bytes

        take_outcomes(cut_up, start, play_chunk(serialize_bytes(task), cut_up.part(start, stop), {}))
    assert whole.complete
    for name in ("objective", "measures", "length", "end"):
        np.testing.assert_array_equal(getattr(cut_up, name), getattr(whole, name))
    assert cut_up.steps.keys() == whole.steps.keys() == set(whole.recorded.tolist())
    for i, steps in whole.steps.items():
        for a, b in zip(steps, cut_up.steps[i], strict=True):
            np.testing.assert_array_equal(a, b)


def test_results_come_through_the_scheduler_where_workers_cannot_be_reached(address, monkeypatch):
    async def unreachable(*args, **options):
        raise OSError("no route")

    monkeypatch.setattr("distributed.comm.connect", unreachable)
    task = hopper()
    solutions = random_solutions(task, 8)
    with ClusterEvaluator(task, address) as a, gaits.LocalEvaluator(task, 1) as b:
        one, other = (e.evaluate(solutions, range(8), transitions=True) for e in (a, b))
        assert not a._near
    assert same(one, other)
    np.testing.assert_array_equal(one.transitions.next_obs, other.transitions.next_obs)


def test_one_hiccup_does_not_make_chunks_small_for_ever(address):
    with ClusterEvaluator(own_tasks.point(), address, deadline=60.0) as evaluator:
        evaluator.note_seconds(30.0, 0.01)
        assert evaluator.sizes(1) == Sizes(1, 2, 1)
        for _ in range(20):
            evaluator.note_seconds(0.01, 0.001)
        assert evaluator.sizes(1) == Sizes(1, 20, 300)
        assert evaluator.sizes(10) == Sizes(1, 2, 30)
        evaluator.note_seconds(0.1, 0.01)  # a slower batch counts at once
        assert evaluator.sizes(1) == Sizes(1, 2, 30)


@pytest.mark.parametrize(
    ("scheduler", "workers", "message"),
    [
        ("nowhere", None, "must be an address such as .* got 'nowhere'"),
        ("tcp://127.0.0.1:1", 2, "--workers is for --scheduler local and slurm"),
        ("local", 0, "workers must be a whole number of at least 1"),
        ("tcp://127.0.0.1:1", None, "No Dask scheduler answers at tcp://127.0.0.1:1"),
        ("not an address:really", None, "No Dask scheduler answers at"),
    ],
)
def test_bad_schedulers(scheduler, workers, message, monkeypatch):
    monkeypatch.setattr(schedulers, "PATIENCE", 1.0)
    with pytest.raises(ValueError, match=message):
        ClusterEvaluator(hopper(), scheduler, workers)


def test_bad_deadline(address):
    with pytest.raises(ValueError, match="deadline must be a number above 0; got -1"):
        ClusterEvaluator(hopper(), address, deadline=-1)


def test_a_file_that_is_no_schedulers(tmp_path):
    (tmp_path / "file.json").write_text("{}")
    with pytest.raises(ValueError, match="is not a scheduler's file"):
        find_address(str(tmp_path / "file.json"))


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1", "nonsense://x", "tcp://127.0.0.1:port"])
def test_a_client_that_could_not_be_made_is_closed(wrong):
    from distributed import Client

    before = set(Client._instances)
    with pytest.raises(ClusterLost):
        schedulers.connect(wrong, timeout=0.5)
    assert all(client.status == "closed" for client in set(Client._instances) - before)


def test_without_dask_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for scheduler in ("local", "tcp://127.0.0.1:8786"):
        with pytest.raises(ValueError, match=r"pip install 'gaits\[cluster\]'"):
            ClusterEvaluator(hopper(), scheduler)


def test_a_local_cluster_is_not_seen_from_other_machines(address):
    psutil = pytest.importorskip("psutil")
    me = psutil.Process()
    listening = {
        one.laddr.ip
        for process in (me, *me.children(recursive=True))
        for one in process.net_connections()
        if one.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_a_worker_stopped_after_it_finished_does_not_hold_the_run_up(fragile, capsys):
    """It has played, and is stopped before anybody fetches the result."""
    psutil, task = pytest.importorskip("psutil"), hopper()
    solutions = random_solutions(task, 6)
    with ClusterEvaluator(task, fragile) as a, gaits.LocalEvaluator(task, 1) as b:
        a.evaluate(solutions, range(6))  # compiles
        a.deadline = 8.0
        pending = a.submit(Batch(solutions), range(6))
        while not all(future.done() for future in pending.out):
            time.sleep(0.05)
        held = a._ask("who_has", keys=[future.key for future in pending.out])
        (stopped, *_) = {worker for workers in held.values() for worker in workers}
        worker = psutil.Process(a.client.run(os.getpid, workers=[stopped])[stopped])
        worker.suspend()
        one, other = pending.result(), b.evaluate(solutions, range(6))
    assert same(one, other)
    assert "no answer for 8 s, so restarting tcp://" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [{"tls_ca": "ca.pem"}, {"tls_ca": "a", "tls_cert": "b", "tls_key": "c", "scheduler": "local"}]
)
def test_certificates_go_together(options):
    with pytest.raises(ValueError, match="go together"):
        Compute(**{"scheduler": "tls://127.0.0.1:1", **options})


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """One that signs itself: its own authority."""
    folder = tmp_path_factory.mktemp("tls")
    files = [str(folder / name) for name in ("cert.pem", "cert.pem", "key.pem")]
    options = ["-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=gaits", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", *options, "-keyout", files[2], "-out", files[0]]
    if shutil.which("openssl") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs openssl")
    return tuple(files)


def test_certificates(certificates, monkeypatch):
    from distributed import LocalCluster

    security, task = make_security(certificates), hopper()
    options = {"host": "tls://127.0.0.1", "dashboard_address": "127.0.0.1:0", "security": security}
    with LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        address, solutions = cluster.scheduler_address, random_solutions(task, 3)
        assert address.startswith("tls://")
        with ClusterEvaluator(task, address, tls=certificates) as a, gaits.LocalEvaluator(task, 1) as b:
            assert same(a.evaluate(solutions, range(3)), b.evaluate(solutions, range(3)))
        monkeypatch.setattr(schedulers, "PATIENCE", 2.0)
        with pytest.raises(ClusterLost):
            ClusterEvaluator(task, address)
