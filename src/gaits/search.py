"""The loop: ask, evaluate, learn meanwhile, tell. It names no algorithm and no task."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gaits.algorithms.base import Algorithm, Iteration
from gaits.archives import summary
from gaits.evaluation.results import Evaluator
from gaits.gradients.devices import on_cores


@dataclass
class Counters:
    """How far a search has come. ``seconds*`` are wall time of iterations; the rest is the same for the same seed."""

    iteration: int = 0
    evaluations: int = 0
    episodes: int = 0
    """Solutions evaluated, those that do not count included: the index that seeds are derived from."""
    steps: int = 0
    failed: int = 0
    """Evaluations that met numbers that are not finite, or left a function's domain; they are not inserted."""
    seconds: float = 0.0
    seconds_evaluate: float = 0.0
    seconds_learn: float = 0.0


@dataclass
class Times:
    """Where the rest of the time went. An iteration is asking, evaluating and telling; learning is part of evaluating.

    Not part of a state: a run takes them from its last row of metrics, and an older run has none.
    """

    seconds_ask: float = 0.0
    seconds_tell: float = 0.0
    seconds_record: float = 0.0
    """Between iterations: metrics, history, checkpoints, and whoever watches."""


@dataclass
class Search:
    """An algorithm, an evaluator, and the counters between them."""

    algorithm: Algorithm
    evaluator: Evaluator
    seed_key: int
    """Key of the episodes' seeds: evaluation i of this search always gets the same one."""
    learner_cores: int | None = None
    """Cores that learning may use while episodes run; None for all. Changes the speed only."""
    counters: Counters = field(default_factory=Counters)
    times: Times = field(default_factory=Times)
    before_tell: Callable[[], object] | None = field(default=None, init=False)
    """Called before results are told, which changes what a state refers to."""
    _ended: float | None = field(default=None, init=False)

    def iterate(self) -> Iteration:
        """One iteration, which may take several batches."""
        count, times, began = self.counters, self.times, time.perf_counter()
        times.seconds_record += 0.0 if self._ended is None else began - self._ended
        done, told = None, began
        while done is None:
            batch = self.algorithm.ask()
            new = episode_seeds(self.seed_key, count.episodes, len(batch))
            seeds = new if batch.seeds is None else np.asarray(batch.seeds)
            submitted = time.perf_counter()
            times.seconds_ask += submitted - told
            pending = self.evaluator.submit(batch, seeds)
            learning = time.perf_counter()
            with on_cores(self.learner_cores):
                self.algorithm.learn()
            count.seconds_learn += time.perf_counter() - learning
            results = pending.result()
            ended = time.perf_counter()
            count.seconds_evaluate += ended - submitted
            if self.before_tell is not None:
                self.before_tell()
            waited = time.perf_counter() - ended
            times.seconds_record, began, ended = times.seconds_record + waited, began + waited, ended + waited
            count.episodes += len(seeds)
            count.evaluations += len(seeds) * batch.counted
            count.steps += int(results.length.sum())
            count.failed += int(results.failed.sum())
            done = self.algorithm.tell(results)
            told = time.perf_counter()
            times.seconds_tell += told - ended
        count.iteration += 1
        count.seconds += told - began
        self._ended = told
        return done

    def metrics(self, iteration: Iteration) -> dict[str, float]:
        """The row of metrics.csv after this iteration."""
        count = dict(vars(self.counters))
        first = {name: count.pop(name) for name in ("iteration", "evaluations")}
        times = {name: count.pop(name) for name in ("seconds", "seconds_evaluate", "seconds_learn")} | vars(self.times)
        times["steps"] = count.pop("steps")
        numbers = summary(self.algorithm.archive, self.evaluator.task.objective_range[0])
        return {**first, **numbers, **times, **count, **iteration.metrics}

    def state(self) -> dict[str, Any]:
        return {"counters": asdict(self.counters), "algorithm": self.algorithm.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.counters = Counters(**state["counters"])
        self.algorithm.restore(state["algorithm"])


def episode_seeds(key: int, first: int, n: int) -> np.ndarray:
    """Seeds of evaluations first .. first + n - 1: a function of (key, index) alone, however they are batched."""
    words = np.random.Philox(key=key, counter=first).random_raw(4 * n)  # each count gives four words
    return (words[::4] >> 1).astype(np.int64)


def seed_key(seed: int) -> int:
    """The key of the episodes' seeds in a run with this seed."""
    low, high = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(2, np.uint64).tolist()
    return low | high << 64
