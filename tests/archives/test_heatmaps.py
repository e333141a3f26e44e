from __future__ import annotations

import io

import numpy as np
import pytest

import gaits
from gaits.archives import heatmaps, insert, make_archive
from gaits.archives.colors import color_limits
from gaits.archives.heatmaps import nested, objective_grid, save_archive_figure, voronoi_cells

CVT = {"archive": "cvt", "cells": 60}


def filled(task, n):
    archive = make_archive(task, solution_dim=1)
    rng = np.random.default_rng(0)
    insert(archive, np.zeros((n, 1), np.float32), rng.normal(500, 300, n), rng.random((n, len(task.grid))))
    return archive


@pytest.mark.parametrize("name", gaits.TASKS)
@pytest.mark.parametrize(("n", "changes"), [(0, {}), (1, {}), (300, {}), (0, CVT), (300, CVT)])
def test_every_task_can_be_drawn(name, n, changes, tmp_path):
    task = gaits.make_task(name, **changes)
    save_archive_figure(filled(task, n), task, tmp_path / "archive.png")
    assert (tmp_path / "archive.png").read_bytes().startswith(b"\x89PNG")


def test_colours_are_the_tasks_and_their_ends_say_what_lies_beyond(monkeypatch):
    assert color_limits(gaits.make_task("qd_half_cheetah")) == (0.0, 3000.0)
    assert color_limits(gaits.make_task("qd_walker", objective_range=(-100.0, 50.0))) == (-100.0, 50.0)
    assert color_limits(gaits.make_task("lp_sphere")) == (0.0, 100.0)
    task = gaits.make_task("qd_walker", grid=(2, 3))
    archive, drawn = make_archive(task, solution_dim=1), []
    insert(archive, np.zeros((2, 1), np.float32), np.array([-7.0, 2600.0]), np.array([[0.9, 0.1], [0.1, 0.1]]))
    monkeypatch.setattr(heatmaps.Figure, "savefig", lambda figure, *_, **options: drawn.append(figure))
    for limits in (None, (-10.0, 3000.0)):
        save_archive_figure(archive, task, io.BytesIO(), limits=limits)
    clipped, whole = (figure.axes[-1] for figure in drawn)
    assert [text.get_text() for text in clipped.texts] == ["to -7", "to 2,600"]
    assert len(whole.texts) == 0
    assert [figure.axes[0].images[0].get_clim() for figure in drawn] == [(0.0, 2500.0), (-10.0, 3000.0)]


def test_grid():
    task = gaits.make_task("qd_walker", grid=(2, 3))
    archive = make_archive(task, solution_dim=1)
    insert(archive, np.zeros((1, 1), np.float32), np.array([7.0]), np.array([[0.9, 0.1]]))
    grid = objective_grid(archive)
    assert grid[1, 0] == 7
    assert np.isnan(grid).sum() == 5


def area(polygon):
    x, y = polygon.T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


@pytest.mark.parametrize(("name", "cells"), [("qd_hopper", 1), ("qd_hopper", 60), ("qd_walker", 1), ("qd_walker", 60)])
def test_the_cells_of_a_cvt_fill_the_picture(name, cells):
    task = gaits.make_task(name, archive="cvt", cells=cells)
    archive = make_archive(task, solution_dim=0)
    polygons = voronoi_cells(archive)
    assert len(polygons) == cells
    assert sum(map(area, polygons)) == pytest.approx(1)
    k = len(task.measure_names)
    inside = np.array([polygon.mean(axis=0)[:k] for polygon in polygons])
    np.testing.assert_array_equal(archive.index_of(inside), np.arange(cells))


def test_a_cvt_of_four_measures_is_drawn_by_its_slices():
    archive = filled(gaits.make_task("qd_ant", **CVT), 300)
    grid = objective_grid(archive)
    assert grid.shape == (6, 6, 24, 24)
    middle = np.array([2.5 / 6, 0.5 / 6, 7.5 / 24, 3.5 / 24])
    _, elite = archive.retrieve_single(middle)
    np.testing.assert_equal(grid[2, 0, 7, 3], elite["objective"])


def test_nesting():
    """Even measures along x, odd along y, earlier ones outside."""
    grid = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    picture = nested(grid)
    assert picture.shape == (15, 8)
    assert picture[1 * 5 + 3, 1 * 4 + 2] == grid[1, 1, 2, 3]
    np.testing.assert_array_equal(nested(np.arange(6)), [np.arange(6)])
    np.testing.assert_array_equal(nested(grid[:, :, 0, 0]), grid[:, :, 0, 0].T)
