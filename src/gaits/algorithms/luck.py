"""Against luck: settings of algorithms whose iteration is one batch, all of it inserted, in order.

An elite got its cell by one good episode, and whoever replaces it was luckier still. Two remedies, each for more episodes,
which count as evaluations. *Challenge*: whoever would replace an elite plays the elite's own episode too, and counts with
the worse of its two. *Re-evaluation*: the elites that were played least are played once more; an elite's objective is then
the mean of its episodes, and a solution must beat that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gaits import memory
from gaits.algorithms.base import Algorithm, Batch, Iteration
from gaits.archives import Insertions, revise
from gaits.checks import whole_number
from gaits.evaluation.results import Results, Transitions
from gaits.tasks.task import Task


@dataclass(frozen=True)
class LuckSettings:
    """Settings against luck; by default there is none, as in the paper."""

    challenge: bool = False
    """Play a solution that would replace an elite on the elite's episode too, and count the worse of the two."""
    reevaluate: int = 0
    """Elites per iteration that are played once more, those with the fewest episodes first, of these the longest unplayed;
    their objectives are means then."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reevaluate", whole_number("reevaluate", self.reevaluate, 0))


def against_luck(make: Callable[[Task, Any, np.random.SeedSequence], Algorithm]) -> Callable[..., Algorithm]:
    """The algorithm with these settings: itself, or guarded against luck."""

    def made(task: Task, settings: LuckSettings, seed: np.random.SeedSequence) -> Algorithm:
        if not (settings.challenge or settings.reevaluate):
            return make(task, settings, seed)
        task.problem.check_luck(task)
        return AgainstLuck(make(task, settings, seed), settings)

    return made


class AgainstLuck:
    """An algorithm that is told results with less luck. It asks twice in an iteration that has challengers."""

    def __init__(self, algorithm: Algorithm, settings: LuckSettings) -> None:
        self.algorithm, self.archive, self.settings = algorithm, algorithm.archive, settings
        self.episodes = np.ones(int(algorithm.archive.cells), np.int64)
        """Of the elite of each cell, that its objective is the mean of."""
        self.since = np.zeros(len(self.episodes), np.int64)
        """Iterations since the elite of each cell was played."""
        self.solutions = np.zeros((0, 0), np.float32)
        """That the algorithm asked for last."""
        self.waiting: Results | None = None
        """Of those, while their challengers are being played."""
        self.challengers = np.zeros(0, np.int64)
        """Rows of those."""

    @property
    def td3(self) -> Any:
        """The critics of an algorithm that has some."""
        return self.algorithm.td3  # type: ignore[attr-defined]

    def ask(self) -> Batch:
        if self.waiting is not None:
            challengers = memory.take(self.solutions, self.challengers)
            return Batch(challengers, seeds=self.elite_seeds, transitions=self.waiting.transitions is not None)
        batch = self.algorithm.ask()
        store = self.archive._store
        filled = store.occupied_list
        order = np.lexsort((-self.since[filled], self.episodes[filled]))
        self.again = filled[order[: self.settings.reevaluate]]
        self.since += 1
        self.since[self.again] = 0
        self.solutions = np.asarray(batch.solutions)
        steps = np.append(np.broadcast_to(batch.transitions, len(batch)), np.zeros(len(self.again), bool))
        elites = memory.take(store._fields["solution"], self.again)
        return replace(batch, solutions=memory.join(self.solutions, elites), transitions=steps)

    def learn(self) -> None:
        if self.waiting is None:
            self.algorithm.learn()

    def tell(self, results: Results) -> Iteration | None:
        if self.waiting is not None:
            offered, self.waiting = worse_of(self.waiting, self.challengers, results), None
            return self._insert(offered)
        n = len(self.solutions)
        offered = replace(results.rows(slice(0, n)), transitions=results.transitions)
        self.revised = self._revise(results.rows(slice(n, None)))
        self.challengers = self._find_challengers(offered) if self.settings.challenge else np.zeros(0, np.int64)
        if not len(self.challengers):
            return self._insert(offered)
        self.waiting = offered
        return None

    def _revise(self, results: Results) -> Insertions:
        """Put an elite's new episode into the mean of those before. One that failed tells nothing."""
        fine = ~results.failed
        cells, objective = self.again[fine], results.objective[fine]
        before, count = self.archive._store._fields["objective"][cells], self.episodes[cells]
        self.episodes[cells] += 1
        return revise(self.archive, cells, (before * count + objective) / (count + 1))

    def _find_challengers(self, results: Results) -> np.ndarray:
        """Rows that are better than the elite of their cell, whose seeds are kept."""
        store, cells = self.archive._store, self.archive.index_of(results.measures)
        better = results.objective > store._fields["objective"][cells]
        rows = np.flatnonzero(store.occupied[cells] & ~results.failed & better)
        self.elite_seeds = store._fields["seed"][cells[rows]]
        return rows

    def _insert(self, offered: Results) -> Iteration:
        done = self.algorithm.tell(offered)
        assert done is not None, "its iterations are one batch"
        for inserted in done.insertions:
            self.episodes[inserted.cell[inserted.status > 0]] = 1
            self.since[inserted.cell[inserted.status > 0]] = 0
        metrics = {"challengers": len(self.challengers), "reevaluated": len(self.again)}
        return Iteration([self.revised, *done.insertions], {**done.metrics, **metrics})

    def state(self) -> dict[str, Any]:
        return {**self.algorithm.state(), "episodes": self.episodes, "since": self.since}

    def restore(self, state: dict[str, Any]) -> None:
        self.algorithm.restore({name: value for name, value in state.items() if name not in ("episodes", "since")})
        self.episodes, self.since = np.maximum(state["episodes"], 1), state["since"]


def worse_of(first: Results, rows: np.ndarray, second: Results) -> Results:
    """Results in which some rows were played twice, and count with the worse episode: all that is told is that one's."""
    worse = second.failed | (second.objective < first.objective[rows])
    changed: dict[str, Any] = {}
    for name in ("objective", "measures", "length", "failed", "episode_objective", "episode_measures", "seeds"):
        values = getattr(first, name).copy()
        values[rows[worse]] = getattr(second, name)[worse]
        changed[name] = values
    if first.transitions is not None and second.transitions is not None:
        changed["transitions"] = _steps_of_worse(first.transitions, rows, second.transitions, worse)
    return replace(first, **changed)


def _steps_of_worse(first: Transitions, rows: np.ndarray, second: Transitions, worse: np.ndarray) -> Transitions:
    """Steps of the episodes that count, so that what is learnt from them is labelled with what came of them."""
    stay, come = ~np.isin(first.solution, rows[worse]), worse[second.solution]
    second = replace(second, solution=rows[second.solution])
    order = np.argsort(np.concatenate([first.solution[stay], second.solution[come]]), kind="stable")
    both = ((field.name, getattr(first, field.name)[stay], getattr(second, field.name)[come]) for field in fields(first))
    return Transitions(**{name: np.concatenate([mine, theirs])[order] for name, mine, theirs in both})
