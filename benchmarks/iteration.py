"""Where the time of an iteration goes, beside what it would take at least, early and late in a run.

Usage: python benchmarks/iteration.py [--tasks qd_hopper ...] [--algorithms pga_me ...] [--runs RUN ...] [--cores 1]
                                      [--iterations 10] [--quick]

Early is from the start of a run, where robots soon fall. Late has a full replay buffer, and in every cell one of the best
tenth of the elites of a run of the same task, one of those given; without, only tasks whose robots never fall have a late
row. The process is kept to so many cores, and uses them all for episodes and for critics. Each part of an iteration is timed
where it happens. *alone* is the same episodes with nothing beside them. *floor* is what the matrix products of critics,
variation and gradients take in plain BLAS. *rest* is the share of an iteration in which it asks, tells, records and saves;
critics, variation and gradients are not in it. Of a checkpoint, what beginning one takes is spread over the iterations
between two.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import gaits
from gaits.analysis import paper_numbers
from gaits.archives import insert, settle
from gaits.evaluation import available_cores
from gaits.evaluation.results import Transitions
from gaits.gradients import Lesson
from gaits.runs.config import make_config
from gaits.runs.directory import MAX_CHECKPOINT_SHARE, RunDirectory
from gaits.search import Search, seed_key
from gaits.tasks.task import Task

TASKS = ("qd_hopper", "qd_walker", "qd_half_cheetah", "qd_ant")
NAMES = ("map_elites", "cma_mega_es", "me_es", "pga_me", "cma_mega_td3_es")
NEVER_FALL = ("qd_half_cheetah",)
SETTLE = 10
"""Iterations before early ones are timed: critics have something to learn from, and large arrays their memory."""
Product = tuple[int, int, int]


# --- floors ---------------------------------------------------------------------------------------------------------------


def forward(n: int, layers: tuple[int, ...]) -> list[Product]:
    """Products (m, k, n) of n rows through a network."""
    return [(n, a, b) for a, b in itertools.pairwise(layers)]


def inputs_back(n: int, layers: tuple[int, ...]) -> list[Product]:
    """Products that take a gradient from a network's output to its input."""
    return [(n, b, a) for a, b in itertools.pairwise(layers)]


def weights_back(n: int, layers: tuple[int, ...]) -> list[Product]:
    return [(a, n, b) for a, b in itertools.pairwise(layers)]


def climb(n: int, policy: tuple[int, ...], critic: tuple[int, ...]) -> list[Product]:
    """∇ of a critic's value by a policy's parameters, over n states."""
    through = forward(n, policy) + forward(n, critic) + inputs_back(n, critic)
    return through + weights_back(n, policy) + inputs_back(n, policy)[1:]


def regression_step(n: int, critic: tuple[int, ...]) -> list[Product]:
    """A critic's values, and the gradient of its weights."""
    return forward(n, critic) + weights_back(n, critic) + inputs_back(n, critic)[1:]


def critic_step(n: int, actor: tuple[int, ...], critic: tuple[int, ...]) -> list[Product]:
    """Targets of both critics, and a step of each towards them."""
    return forward(n, actor) + 2 * (forward(n, critic) + regression_step(n, critic))


@functools.cache
def product_seconds(product: Product, cores: int) -> tuple[float, float]:
    """The fastest of some: on one core, and on all."""
    m, k, n = product
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    out = np.empty((m, n), np.float32)
    best = []
    for threads in (1, cores):
        with threadpool_limits(threads, "blas"):
            best.append(min(seconds(lambda: np.dot(a, b, out=out)) for _ in range(30)))
    return best[0], min(best)


def seconds(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def blas_floor(products: list[Product], cores: int, independent: bool = False) -> float:
    """Seconds of products one after the other; those of ``independent`` networks can be shared out among the cores."""
    one, everything = np.sum([product_seconds(product, cores) for product in products], axis=0)
    return float(min(one / cores, everything) if independent else everything)


def floors(task: Task, name: str, cores: int) -> dict[str, float]:
    algorithm: Any = make_config(task.name, name, {}, seed=1, evaluations=1).make_algorithm()
    td3 = critics_of(algorithm)
    if td3 is None:
        return {}
    settings: Any = td3.settings
    policy, actor, critic = task.policy.sizes, td3.actor.sizes, td3.critic.sizes
    n = settings.critic_batch
    delayed = blas_floor(climb(n, actor, critic), cores) / settings.target_delay
    found = {"critics": settings.critic_steps * (blas_floor(critic_step(n, actor, critic), cores) + delayed)}
    if hasattr(settings, "pg_steps"):
        parents = getattr(settings, "climbing", settings.batch_size - settings.iso_line - 1)  # the greedy actor is one
        times, states, part = parents * settings.pg_steps, settings.pg_batch, "variation"
    elif hasattr(settings, "climb_steps"):
        wanted = 1 + len(task.ranges)
        found["critics"] += settings.measure_steps * blas_floor(regression_step(n, (*critic[:-1], wanted)), cores)
        times, states, part = wanted * settings.climb_steps, settings.climb_batch, "gradients"
    else:
        times, states, part = 1, settings.gradient_states, "gradients"
    return found | {part: times * blas_floor(climb(states, policy, critic), cores, independent=True)}


# --- timing ---------------------------------------------------------------------------------------------------------------


@dataclass
class Clock:
    """Seconds by part, and the batches that were played."""

    parts: dict[str, float] = field(default_factory=dict)
    batches: list[tuple[Any, Any]] = field(default_factory=list)
    noting: float = 0.0
    """What keeping them took, which is no part of an iteration."""

    def time(self, thing: Any, method: str, part: str) -> None:
        """Add to a part what a method of one object takes."""
        call = getattr(thing, method)

        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **options)
            finally:
                self.parts[part] = self.parts.get(part, 0.0) + time.perf_counter() - began

        setattr(thing, method, timed)

    def watch(self, search: Search, directory: RunDirectory) -> None:
        algorithm: Any = search.algorithm
        for method, part in (("ask", "ask"), ("learn", "learn"), ("tell", "tell")):
            self.time(algorithm, method, part)
        critics, sources = critics_of(algorithm), getattr(algorithm, "sources", [])
        if critics is not None:
            self.time(critics, "train", "critics")
            if not sources:
                self.time(critics, "vary", "variation")
        for source in sources:
            self.time(source, "jacobian", "gradients")
            if hasattr(source, "critic"):  # of measures
                self.time(source.critic, "train", "critics")
        self.time(directory, "record", "record")
        submit = search.evaluator.submit

        def noted(batch: Any, seeds: Any) -> Any:
            began = time.perf_counter()
            copy = dataclasses.replace(batch, solutions=batch.solutions.copy())  # its memory is to be used again
            self.batches.append((copy, seeds))
            self.noting += time.perf_counter() - began
            return Waited(submit(batch, seeds), self)

        search.evaluator.submit = noted  # type: ignore[method-assign]


@dataclass
class Waited:
    """An evaluation under way. Times the waiting for it, and holds on to nothing afterwards."""

    pending: Any
    clock: Clock

    def result(self) -> Any:
        began = time.perf_counter()
        results = self.pending.result()
        self.clock.parts["waiting"] = self.clock.parts.get("waiting", 0.0) + time.perf_counter() - began
        return results


COLUMNS = ("iteration", "alone", "critics", "variation", "gradients", "ask", "tell", "record", "checkpoint", "waiting")


def measure(task: Task, name: str, cores: int, iterations: int, elites: Any) -> dict[str, float]:
    """Seconds per iteration by part. Late if there are elites to start from."""
    config = make_config(task.name, name, {}, seed=1, evaluations=1)
    with tempfile.TemporaryDirectory() as folder, gaits.LocalEvaluator(task, cores) as evaluator:
        search = Search(config.make_algorithm(), evaluator, seed_key(1))
        settle(search.algorithm.archive)
        directory = RunDirectory(Path(folder), config)
        algorithm: Any = search.algorithm
        if elites is not None:
            fill(algorithm, task, elites)
        else:
            for _ in range(SETTLE):
                directory.record(search, search.iterate())
        directory.save(search)
        directory._is_due = lambda iteration: False  # type: ignore[method-assign]
        search.counters.steps, before = 0, search.counters.evaluations
        clock = Clock()
        clock.watch(search, directory)
        began = time.perf_counter()
        for _ in range(iterations):
            directory.record(search, search.iterate())
        whole = time.perf_counter() - began - clock.noting
        evaluations = (search.counters.evaluations - before) / iterations
        held_up = seconds(lambda: directory.begin_saving(search))
        directory.wait()
        del evaluator.submit
        alone = sum(seconds(lambda: evaluator.submit(*one).result()) for one in clock.batches)  # noqa: B023
    t = {name: clock.parts.get(name, 0.0) for name in ("ask", "learn", "tell", "record", "waiting", "critics", "variation")}
    t["gradients"] = clock.parts.get("gradients", 0.0)
    t |= {"ask": t["ask"] - t["variation"], "tell": t["tell"] - t["gradients"], "iteration": whole, "alone": alone}
    t = {part: value / iterations for part, value in t.items()}
    t["checkpoint"] = min(held_up / config.checkpoint_iterations, MAX_CHECKPOINT_SHARE * t["iteration"])
    t["iteration"] += t["checkpoint"]
    beside = sum(t[part] for part in ("ask", "tell", "record", "checkpoint"))
    steps = search.counters.steps / sum(len(seeds) for _, seeds in clock.batches)
    return t | {"rest": beside / t["iteration"], "steps": steps, "evaluations": evaluations}


def fill(algorithm: Any, task: Task, elites: dict[str, np.ndarray]) -> None:
    """Make an algorithm look as after a long time: an archive of elites, a point among them, a full replay buffer."""
    n = len(elites["objective"])
    ranked = np.argsort(-elites["objective"])
    solutions = elites["solution"][np.resize(ranked[: n // 10 + 1], n)]
    columns = {"obs_mean": np.zeros((n, task.obs_dim), np.float32), "obs_std": np.ones((n, task.obs_dim), np.float32)}
    extra = {name: values for name, values in columns.items() if name in algorithm.archive.field_list}
    places = elites["objective"], elites["measures"]
    inserted = insert(algorithm.archive, solutions, *places, seed=np.arange(n), **extra)
    if hasattr(algorithm, "discovered"):  # ME-ES
        algorithm.discovered = inserted.cell.tolist()
        algorithm.scores = dict(zip(algorithm.discovered, elites["objective"].tolist(), strict=True))
        algorithm.seen = np.resize(elites["measures"], (2500, elites["measures"].shape[1]))
        algorithm.iteration = algorithm.settings.phase_length  # begin a phase, and not the first
    if hasattr(algorithm, "sources"):  # CMA-MEGA
        algorithm.emitter._grad_opt.reset(solutions[0])
    if critics := critics_of(algorithm):
        rng, rows = np.random.default_rng(0), 100_000
        none, sums = np.zeros(rows, bool), critics.buffer.sums.shape[1]
        for _ in range(critics.settings.buffer_size // rows):
            obs, action = (rng.standard_normal((rows, k), np.float32) for k in (critics.buffer.obs_dim, task.action_dim))
            steps = Transitions(obs, action, rng.random(rows), obs, none, none, np.zeros(rows, int))
            critics.remember(Lesson(steps, flags=np.zeros((rows, sums - 1)) if sums else None))


def critics_of(algorithm: Any) -> Any:
    """The algorithm's TD3, or None."""
    return getattr(algorithm, "td3", None) or getattr(algorithm, "critic", None)


def warm_up(task: Task, name: str) -> None:
    """Compile what there is to compile."""
    config = make_config(task.name, name, {}, seed=2, evaluations=1)
    with gaits.LocalEvaluator(task) as evaluator:
        search = Search(config.make_algorithm(), evaluator, seed_key(2))
        for _ in range(2):
            search.iterate()


# --- the tables -----------------------------------------------------------------------------------------------------------


def print_row(title: str, t: dict[str, float], least: dict[str, float]) -> None:
    def cell(name: str) -> str:
        text = f"{1e3 * t[name]:,.1f}"
        return f"{text} ({1e3 * least[name]:,.0f})" if name in least else text

    widths = {"critics": 18, "variation": 16, "gradients": 14}
    print(f"{title:<38}{t['steps']:>6.0f}" + "".join(f"{cell(n):>{widths.get(n, 11)}}" for n in COLUMNS), end="")
    print(f"{t['rest']:>7.1%}", flush=True)


def print_head(cores: int) -> None:
    print(f"Milliseconds per iteration on {cores} cores; in brackets the floor. steps: of an episode, on average.\n")
    widths = {"critics": 18, "variation": 16, "gradients": 14}
    print(f"{'':<38}{'steps':>6}" + "".join(f"{n:>{widths.get(n, 11)}}" for n in COLUMNS) + f"{'rest':>7}")


def print_hours(hours: dict[tuple[str, str], float], cores: int) -> None:
    paper: Any = paper_numbers.means("runtime_hours")
    print(
        f"\nHours for 1,000,000 evaluations on {cores} cores as fast as late iterations; in brackets the paper's, on 100.\n"
    )
    tasks = list(dict.fromkeys(task for task, _ in hours))
    print(f"{'':<18}" + "".join(f"{task:>20}" for task in tasks))
    for name in dict.fromkeys(name for _, name in hours):
        theirs = [f" ({paper.loc[name, task]:.1f})" if name in paper.index else "" for task in tasks]
        ours = [f"{hours[task, name]:.1f}" if (task, name) in hours else "" for task in tasks]
        cells = [one and one + its for one, its in zip(ours, theirs, strict=True)]
        print(f"{name:<18}" + "".join(f"{one:>20}" for one in cells))


def main(options: argparse.Namespace) -> None:
    runs = {run.config.task: run for run in map(gaits.load_run, options.runs)}
    hours: dict[tuple[str, str], float] = {}
    print_head(options.cores)
    for task_name in options.tasks:
        task = gaits.make_task(task_name)
        elites = runs[task_name].archive.data() if task_name in runs else None
        for name in options.algorithms:
            warm_up(task, name)
            least = floors(task, name, options.cores)
            times = {"early": measure(task, name, options.cores, options.iterations, None)}
            if elites is not None:
                times["late"] = measure(task, name, options.cores, max(options.iterations // 2, 1), elites)
            elif task_name in NEVER_FALL:
                times["late"] = times["early"]
            for when, t in times.items():
                print_row(f"{task_name} {name}, {when}", t, least)
            if "late" in times:
                hours[task_name, name] = 1e6 / times["late"]["evaluations"] * times["late"]["iteration"] / 3600
    if hours:
        print_hours(hours, options.cores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--algorithms", nargs="+", default=NAMES)
    parser.add_argument("--cores", type=int, default=available_cores())
    parser.add_argument("--runs", nargs="+", type=Path, default=[], help="runs whose elites late iterations start from")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="three iterations each")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.iterations = 3
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.cores])
    main(chosen)
