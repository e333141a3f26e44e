from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from conformance.algorithm import assert_same_archive, small_task

from gaits import archives
from gaits.archives import insert, make_archive, summary


def offers(n, seed, decimals=1):
    """Solutions with many collisions and exact ties."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=n).round(decimals), rng.random((n, 1)).round(decimals)


@pytest.mark.parametrize("seed", range(5))
def test_insert_equals_adding_one_by_one(seed):
    fast, slow = (make_archive(small_task(grid=(7,)), solution_dim=3) for _ in range(2))
    for batch in range(4):
        solutions, objective, measures = offers(40, 10 * seed + batch)
        got = insert(fast, solutions, objective, measures)
        expected = [slow.add_single(*row) for row in zip(solutions, objective, measures, strict=True)]
        np.testing.assert_array_equal(got.status, [one["status"] for one in expected])
        np.testing.assert_array_equal(got.value, [one["value"] for one in expected])
        assert_same_archive(fast, slow)


def test_insert_nothing():
    archive = make_archive(small_task(), solution_dim=3)
    got = insert(archive, np.zeros((0, 3), np.float32), np.zeros(0), np.zeros((0, 1)))
    assert len(got.cell) == len(archive) == 0


def test_cells():
    """Evenly sized cells on [0, 1]; a boundary belongs to the upper cell, 1 to the last."""
    archive = make_archive(small_task(grid=(4,)), solution_dim=1)
    measures = np.array([0.0, 0.2499, 0.25, 0.5, 0.75, 0.999, 1.0])[:, None]
    np.testing.assert_array_equal(archive.index_of(measures), [0, 0, 1, 2, 3, 3, 3])


def test_summary_by_hand():
    archive = make_archive(small_task(grid=(4,)), solution_dim=1)
    insert(archive, np.zeros((3, 1), np.float32), np.array([-5.0, 10.0, 1.0]), np.array([[0.1], [0.3], [0.9]]))
    assert summary(archive, -20.0) == {
        "elites": 3,
        "coverage": 0.75,
        "qd_score": 15 + 30 + 21,
        "objective_sum": 6,
        "objective_min": -5,
        "objective_max": 10,
        "objective_mean": 2,
    }
    empty = summary(make_archive(small_task(), solution_dim=1), -20.0)
    assert (empty["elites"], empty["qd_score"]) == (0, 0)
    assert np.isnan(empty["objective_max"])


def saved(archive):
    file = io.BytesIO()
    archives.save(archive, file)
    return file.getvalue()


def test_save_and_load(tmp_path):
    archive = make_archive(small_task(grid=(16,)), solution_dim=3)
    insert(archive, *offers(30, 0, decimals=9))
    path = tmp_path / "archive.npz"
    path.write_bytes(saved(archive))
    loaded = archives.load(path)
    assert_same_archive(archive, loaded)
    assert loaded.stats.qd_score == pytest.approx(archive.stats.qd_score)
    with zipfile.ZipFile(path) as parts:
        assert {"solution.npy", "objective.npy", "measures.npy", "index.npy"} <= set(parts.namelist())


def test_damaged_and_foreign_files(tmp_path):
    archive = make_archive(small_task(grid=(16,)), solution_dim=3)
    insert(archive, *offers(30, 0))
    good = saved(archive)
    pickled = io.BytesIO()
    np.savez(pickled, solution=np.array([{"a": 1}], dtype=object))
    for name, content in {
        "cut": good[: len(good) // 2],
        "empty": b"",
        "text": b"hello",
        "pickle": pickled.getvalue(),
    }.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}.npz is not a readable archive"):
            archives.load(path)
