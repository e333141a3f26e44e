"""One policy of an archive as a file that runs anywhere: NumPy arrays, safetensors, or an ONNX graph.

The network is tanh(W x + b), layer after layer, the last included, from float32 observations to actions in [-1, 1].
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from gaits.archives.cells import best_row, find_cell, name_cell
from gaits.checks import lookup
from gaits.console import say
from gaits.runs import Run, load_run
from gaits.runs.evaluation import Evaluation, load_evaluation
from gaits.runs.files import check_output, write_whole

ONNX_OPSET, ONNX_IR = 17, 8
"""Old enough for runtimes of the last years; the newest that the onnx package writes is often too new for them."""


@dataclass(frozen=True)
class Policy:
    """An elite, taken out of its archive.

    Attributes:
        arrays: W0, b0, W1, ... (float32, outputs x inputs), and obs_mean and obs_std where observations are normalized.
        about: Task, names and order of inputs and actions; of an elite also measures, objective and cell.
    """

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]


def export_policy(
    run: Run | str | Path, cell: str | None = None, out: str | Path | None = None, *, conditioned: bool = False
) -> tuple[Path, dict[str, Any]]:
    """Write the policy of a cell to a file; returns the file and what it says about the policy.

    Args:
        run: The run, or its folder.
        cell: Such as "3,12", or a plain cell index; None: the best policy, by its mean if the run was evaluated.
        out: A file that ends in .npz, .safetensors or .onnx; default: an .npz in the run's folder.
        conditioned: Instead, the one policy that takes the wanted measures as further inputs, where the run has one.

    Examples:
        >>> run = gaits.train("qd_hopper", "map_elites", evaluations=200, max_steps=100, out="runs/exported")
        >>> file, about = gaits.export_policy(run)
        >>> file.name, about["task"]
        ('best.npz', 'qd_hopper')
    """
    run = run if isinstance(run, Run) else load_run(run)
    if conditioned and cell is not None:
        raise ValueError(f"A conditioned policy is of no cell: it takes measures. Leave out the cell {cell}.")
    name = "conditioned" if conditioned else "best" if cell is None else "cell-" + cell.replace(",", "-").replace(" ", "")
    path = Path(out) if out is not None else run.folder / f"{name}.npz"
    writer = lookup("format of policies", path.suffix.lower(), WRITERS)
    policy = take_out_conditioned(run) if conditioned else take_out(run, cell)
    content = writer(policy)
    check_output(path)
    write_whole(path, content)
    return path, policy.about


def take_out(run: Run, cell: str | None = None) -> Policy:
    """The policy of a cell, or the best one: that with the highest mean, where every elite was played again."""
    task, archive = run.task, run.archive
    network = task.policy
    again = _played_again(run)
    means = np.zeros(0) if again is None else archive.data("objective") + again.robustness_in(archive)
    if cell is not None:
        row = find_cell(archive, cell)
    else:
        row = int(np.argmax(means)) if len(means) and np.isfinite(means).all() else best_row(archive)
    elite = {name: values[row] for name, values in archive.data().items()}
    layers = network.layers(elite["solution"])
    arrays = _name_layers(layers)
    arrays |= {name: elite[name].astype(np.float32) for name in ("obs_mean", "obs_std") if name in elite}
    about = {
        **_describe(run, len(layers), "obs_mean" in arrays),
        "cell": name_cell(archive, int(elite["index"])),
        "measures": elite["measures"].tolist(),
        "objective": float(elite["objective"]),
    }
    if again is not None and np.isfinite(means[row]):
        about |= {"mean_of_new_episodes": float(means[row]), "new_episodes": again.objective.shape[1]}
    return Policy(arrays, about)


def _played_again(run: Run) -> Evaluation | None:
    try:
        return load_evaluation(run)
    except ValueError as error:
        say(f"Exported without its means of new episodes: {error}")
        return None


def take_out_conditioned(run: Run) -> Policy:
    """The policy that takes measures: its inputs are an observation and then the measures, as plain numbers."""
    from gaits.runs.conditioned import load_conditioned

    layers, task = load_conditioned(run).layers(), run.task
    about = _describe(run, len(layers), False)
    measures = zip(task.measure_names, task.ranges, strict=True)
    about["inputs"] += [f"wanted {name}, from {low:g} to {high:g}" for name, (low, high) in measures]
    about |= {"conditioned": True, "measure_ranges": [list(pair) for pair in task.ranges]}
    return Policy(_name_layers(layers), about)


def _name_layers(layers: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    named = [(f"W{i}", f"b{i}") for i in range(len(layers))]
    pairs = zip(named, layers, strict=True)
    return {name: np.ascontiguousarray(array) for names, layer in pairs for name, array in zip(names, layer, strict=True)}


def _describe(run: Run, layers: int, normalized: bool) -> dict[str, Any]:
    task = run.task
    named = task.problem.describe_policy()
    return {
        "task": task.name,
        "environment": None if task.env_id == "-" else task.env_id,
        "algorithm": run.config.algorithm,
        "run_seed": run.config.seed,
        "layers": layers,
        "activation": "tanh",
        "normalized": normalized,
        "inputs": list(named.get("observations") or (f"observation {i}" for i in range(task.obs_dim))),
        **named,
        "measure_names": list(task.measure_names),
    }


def _npz(policy: Policy) -> Callable[[IO[bytes]], object]:
    arrays = {**policy.arrays, "about": np.array(json.dumps(policy.about))}
    return lambda file: np.savez(file, **arrays)  # type: ignore[arg-type]


def _safetensors(policy: Policy) -> Callable[[IO[bytes]], object]:
    try:
        from safetensors.numpy import save
    except ImportError:
        raise ValueError(".safetensors files need the safetensors package: pip install 'gaits[safetensors]'") from None
    content = save(policy.arrays, {"about": json.dumps(policy.about)})
    return lambda file: file.write(content)


def _onnx(policy: Policy) -> Callable[[IO[bytes]], object]:
    """A graph from ``observation`` (batch, inputs) to ``action`` (batch, action_dim); normalization is part of it."""
    try:
        import onnx
        from onnx import helper, numpy_helper
    except ImportError:
        raise ValueError(".onnx files need the onnx package: pip install 'gaits[onnx]'") from None
    nodes, x = [], "observation"
    if policy.about["normalized"]:
        nodes += [helper.make_node("Sub", [x, "obs_mean"], ["centred"])]
        nodes += [helper.make_node("Div", ["centred", "obs_std"], ["normalized"])]
        x = "normalized"
    for i in range(policy.about["layers"]):
        y = "action" if i == policy.about["layers"] - 1 else f"hidden{i}"
        nodes += [helper.make_node("Gemm", [x, f"W{i}", f"b{i}"], [f"sum{i}"], transB=1)]
        nodes += [helper.make_node("Tanh", [f"sum{i}"], [y])]
        x = y
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", size])
        for name, size in (("observation", policy.arrays["W0"].shape[1]), ("action", len(policy.arrays[f"b{i}"])))
    ]
    arrays = [numpy_helper.from_array(values, name) for name, values in policy.arrays.items()]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], arrays)
    opsets = [helper.make_opsetid("", ONNX_OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ONNX_IR, producer_name="gaits")
    helper.set_model_props(model, {"about": json.dumps(policy.about)})
    onnx.checker.check_model(model)
    content = model.SerializeToString()
    return lambda file: file.write(content)


WRITERS: dict[str, Callable[[Policy], Callable[[IO[bytes]], object]]] = {
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".onnx": _onnx,
}
