"""Checkpoints made by somebody who knows the format, checksum included: refused before anything is allocated or changed."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pytest
from conformance.algorithm import small_task

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.cli import main
from gaits.runs import checkpoint
from gaits.search import Search
from gaits.states import Misfit

CELL, OBJECTIVE = "search/algorithm/archive/index", "search/algorithm/archive/elites/objective"
SOLUTION, RNG = "search/algorithm/archive/elites/solution", "search/algorithm/emitter/rng"


def unpack(path):
    line, _, body = path.read_bytes().partition(b"\n")
    header, raw, arrays = json.loads(line), io.BytesIO(body), {}
    for name, (dtype, shape) in header["arrays"].items():
        arrays[name] = np.frombuffer(raw.read(int(np.prod(shape)) * int(dtype[2])), dtype).reshape(shape).copy()
    return header, arrays


def pack(path, header, arrays, claims=None):
    """Write a checkpoint whose checksum is right, whatever it claims."""
    header.pop("sha256", None)
    header["arrays"] = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    header["sha256"] = checkpoint._digest(header, arrays)
    header["arrays"] |= claims or {}
    path.write_bytes(json.dumps(header).encode() + b"\n" + b"".join(array.tobytes() for array in arrays.values()))


def newest(run):
    return checkpoint.available(run / "checkpoint")[0]


def refuse(run, capsys, *reasons):
    """Both commands refuse it with the same reason, in one line and no traceback."""
    capsys.readouterr()
    assert main(["resume", str(run), "--workers", "1"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert all(reason in err for reason in reasons), err
    with pytest.raises(SystemExit, match="1"):
        main(["check", str(run)])
    out = capsys.readouterr().out
    assert all(reason in out for reason in reasons), out


@pytest.mark.parametrize("dtype", ["|O", "<c8", "|V8", "<U4", ">f4", "<f2", "f4,f4", 7, None, ["<f4"], "<m8"])
def test_a_dtype_that_is_no_plain_number(run, capsys, dtype):
    header, arrays = unpack(newest(run))
    pack(newest(run), header, arrays, {SOLUTION: [dtype, list(arrays[SOLUTION].shape)]})
    refuse(run, capsys, "is no array of plain numbers")


@pytest.mark.parametrize("shape", [[-1, 155], [1 << 60], [1 << 40, 1 << 40], [True, 155], [1.0], "abc", [[]], [1] * 9])
def test_a_shape_that_none_has(run, capsys, shape):
    header, arrays = unpack(newest(run))
    pack(newest(run), header, arrays, {SOLUTION: ["<f4", shape]})
    refuse(run, capsys, "cannot be used")


def change(name, value):
    def apply(header, arrays):
        arrays[name] = value(arrays[name]) if callable(value) else value

    return apply


def say(name, value):
    def apply(header, arrays):
        header["values"][name] = value

    return apply


@pytest.mark.parametrize(
    ("attack", "reason"),
    [
        (change(SOLUTION, lambda a: a.astype(np.float64)), "should be an array <f4"),
        (change(SOLUTION, lambda a: a[:, :-1].copy()), "should be an array <f4"),
        (change(SOLUTION, lambda a: np.repeat(a, 65, 0)), "of up to 64 x 155"),
        (change(SOLUTION, lambda a: a[:-1].copy()), "lack some of their fields"),
        (change(CELL, lambda a: a + 64), "does not have, or two in one"),
        (change(CELL, lambda a: -a - 1), "does not have, or two in one"),
        (change(CELL, lambda a: np.full_like(a, a[0])), "two in one"),
        (change(CELL, lambda a: a[::-1].copy()), "not in their cells"),
        (change(OBJECTIVE, lambda a: np.full_like(a, np.nan)), "not finite"),
        (change("extra", np.zeros(3)), "'extra' is unknown"),
        (change("__class__", np.zeros(3)), "is unknown"),
        (lambda header, arrays: arrays.pop(OBJECTIVE), "is missing"),
        (lambda header, arrays: header["values"].pop("search/counters/iteration"), "is missing"),
        (say(SOLUTION, 3), "says something twice"),
        (say(f"{RNG}/kind", "MT19937"), "should be str PCG64"),
        (say(f"{RNG}/state", -1), "should be int"),
        (say(f"{RNG}/state", 1 << 128), "should be int"),
        (say(f"{RNG}/state", 0.5), "should be int"),
        (say(f"{RNG}/inc", 2), "a state that none can be in"),
        (say(f"{RNG}/uinteger", 1 << 32), "a state that none can be in"),
        (say("search/counters/evaluations", True), "should be int"),
        (say("search/counters/steps", 1 << 62), "should be int"),
        (say("search/counters/evaluations", "os.system"), "should be int"),
        (say("search/counters/seconds", None), "should be float"),
        (say("search/counters/iteration", 2), "metrics have 4 lines after 2 iterations"),
        (change("metrics", np.full(10, 255, np.uint8)), "lines after 3 iterations"),
        (change("history/status", lambda a: a + 5), "history has rows that none can have"),
        (change("history/cell", lambda a: a[1:].copy()), "history lacks"),
        (lambda header, arrays: header.update(binds=[]), "first line is damaged"),
        (lambda header, arrays: header.update(more=1), "first line is damaged"),
        (lambda header, arrays: header.update(version=2), "finish the run with gaits 0.1"),
        (lambda header, arrays: header.update(run="b"), "belongs to another run"),
    ],
)
def test_forged_states(run, capsys, attack, reason):
    header, arrays = unpack(newest(run))
    attack(header, arrays)
    pack(newest(run), header, arrays)
    refuse(run, capsys, reason)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{" * 100_000,
        b"[" * 900_000 + b"\n",
        b'{"format": "gaits checkpoint", "version": 3, "version": 3}\n',
        b'{"format": "gaits checkpoint", "version": NaN}\n',
        b"1" * 900_000,
        b"\xff\xfe\n",
        b'"' + b"a" * 3_000_000,
        b"\x80\x05\x95cos\nsystem\n(S'touch owned'\ntR.",
    ],
)
def test_what_is_no_checkpoint(run, capsys, content):
    newest(run).write_bytes(content)
    refuse(run, capsys, "cannot be used")


def test_special_files(run, capsys, tmp_path):
    path = newest(run)
    other = path.rename(tmp_path / "elsewhere.ckpt")
    path.symlink_to(other)
    refuse(run, capsys, "it is a link")
    path.unlink()
    os.mkfifo(path)
    refuse(run, capsys, "not a regular file")
    path.unlink()
    path.symlink_to("/dev/zero")
    refuse(run, capsys, "it is a link")
    path.unlink()
    path.mkdir()
    refuse(run, capsys, "not a regular file")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"next": 5}, "goes on at 5 after 3 of 4"),
        ({"next": 4, "rows": np.zeros((4, 6), np.float32)}, "goes on at 4 after 4 of 4"),
        ({"rows": np.full((3, 6), np.inf, np.float32)}, "not finite"),
    ],
)
def test_a_replay_buffer_that_none_can_be(change, reason):
    from gaits.gradients.replay import ReplayBuffer

    with pytest.raises(Misfit, match=reason):
        ReplayBuffer(4, 1, 2).restore({"rows": np.zeros((3, 6), np.float32), "next": 3, **change})


def test_a_failed_load_changes_no_class(run, capsys):
    """Nothing in a file reaches a name of ours; a search that refused a state still works."""
    entry = ALGORITHMS["map_elites"]
    algorithm = entry.make(small_task(), entry.settings(batch_size=16), np.random.SeedSequence(1))
    before = {name: id(value) for name, value in vars(type(algorithm.emitter)).items()}
    header, arrays = unpack(newest(run))
    for name in ("search/algorithm/emitter/ask", "search/algorithm/emitter/__class__", "search/__init__"):
        pack(newest(run), json.loads(json.dumps(header)), {**arrays, name: np.zeros(1)})
        refuse(run, capsys, "is unknown")
    assert {name: id(value) for name, value in vars(type(algorithm.emitter)).items()} == before
    with gaits.LocalEvaluator(small_task(), workers=1) as evaluator:
        Search(algorithm, evaluator, 1).iterate()
