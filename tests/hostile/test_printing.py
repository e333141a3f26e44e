"""What reaches a terminal, a shell and a spreadsheet, whatever names and files say."""

from __future__ import annotations

import dataclasses
import io
import json
import shlex
import subprocess

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import gaits
from gaits.analysis.compare import write_csv
from gaits.checks import check_label, check_source
from gaits.cli import main
from gaits.console import command, plain, say, tell
from gaits.runs.config import Config, load_config
from gaits.study.overview import LiveOverview
from gaits.study.plan import Study, make_variant
from gaits.tasks import import_task

TASK = gaits.make_task("lp_sphere", grid=(5, 5))
ESCAPES = ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\r", "\b", "\x00", "\u202e", "\u2066", "\u2028", "\udc80", "\x7f"]


def is_calm(text: str) -> bool:
    return all(one.isprintable() or one in "\n\t" for one in text)


@pytest.mark.parametrize("escape", ESCAPES)
def test_nothing_steers_the_terminal(escape, capsys):
    name = f"a{escape}b"
    say(name)
    tell(name)
    told = capsys.readouterr()
    assert is_calm(told.out)
    assert is_calm(told.err)
    assert "a\\" in told.out


def test_ordinary_text_stays_as_it_is():
    text = "Läufer 走 → 3\n\tok"
    assert plain(text) == text


@pytest.mark.parametrize(
    "word", ["a b", "$(id)", "`id`", "a;b #", "it's", "-rf", "a\nb", "\x1b[2J", "é", "*", "\udc80x", "", "a\\'b"]
)
def test_commands_survive_a_shell(word):
    line = command("resume", word, "--previous")
    assert is_calm(line)
    assert "\n" not in line
    out = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True).stdout
    assert out.split(b"\0")[:-1] == [b"gaits", b"resume", word.encode(errors="surrogateescape"), b"--previous"]


@pytest.mark.parametrize("source", ["my:biped", "my_robots.two:Robots.biped", "möbius:läufer"])
def test_sources(source):
    check_source(source)


@pytest.mark.parametrize(
    "source",
    [
        "my:biped; curl x #",
        "my",
        ":",
        "my:",
        ":x",
        "a:b:c",
        "a b:c",
        "a/b:c",
        "a.py :x",
        "my:x\n",
        "1a:b",
        "a..b:c",
        "a:b" * 100,
        3,
        None,
    ],
)
def test_sources_that_are_none(source):
    with pytest.raises(ValueError, match="MODULE:NAME"):
        check_source(source)
    if isinstance(source, str):
        with pytest.raises(ValueError, match="MODULE:NAME"):
            import_task(source)


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "a run"
    return gaits.train(TASK, "map_elites", evaluations=60, batch_size=20, out=folder, seed=1)


def change(run, **fields):
    path = run.folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


OWN = {"title": "x", "measure_names": ["a", "b"], "measure_range": [[0, 1], [0, 1]], "obs_dim": 0, "action_dim": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "\x1b[2J"},
        {"name": "n" * 100_000},
        {"name": "two\nlines"},
        {"task": "no\x1b[2Jtask"},
        {"task": "t" * 100_000},
        {"algorithm": "a" * 5_000},
        {"own_task": {**OWN, "source": "my:biped; curl x #"}},
        {"task": "mine", "own_task": {**OWN, "source": "my:biped; curl x #"}},
        {"task": "mine", "own_task": {**OWN, "title": "\x1b]0;x\x07", "source": None}},
        {"task": "mine", "own_task": {**OWN, "measure_names": ["a", "b\x1b"], "source": None}},
        {"task": "mine", "own_task": [1]},
    ],
)
@pytest.mark.parametrize("words", [["resume"], ["evaluate"], ["compare"], ["export"]], ids=" ".join)
def test_names_in_a_file(run, fields, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    change(run, **fields)
    assert main([*words, str(run.folder)]) == 2
    told = capsys.readouterr()
    assert is_calm(told.out + told.err)
    assert len(told.err) < 3_000
    assert "curl x #" not in told.err or "'my:biped; curl x #'" in told.err  # only as what is wrong


def test_suggested_commands_are_quoted(run, capsys):
    assert main(["resume", str(run.folder), "--evaluations", "80"]) == 0
    told = capsys.readouterr().out
    line = next(line for line in told.splitlines() if "gaits explore" in line)
    assert shlex.split(line) == ["gaits", "explore", str(run.folder)]
    config = dataclasses.replace(load_config(run.folder), name="x; rm -rf $HOME")
    assert shlex.split(config.command)[-2:] == ["--name", "x; rm -rf $HOME"]
    assert shlex.split(config.resume_command(run.folder))[2] == str(run.folder)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "a\nb"},
        {"id": 5},
        {"created": "now\x1b[2J"},
        {"git_revision": ["a"]},
        {"machine": "mine"},
        {"versions": {"numpy": "1\ngaits: all is well"}},
        {"versions": {"numpy\n": "1"}},
        {"versions": {"numpy": [1]}},
    ],
)
def test_texts_in_a_configuration(fields):
    config = {"task": "qd_hopper", "algorithm": "map_elites", "seed": 1, "evaluations": 1, "task_fields": {}, "settings": {}}
    with pytest.raises(ValueError, match=r"printable letters|must be a table"):
        Config(**config, **fields)


LINES = "a\ngaits: all is well\n"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("manifest.json", lambda told: told["binds"]["config"].update({LINES: 1})),
        ("manifest.json", lambda told: told["binds"]["config"]["settings"].update({f"{LINES}{i}": i for i in range(2000)})),
        ("config.json", lambda told: told["settings"].update({LINES: 1})),
        ("config.json", lambda told: told["task_fields"].update({LINES: 1})),
        ("config.json", lambda told: told.update(task="mine", own_task={**OWN, "source": None}, task_fields={LINES: 1})),
        ("config.json", lambda told: told.update(version=LINES)),
    ],
)
def test_lines_in_a_file(run, name, change, capsys):
    path = run.folder / name
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    assert main(["resume", str(run.folder)]) == 2
    said = capsys.readouterr().err
    assert len(said) < 3_000
    assert not any(line.startswith("gaits: all is well") for line in said.splitlines())


def test_lines_in_a_checkpoint(run, capsys):
    (path,) = (run.folder / "checkpoint").iterdir()
    line, _, body = path.read_bytes().partition(b"\n")
    for part, value in (("values", 1), ("arrays", ["<f4", "?"])):
        header = json.loads(line)
        header[part][LINES] = value
        path.write_bytes(json.dumps(header).encode() + b"\n" + body)
        assert main(["resume", str(run.folder)]) == 2
        said = capsys.readouterr().err
        assert not any(line.startswith("gaits: all is well") for line in said.splitlines())


def test_names_of_several_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "a\ngaits: all is well"
    run.mkdir()
    (run / "config.json").write_text("{}")
    for words in (["check", str(run)], ["check", str(tmp_path)], ["\x1b[2J"], ["check", "--\x1b[2J"]):
        assert main(words) == 2
        told = "".join(capsys.readouterr())
        assert is_calm(told)
        assert not any(line.startswith("gaits: all is well") for line in told.splitlines())


def test_labels():
    check_label("name", "PGA-ME (lr 0.1)")
    for bad in ("", "  ", "\t", "\ud800", 3, None, "x" * 1000):
        with pytest.raises(ValueError, match="printable letters"):
            check_label("name", bad)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", " =1", "＝1"])
def test_no_cell_begins_like_a_formula(tmp_path, text):
    table = pd.DataFrame({"name": [text, "fine"], text: [-1.5, np.nan]}, index=[text, "b"])
    write_csv(tmp_path / "t.csv", table)
    found, cell = pd.read_csv(tmp_path / "t.csv", index_col=0), f"'{plain(text)}"
    assert list(found["name"]) == [cell, "fine"]
    assert found.index[0] == cell
    assert found[cell].iloc[0] == -1.5  # numbers are left alone


@pytest.mark.usefixtures("undrawn")
def test_a_comparison_has_no_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("=cmd|' /C calc'!A0", "@SUM(A1)")
    for seed, name in enumerate(names):
        folder = tmp_path / f"r{seed}"
        gaits.train(TASK, "map_elites", name=name, seed=seed, evaluations=40, batch_size=20, out=folder)
    gaits.compare([tmp_path / "r0", tmp_path / "r1"], tmp_path / "out")
    files = list((tmp_path / "out").rglob("*.csv"))
    assert files
    for path in files:
        cells = pd.read_csv(path, header=None, dtype=str, keep_default_na=False).to_numpy().ravel()
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))], path


def test_no_name_is_read_as_mathematics_or_markup(tmp_path):
    """By Matplotlib, which would refuse to draw, and by Rich, which would make a link of it."""
    names = (r"$\frac{$", r"\$x^{$")
    task = dataclasses.replace(TASK, name="dollars", title=names[0], measure_names=names)
    run = gaits.train(task, "map_elites", evaluations=20, batch_size=20, out=tmp_path / "run")
    run.plot()._repr_png_()
    gaits.compare([run.folder], tmp_path / "out")
    study = Study("[link=x]", 1, (1,), (TASK,), (make_variant("map_elites", "map_elites", {}),))
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    console.print(LiveOverview(study, console).render())
    assert "study [link=x]: seeds done" in console.file.getvalue()
