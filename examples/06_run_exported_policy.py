"""Run a policy that was written by ``gaits export RUN``. Usage: python examples/06_run_exported_policy.py POLICY.npz

This needs NumPy and nothing else. ``about`` says what every number of an observation is, and which joint every action moves.
"""

import json
import sys

import numpy as np

policy = dict(np.load(sys.argv[1], allow_pickle=False))
about = json.loads(str(policy["about"]))


def act(obs):
    x = (obs - policy.get("obs_mean", 0)) / policy.get("obs_std", 1)
    for i in range(about["layers"]):
        x = np.tanh(policy[f"W{i}"] @ x + policy[f"b{i}"])
    return x


actions = act(np.zeros(policy["W0"].shape[1], np.float32))  # your robot's sensors come here
names = about.get("actions") or range(len(actions))
print(f"{about['task']}, cell {about['cell']}:", ", ".join(f"{n} {a:.2f}" for n, a in zip(names, actions, strict=True)))
