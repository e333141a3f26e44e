"""Run a policy that was written by ``gaits export RUN``. Usage: python examples/06_run_exported_policy.py POLICY.npz

Acting needs NumPy alone. On a robot, replace the environment by your sensors and motors: ``about`` says what every number
of an observation is, and which joint every action moves.
"""

import json
import sys

import gymnasium
import numpy as np

import gaits  # noqa: F401, only to register the environment

policy = np.load(sys.argv[1], allow_pickle=False)
about = json.loads(str(policy["about"]))


def act(obs):
    x = (obs - policy.get("obs_mean", 0)) / policy.get("obs_std", 1)
    for i in range(about["layers"]):
        x = np.tanh(policy[f"W{i}"] @ x + policy[f"b{i}"])
    return x


env = gymnasium.make(about["environment"])
obs, total, done = env.reset(seed=42)[0], 0.0, False
while not done:
    obs, reward, terminated, truncated, _ = env.step(act(obs))
    total, done = total + reward, terminated or truncated
print(f"{about['task']}, cell {about['cell']}: recorded {about['objective']:.1f}, now {total:.1f}")
