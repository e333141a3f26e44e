"""Train on an environment of your own: here Gymnasium's Pendulum, told apart by where it points and how fast it swings.

Usage: python examples/05_own_environment.py
The same from the command line: gaits train 05_own_environment:pendulum map_elites, from this folder.
"""

import sys

import numpy as np

import gaits


def swing(trajectory: gaits.Trajectory) -> np.ndarray:
    """Mean height of the tip, and mean speed: of everything the policy saw. Workers import it, so it is up here."""
    height, speed = trajectory.obs[:, 0], np.abs(trajectory.obs[:, 2])
    return np.array([height.mean(), speed.mean()])


def pendulum() -> gaits.Task:
    return gaits.Task.from_env(
        "Pendulum-v1",
        measures=swing,
        measure_names=("mean height", "mean speed"),
        measure_range=((-1, 1), (0, 8)),
        grid=(20, 20),
        objective_range=(-2000, 0),
        hidden=(32,),
    )


if __name__ == "__main__":  # worker processes import this file too, and must not start to train
    evaluations = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    run = gaits.train(pendulum(), "map_elites", evaluations=evaluations, batch_size=50, sigma=0.2, out="runs/pendulum")
    print(f"{len(run.archive)} ways to swing; the best return is {run.metrics['objective_max'].iloc[-1]:.0f}.")
