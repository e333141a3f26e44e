from __future__ import annotations

import numpy as np
import pytest
from ribs.archives import CVTArchive, GridArchive

from gaits.archives.cells import best_row, find_cell, name_cell


def grid(dims=(4, 5), filled=((0, 0), (2, 3), (3, 4))):
    archive = GridArchive(solution_dim=1, dims=dims, ranges=[(0, 1)] * len(dims))
    for value, cell in enumerate(filled):
        measures = (np.array(cell) + 0.5) / dims
        archive.add([[value]], [float(value)], [measures])
    return archive


def centroids():
    places = np.array([[0.1, 0.1], [0.9, 0.9], [0.2, 0.8], [0.8, 0.2]])
    archive = CVTArchive(solution_dim=1, centroids=places, ranges=[(0, 1)] * 2)
    archive.add([[7.0], [8.0]], [1.0, 2.0], places[[1, 3]])
    return archive


@pytest.mark.parametrize(("text", "value"), [("0,0", 0), ("2,3", 1), (" 2 , 3", 1), ("13", 1), ("19", 2)])
def test_by_indices_and_by_plain_index(text, value):
    archive = grid()
    assert archive.data("solution")[find_cell(archive, text)] == value


def test_names_are_found_again():
    archive = grid()
    for row, index in enumerate(archive.data("index")):
        assert find_cell(archive, name_cell(archive, index)) == row


def test_one_measure():
    archive = grid((10,), ((3,), (7,)))
    assert archive.data("objective")[find_cell(archive, "7")] == 1
    assert name_cell(archive, 7) == "7"


def test_best():
    archive = grid()
    assert archive.data("objective")[best_row(archive)] == 2
    with pytest.raises(ValueError, match="archive is empty"):
        best_row(grid(filled=()))


def test_an_archive_without_a_grid():
    archive = centroids()
    assert archive.data("solution")[find_cell(archive, "3")] == 8
    with pytest.raises(ValueError, match=r"Cell 2 is empty. The nearest filled ones: 1; 3."):
        find_cell(archive, "2")
    with pytest.raises(ValueError, match="no grid: a cell is a plain index; got '1,1'"):
        find_cell(archive, "1,1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2,4", "Cell 2,4 is empty. The nearest filled ones: 2,3; 3,4; 0,0."),
        ("4,0", "Cell 4,0 is not in the grid: its indices go from 0 to 3, 0 to 4."),
        ("-1,0", "not in the grid"),
        ("20", "plain indices go from 0 to 19"),
        ("-1", "plain indices go from 0 to 19"),
        ("1,2,3", "a grid of 2 measure"),
        ("best", "whole numbers such as 2,2; got 'best'"),
        ("", "whole numbers such as 2,2; got ''"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(ValueError, match=message):
        find_cell(grid(), text)


def test_an_empty_archive():
    with pytest.raises(ValueError, match="archive is empty"):
        find_cell(grid(filled=()), "0,0")
