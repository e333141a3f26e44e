"""A run's other files from somebody else: crafted archives and histories, endless JSON, edited numbers."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import resource
import shutil
import struct
import time
import warnings
import zipfile

import numpy as np
import pytest
from conformance.algorithm import small_task
from helpers import unbind

import gaits
from gaits import archives
from gaits.adaptation.search import find_prior
from gaits.analysis.robustness import evaluate_run
from gaits.cli import main
from gaits.reading import digest_lines
from gaits.runs import history
from gaits.runs.binding import seal
from gaits.runs.evaluation import load_evaluation
from gaits.runs.verify import check_run
from gaits.study.execute import progress


def arrays_of(path):
    with np.load(path) as file:
        return dict(file)


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def header(descr="'<f4'", shape="(3,)", order="False", extra=""):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {extra}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def zipped(path, members, how=zipfile.ZIP_STORED):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", how) as file:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, content in members:
            file.writestr(name, content)


def refused(path, *reasons):
    """Refused by all that read arrays, soon and without memory."""
    began, memory = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for load in (archives.load, archives.load_objectives, history.load):
        with pytest.raises(ValueError, match=path.name) as caught:
            load(path)
        assert "\n" not in str(caught.value)
        assert not reasons or any(reason in str(caught.value) for reason in reasons), str(caught.value)
    assert time.monotonic() - began < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 300_000  # KB


@pytest.mark.parametrize(
    "member",
    [
        npy(np.array([{"a": 1}], dtype=object)),
        npy(np.zeros(3, "f4,f4")),
        npy(np.zeros(3, "<U7")),
        npy(np.zeros(3, ">f4")),
        npy(np.zeros(3, "<c8")),
        header("'|O'") + b"\0" * 24,
        header("'|V1000000000'") + b"\0" * 12,
        header("[('a', '<f4')]") + b"\0" * 12,
        header("__import__('os').system('true')") + b"\0" * 12,
        header(shape="(-3,)") + b"\0" * 12,
        header(shape="(3000000000000,)") + b"\0" * 12,
        header(shape="(99999999999999999999999999, 0)") + b"\0" * 12,
        header(shape="(1,1,1,1,1,1,1,1,1,3)") + b"\0" * 12,
        header(shape="(" * 50) + b"\0" * 12,
        header(extra="'more': 1, ") + b"\0" * 12,
        header() + b"\0" * 11,
        header() + b"\0" * 13,
        b"\x93NUMPY\x02\x00" + b"\xff" * 100,
        b"\x93NUMPY\x01\x00\xff\xff",
        b"",
    ],
)
def test_members_that_are_no_plain_arrays(run, member):
    good = [(f"{name}.npy", npy(array)) for name, array in arrays_of(run / "archive.npz").items() if name != "seed"]
    zipped(run / "x.npz", [*good, ("seed.npy", member)])
    refused(run / "x.npz", "its seed")


def test_names_that_are_not_ours(run):
    for name in ("../../up.npy", "/etc/passwd.npy", "a b.npy", "solution", "a" * 70 + ".npy", ".npy", "é\0.npy"):
        zipped(run / "x.npz", [(name, npy(np.zeros(3)))])
        refused(run / "x.npz", "no array of ours", "not a readable npz")
    zipped(run / "x.npz", [("solution.npy", npy(np.zeros(3)))] * 2)
    refused(run / "x.npz", "two members")


def test_bombs(run):
    packed = run / "x.npz"
    zeros = io.BytesIO()
    with zipfile.ZipFile(zeros, "w", zipfile.ZIP_DEFLATED) as file, file.open("solution.npy", "w") as member:
        member.write(header(shape=f"({100 << 20},)"))
        for _ in range(100):
            member.write(bytes(4 << 20))
    good = {name: array for name, array in arrays_of(run / "archive.npz").items() if name != "solution"}
    np.savez_compressed(
        packed, **good, solution=np.zeros((len(good["index"]), (100 << 20) // len(good["index"])), np.float32)
    )
    with pytest.raises(ValueError, match=r"its arrays would take .* bytes, and at most"):
        archives.load(packed)
    packed.write_bytes(zeros.getvalue())
    refused(packed)
    zipped(packed, [(f"m{i}.npy", b"") for i in range(20_000)])
    refused(packed, "members")
    content = bytearray((run / "archive.npz").read_bytes())
    where = content.rindex(b"PK\5\6")
    content[where + 8 : where + 12] = b"\xff\xff\xff\xff"
    packed.write_bytes(content)
    refused(packed, "members")


def test_more_cells_than_can_be_right(run):
    for dims in ([2**31 - 1], [0], [-64], [1]):
        np.savez(run / "x.npz", **{**arrays_of(run / "archive.npz"), "dims": np.array(dims, np.int32)})
        with pytest.raises(ValueError, match="cells"):
            archives.load(run / "x.npz")


def test_fields_that_would_fill_the_memory(run):
    good = arrays_of(run / "archive.npz")
    wide = np.zeros((len(good["index"]), 1_000_000), np.int8)
    cells = {**good, "dims": np.full(good["dims"].size, 100_000 if good["dims"].size == 1 else 300, np.int32)}
    np.savez(run / "x.npz", **cells, **{f"wide{i}": wide for i in range(20)})
    with pytest.raises(ValueError, match="more than can be right"):
        archives.load(run / "x.npz")


@pytest.mark.parametrize(
    "fields",
    [
        {"grid": (10**12,)},
        {"hidden": (10**6, 10**6)},
        {"hidden": (4,) * 1000},
        {"objective_range": (-1e308, 1e308)},
        {"objective_range": (0, 10**400)},
    ],
)
def test_sizes_in_a_configuration(fields):
    with pytest.raises(ValueError, match=r"at most|two finite numbers"):
        gaits.make_task("qd_hopper", **fields)


def test_forms_that_do_not_fit_each_other(run):
    good = arrays_of(run / "archive.npz")
    for name in good:
        for bad in (good[name][None], good[name].astype(np.int8), np.zeros((0, 0, 0))):
            if (bad.shape, bad.dtype) != (good[name].shape, good[name].dtype):
                np.savez(run / "x.npz", **{**good, name: bad})
                with pytest.raises(ValueError, match=r"another form|cells|not a readable"):
                    archives.load(run / "x.npz")
        np.savez(run / "x.npz", **{other: array for other, array in good.items() if other != name})
        if name != "seed":
            with pytest.raises(ValueError, match=r"it has no|does not say"):
                archives.load(run / "x.npz")


@pytest.mark.parametrize("name", ["archive.npz", "history.npz", "evaluation.npz"])
def test_every_truncation_of_an_npz(run, name):
    load = {
        "archive.npz": gaits.load_archive,
        "history.npz": lambda folder: gaits.load_run(folder).history,
        "evaluation.npz": lambda folder: load_evaluation(gaits.load_run(folder)),
    }[name]
    content = (run / name).read_bytes()
    for length in {0, 1, 21, 22, 100, len(content) // 2, len(content) - 22, len(content) - 1}:
        (run / name).write_bytes(content[:length])
        with pytest.raises(ValueError, match=name):
            load(run)


@pytest.mark.parametrize(
    "name", ["archive.npz", "history.npz", "metrics.csv", "config.json", "evaluation.npz", "manifest.json"]
)
@pytest.mark.parametrize("kind", ["link", "pipe", "zero", "folder"])
@pytest.mark.usefixtures("undrawn")
def test_special_files(run, tmp_path, capsys, name, kind):
    (run / name).rename(tmp_path / name)
    if kind == "folder":
        (run / name).mkdir()
    elif kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to(tmp_path / name if kind == "link" else "/dev/zero")
    for command in (["check", str(run)], ["compare", str(run), "--out", str(tmp_path / "out")]):
        if name.startswith(("archive", "history", "manifest", "config")) or command[0] == "check":
            code, said = _exit(command), capsys.readouterr()
            assert code in (1, 2) or (command[0] == "compare" and f"{name} is not" in said.err)
            assert "Traceback" not in said.err


def _exit(command):
    try:
        return main(command)
    except SystemExit as end:
        return end.code


# --- JSON and CSV -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b" " * 2_000_000,
        b"[" * 500_000,
        b'{"a": ' * 100 + b"1" + b"}" * 100,
        b'{"version": 1, "version": 1}',
        b'{"version": ' + b"9" * 10_000 + b"}",
        b"\xff\xfe{}",
        b"[]",
        b"null",
        b"NaN",
        b'{"version": 1, "task": "' + b"a" * 500_000 + b'"}',
    ],
)
def test_json_without_end_or_sense(run, capsys, content):
    (run / "config.json").write_bytes(content)
    assert main(["resume", str(run)]) == 2
    err = capsys.readouterr().err
    assert "config.json" in err
    assert len(err) < 1000
    assert "Traceback" not in err


@pytest.mark.parametrize("field", ["name", "task", "algorithm", "id"])
def test_a_long_name(run, field):
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, field: "x" * 5000}))
    with pytest.raises(
        ValueError, match=r"5,000 letters; at most 100|name must be some text of at most 200 printable letters"
    ):
        gaits.load_run(run)


def test_tables_without_end(run, capsys):
    (run / "metrics.csv").write_bytes(b"iteration,evaluations,seconds\n" + b"1," * 100_000)
    for command in (["resume", str(run)], ["compare", str(run)]):
        assert main(command) == 2
        assert "a line of 200,000 bytes" in capsys.readouterr().err
    for end in (b"\n", b"\r"):  # a list of them would take eight times the memory
        (run / "metrics.csv").write_bytes(end * 5_000_000)
        assert main(["compare", str(run)]) == 2
        assert "more than 1,000,000 lines" in capsys.readouterr().err
    with (run / "metrics.csv").open("wb") as file:
        file.truncate(1 << 40)
    assert main(["compare", str(run)]) == 2
    assert "bytes, and at most" in capsys.readouterr().err


STUDY = {"version": 1, "name": "mine", "evaluations": 16, "seeds": [1], "tasks": ["lp_sphere"], "algorithms": ["map_elites"]}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "../up"},
        {"name": "/etc"},
        {"name": ".."},
        {"name": "a\\b"},
        {"seeds": list(range(5000))},
        {"seeds": [-1]},
        {"seeds": [float("nan")]},
        {"evaluations": 1e999},
        {"tasks": ["os:system"]},
        {"task": {"lp_sphere": {"grid": [10**12, 10**12]}}},
        {"variant": [{"name": "x" * 100_000, "algorithm": "map_elites"}]},
        {"settings": {"map_elites": {"sigma": "x" * 9_000}}},
    ],
)
def test_a_study_from_a_stranger(fields, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.json").write_text(json.dumps({**STUDY, **fields}))
    assert main(["study", "study.json"]) == 2
    assert len(capsys.readouterr().err) < 2_000
    assert [path.name for path in tmp_path.iterdir()] == ["study.json"]


@pytest.mark.parametrize("fields", [{"seeds": 5}, {"seeds": [{}]}, {"tasks": [{}]}, {"variant": [5]}, {"algorithms": 3}])
def test_a_study_in_the_folder_of_a_strangers(fields, tmp_path, capsys):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "study.json").write_text(json.dumps({**STUDY, **fields}))
    (tmp_path / "mine.json").write_text(json.dumps(STUDY))
    assert main(["study", str(tmp_path / "mine.json"), "--out", str(folder), "--workers", "1"]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


RUN = {"task": "lp_sphere", "algorithm": "map_elites", "evaluations": 16}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ["x", "--scheduler", "tcp://127.0.0.1:1"]}, "name must be text"),
        ({"evaluations": ["16", "--out", "elsewhere"]}, "evaluations must be a whole number"),
        ({"evaluations": "\x1b[2J"}, "evaluations must be a whole number"),
        ({"seed": {"a": 1}}, "seed must be a whole number"),
        ({"checkpoint_minutes": [1]}, "checkpoint_minutes must be a number"),
        ({"task_fields": {"grid": ["5", "5", "--out", "elsewhere"]}}, "grid must be a list of whole numbers"),
        ({"task_fields": {"archive": ["cvt", "--out", "elsewhere"]}}, "archive must be"),
        ({"settings": {"sigma": ["1", "--out", "elsewhere"]}}, "sigma must be a number"),
    ],
)
def test_a_run_from_a_strangers_file_brings_no_options(fields, reason, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**RUN, **fields}))
    assert main(["train", "--config", "config.json"]) == 2
    assert reason in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


@pytest.mark.parametrize("text", ["a" + ".a" * 40_000 + " = 1", "seeds" + ".a" * 900 + " = 1", "x" * 200_000, "[" * 90_000])
@pytest.mark.parametrize("words", [["study"], ["sweep"], ["train", "--config"]], ids=" ".join)
def test_toml_that_takes_for_ever(text, words, tmp_path, capsys):
    (tmp_path / "x.toml").write_text(text)
    assert main([*words, str(tmp_path / "x.toml")]) == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told
    assert len(told) < 2_000


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"evaluations": 10**400}, "evaluations must be at most"),
        ({"checkpoint_iterations": 10**30}, "checkpoint_iterations must be at most"),
        ({"task_fields": {"max_steps": 10**9}}, "max_steps must be at most"),
        ({"algorithm": "pga_me", "settings": {"critic_hidden": [30_000, 30_000]}}, "A critic has"),
        ({"algorithm": "pga_me", "settings": {"critic_hidden": [1] * 1000}}, "A critic has"),
    ],
)
def test_numbers_that_no_run_has(run, fields, reason):
    edit(run, **fields)
    with pytest.raises(ValueError, match=reason):
        gaits.load_run(run)


# --- what belongs together --------------------------------------------------------------------------------------------


def edit(run, **changes):
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, **changes}))


def noticed(run, capsys, *words):
    """By check, by resume, in the same words."""
    found = check_run(run).wrong
    assert any(all(word in line for word in words) for line in found), found
    capsys.readouterr()
    assert main(["resume", str(run), "--workers", "1"]) == 2
    err = capsys.readouterr().err
    assert any(line in err for line in found), (found, err)


def test_a_changed_configuration(run, capsys):
    config = json.loads((run / "config.json").read_text())
    for changes, words in (
        ({"seed": 2}, "seed is 2 and was 1"),
        ({"settings": {**config["settings"], "sigma": 0.5}}, "sigma is 0.5 and was 0.02"),
        ({"task_fields": {**config["task_fields"], "max_steps": 51}}, "max_steps is 51 and was 50"),
        ({"git_revision": "abc"}, "git_revision is"),
        ({"checkpoint_iterations": 7}, "checkpoint_iterations is 7"),
        ({"id": "0" * 32}, "belongs to another run"),
    ):
        edit(run, **changes)
        noticed(run, capsys, words)
        assert main(["compare", str(run)]) == 2
        (run / "config.json").write_text(json.dumps(config))
    assert check_run(run).wrong == []


def test_a_misspelled_field(run, capsys):
    path = run / "config.json"
    path.write_text(path.read_text().replace("checkpoint_minutes", "checkpoint_minute"))
    noticed(run, capsys, "No field of a configuration is called 'checkpoint_minute'")


def test_a_manifest_of_no_run(run, capsys):
    told = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({key: value for key, value in told.items() if key != "run"}))
    noticed(run, capsys, "manifest.json is damaged")


def test_what_may_be_edited(run):
    edit(run, name="mine", evaluations=64)
    assert check_run(run).wrong == []
    assert len(gaits.resume(run, workers=1).metrics) == 4


@pytest.mark.parametrize("row", [1, 2, 3])
def test_a_changed_row(run, capsys, row):
    lines = (run / "metrics.csv").read_text().splitlines()
    cells = lines[row].split(",")
    lines[row] = ",".join([*cells[:4], str(float(cells[4]) + 1), *cells[5:]])
    (run / "metrics.csv").write_text("\n".join(lines) + "\n")
    noticed(run, capsys, "metrics.csv was changed")
    with pytest.raises(ValueError, match="was changed"):
        _ = gaits.load_run(run).metrics


HEADER = "iteration,evaluations,elites,coverage,qd_score,objective_sum,objective_min,objective_max,objective_mean,seconds\n"


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        HEADER + "1,x,1,1,1,1,1,1,1,1\n" * 4,
        HEADER + "3,1e999,1,1,1,1,1,1,1,1\n" * 4,
        HEADER + "1e999,48,1,1,1,1,1,1,1,1\n" * 4,
        HEADER + f"3,{'9' * 400},1,1,1,1,1,1,1,1\n" * 4,
        HEADER + "nan,nan,nan,nan,nan,nan,nan,nan,nan,nan\n" * 4,
    ],
)
def test_metrics_of_who_can_bind_them(run, text, tmp_path, capsys):
    """Nonsense whose digest in the manifest is right, and a row after it."""
    shutil.rmtree(run / "checkpoint")
    (run / "metrics.csv").write_text(text)
    told, lines = json.loads((run / "manifest.json").read_text()), text.encode().splitlines(keepends=True)[:-1]
    told["binds"]["metrics"] = {"lines": len(lines), "sha256": digest_lines(lines)}
    (run / "manifest.json").write_text(json.dumps(told))
    for command in (["check"], ["compare", "--out", str(tmp_path / "out")], ["prune"], ["evaluate", "--workers", "1"]):
        assert _exit([command[0], str(run), *command[1:]]) in (0, 1, 2)
        assert "Traceback" not in capsys.readouterr().err
    progress(gaits.load_run(run))["evaluations"].astype(int)


def test_a_row_more(run):
    lines = (run / "metrics.csv").read_text().splitlines()
    (run / "metrics.csv").write_text("\n".join([*lines, "4,64" + lines[-1][lines[-1].index(",", 3) :]]) + "\n")
    assert "metrics.csv was changed" in str(check_run(run))


@pytest.mark.parametrize("name", ["archive.npz", "history.npz"])
def test_a_changed_number(run, capsys, name):
    arrays = arrays_of(run / name)
    arrays["objective"][3] += 1e-9
    np.savez(run / name, **arrays)
    noticed(run, capsys, f"{name} was changed")
    with pytest.raises(ValueError, match="was changed"):
        _ = gaits.load_archive(run) if name == "archive.npz" else gaits.load_run(run).history
    (run / name).unlink()
    gaits.resume(run, workers=1)
    assert check_run(run).wrong == []


@pytest.mark.parametrize("name", ["archive.npz", "history.npz"])
def test_a_field_that_is_gone(run, capsys, name):
    """As the observations' statistics could be, without which a policy of ME-ES walks otherwise."""
    arrays = arrays_of(run / name)
    del arrays["seed"]
    np.savez(run / name, **arrays)
    noticed(run, capsys, f"{name} was changed")
    with pytest.raises(ValueError, match="was changed"):
        _ = gaits.load_archive(run) if name == "archive.npz" else gaits.load_run(run).history


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dims": np.array([100], np.int32), "index": None}, "its cells are not those"),
        ({"ranges": np.array([[0.0, 2.0]]), "index": None}, "its cells are not those"),
        ({"solution": np.nan}, "not finite"),
        ({"obs_mean": np.zeros((1, 3), np.float32)}, "its statistics are not"),
    ],
)
def test_an_archive_of_another_task(run, change, reason):
    """In a run that does not say what its files hold, as older ones."""
    unbind(run)
    arrays = arrays_of(run / "archive.npz")
    arrays = {
        name: values[:1] if len(values.shape) and name not in ("dims", "ranges") else values
        for name, values in arrays.items()
    }
    for name, value in change.items():
        arrays[name] = arrays[name] * np.float32(value) if name == "solution" else value
    if "index" in change:
        low, high = arrays["ranges"][0]
        share = (arrays["measures"][:, 0] - low) / (high - low)
        arrays["index"] = np.minimum(share * arrays["dims"][0], arrays["dims"][0] - 1).astype(np.int32)
    np.savez(run / "archive.npz", **arrays)
    with pytest.raises(ValueError, match=reason):
        gaits.load_archive(run)
    assert any(reason in line for line in check_run(run).wrong)


def test_a_manifest_that_is_gone(run, capsys):
    (run / "manifest.json").unlink()
    gaits.load_run(run)  # the checkpoint says the same
    shutil.rmtree(run / "checkpoint")
    noticed(run, capsys, "manifest.json is missing")


def test_files_of_another_run(run, capsys, tmp_path, sound):
    other = tmp_path / "other"
    gaits.train("lp_sphere", "map_elites", out=other, evaluations=48, batch_size=16)
    for name in ("archive.npz", "history.npz", "metrics.csv", "manifest.json"):
        shutil.copy(other / name, run / name)
        noticed(run, capsys, name)
        shutil.copy(sound / name, run / name)
    shutil.copytree(other / "checkpoint", run / "checkpoint", dirs_exist_ok=True)
    noticed(run, capsys, "belongs to another run")


def test_prune(run, capsys):
    assert main(["prune", str(run)]) == 0
    assert "MB freed" in capsys.readouterr().out
    assert list((run / "checkpoint").iterdir()) == []
    assert check_run(run).wrong == []
    assert main(["resume", str(run), "--evaluations", "64"]) == 2
    assert "was pruned" in capsys.readouterr().err
    edit(run, evaluations=640)
    assert main(["prune", str(run)]) == 2
    assert "is not finished" in capsys.readouterr().err
    assert main(["prune"]) == 2
    assert main(["check"]) == 2


def test_a_finished_run_keeps_one_checkpoint(run):
    assert [path.stem for path in (run / "checkpoint").iterdir()] == ["000000003"]


@pytest.mark.usefixtures("undrawn")
def test_an_evaluation_that_was_changed_or_is_of_another_run(run, tmp_path, sound, capsys):
    other = gaits.train(small_task(), "map_elites", out=tmp_path / "other", evaluations=48, batch_size=16, workers=1, seed=2)
    evaluate_run(other, 2, 1, workers=1)

    def noticed(reason):
        assert any(reason in line for line in check_run(run).wrong), check_run(run).wrong
        with pytest.raises(ValueError, match=reason):
            load_evaluation(gaits.load_run(run))
        assert main(["compare", str(run), "--out", str(tmp_path / "out")]) == 0
        assert reason in capsys.readouterr().err
        for name in ("evaluation.npz", "evaluation.json"):
            shutil.copy(sound / name, run / name)

    shutil.copy(other.folder / "evaluation.npz", run)
    noticed("its numbers are not those written then")
    shutil.copy(other.folder / "evaluation.npz", run)
    shutil.copy(other.folder / "evaluation.json", run)
    noticed("it is of another run")
    np.savez(run / "evaluation.npz", **{**(good := arrays_of(run / "evaluation.npz")), "recorded": good["recorded"] + 1e-9})
    noticed("its numbers are not those written then")
    said = json.loads((run / "evaluation.json").read_text())
    (run / "evaluation.json").write_text(json.dumps({**said, "mean_elite_robustness": 1.0}))
    noticed("its numbers are not those written then")
    (run / "evaluation.json").write_text(json.dumps({**said, "bound": None}))
    noticed("does not say which run it is of")
    (run / "evaluation.json").unlink()
    noticed("there is no evaluation.json")
    evaluate_run(gaits.load_run(run), 2, 1, workers=1)
    assert check_run(run).wrong == []


def test_an_evaluation_of_cells_that_the_archive_has_not(run):
    """Bound as it should be, by who made the run."""
    found, sound_run = load_evaluation(gaits.load_run(run)), gaits.load_run(run)
    arrays = {**arrays_of(run / "evaluation.npz"), "cell": found.cell[::-1] + 10**6}
    np.savez(run / "evaluation.npz", **arrays)
    (run / "evaluation.json").write_text(seal({}, sound_run.config.id, arrays))
    with pytest.raises(ValueError, match="its cells are not those"):
        load_evaluation(sound_run)
    few = {name: value[1:] for name, value in vars(found).items() if isinstance(value, np.ndarray)}
    dataclasses.replace(found, **few).save(sound_run)
    with pytest.raises(ValueError, match="is not of its archive"):
        find_prior(sound_run, sound_run.archive)


def test_an_adaptation_that_was_changed(run):
    path = run / "adapt" / "adapt.json"
    path.parent.mkdir()
    path.write_text(seal({"prior": 1.5}, gaits.load_run(run).config.id))
    assert check_run(run).wrong == []
    path.write_text(path.read_text().replace("1.5", "1.6"))
    assert "its numbers are not those written then" in str(check_run(run))
    path.write_text(seal({"prior": 1.5}, "another"))
    assert "it is of another run" in str(check_run(run))
    path.write_bytes(b"[" + b"[]," * 8_000_000 + b"1]")
    assert "bytes, and at most" in str(check_run(run))
