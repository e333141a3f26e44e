"""Ways to choose a policy for a damaged robot, for every single-joint damage: ``gaits adapt`` many times over.

Usage: python benchmarks/adapt.py RUN [--strengths 0 0.5] [--seeds 3] [--trials 20] [--episodes 10] [--exhaustive]

Numbers are mean returns of the chosen policy over new episodes, and over seeds (other trials, other episodes). Run
``gaits evaluate RUN`` before, or all ways of choosing start from lucky records.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from tyro.conf import Positional

import gaits
from gaits.adaptation.search import TITLES, Adaptation
from gaits.commands.options import print_table
from gaits.console import say

NAMES = ("unchanged", "best_first", "random", "bayesian", "exhaustive")


def row(title: str, found: list[Adaptation]) -> tuple[str, ...]:
    """One damage, or the mean of all."""
    names = [name for name in NAMES if name in found[0].choices]
    sound = np.mean([one.choices["unchanged"].sound.mean() for one in found])
    returns = [np.mean([one.choices[name].damaged.mean() for one in found]) for name in names]
    trials = np.mean([len(one.chosen.rows) for one in found])
    return (title, *(f"{number:,.0f}" for number in (sound, *returns)), f"{trials:.1f}")


def gain(found: Adaptation) -> float:
    """Of Bayesian optimization over the unchanged champion."""
    return float(found.chosen.damaged.mean() - found.choices["unchanged"].damaged.mean())


def main(
    run: Positional[Path],
    strengths: tuple[float, ...] = (0.0, 0.5),
    seeds: int = 3,
    trials: int = 20,
    episodes: int = 10,
    exhaustive: Annotated[bool, tyro.conf.arg(help="Also try every elite; much slower.")] = False,
) -> None:
    loaded = gaits.load_run(run)
    damages = [gaits.Damage(((joint, strength),)) for joint in loaded.task.robot.joints for strength in strengths]
    names = [name for name in NAMES if exhaustive or name != "exhaustive"]
    rows: list[tuple[str, ...]] = [("damage", "champion, sound", *(TITLES[name] for name in names), "its trials")]
    everything: list[Adaptation] = []
    for i, damage in enumerate(damages, 1):
        options = {"trials": trials, "episodes": episodes, "exhaustive": exhaustive}
        found = [gaits.adapt(loaded, damage, seed=seed, **options) for seed in range(1, seeds + 1)]  # type: ignore[arg-type]
        rows.append(row(str(damage), found))
        everything += found
        say(f"{i}/{len(damages)} {'  '.join(rows[-1])}")
    rows.append(row("mean", everything))
    better = [np.mean([gain(one) for one in everything[i : i + seeds]]) > 0 for i in range(0, len(everything), seeds)]
    prior = "evaluated" if everything[0].prior.evaluated else "recorded: run gaits evaluate first for better ones"
    print(f"{run}: {len(loaded.archive)} elites, at most {trials} trials, {seeds} seeds; expectations are {prior}.\n")
    print_table(rows)
    print(f"\nBayesian optimization is better than the unchanged champion on {sum(better)} of {len(better)} damages.")


if __name__ == "__main__":
    tyro.cli(main)
