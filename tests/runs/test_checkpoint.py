"""Checkpoints round-trip exactly, and nothing bad in one goes unnoticed or runs."""

from __future__ import annotations

import io
import json
import os
import pickle

import numpy as np
import pytest
from conformance.algorithm import assert_same_archive, small_task
from ribs.emitters import GaussianEmitter

from gaits.archives import insert, make_archive
from gaits.runs import checkpoint
from gaits.runs.checkpoint import CheckpointError


def make_state(**changes):
    archive = make_archive(small_task(**changes), seed=3)
    emitter = GaussianEmitter(archive, sigma=0.1, x0=np.zeros(archive.solution_dim), batch_size=8, seed=4)
    insert(archive, emitter.ask(), np.arange(8.0), np.linspace(0, 1, 8)[:, None])
    return {"archive": archive, "emitter": emitter, "rng": np.random.default_rng(5), "rows": ["a", "b"], "n": 3, "x": 0.1}


@pytest.fixture
def path(tmp_path):
    return checkpoint.save(tmp_path, make_state(), "run-a", 7)


def test_round_trip_continues_bit_for_bit(path):
    state, original = checkpoint.load(path, "run-a"), make_state()
    assert_same_archive(state["archive"], original["archive"])
    assert state["emitter"].archive is state["archive"]
    for _ in range(3):
        np.testing.assert_array_equal(state["emitter"].ask(), original["emitter"].ask())
    assert state["rng"].random() == original["rng"].random()
    assert (state["rows"], state["n"], state["x"]) == (["a", "b"], 3, 0.1)
    insert(state["archive"], original["emitter"].ask(), np.full(8, 99.0), np.linspace(0, 1, 8)[:, None])  # still writable


def test_a_cvt_finds_the_same_cells_after_a_round_trip(tmp_path):
    original = make_state(archive="cvt", cells=64)["archive"]
    archive = checkpoint.load(checkpoint.save(tmp_path, {"archive": original}, "run-a", 1), "run-a")["archive"]
    assert_same_archive(archive, original)
    measures = np.random.default_rng(0).random((1000, 1))
    np.testing.assert_array_equal(archive.index_of(measures), original.index_of(measures))


def test_nothing_but_a_tree_of_points_stands_for_a_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint._Pickler, "persistent_id", lambda self, obj: {"points": 3} if obj == "tree" else None)
    path = checkpoint.save(tmp_path, {"x": "tree"}, "run-a", 1)
    with pytest.raises(CheckpointError, match="cannot be used"):
        checkpoint.load(path, "run-a")


def test_every_truncation_is_noticed(path):
    content = path.read_bytes()
    for length in (0, 1, 50, 200, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="cannot be used"):
            checkpoint.load(path, "run-a")
    path.write_bytes(content + b"x")
    with pytest.raises(CheckpointError, match="padded"):
        checkpoint.load(path, "run-a")


def test_every_flipped_bit_is_noticed(path):
    content = path.read_bytes()
    for position in np.random.default_rng(0).integers(len(content), size=40).tolist() + list(range(0, 250, 7)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError, match="cannot be used"):
            checkpoint.load(path, "run-a")


def test_another_runs_checkpoint(path):
    with pytest.raises(CheckpointError, match="belongs to another run"):
        checkpoint.load(path, "run-b")


def test_another_version(path):
    header, body = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps({**json.loads(header), "version": 1}).encode() + b"\n" + body)
    with pytest.raises(CheckpointError, match="version 1, and this gaits reads version 2"):
        checkpoint.load(path, "run-a")


class Attack:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def test_code_in_a_checkpoint_is_refused(tmp_path):
    target = tmp_path / "owned"
    for attack in (
        Attack(os.system, f"touch {target}"),
        Attack(eval, f"open({str(target)!r}, 'w')"),
        Attack(getattr, "text", "upper"),
        Attack(np.save, str(target), 1),
        Attack(pickle.loads, b""),
    ):
        path = checkpoint.save(tmp_path, {"x": attack}, "run-a", 1)
        with pytest.raises(CheckpointError, match="which no checkpoint of gaits needs"):
            checkpoint.load(path, "run-a")
    assert not target.exists()


@pytest.mark.parametrize("name", ["parse_dtype", "KDTree", "np", "nothing"])
def test_of_ribs_only_its_own_classes_are_given(name):
    """Not its functions, nor what its modules import, a class or not."""
    module = "ribs.archives._utils" if name == "parse_dtype" else "ribs.archives._cvt_archive"
    with pytest.raises(CheckpointError, match=f"it asks for {module}.{name}, which no checkpoint of gaits needs"):
        checkpoint._Unpickler(io.BytesIO(f"c{module}\n{name}\n.".encode())).load()


def test_the_newest_two_are_kept(tmp_path):
    for iteration in (9, 10, 11):
        checkpoint.save(tmp_path, {}, "run-a", iteration)
    assert [path.stem for path in checkpoint.available(tmp_path)] == ["000000011", "000000010"]


def test_a_failed_write_leaves_the_old_one(tmp_path, monkeypatch):
    checkpoint.save(tmp_path, {"x": 1}, "run-a", 1)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(tmp_path, {"x": 2}, "run-a", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["000000001.ckpt"]
    assert checkpoint.load(tmp_path / "000000001.ckpt", "run-a") == {"x": 1}
