from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from conformance.algorithm import assert_same_archive, small_task

from gaits import archives
from gaits.archives import KINDS, insert, make_archive, summary
from gaits.tasks.task import ARCHIVES


def task_with(archive, n):
    """A task of one measure with an archive of n cells."""
    return small_task(grid=(n,), archive=archive)


def test_every_archive_that_a_task_can_name_can_be_made():
    assert tuple(KINDS) == ARCHIVES


def offers(n, seed, decimals=1):
    """Solutions with many collisions and exact ties."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=n).round(decimals), rng.random((n, 1)).round(decimals)


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("seed", range(5))
def test_insert_equals_adding_one_by_one(archive, seed):
    fast, slow = (make_archive(task_with(archive, 7), solution_dim=3) for _ in range(2))
    for batch in range(4):
        solutions, objective, measures = offers(40, 10 * seed + batch)
        got = insert(fast, solutions, objective, measures)
        expected = [slow.add_single(*row) for row in zip(solutions, objective, measures, strict=True)]
        np.testing.assert_array_equal(got.status, [one["status"] for one in expected])
        np.testing.assert_array_equal(got.value, [one["value"] for one in expected])
        assert_same_archive(fast, slow)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_insert_nothing(archive):
    archive = make_archive(task_with(archive, 7), solution_dim=3)
    got = insert(archive, np.zeros((0, 3), np.float32), np.zeros(0), np.zeros((0, 1)))
    assert len(got.cell) == len(archive) == 0


def test_cells():
    """Evenly sized cells on [0, 1]; a boundary belongs to the upper cell, 1 to the last."""
    archive = make_archive(small_task(grid=(4,)), solution_dim=1)
    measures = np.array([0.0, 0.2499, 0.25, 0.5, 0.75, 0.999, 1.0])[:, None]
    np.testing.assert_array_equal(archive.index_of(measures), [0, 0, 1, 2, 3, 3, 3])


@pytest.mark.parametrize("archive", ARCHIVES)
def test_summary_by_hand(archive):
    archive = make_archive(task_with(archive, 4), solution_dim=1)
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


@pytest.mark.parametrize(("archive", "cells"), [("grid", "dims"), ("cvt", "centroids")])
def test_save_and_load(tmp_path, archive, cells):
    archive = make_archive(task_with(archive, 16), solution_dim=3)
    insert(archive, *offers(30, 0, decimals=9))
    path = tmp_path / "archive.npz"
    path.write_bytes(saved(archive))
    loaded = archives.load(path)
    assert type(loaded) is type(archive)
    assert_same_archive(archive, loaded)
    np.testing.assert_array_equal(getattr(loaded, cells), getattr(archive, cells))
    assert loaded.stats.qd_score == pytest.approx(archive.stats.qd_score)
    with zipfile.ZipFile(path) as parts:
        assert {"solution.npy", "objective.npy", "measures.npy", "index.npy", f"{cells}.npy"} <= set(parts.namelist())
    bare = archives.load_objectives(path)
    assert bare.solution_dim == 0
    np.testing.assert_array_equal(np.sort(bare.data("objective")), np.sort(archive.data("objective")))


@pytest.mark.parametrize("archive", ARCHIVES)
def test_an_empty_archive_round_trips(tmp_path, archive):
    path = tmp_path / "archive.npz"
    path.write_bytes(saved(make_archive(task_with(archive, 5), solution_dim=3)))
    assert (len(archives.load(path)), archives.load_objectives(path).cells) == (0, 5)


@pytest.mark.parametrize("archive", ARCHIVES)
def test_damaged_and_foreign_files(tmp_path, archive):
    archive = make_archive(task_with(archive, 16), solution_dim=3)
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
        with pytest.raises(ValueError, match=f"{name}.npz is not a readable archive"):
            archives.load_objectives(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"centroids": None}, "does not say what its cells are"),
        ({"centroids": np.full((16, 1), np.nan)}, "does not say what its cells are"),
        ({"centroids": np.zeros((16, 2))}, "not a readable archive"),
        ({"centroids": np.linspace(0.9, 0.1, 16)[:, None]}, "elites are not in their cells"),
        ({"centroids": np.linspace(0, 1, 3)[:, None]}, "elites are not in their cells"),
    ],
)
def test_cells_that_do_not_fit_the_elites(tmp_path, changes, message):
    archive = make_archive(task_with("cvt", 16), solution_dim=3)
    insert(archive, *offers(30, 0))
    with np.load(io.BytesIO(saved(archive))) as file:
        arrays = {**file, **changes}
    path = tmp_path / "archive.npz"
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})
    with pytest.raises(ValueError, match=message):
        archives.load(path)
