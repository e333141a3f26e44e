"""Every tutorial is a notebook that runs, and the pages of the site are all there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import gaits
from gaits.algorithms import ALGORITHMS

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_it_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    if "import mujoco" in page.read_text():
        pytest.importorskip("mujoco", reason="needs gaits[mujoco]")
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.setenv("PYTHONWARNINGS", "error::DeprecationWarning:__main__")
    import notebooks

    notebook = notebooks.execute(page, tmp_path)
    shown = notebooks.to_markdown(notebook, page.stem, tmp_path)
    assert list(tmp_path.glob(f"{page.stem}-*.png"))
    assert all(name in shown for name in re.findall(r"\]\(([\w-]+\.png)\)", shown))
    sys.modules.pop("notebooks")


def test_every_page_is_in_the_nav():
    nav = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text())
    pages = [str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")]
    assert not set(pages) - set(nav)
    assert len(nav) == len(set(nav))


def test_every_algorithm_is_in_the_table():
    rows = re.findall(r"^\| \[`(\w+)`\]", (ROOT / "docs" / "algorithms.md").read_text(), re.MULTILINE)
    assert rows == list(ALGORITHMS)


def test_pictures_are_small():
    pictures = [path for path in ROOT.glob("docs/**/*") if path.suffix in (".gif", ".png", ".webp")]
    pictures.remove(ROOT / "docs" / "gaits.gif")  # the README's, which test_readme.py measures
    assert max(path.stat().st_size for path in pictures) < 600_000


def test_one_version():
    said = re.compile(rf"(?i)^\s*version:? {re.escape(gaits.__version__)}$", re.MULTILINE)
    assert said.search((ROOT / "CITATION.cff").read_text())
    assert said.search((ROOT / "containers" / "gaits.def").read_text())
