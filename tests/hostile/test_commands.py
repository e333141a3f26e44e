"""Random damage through every command, and malformed requests: a part of what benchmarks/corrupt.py and fuzz.py do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
pytest.importorskip("starlette", reason="needs gaits[explore]")
import corrupt
import fuzz


@pytest.mark.skipif(not hasattr(__import__("signal"), "SIGALRM"), reason="hangs are noticed by an alarm")
@pytest.mark.usefixtures("undrawn")
def test_damage_through_every_command(tmp_path):
    counts, problems = corrupt.attack(64, folder=tmp_path)
    assert problems == []
    assert counts["refused"] > 20


def test_malformed_requests():
    statuses, wrong, _ = fuzz.fuzz(400)
    assert wrong == []
    assert statuses[200] > 20
