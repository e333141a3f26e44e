"""Every Python block and every ``gaits`` command of the docs is executed, page by page, with less to do.

Not here: the README's commands (``test_readme.py``), tutorials' Python (``test_tutorials.py``), and what
:data:`ELSEWHERE` names.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import gymnasium
import pytest
from test_docs import PAGES, ROOT, ids
from test_readme import LESS

import gaits
from gaits import cli
from gaits.explorer import launch

ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "docs/cluster.md": "needs other machines, or a Slurm; tests/evaluation has clusters of this one",
    "docs/physics.md": "benchmarks; tests/test_cli.py has gaits bench with less to do",
    "docs/replication.md": "the paper's study; tests/test_replication.py compares its runs",
    "docs/beyond.md": "long studies; tests/test_replication.py compares their runs",
}
LESS = {
    **LESS,
    "resume": ["--evaluations", "150", "--workers", "1"],
    "study": ["--evaluations", "50", "--workers", "1"],
    "sweep": ["--trials", "1"],
    "video": ["--seconds", "0.2"],
}
CRITICS = ("pga_me", "pga_budget", "dcrl_me", "cma_mega_td3", "cma_mega_td3_es")
STUDY = 'evaluations = 50\nseeds = [1]\ntasks = ["{}"]\nalgorithms = ["map_elites"]\n'
HOPPER = STUDY.format("qd_hopper") + "[task.qd_hopper]\nmax_steps = 20\n"
ROBOT = """
import gymnasium, own_tasks

class MyBiped(own_tasks.Point):
    def step(self, action):
        *step, info = super().step(action)
        return *step, info | {"feet_contact": self.state[:2] > 0}

gymnasium.register("MyBiped-v0", MyBiped, max_episode_steps=20)
"""
POND = "import own_tasks\n\npond = own_tasks.point(name='pond')\n"


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def commands(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    lines = re.findall(r"^    (gaits [a-z].*)$", text, re.MULTILINE)
    return [line.split(" # ")[0].strip() for line in lines if "--help" not in line]  # test_docs.py asks for help


def pages_with(find, elsewhere) -> list[Path]:
    return [page for page in PAGES if find(page) and not page.relative_to(ROOT).as_posix().startswith(elsewhere)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Runs for pages that say RUN: of a walker, which also has a policy to ask for a gait; of a cheetah; of ME-ES."""
    folder = tmp_path_factory.mktemp("trained")
    walker, cheetah = (gaits.make_task(name, max_steps=30) for name in ("qd_walker", "qd_half_cheetah"))
    options = {"evaluations": 100, "seed": 1, "workers": 1, "progress": False}
    gaits.train(walker, "dcrl_me", out=folder / "RUN", critic_steps=2, **options)
    gaits.train(cheetah, "map_elites", out=folder / "CHEETAH", **options)
    gaits.train(walker, "me_es", out=folder / "ME_ES", **options)
    return folder


@pytest.fixture
def here(trained, tmp_path, monkeypatch, undrawn):
    """Where a page's commands find what they name: runs, files, modules of a user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(launch, "serve", lambda records, *options: None)  # which would never end
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples", "examples")
    Path("paper.toml").write_text(HOPPER)
    Path("examples/study.toml").write_text(HOPPER)
    Path("mine.toml").write_text(STUDY.format("biped"))
    Path("pond.py").write_text(POND)
    Path("my_robots.py").write_text(ROBOT + blocks(ROOT / "docs/tasks/your_own.md")[0])
    tasks = dict(gaits.TASKS)
    yield tmp_path
    gaits.TASKS.clear()
    gaits.TASKS.update(tasks)
    gymnasium.registry.pop("MyBiped-v0", None)
    for name in ("my_robots", "pond"):
        sys.modules.pop(name, None)


def fit(text: str) -> str:
    """The same for the runs that are here: cells that are filled, and less to do."""
    archive = gaits.load_archive("RUN")
    filled = iter(archive.int_to_grid_index(archive.data("index")).tolist() * 2)
    text = re.sub(r"\b\d+,\d+\b|(?<=--cell )\d+", lambda _: ",".join(map(str, next(filled))), text)
    text = text.replace('"pga_me", ', '"pga_me", critic_steps=2, ')
    return re.sub(r"evaluations=[\d_]+", "evaluations=200", text)


def lessen(command: str) -> list[str]:
    words = shlex.split(fit(command).replace("RUN...", "RUN").replace("--preset paper", "paper.toml"))[1:]
    words = ["CHEETAH" if word == "RUN" and "bfoot" in command else word for word in words]
    given = LESS.get(words[0], [])
    less = dict(zip(given[::2], given[1::2], strict=True))
    less |= {"--critic-steps": "2"} if words[0] == "train" and set(words) & set(CRITICS) else {}
    less |= {"--cells": "20"} if "cvt" in words else {}
    for option in less:
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    return words + [word for pair in less.items() for word in pair]


@pytest.mark.parametrize("page", pages_with(blocks, "docs/tutorials"), **ids)
def test_python(page, here):
    if 'out="runs/x"' not in page.read_text():  # it does not train it
        shutil.copytree("ME_ES" if page.name == "me_es.md" else "RUN", "runs/x")
    names = {"__name__": "__main__"}
    for code in blocks(page):
        exec(compile(fit(code), page.name, "exec"), names)


@pytest.mark.skipif(os.name != "posix", reason="paths of a POSIX shell")
@pytest.mark.parametrize("page", pages_with(commands, tuple(ELSEWHERE)), **ids)
def test_commands(page, here):
    for command in commands(page):
        words = lessen(command)
        if words[0] == "explore" and not Path(words[1]).exists():
            shutil.copytree("RUN", words[1])
        assert cli.main(words) == 0, command
