"""Random damage to every file of a run: noticed, or without effect on any number. A benchmark does more."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gaits
from gaits.runs.evaluation import load_evaluation
from gaits.runs.verify import check_run

FILES = ["config.json", "metrics.csv", "archive.npz", "history.npz", "manifest.json", "evaluation.npz", "checkpoint"]


def damage(content: bytes, chance: random.Random) -> bytes:
    """Flip a bit, change, drop, double or swap some bytes, cut the end off, or append."""
    there, n = chance.randrange(len(content)), chance.randint(1, 8)
    before, part, after = content[:there], content[there : there + n], content[there + n :]
    return chance.choice(
        [
            before + bytes([part[0] ^ 1 << chance.randrange(8)]) + part[1:] + after,
            before + chance.randbytes(len(part)) + after,
            before + after,
            before + part * 2 + after,
            before + part[::-1] + after,
            before,
            content + chance.randbytes(n),
            before + b"0123456789"[n : n + 1] + part[1:] + after,
        ]
    )


def numbers(folder):
    """All that people read of a run."""
    run = gaits.load_run(folder)
    config = {name: value for name, value in vars(run.config).items() if name not in ("evaluations", "name")}
    evaluation = load_evaluation(run)
    parts = [run.metrics.to_dict("list"), run.archive.data(), run.history, vars(evaluation) if evaluation else {}]
    return [config, *[{key: np.asarray(value) for key, value in part.items() if key != "task"} for part in parts]]


def same(a, b):
    if a[0] != b[0]:
        return False
    for one, other in zip(a[1:], b[1:], strict=True):
        if one.keys() != other.keys():
            return False
        if not all(np.array_equal(one[key], other[key], equal_nan=one[key].dtype.kind == "f") for key in one):
            return False
    return True


@pytest.mark.parametrize("name", FILES)
def test_many_times(run, name, monkeypatch):
    monkeypatch.setattr("gaits.runs.binding.PATIENCE", (0.0,))
    chance = random.Random(name)
    path = next((run / name).iterdir()) if name == "checkpoint" else run / name
    content, truth = path.read_bytes(), numbers(run)
    refused = 0
    for i in range(300):
        path.write_bytes(damage(content, chance))
        try:
            assert same(numbers(run), truth), f"silent: {name}, damage {i}"
        except ValueError:
            refused += 1
        if i % 10 == 0:
            verdict = check_run(run)
            assert name != "checkpoint" or verdict.wrong or path.read_bytes() == content
    assert refused > 150 or name == "checkpoint"
