"""Checkpoints round-trip exactly, and nothing bad in one goes unnoticed or runs."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from conformance.algorithm import assert_same_archive, small_task

from gaits.algorithms.emitters import GaussianEmitter
from gaits.algorithms.ribs_state import archive_state, restore_archive
from gaits.archives import insert, make_archive
from gaits.runs import checkpoint
from gaits.runs.checkpoint import CheckpointError
from gaits.states import Rows, generator_state, restore_generator


class Things:
    """A little of everything that a state is made of."""

    def __init__(self, filled=False, **changes):
        self.archive = make_archive(small_task(**changes), seed=3)
        self.emitter = GaussianEmitter(self.archive, 0.1, np.zeros(self.archive.solution_dim), batch_size=8, seed=4)
        self.rng, self.rows = np.random.default_rng(5), np.zeros(0, np.int8)
        if filled:
            self.rows = np.arange(7, dtype=np.int8)
            self.rng.random(3, np.float32)  # half a word is left over
            for _ in range(3):
                insert(self.archive, self.emitter.ask(), self.rng.random(8), self.rng.random((8, 1)))

    def state(self):
        parts = {"archive": archive_state(self.archive), "emitter": self.emitter.state()}
        return {**parts, "rng": generator_state(self.rng), "rows": [Rows(self.rows, 10), None], "n": 3, "x": float("nan")}

    def restore(self, state):
        restore_archive(self.archive, state["archive"])
        self.emitter.restore(state["emitter"])
        restore_generator(self.rng, state["rng"])
        self.rows = state["rows"][0]


LIKE = Things().state()


@pytest.fixture
def path(tmp_path):
    return checkpoint.save(tmp_path, Things(filled=True).state(), "run-a", 7)


@pytest.mark.parametrize("changes", [{}, {"archive": "cvt", "cells": 64}])
def test_round_trip_continues_bit_for_bit(tmp_path, changes):
    original, things = Things(filled=True, **changes), Things(**changes)
    path = checkpoint.save(tmp_path, original.state(), "run-a", 7)
    state = checkpoint.load(path, "run-a", things.state())
    things.restore(state)
    assert np.isnan(state["x"])
    assert (state["n"], state["rows"][1]) == (3, None)
    np.testing.assert_array_equal(things.rows, original.rows)
    for _ in range(3):
        solutions = things.emitter.ask()
        np.testing.assert_array_equal(solutions, original.emitter.ask())
        objective, measures = things.rng.random(8), things.rng.random((8, 1))
        for archive in (things.archive, original.archive):
            insert(archive, solutions, objective, measures)
        np.testing.assert_array_equal(original.rng.random(16), np.concatenate([objective, measures[:, 0]]))
    assert_same_archive(things.archive, original.archive)
    assert things.archive.stats == original.archive.stats
    np.testing.assert_array_equal(things.archive._store.occupied_list, original.archive._store.occupied_list)
    assert things.archive.best_elite["index"] == original.archive.best_elite["index"]


def test_only_filled_cells_are_stored(tmp_path):
    sizes = [checkpoint.save(tmp_path, Things(filled=filled).state(), "a", 1).stat().st_size for filled in (False, True)]
    assert sizes[0] < 4096 < sizes[1] < 64 * 155 * 4


def test_every_truncation_is_noticed(path):
    content = path.read_bytes()
    for length in (0, 1, 50, 200, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="cannot be used"):
            checkpoint.load(path, "run-a", LIKE)
    path.write_bytes(content + b"x")
    with pytest.raises(CheckpointError, match="padded"):
        checkpoint.load(path, "run-a", LIKE)


def test_every_flipped_bit_is_noticed(path):
    content = path.read_bytes()
    for position in np.random.default_rng(0).integers(len(content), size=100).tolist() + list(range(0, 2500, 7)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError, match="cannot be used"):
            checkpoint.load(path, "run-a", LIKE)


def test_another_runs_checkpoint(path):
    with pytest.raises(CheckpointError, match="belongs to another run"):
        checkpoint.load(path, "run-b", LIKE)


@pytest.mark.parametrize(("version", "message"), [(1, "finish the run with gaits 0.1"), (2, "gaits 0.1"), (9, "version 3")])
def test_another_version(path, version, message):
    header, body = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps({**json.loads(header), "version": version}).encode() + b"\n" + body)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(path, "run-a", LIKE)


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
    assert checkpoint.load(tmp_path / "000000001.ckpt", "run-a", {"x": 0}) == {"x": 1}
