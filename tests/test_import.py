from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gaits

ROOT = Path(__file__).parents[1]
COMES_WITH = {
    **dict.fromkeys(("pybullet", "pybullet_data", "pybullet_envs"), "pybullet-arm64"),
    **dict.fromkeys(("dask", "tornado"), "distributed"),
    "imageio_ffmpeg": "imageio-ffmpeg",
    "llvmlite": "numba",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
}
"""Distributions that are not called what their modules are, or bring others along."""
THEIR_OWN = {"IPython", "wandb"}
"""Used where somebody has them already."""


def test_what_is_imported_is_declared():
    nodes = [node for path in (ROOT / "src").rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    names = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    used = {name.split(".")[0] for name in names} - sys.stdlib_module_names - THEIR_OWN - {"gaits"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[^\w.-]", one)[0] for names in lists for one in names}
    assert {COMES_WITH.get(name, name) for name in used} <= declared


def test_importing_is_light():
    code = "import sys, gaits; print([m for m in ('jax', 'numba', 'pybullet', 'ribs', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_what_starts_without_what():
    """Reading runs needs neither JAX nor Matplotlib nor Dask, and ribs comes without what takes it a second."""
    heavy = "('jax', 'matplotlib', 'distributed', 'sklearn', 'numpy_groupies', 'scipy.stats')"
    code = f"import sys, gaits.runs, gaits.export; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_what_ribs_imports_late_works():
    code = (
        "import gaits.runs, numpy as np, ribs.archives, ribs.emitters as e\n"
        "archive = ribs.archives.GridArchive(solution_dim=1, dims=[4], ranges=[(0, 1)])\n"
        "assert archive.add([[1.0]], [2.0], [[0.5]])['status'] == 2\n"
        "assert not isinstance(archive, e.BayesianOptimizationEmitter)\n"
        "centroids = ribs.archives.CVTArchive(solution_dim=1, centroids=3, ranges=[(0, 1)], samples=9).centroids\n"
        "assert centroids.shape == (3, 1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pybullet_is_quiet():
    code = "from gaits.physics.bullet import capi; capi.pybullet(); print('done')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_public_names():
    for name in gaits.__all__:
        assert getattr(gaits, name) is not None
    assert dir(gaits) == sorted([*gaits.__all__, "__version__"])
    with pytest.raises(AttributeError, match="nonsense"):
        gaits.nonsense  # noqa: B018
