"""Physics is compiled once, said when it happens, and again when any of its files changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gaits import compiling

PHYSICS = Path(compiling.__file__).parent / "physics"

SCRIPT = """
from gaits.compiling import entry

@entry("a sum", 1)
def add(a, b):
    return a + b

assert add(1, 2) == 3
assert add(3, 4) == 7
"""


def run(folder: Path, **variables: str) -> str:
    """What a program with an entry says: compiled in a process of its own."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], env=os.environ | variables, capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout == ""
    return done.stderr


def test_it_is_said_once_and_only_when_it_happens(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(tmp_path, **cache).strip().endswith("compiling a sum, once per machine (about 1 seconds)")
    assert run(tmp_path, **cache) == ""


@pytest.mark.skipif(os.name != "posix", reason="a folder in the place of a file")
def test_without_a_folder_for_it(tmp_path):
    """Not even root can make a folder below a file."""
    (tmp_path / "file").touch()
    (tmp_path / "__pycache__").touch()
    nowhere = str(tmp_path / "file" / "cache")
    variables = {"NUMBA_CACHE_DIR": nowhere, "HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PYTHONDONTWRITEBYTECODE": "1"}
    for _ in range(2):
        assert "every time: no cache folder can be written, see NUMBA_CACHE_DIR" in run(tmp_path, **variables)


@pytest.mark.parametrize("name", sorted(str(path.relative_to(PHYSICS)) for path in PHYSICS.rglob("*.py")))
def test_any_change_is_noticed(name, copied):
    folder, before = copied
    path = folder / name
    text = path.read_text()
    path.write_text(text + "# changed\n")
    assert stamp(folder) != before
    path.write_text(text)
    assert stamp(folder) == before


def test_a_new_file_is_noticed(copied):
    folder, before = copied
    (folder / "engine" / "new.py").touch()
    (folder / "engine" / "renamed.py").write_text("x = 1\n")
    assert stamp(folder) != before


@pytest.fixture
def copied(tmp_path):
    """A copy of the physics and its stamp."""
    folder = tmp_path / "physics"
    for name in compiling.SHARED:
        shutil.copy(PHYSICS.parent / name, tmp_path)
    shutil.copytree(PHYSICS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder, stamp(folder)


def stamp(folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "PACKAGE", folder.parent)
        return compiling.source_stamp.__wrapped__(folder)
