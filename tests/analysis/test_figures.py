from __future__ import annotations

import numpy as np
import pytest

import gaits
from gaits.analysis.figures import nested, objective_grid, save_archive_figure
from gaits.archives import insert, make_archive


def filled(task, n):
    archive = make_archive(task, solution_dim=1)
    rng = np.random.default_rng(0)
    insert(archive, np.zeros((n, 1), np.float32), rng.normal(500, 300, n), rng.random((n, len(task.grid))))
    return archive


@pytest.mark.parametrize("name", gaits.TASKS)
@pytest.mark.parametrize("n", [0, 1, 300])
def test_every_task_can_be_drawn(name, n, tmp_path):
    task = gaits.make_task(name)
    save_archive_figure(filled(task, n), task, tmp_path / "archive.png")
    assert (tmp_path / "archive.png").read_bytes().startswith(b"\x89PNG")


def test_grid():
    task = gaits.make_task("qd_walker", grid=(2, 3))
    archive = make_archive(task, solution_dim=1)
    insert(archive, np.zeros((1, 1), np.float32), np.array([7.0]), np.array([[0.9, 0.1]]))
    grid = objective_grid(archive)
    assert grid[1, 0] == 7
    assert np.isnan(grid).sum() == 5


def test_nesting():
    """Even measures along x, odd along y, earlier ones outside."""
    grid = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    picture = nested(grid)
    assert picture.shape == (15, 8)
    assert picture[1 * 5 + 3, 1 * 4 + 2] == grid[1, 1, 2, 3]
    np.testing.assert_array_equal(nested(np.arange(6)), [np.arange(6)])
    np.testing.assert_array_equal(nested(grid[:, :, 0, 0]), grid[:, :, 0, 0].T)
