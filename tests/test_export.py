from __future__ import annotations

import builtins
import json

import numpy as np
import own_tasks
import pytest
from conformance.algorithm import small_task

import gaits
from gaits import cli
from gaits.archives.cells import find_cell, name_cell
from gaits.export import ONNX_OPSET, WRITERS, export_policy, take_out
from gaits.physics.world import name_observations
from gaits.runs.conditioned import load_conditioned
from gaits.tasks.qdgym import QDGYM


@pytest.fixture(scope="module", params=["map_elites", "me_es"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    task = small_task(hidden=(8, 5))
    return gaits.train(task, request.param, evaluations=40, out=folder, batch_size=10)


def expected(run, cell, obs):
    """Actions by gaits' own policy."""
    archive = run.archive
    data, row = archive.data(), find_cell(archive, cell)
    if "obs_mean" in data:
        obs = (obs - data["obs_mean"][row]) / data["obs_std"][row]
    return run.task.policy.act(data["solution"][row], obs)


def observations(run, n=20):
    return np.random.default_rng(0).normal(size=(n, run.task.obs_dim)).astype(np.float32)


def test_npz(run, tmp_path):
    path, about = export_policy(run.folder, out=tmp_path / "x.npz")
    with np.load(path, allow_pickle=False) as file:
        policy = dict(file)
    assert json.loads(str(policy["about"])) == about
    assert [policy[name].shape for name in ("W0", "b0", "W1", "b1", "W2", "b2")] == [
        (8, 15),
        (8,),
        (5, 8),
        (5,),
        (3, 5),
        (3,),
    ]
    assert all(policy[name].dtype == np.float32 for name in policy if name != "about")
    x = obs = observations(run)
    if about["normalized"]:
        x = (x - policy["obs_mean"]) / policy["obs_std"]
    for i in range(about["layers"]):
        x = np.tanh(x @ policy[f"W{i}"].T + policy[f"b{i}"])
    np.testing.assert_array_equal(x, expected(run, about["cell"], obs))


def test_safetensors(run, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    path, about = export_policy(run, out=tmp_path / "x.safetensors")
    policy = take_out(run)
    with safetensors.safe_open(path, "numpy") as file:
        assert json.loads(file.metadata()["about"]) == about
        assert set(file.keys()) == set(policy.arrays)
        for name, values in policy.arrays.items():
            np.testing.assert_array_equal(file.get_tensor(name), values)


def test_onnx(run, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    path, about = export_policy(run, out=tmp_path / "x.onnx")
    model = onnx.load(path)
    assert model.opset_import[0].version == ONNX_OPSET
    assert json.loads(model.metadata_props[0].value) == about
    obs = observations(run)
    (actions,) = ReferenceEvaluator(model).run(None, {"observation": obs})
    assert actions.dtype == np.float32
    np.testing.assert_allclose(actions, expected(run, about["cell"], obs), rtol=1e-5, atol=1e-6)


def test_a_cell(run, tmp_path):
    archive = run.archive
    cell = name_cell(archive, archive.data("index")[1])
    path, about = export_policy(run, cell)
    assert path == run.folder / f"cell-{cell}.npz"
    assert about["cell"] == cell
    assert about["objective"] == archive.data("objective")[1]
    assert about["measures"] == archive.data("measures")[1].tolist()


def test_the_best_is_the_default(run):
    path, about = export_policy(run)
    assert path == run.folder / "best.npz"
    assert about["objective"] == run.archive.data("objective").max()
    assert about["actions"] == ["thigh_joint", "leg_joint", "foot_joint"]
    assert (about["task"], about["activation"]) == ("qd_hopper", "tanh")
    assert about["normalized"] == (run.config.algorithm == "me_es")
    assert about["inputs"] == about["observations"] == name_observations(run.task.robot)


@pytest.mark.parametrize("task", QDGYM)
def test_every_observation_has_a_name(task):
    names = name_observations(task.robot)
    assert len(set(names)) == len(names) == task.obs_dim


def test_unknown_format(run):
    with pytest.raises(ValueError, match=r"No format of policies is called '\.onx'. Did you mean '\.onnx'"):
        export_policy(run, out="x.onx")


@pytest.mark.parametrize("package", ["onnx", "safetensors"])
def test_a_missing_package_is_named(run, package, monkeypatch, tmp_path):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ValueError, match=rf"pip install 'gaits\[{package}\]'"):
        export_policy(run, out=tmp_path / f"x.{package}")
    assert not list(tmp_path.iterdir())


def test_policies_of_other_tasks(tmp_path):
    onnx = pytest.importorskip("onnx")
    run = gaits.train(own_tasks.point(), "map_elites", evaluations=8, batch_size=8, workers=1, out=tmp_path / "run")
    path, about = export_policy(run, out=tmp_path / "x.onnx")
    ends = [*onnx.load(path).graph.input, *onnx.load(path).graph.output]
    assert [end.type.tensor_type.shape.dim[1].dim_value for end in ends] == [4, 2]
    assert (about["task"], about["environment"]) == ("point", None)
    assert about["inputs"] == [f"observation {i}" for i in range(4)]


def test_a_function_has_no_policies(tmp_path):
    run = gaits.train("lp_sphere", "map_elites", evaluations=16, out=tmp_path / "run", batch_size=16)
    with pytest.raises(ValueError, match="lp_sphere is a function, not a robot"):
        export_policy(run)


@pytest.fixture
def trained(tmp_path):
    settings = {"batch_size": 8, "critic_steps": 3, "critic_batch": 16, "critic_hidden": (8,), "pg_steps": 2, "pg_batch": 8}
    return gaits.train(small_task(), "dcrl_me", evaluations=24, out=tmp_path / "run", **settings)


def test_a_policy_that_takes_measures(trained, run):
    path, about = export_policy(trained, conditioned=True)
    assert path == trained.folder / "conditioned.npz"
    assert (about["conditioned"], about["measure_ranges"]) == (True, [[0.0, 1.0]])
    asked, obs = load_conditioned(trained), observations(trained)
    with np.load(path, allow_pickle=False) as file:
        for wanted in (0.0, 0.3, 1.0):
            x = np.concatenate([obs, np.full((len(obs), 1), wanted, np.float32)], axis=1)
            for i in range(about["layers"]):
                x = np.tanh(x @ file[f"W{i}"].T + file[f"b{i}"])
            np.testing.assert_allclose(x, trained.task.policy.act(asked.solution([wanted]), obs), atol=2e-6)
    for wrong in ([0.1, 0.2], 0.1, [], [1.01], [-0.01], [np.nan], [np.inf], ["fast"], [None], [[0.1], [0.1, 0.2]], {0.1}):
        with pytest.raises(ValueError, match=r"wanted measures must be one number each: from 0 to 1; got "):
            asked.solution(wrong)
    with pytest.raises(ValueError, match="of no cell"):
        export_policy(trained, "3", conditioned=True)
    with pytest.raises(ValueError, match=r"only runs of .*cma_mega_td3, dcrl_me have one"):
        export_policy(run, conditioned=True)
    for file in (trained.folder / "checkpoint").iterdir():
        file.unlink()
    with pytest.raises(ValueError, match="has no checkpoint"):
        export_policy(trained, conditioned=True)


def test_the_command_says_what_a_policy_that_takes_measures_takes_and_where_to_ask_it(trained, capsys):
    assert cli.main(["export", str(trained.folder), "--conditioned"]) == 0
    told = capsys.readouterr().out
    assert "and, after it, the wanted measures: foot contact from 0 to 1" in told
    assert told.endswith(f"gaits explore {trained.folder}\n")


def test_inputs_of_a_policy_that_takes_measures(trained, tmp_path):
    """Every format says the same, has a name for every input, and acts the same."""
    onnx, safetensors = pytest.importorskip("onnx"), pytest.importorskip("safetensors")
    from onnx.reference import ReferenceEvaluator

    files = [export_policy(trained, out=tmp_path / f"x{suffix}", conditioned=True) for suffix in WRITERS]
    abouts = [about for _, about in files]
    assert abouts == abouts[:1] * 3
    assert abouts[0]["inputs"] == [*abouts[0]["observations"], "wanted foot contact, from 0 to 1"]
    with (
        np.load(tmp_path / "x.npz", allow_pickle=False) as file,
        safetensors.safe_open(tmp_path / "x.safetensors", "numpy") as same,
    ):
        arrays = {name: file[name] for name in file if name != "about"}
        assert json.loads(str(file["about"])) == json.loads(same.metadata()["about"]) == abouts[0]
        assert set(same.keys()) == set(arrays)
        for name, values in arrays.items():
            np.testing.assert_array_equal(same.get_tensor(name), values)
    assert arrays["W0"].shape[1] == len(abouts[0]["inputs"]) == 16
    model = onnx.load(tmp_path / "x.onnx")
    assert json.loads(model.metadata_props[0].value) == abouts[0]
    obs = observations(trained)
    inputs = np.concatenate([obs, np.full((len(obs), 1), 0.3, np.float32)], axis=1)
    (actions,) = ReferenceEvaluator(model).run(None, {"observation": inputs})
    wanted = load_conditioned(trained).solution([0.3])
    np.testing.assert_allclose(actions, trained.task.policy.act(wanted, obs), rtol=1e-5, atol=2e-6)


def test_the_best_policy_is_the_best_on_new_episodes_where_they_are_known(tmp_path):
    run = gaits.train(small_task(), "map_elites", evaluations=40, batch_size=10, out=tmp_path / "run")
    lucky = take_out(run).about
    assert "new_episodes" not in lucky
    assert lucky["objective"] == run.archive.data("objective").max()
    found = gaits.evaluate_run(run, episodes=2)
    found.objective[:] = -found.recorded[:, None]  # who was best is the worst
    found.save(run)
    about = take_out(run).about
    worst = run.archive.data("objective").min()
    assert (about["objective"], about["mean_of_new_episodes"], about["new_episodes"]) == (worst, -worst, 2)
    assert take_out(run, lucky["cell"]).about["mean_of_new_episodes"] == -lucky["objective"]
    found.recorded[0] += 1  # another elite has its cell by now: not all means are known
    found.save(run)
    assert take_out(run).about["cell"] == lucky["cell"]


def test_a_damaged_evaluation_is_no_reason_to_export_nothing(tmp_path, capsys):
    run = gaits.train(small_task(), "map_elites", evaluations=40, batch_size=10, out=tmp_path / "run")
    (run.folder / "evaluation.npz").write_bytes(b"nothing")
    assert "new_episodes" not in export_policy(run)[1]
    assert "without its means of new episodes" in capsys.readouterr().err
