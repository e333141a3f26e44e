"""Run a policy that was written by ``gaits export RUN``, or by ``gaits export RUN --conditioned``, which takes measures.

Usage: python examples/06_run_exported_policy.py best.npz
       python examples/06_run_exported_policy.py conditioned.npz MEASURE ...

This needs NumPy and nothing else. ``about`` says what every input of the network is, and which joint every action moves.
"""

import json
import sys

import numpy as np

if len(sys.argv) < 2:
    print(__doc__, file=sys.stderr)
    sys.exit(2)
try:
    policy = dict(np.load(sys.argv[1], allow_pickle=False))
except (OSError, ValueError) as error:
    print(f"{sys.argv[1]} is no exported policy: {error}. Write one with gaits export RUN.", file=sys.stderr)
    sys.exit(2)
about = json.loads(str(policy["about"]))
ranges = about["measure_ranges"] if about.get("conditioned") else []  # an elite has its measures, and takes none


def read_measures(words):
    """The wanted measures as plain numbers, which the first layer scales; beyond their ranges nothing was trained."""
    try:
        wanted = [float(word) for word in words]
        if len(wanted) == len(ranges) and all(low <= x <= high for x, (low, high) in zip(wanted, ranges, strict=True)):
            return wanted
    except ValueError:
        pass
    each = ", ".join(f"{n} from {low:g} to {high:g}" for n, (low, high) in zip(about["measure_names"], ranges, strict=False))
    takes = f"one number each for {each}" if ranges else "no measures"
    print(f"{sys.argv[1]} takes {takes}; got {' '.join(words) or 'none'}.", file=sys.stderr)
    sys.exit(2)


wanted = read_measures(sys.argv[2:])


def act(obs):
    x = (obs - policy.get("obs_mean", 0)) / policy.get("obs_std", 1)
    x = np.concatenate([x, np.float32(wanted)])
    for i in range(about["layers"]):
        x = np.tanh(policy[f"W{i}"] @ x + policy[f"b{i}"])
    return x


actions = act(np.zeros(policy["W0"].shape[1] - len(wanted), np.float32))  # your robot's sensors come here
names = about.get("actions") or range(len(actions))
which = f"asked for {wanted}" if wanted else f"cell {about['cell']}"
print(f"{about['task']}, {which}:", ", ".join(f"{n} {a:.2f}" for n, a in zip(names, actions, strict=True)))
