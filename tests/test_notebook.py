"""A notebook, executed: train with a bar, look at the run, and an environment that is defined in a cell."""

from __future__ import annotations

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = (
    "import gaits\nrun = gaits.train('lp_sphere', 'map_elites', evaluations=400, seed=1, out='runs/a')\nrun",
    "run.plot()",
    "archive = run.archive\nmax(archive, key=lambda elite: elite['objective'])['objective'] > 50",
    """
import gymnasium, numpy as np

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.np_random.uniform(-0.1, 0.1, 1).astype(np.float32)
        return self.at, {}

    def step(self, action):
        self.at = np.clip(self.at + action, -9, 9)
        return self.at, 1.0 - float(np.abs(action).sum()), False, False, {}

def where(trajectory):
    return trajectory.obs[-1]
""",
    "options = dict(grid=(9,), objective_range=(0, 9), measure_range=(-9, 9), max_steps=9, name='walk')\n"
    "task = gaits.Task.from_env(Walk, measures=where, **options)\n"
    "gaits.train(task, 'map_elites', evaluations=20, batch_size=10, workers=1, out='runs/b', progress=False).metrics",
)


def test_notebook(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    bar, shown = notebook.cells[0].outputs
    assert "map_elites on lp_sphere" in bar.data["text/html"]
    assert "value='1.0000'" in bar.data["text/html"]  # updated in place
    assert "400 of 400 evaluations" in shown.data["text/html"]
    assert "image/png" in notebook.cells[1].outputs[0].data
    assert notebook.cells[2].outputs[0].data["text/plain"] in ("True", "np.True_")
    assert "qd_score" in notebook.cells[4].outputs[0].data["text/html"]
