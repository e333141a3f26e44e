"""The loop: ask, evaluate, learn meanwhile, tell. It names no algorithm and no task."""

from __future__ import annotations

import time
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
    """Evaluations that met numbers that are not finite; they are not inserted."""
    seconds: float = 0.0
    seconds_evaluate: float = 0.0
    seconds_learn: float = 0.0


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

    def iterate(self) -> Iteration:
        """One iteration, which may take several batches."""
        count, began = self.counters, time.perf_counter()
        done = None
        while done is None:
            batch = self.algorithm.ask()
            seeds = episode_seeds(self.seed_key, count.episodes, len(batch))
            submitted = time.perf_counter()
            pending = self.evaluator.submit(batch, seeds)
            learning = time.perf_counter()
            with on_cores(self.learner_cores):
                self.algorithm.learn()
            count.seconds_learn += time.perf_counter() - learning
            results = pending.result()
            count.seconds_evaluate += time.perf_counter() - submitted
            count.episodes += len(seeds)
            count.evaluations += len(seeds) * batch.counted
            count.steps += int(results.length.sum())
            count.failed += int(results.failed.sum())
            done = self.algorithm.tell(results)
        count.iteration += 1
        count.seconds += time.perf_counter() - began
        return done

    def metrics(self, iteration: Iteration) -> dict[str, float]:
        """The row of metrics.csv after this iteration."""
        count = asdict(self.counters)
        first = {name: count.pop(name) for name in ("iteration", "evaluations")}
        times = {name: count.pop(name) for name in ("seconds", "seconds_evaluate", "seconds_learn", "steps")}
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
