"""ME-ES: walk from an elite with evolution strategies, ten steps towards return, then ten towards novelty.

Colas et al. (2020), with the rules of the paper's baseline. One solution is offered to the archive per iteration, so the
archive fills slowly but with policies that were optimized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from ribs.emitters.opt import AdamOpt
from scipy.spatial.distance import cdist

from gaits import rows
from gaits.algorithms.base import Batch, Iteration, spawn_ints
from gaits.algorithms.ribs_state import archive_state, restore_archive, restore_ribs, ribs_state
from gaits.archives import SEED, Insertions, insert, make_archive
from gaits.checks import between, positive
from gaits.evaluation.results import Results
from gaits.gradients.es import centred_ranks, mirrored
from gaits.normals import Normals
from gaits.states import Misfit, Rows
from gaits.tasks.task import Task

LAST_DISCOVERED = 5
MOST_NOVEL = 5
NOVELTY_BIAS = 0.9


@dataclass(frozen=True)
class MeEsSettings:
    """Settings of ME-ES; the defaults are the paper's."""

    variant: Literal["explore_exploit", "explore", "exploit"] = "explore_exploit"
    """Alternate between novelty and return, or follow one of them only."""
    batch_size: int = 200
    """Mirrored samples per iteration (λ); an even number."""
    sigma: float = 0.02
    """Standard deviation of the samples (σ)."""
    phase_length: int = 10
    """Iterations that start from one chosen elite (n_optim_gens)."""
    learning_rate: float = 0.01
    """Step size of Adam (α)."""
    l2_coefficient: float = 0.005
    """L2 coefficient of Adam (α_2)."""
    neighbors: int = 10
    """Nearest neighbours in the novelty of a behaviour (k)."""
    action_noise: float = 0.01
    """Standard deviation of the noise on actions of samples; none when the stepped solution is evaluated."""
    obs_norm: bool = True
    """Whether policies see normalized observations, with running statistics."""
    obs_probability: float = 0.001
    """Probability with which an episode of the negative half feeds the observation statistics."""

    def __post_init__(self) -> None:
        positive(self, "batch_size", "sigma", "phase_length", "learning_rate", "neighbors")
        if self.batch_size % 2:
            raise ValueError(f"batch_size must be even, as samples are mirrored; got {self.batch_size}.")
        between(self, 0, 1, "obs_probability")
        between(self, 0, float("inf"), "l2_coefficient", "action_noise")


def novelty(points: np.ndarray, seen: np.ndarray, k: int, themselves: bool = False) -> np.ndarray:
    """Mean squared distance of points (n, d) to their k nearest among those seen (m, d).

    With ``themselves``, a point that is among those seen is not its own neighbour: one zero distance is left out.
    """
    squared = cdist(points, seen, "sqeuclidean")
    if squared.shape[1] > k + 1:
        squared = np.partition(squared, k, axis=1)[:, : k + 1]
    squared.sort(axis=1)
    nearest = _means(squared[:, :k])
    return np.where(squared[:, 0] == 0, _means(squared[:, 1:]), nearest) if themselves and seen.size else nearest


def _means(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=1) if rows.size else np.zeros(len(rows))


def explore_probabilities(novelties: np.ndarray) -> np.ndarray:
    """A tenth spread evenly; the rest on the five most novel elites, in proportion to their novelty."""
    n = len(novelties)
    top = np.argsort(-novelties, kind="stable")[:MOST_NOVEL]
    total = novelties[top].sum()
    if total == 0:
        return np.full(n, 1 / n)
    p = np.full(n, (1 - NOVELTY_BIAS) / n)
    p[top] += NOVELTY_BIAS * novelties[top] / total
    return p


def recent_best(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best two of the last five discovered, and their probabilities: in proportion to score - lowest score + 1."""
    n = len(scores)
    recent = np.arange(max(n // 2, n - LAST_DISCOVERED), n)
    two = recent[np.argsort(-scores[recent], kind="stable")[:2]]
    weights = scores[two] - scores.min() + 1
    return two, weights / weights.sum()


class RunningStatistics:
    """Mean and standard deviation of observations; 0 and 1 until the first are seen."""

    def __init__(self, dim: int) -> None:
        self.total, self.squares, self.count = np.zeros(dim), np.full(dim, 0.01), 0.01

    def add(self, obs: np.ndarray) -> None:
        obs = obs.astype(np.float64)
        self.total = self.total + obs.sum(axis=0)
        self.squares = self.squares + (obs**2).sum(axis=0)
        self.count += len(obs)

    @property
    def mean(self) -> np.ndarray:
        return (self.total / self.count).astype(np.float32)

    @property
    def std(self) -> np.ndarray:
        variance = self.squares / self.count - (self.total / self.count) ** 2
        return np.sqrt(np.maximum(variance, 0.01)).astype(np.float32)


class MeEs:
    """Each iteration asks twice: the samples around θ, then the stepped θ alone, which does not count."""

    def __init__(self, task: Task, settings: MeEsSettings, seed: np.random.SeedSequence) -> None:
        init, archive, rng = spawn_ints(seed, 3)
        self.task, self.settings = task, settings
        self.rng = np.random.default_rng(rng)
        self.normals = Normals(self.rng)
        shape = ((task.obs_dim,), np.float32)
        self.archive = make_archive(task, archive, fields={"obs_mean": shape, "obs_std": shape, **SEED})
        self.statistics = RunningStatistics(task.obs_dim)
        theta = task.init(np.random.default_rng(init)).astype(np.float64)
        self.adam = AdamOpt(theta, lr=settings.learning_rate, l2_coeff=settings.l2_coefficient)
        self.seen = np.zeros((0, len(task.grid)))
        """Measures of every stepped solution."""
        self.start_measures = np.zeros(len(task.grid))
        """Measures θ had when it was evaluated."""
        self.discovered: list[int] = []
        """Cells, in the order in which they were first filled."""
        self.scores: dict[int, float] = {}
        """Per cell: the best return among the samples that led to its elite, or that started from it."""
        self.exploring = settings.variant != "exploit"
        self.iteration = 0
        self.stepping = False

    @property
    def theta(self) -> np.ndarray:
        """θ (solution_dim,) float64, which Adam moves."""
        return self.adam.theta

    # --- asking -------------------------------------------------------------------------------------------------------

    def ask(self) -> Batch:
        if self.stepping or not self.discovered:  # the stepped θ, or before all else φ0
            return self._batch(self.theta[None], counted=False)
        if self.iteration % self.settings.phase_length == 0:
            self._begin_phase()
        half = self.settings.batch_size // 2
        self.noise = self.normals.take(half, self.theta.size)
        self.collected = np.zeros(2 * half, bool)
        if self.settings.obs_norm:
            self.collected[half:] = self.rng.random(half) < self.settings.obs_probability
        samples = mirrored(self.theta.astype(np.float32), self.noise, self.settings.sigma)
        return self._batch(samples, transitions=self.collected, action_noise=self.settings.action_noise)

    def _batch(self, solutions: np.ndarray, **options: Any) -> Batch:
        return Batch(
            solutions.astype(np.float32, copy=False), obs_mean=self.statistics.mean, obs_std=self.statistics.std, **options
        )

    def _begin_phase(self) -> None:
        """Choose whether to explore or exploit, an elite to start from, and forget Adam's memory."""
        if self.settings.variant == "explore_exploit":
            self.exploring = not self.exploring  # starts as exploring, so the first phase exploits
        elites = self.archive.data(["measures", "index"])
        row_of = {cell: row for row, cell in enumerate(elites["index"].tolist())}
        rows = [row_of[cell] for cell in self.discovered]
        row = rows[self._choose(elites["measures"][rows])]
        self.start_measures = elites["measures"][row]
        _, parent = self.archive.retrieve_single(self.start_measures)
        self.adam.reset(parent["solution"].astype(np.float64))

    def _choose(self, measures: np.ndarray) -> int:
        """Position of a parent among the discovered cells, whose elites have these measures."""
        n = len(self.discovered)
        if self.exploring:
            # As released: novelties are those of just before the last behaviour was added.
            p = explore_probabilities(novelty(measures, self.seen[:-1], self.settings.neighbors, themselves=True))
            return int(self.rng.choice(n, p=p))
        scores = np.array([self.scores[cell] for cell in self.discovered])
        if n < LAST_DISCOVERED or self.rng.random() < 0.5:
            return int(np.argmax(scores))
        two, p = recent_best(scores)
        return int(self.rng.choice(two, p=p))

    # --- telling ------------------------------------------------------------------------------------------------------

    def tell(self, results: Results) -> Iteration | None:
        if not self.discovered:
            if results.failed[0]:
                raise ValueError("The initial policy's episode met numbers that are not finite; choose another seed.")
            self.inserted_first = self._insert(results, best_return=float(results.objective[0]))
            return None
        if not self.stepping:
            self._step(results)
            self.stepping = True
            return None
        self.stepping = False
        self.iteration += 1
        inserted = [self._insert(results, self.best_return)]
        if self.iteration == 1:
            inserted.insert(0, self.inserted_first)
        self._collect()
        return Iteration(inserted, {"exploring": int(self.exploring)})

    def learn(self) -> None:
        # One episode leaves a core free. A phase begins with other draws, which depend on its outcome.
        if self.stepping and (self.iteration + 1) % self.settings.phase_length:
            self.normals.prepare()

    def _step(self, results: Results) -> None:
        """One step of Adam along the ES gradient of return or novelty."""
        half = len(results.objective) // 2
        score = results.objective
        if self.exploring:
            score = novelty(results.measures, self.seen, self.settings.neighbors)
        # A failed episode was cut short, so both its return and its measures mislead; as a sample it must rank last.
        ranks = centred_ranks(np.where(results.failed, -np.inf, score))
        # Not divided by σ: the L2 coefficient is relative to this scale.
        gradient = np.zeros(self.theta.size)
        rows.add_weighted(gradient, self.noise, np.arange(half), (ranks[:half] - ranks[half:]) / half)
        self.adam.step(gradient)
        self.best_return = float(results.objective[~results.failed].max(initial=-np.inf))
        steps = results.transitions
        self.observed = (
            np.zeros((0, self.task.obs_dim), np.float32)
            if steps is None
            else np.concatenate([steps.obs, steps.next_obs[steps.terminated | steps.truncated]])
        )

    def _insert(self, results: Results, best_return: float) -> Insertions:
        """Offer θ to the archive, and remember its behaviour and what its samples returned."""
        inserted = insert(
            self.archive,
            self.theta[None].astype(np.float32),
            results.objective,
            results.measures,
            results.failed,
            results.seed,
            obs_mean=self.statistics.mean[None],
            obs_std=self.statistics.std[None],
        )
        cell = int(inserted.cell[0])
        if inserted.status[0]:
            if cell not in self.scores:
                self.discovered.append(cell)
            self.scores[cell] = best_return
        self._score_start(best_return)
        self.seen = np.concatenate([self.seen, results.measures])
        self.start_measures = results.measures[0]
        return inserted

    def _score_start(self, best_return: float) -> None:
        """The elite that this iteration started from now also has this score, if it still is the elite of its cell."""
        cell = self.archive.index_of(self.start_measures[None])
        occupied, measures = self.archive._store.retrieve(cell, "measures")
        if occupied[0] and np.array_equal(measures[0], self.start_measures):
            self.scores[int(cell[0])] = best_return

    def _collect(self) -> None:
        if len(self.observed):
            self.statistics.add(self.observed)

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        cells = int(self.archive.cells)
        return {
            "archive": archive_state(self.archive),
            "rng": self.normals.state(),
            "adam": ribs_state(self.adam),
            "seen": Rows(self.seen),
            "start_measures": self.start_measures,
            "discovered": Rows(np.array(self.discovered, np.int64), cells),
            "scores": Rows(np.array([self.scores[cell] for cell in self.discovered], np.float64), cells),
            "exploring": self.exploring,
            "iteration": self.iteration,
            "statistics": dict(vars(self.statistics)),
        }

    def restore(self, state: dict[str, Any]) -> None:
        restore_archive(self.archive, state["archive"])
        if not np.array_equal(np.sort(state["discovered"]), np.sort(state["archive"]["index"])):
            raise Misfit("its discovered cells are not those of its elites")
        if len(state["scores"]) != len(state["discovered"]) or (len(state["discovered"]) > 0) != (state["iteration"] > 0):
            raise Misfit("it has not one score for each discovered cell")
        self.normals.restore(state["rng"])
        restore_ribs(self.adam, state["adam"])
        self.discovered = state["discovered"].tolist()
        self.scores = dict(zip(self.discovered, state["scores"].tolist(), strict=True))
        for name in ("seen", "start_measures", "exploring", "iteration"):
            setattr(self, name, state[name])
        vars(self.statistics).update(state["statistics"])
