from __future__ import annotations

import subprocess
import sys

import pytest

import gaits


def test_importing_is_light():
    code = "import sys, gaits; print([m for m in ('jax', 'numba', 'pybullet', 'ribs', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_pybullet_is_quiet():
    code = "from gaits.physics.bullet import capi; capi.pybullet(); print('done')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_public_names():
    for name in gaits.__all__:
        assert getattr(gaits, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        gaits.nonsense  # noqa: B018
