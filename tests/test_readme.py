"""The README is true: each of its commands is executed, with less to do, and its links also work on a package index."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from PIL import Image
from test_docs import LINK

import gaits
from gaits import cli
from gaits.explorer import launch

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
LINES = [
    re.split(r"\s+# ", line.strip())[0]
    for line in re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", README, flags=re.S), re.M)
]
COMMANDS = [shlex.split(line) for line in LINES]
LESS = {
    "train": ["--evaluations", "100", "--max-steps", "20", "--workers", "1"],
    "adapt": ["--trials", "2", "--episodes", "2"],
    "study": ["--evaluations", "50"],
    "evaluate": ["--episodes", "2"],
}
OWN = "import own_tasks\n\nbiped = own_tasks.point()\n"
SMALL = "[task.qd_walker]\ngrid = [6, 6]\nmax_steps = 20\n\n[task.qd_hopper]\nmax_steps = 20\n"


def lessen(words: list[str]) -> list[str]:
    """The same with little to do; an option that is there already gives way, and a cluster is this machine."""
    words = " ".join(words).replace("--evaluations 25000", "").replace("--evaluations 8000", "").split()
    words = ["local" if word.startswith("tcp://") else word for word in words]
    more = (["--cells", "20"] if "cvt" in words else []) + (["--critic-steps", "2"] if "pga_me" in words else [])
    return [*words, *LESS.get(words[0], []), *more]


def test_every_line_is_a_command():
    assert {words[0] for words in COMMANDS} == {"gaits", "make", "pip", "."}
    shown = (
        "docs/gaits.gif",
        "\n    pip install",
        "\n    gaits demo",
        "\n    make train",
        "\n    make test",
        "docs/explorer.png",
    )
    places = [README.index(text) for text in shown]
    assert places == sorted(places)
    assert README[: places[-1]].count("\n") < 20  # a screen


@pytest.fixture
def my_robots(tmp_path, monkeypatch):
    """A user's module; other tests have another of that name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_robots.py").write_text(OWN)
    known, tasks = sys.modules.pop("my_robots", None), dict(gaits.TASKS)
    yield
    sys.modules.pop("my_robots", None)
    if known is not None:
        sys.modules["my_robots"] = known
    gaits.TASKS.clear()
    gaits.TASKS.update(tasks)


@pytest.mark.skipif(os.name != "posix", reason="README's make is POSIX")
@pytest.mark.usefixtures("my_robots")
def test_its_commands_work(tmp_path, monkeypatch, capsys):
    """All of them; only the page is not served, which would never end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "serve", lambda records, *options: print(len(records), "shown"))
    shutil.copytree(ROOT / "examples", "examples")
    study = Path("examples/study.toml")
    study.write_text(study.read_text().replace("[task.qd_hopper]\n", SMALL).replace("grid = [1000]", "grid = [50]"))
    for program, *words in COMMANDS:
        if program == "gaits":
            assert cli.main(lessen(words)) == 0, words
    assert "1 shown" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="README's make is POSIX")
def test_what_make_does(tmp_path, monkeypatch):
    """``make test`` is what runs this; ``make train`` trains what can be trained."""
    assert [words[1:] for words in COMMANDS if words[0] == "make"] == [["train"], ["test"]]
    told = {
        name: subprocess.run(["make", "-n", name], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in ("train", "test")
    }
    assert all(f"bin/{tool}" in told["test"] for tool in ("ruff check", "mypy", "python -m pytest"))
    (command,) = re.findall(r"bin/gaits (train .*?);", told["train"])
    monkeypatch.chdir(tmp_path)
    assert cli.main(lessen(command.split())) == 0
    assert cli.main(re.findall(r"bin/gaits (resume .*?);", told["train"])[0].split()) == 0
    assert Path("runs/first/archive.png").exists()


def test_its_extras_exist():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra for extras in re.findall(r"gaits\[([a-z,]+)\]", README) for extra in extras.split(",")}
    assert "explore" in named
    assert named <= set(known)


def test_it_works_on_a_package_index():
    """What hatchling puts into a package: the same text, whose links lead into the repository."""
    project = ProjectMetadata(str(ROOT), PluginManager()).core
    repository = project.urls["Repository"]
    assert project.readme_content_type == "text/markdown"
    assert re.sub(rf"{repository}/(raw|blob)/HEAD/", "", project.readme) == README
    targets = re.findall(LINK, project.readme)
    assert len(targets) == len(re.findall(LINK, README)) > 20
    for target in targets:
        kind = "raw" if target.endswith((".gif", ".png")) else "blob"
        path = target.removeprefix(f"{repository}/{kind}/HEAD/")
        assert path != target
        assert (ROOT / path).exists()


@pytest.mark.parametrize("file", ["Dockerfile", "gaits.def"])
def test_a_container_copies_what_the_build_needs(file, tmp_path):
    text = (ROOT / "containers" / file).read_text()
    for names in re.findall(r"^(?:COPY|   ) (.+) (?:\./|/opt/gaits/)\S*$", text, re.MULTILINE):
        for name in names.split():
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            (tmp_path / name).parent.mkdir(exist_ok=True)
            copy(ROOT / name, tmp_path / name)
    here, there = (ProjectMetadata(str(folder), PluginManager()) for folder in (ROOT, tmp_path))
    assert here.core.readme == there.core.readme
    assert here.version == there.version


def test_gaits_move():
    with Image.open(ROOT / "docs" / "gaits.gif") as gif:
        assert gif.n_frames >= 40
    assert (ROOT / "docs" / "gaits.gif").stat().st_size < 1.5e6
