"""Choosing, with few trials on a damaged robot, a policy of an archive that still walks.

Map-based Bayesian optimization (Cully, Clune, Tarapore and Mouret, "Robots that can adapt like animals", Nature 2015): the
archive says how well each gait did on the sound robot; every trial on the damaged one corrects that belief for the gait
tried and, through a Gaussian process over the measures, for the gaits like it. The same budget is given to simpler ways of
choosing, so that one sees what the method is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaits.adaptation.damage import Damage
from gaits.archives import Archive
from gaits.archives.cells import best_row, name_cell
from gaits.checks import whole_number
from gaits.console import command
from gaits.episodes import check_seed
from gaits.evaluation import Compute, Evaluator, make_evaluator
from gaits.runs import Run, load_run
from gaits.runs.evaluation import load_evaluation
from gaits.search import episode_seeds

KAPPA = 0.05
"""Weight of the uncertainty in the choice of the next trial (κ)."""
LENGTH_SCALE = 0.4
"""How far a trial teaches (ρ), as a share of the typical (RMS) distance √(k/6) between two places in a cube of k measures.
In the original's six that is 1; in one or two, 0.4 outright would cover nearly all of the map."""
NOISE = 2.0
"""Variance of what a trial says only about the gait tried (σ²), where what it says about the gaits around has variance 1.
The original's is 0.001. Here about 70 % of the effect of a damage differs between next neighbours; see docs/adapt.md."""
ALPHA = 0.9
"""The best found will do when it is at least this share of the best that is still expected (α)."""
CONFIRM = 3
"""Trials that must say so. The original takes one, of a robot whose trials are alike; here one episode is partly luck."""

CHUNK = 50
"""Episodes per batch, so that there is progress to show."""

TITLES = {
    "bayesian": "Bayesian optimization",
    "unchanged": "champion, unchanged",
    "best_first": "best first",
    "random": "random order",
    "exhaustive": "every elite",
}


@dataclass(frozen=True)
class Prior:
    """What is known of n elites before any trial: how they do on the sound robot."""

    objective: np.ndarray  # (n,) float64
    measures: np.ndarray  # (n, k) float64
    evaluated: bool
    """Whether these are means over new episodes, by ``gaits evaluate``, or the one lucky episode that is recorded."""


def find_prior(run: Run, archive: Archive) -> Prior:
    """The means of ``gaits evaluate`` if the run has them for this archive, else what is recorded."""
    data = archive.data()
    found = load_evaluation(run)
    if found is None or found.evaluations != run.saved_evaluations:
        return Prior(data["objective"], data["measures"], evaluated=False)
    place = {cell: row for row, cell in enumerate(found.cell.tolist())}
    if place.keys() != set(data["index"].tolist()):
        raise ValueError(
            f"The evaluation in {run.folder} is not of its archive. Make it again: {command('evaluate', run.folder)}"
        )
    rows = [place[cell] for cell in data["index"].tolist()]
    return Prior(found.objective.mean(axis=1)[rows], found.measures.mean(axis=1)[rows], evaluated=True)


@dataclass(frozen=True)
class Choice:
    """How one way of choosing went: t trials on the damaged robot, then E new episodes of the policy chosen."""

    name: str
    rows: np.ndarray  # (t,) rows of the archive's data, in the order tried; a row may be tried again
    returns: np.ndarray  # (t,) float64
    damaged: np.ndarray  # (E,) float64: returns of the new episodes
    sound: np.ndarray  # (E,) float64: the same episodes on the sound robot

    @property
    def row(self) -> int:
        """The policy chosen: the best that was tried."""
        return best_tried(self.rows, self.returns)

    @property
    def found(self) -> int:
        """The trial that found the policy chosen, from 1."""
        return int(np.argmax(self.rows == self.row)) + 1

    @property
    def trial_return(self) -> float:
        """Mean return of the trials of the policy chosen."""
        return float(self.returns[self.rows == self.row].mean())

    @property
    def best_so_far(self) -> np.ndarray:
        """After each trial, the mean return of the trials of the policy that is the best by then."""
        parts = [(self.rows[:t], self.returns[:t]) for t in range(1, len(self.rows) + 1)]
        return np.array([returns[rows == best_tried(rows, returns)].mean() for rows, returns in parts])


def best_tried(rows: np.ndarray, returns: np.ndarray) -> int:
    """The row with the highest mean return."""
    known, where = np.unique(rows, return_inverse=True)
    return int(known[np.argmax(np.bincount(where, returns) / np.bincount(where))])


@dataclass(frozen=True)
class Adaptation:
    """What :func:`adapt` found."""

    run: Run
    damage: Damage
    seed: int
    archive: Archive
    prior: Prior
    choices: dict[str, Choice]
    belief: np.ndarray
    """(n,) returns on the damaged robot that the Bayesian optimization ended up expecting, one per elite."""

    @property
    def chosen(self) -> Choice:
        return self.choices["bayesian"]

    def cell(self, name: str = "bayesian") -> str:
        """The cell of the policy chosen, as ``--cell`` takes it."""
        return name_cell(self.archive, int(self.archive.data("index")[self.choices[name].row]))

    def share_of_sound(self, name: str) -> float:
        """Return of the policy chosen, as a share of the champion's on the sound robot."""
        return _ratio(self.choices[name].damaged.mean(), self.choices["unchanged"].sound.mean())

    def share_recovered(self, name: str) -> float:
        """Part of the return that the damage cost the champion that came back; NaN if the damage cost nothing."""
        champion = self.choices["unchanged"]
        before, after = champion.sound.mean(), champion.damaged.mean()
        return _ratio(self.choices[name].damaged.mean() - after, before - after)

    def summary(self) -> dict[str, Any]:
        """Everything in plain values, for JSON."""
        data = self.archive.data()
        return {
            "run": str(self.run.folder),
            "task": self.run.config.task,
            "damage": {"joints": dict(self.damage.joints), "friction": dict(self.damage.friction)},
            "seed": self.seed,
            "elites": len(data["index"]),
            "prior": "evaluated" if self.prior.evaluated else "recorded",
            "episodes": len(self.chosen.damaged),
            "choices": {name: self._describe(choice, data) for name, choice in self.choices.items()},
        }

    def _describe(self, choice: Choice, data: dict[str, np.ndarray]) -> dict[str, Any]:
        return {
            "cell": self.cell(choice.name),
            "index": int(data["index"][choice.row]),
            "measures": data["measures"][choice.row].tolist(),
            "recorded": float(data["objective"][choice.row]),
            "prior": float(self.prior.objective[choice.row]),
            "trials": len(choice.rows),
            "found_at_trial": choice.found,
            "trial_return": choice.trial_return,
            "damaged_return": float(choice.damaged.mean()),
            "damaged_returns": choice.damaged.tolist(),
            "sound_return": float(choice.sound.mean()),
            "share_of_sound": _or_none(self.share_of_sound(choice.name)),
            "share_recovered": _or_none(self.share_recovered(choice.name)),
            "tried": data["index"][choice.rows].tolist(),
            "returns": choice.returns.tolist(),
        }


def adapt(
    run: Run | str | Path,
    damage: Damage,
    *,
    trials: int = 20,
    episodes: int = 10,
    seed: int = 42,
    exhaustive: bool = True,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Adaptation:
    """Find a policy of a run's archive that still walks, with few trials on the damaged robot.

    A trial is one episode of one elite. Whoever tries an elite first sees the same episode, and every policy chosen plays
    the same new ones, so ways of choosing differ by their choices alone.

    Args:
        run: The run, or its folder.
        damage: What is wrong with the robot.
        trials: The most trials that a way of choosing may make.
        episodes: New episodes of every policy chosen: a trial's return is one episode, and the best of many is luck too.
        seed: Of the episodes.
        exhaustive: Also try every elite once: the best that could have been found.
        workers: Threads to play episodes on; None is one per core.
        progress: Called with (episodes played, at most so many in all).

    Returns:
        What each way of choosing chose, and how that walks.

    Examples:
        >>> run = gaits.train("qd_hopper", "map_elites", evaluations=200, max_steps=100, out="runs/hurt")
        >>> found = gaits.adapt(run, gaits.Damage(joints={"foot_joint": 0.3}), trials=5, episodes=2)
        >>> sorted(found.choices)
        ['bayesian', 'best_first', 'exhaustive', 'random', 'unchanged']
    """
    run = run if isinstance(run, Run) else load_run(run)
    whole_number("trials", trials, 1)
    whole_number("episodes", episodes, 1)
    check_seed(seed)
    hurt = damage.apply(run.task)
    parts = run.task.problem.find_parts(run.task)
    if not damage:
        raise ValueError(
            f"No damage is given: weaken a joint ({', '.join(parts.joints)}) by a factor below 1, "
            f"or change the friction of a foot ({', '.join(parts.feet)})."
        )
    run.check_history()
    archive = run.archive
    best_row(archive)  # raises if it is empty
    data, prior = archive.data(), find_prior(run, archive)
    n = len(data["index"])
    trials = min(trials, n)
    names = [name for name in TITLES if exhaustive or name != "exhaustive"]
    count = _Count((n if exhaustive else min(n, 3 * trials)) + trials + 2 * episodes * len(names), progress)
    fresh = episode_seeds(seed, n, episodes)

    with make_evaluator(hurt, Compute(workers)) as evaluator:
        repeats = episode_seeds(seed, n + episodes, CONFIRM * n - n).reshape(CONFIRM - 1, n)
        cache = Trials(_Player(evaluator, data, count), np.vstack([episode_seeds(seed, 0, n), repeats]))
        best_first = np.argsort(-prior.objective, kind="stable")
        orders = {
            "unchanged": best_first[:1],
            "best_first": best_first[:trials],
            "random": np.random.default_rng([seed, 1]).permutation(n)[:trials],
            "exhaustive": np.arange(n),
        }
        returns = {name: cache.returns(orders[name]) for name in reversed(names) if name != "bayesian"}
        orders["bayesian"], returns["bayesian"], belief = _search(archive, prior, cache, trials)
        chosen = {name: best_tried(orders[name], returns[name]) for name in names}
        damaged = _play_again(_Player(evaluator, data, count), chosen, fresh)
    with make_evaluator(run.task, Compute(workers)) as evaluator:
        sound = _play_again(_Player(evaluator, data, count), chosen, fresh)
    choices = {name: Choice(name, orders[name], returns[name], damaged[name], sound[name]) for name in names}
    return Adaptation(run, damage, seed, archive, prior, choices, belief)


def map_based_search(
    prior: np.ndarray, places: np.ndarray, attempt: Callable[[int, int], float], trials: int
) -> tuple[list[int], list[float], np.ndarray]:
    """Map-based Bayesian optimization. Values are in units of about the spread of the prior; 0 is a policy worth nothing.

    Args:
        prior: (n,) what is expected of each policy before any trial.
        places: (n, k) measures of each policy, from 0 to 1.
        attempt: Tries the policy in a row, for the so-many-th time from 0, and returns its value.

    Returns:
        Rows tried, in order, their values, and what is expected of each policy in the end (n,).
    """
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    kernel = Matern(LENGTH_SCALE * np.sqrt(places.shape[1] / 6), nu=2.5)
    tried: list[int] = []
    values: list[float] = []
    seen: dict[int, list[float]] = {}
    mean, std = prior, np.ones_like(prior)
    while len(tried) < trials:
        best = max(seen, key=lambda row: mean[row], default=None)
        if best is not None and mean[best] >= ALPHA * mean.max():
            if len(seen[best]) == CONFIRM:
                break
            row = best
        else:
            promise = mean + KAPPA * std
            promise[list(seen)] = -np.inf
            row = int(np.argmax(promise))
        tried.append(row)
        values.append(attempt(row, len(seen.setdefault(row, []))))
        seen[row].append(values[-1])
        known = list(seen)
        means = np.array([np.mean(seen[row]) for row in known])
        # Fixed hyper-parameters: a handful of trials says too little to fit them.
        process = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None)
        process.fit(places[known], means - prior[known])
        correction, std = process.predict(places, return_std=True)
        mean = prior + correction
        mean[known] = means  # what the gaits around do not share is known of these
    return tried, values, mean


def _search(archive: Archive, prior: Prior, trials: Trials, budget: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The search on an archive: objectives in units of their spread, measures from 0 to 1.

    A return of 0 stays 0, or the stopping rule would be about something else: a robot that stands still is worth nothing,
    and 90 % of the way from the worst elite of an archive can be less.
    """
    spread = float(np.ptp(prior.objective)) or 1.0
    places = (prior.measures - archive.lower_bounds) / (archive.upper_bounds - archive.lower_bounds)
    tried, values, belief = map_based_search(
        prior.objective / spread, places, lambda row, again: float(trials.returns([row], again)[0]) / spread, budget
    )
    return np.array(tried), spread * np.array(values), spread * belief


class Trials:
    """Episodes of each elite on the damaged robot, played when they are first asked for. ``seeds`` are (repeats, elites)."""

    def __init__(self, player: _Player, seeds: np.ndarray) -> None:
        self._player, self._seeds = player, seeds
        self._returns = np.full(seeds.shape, np.nan)

    def returns(self, rows: Any, again: int = 0) -> np.ndarray:
        """Returns of these elites in their first episodes, or in those of the so-many-th repeat."""
        rows, known, seeds = np.asarray(rows), self._returns[again], self._seeds[again]
        new = rows[np.isnan(known[rows])]
        for chunk in np.array_split(new, range(CHUNK, len(new), CHUNK)):
            if len(chunk):
                known[chunk] = self._player.play(chunk, seeds[chunk])
        return known[rows]


@dataclass
class _Count:
    total: int
    progress: Callable[[int, int], None] | None
    done: int = 0

    def add(self, n: int) -> None:
        self.done += n
        if self.progress is not None:
            self.progress(self.done, self.total)


@dataclass(frozen=True)
class _Player:
    """Plays elites with the observation statistics they were stored with, if any."""

    evaluator: Evaluator
    data: dict[str, np.ndarray]
    count: _Count

    def play(self, rows: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Returns of one episode for each (row, seed); one that met numbers that are not finite counts as the worst."""
        statistics: dict[str, Any] = {name: self.data[name][rows] for name in ("obs_mean", "obs_std") if name in self.data}
        results = self.evaluator.evaluate(self.data["solution"][rows], seeds, **statistics)
        self.count.add(len(rows))
        return np.where(results.failed, self.evaluator.task.objective_range[0], results.objective)


def _play_again(player: _Player, chosen: dict[str, int], seeds: np.ndarray) -> dict[str, np.ndarray]:
    """Returns of new episodes, the same for every policy chosen; a policy that several chose plays once."""
    returns = {row: player.play(np.full(len(seeds), row), seeds) for row in sorted(set(chosen.values()))}
    return {name: returns[row] for name, row in chosen.items()}


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number
