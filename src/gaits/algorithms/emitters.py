"""ribs' emitters, number for number, where ribs' own would take longer than the episodes of the policies they propose.

``prepare`` draws the noise of the next policies while those before them are played. Tests compare each with ribs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from ribs.emitters import EvolutionStrategyEmitter, GradientArborescenceEmitter
from ribs.emitters.opt import CMAEvolutionStrategy, SeparableCMAEvolutionStrategy

from gaits import memory, rows
from gaits.archives import Archive, sample_rows, sample_solutions
from gaits.compiling import keep_on_disk
from gaits.normals import Normals
from gaits.states import Real

COMPILED = [
    field.__func__
    for strategy in (CMAEvolutionStrategy, SeparableCMAEvolutionStrategy)
    for field in vars(strategy).values()
    if isinstance(field, staticmethod) and isinstance(field.__func__, Dispatcher)
]
"""What ribs would compile anew in every process, for seconds."""
for _function in COMPILED:
    keep_on_disk(_function)


class MutationEmitter:
    """What the two below share: one first solution, and Gaussian noise on every parameter."""

    def __init__(self, archive: Archive, sigma: float, x0: np.ndarray, batch_size: int, seed: int) -> None:
        self.archive, self.x0, self.batch_size = archive, x0.astype(np.float32), batch_size
        self.rng = np.random.default_rng(seed)
        self.noise = Normals(self.rng, float(np.float32(sigma)))

    def ask(self) -> np.ndarray:
        """(batch_size, dim) new solutions."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Draw the next noise now, and not when it is asked for."""
        self.noise.prepare()

    def _parents(self, n: int) -> np.ndarray:
        """(n, dim) random elites, the caller's to change; copies of the first solution while there are none."""
        return np.repeat(self.x0[None], n, axis=0) if self.archive.empty else sample_solutions(self.archive, n)

    def state(self) -> dict[str, Any]:
        return {"rng": self.noise.state(), "x0": Real(self.x0)}

    def restore(self, state: dict[str, Any]) -> None:
        self.noise.restore(state["rng"])
        self.x0 = state["x0"]


class GaussianEmitter(MutationEmitter):
    """Random elites x plus noise: x + σ N(0, I)."""

    def ask(self) -> np.ndarray:
        solutions = self.noise.take(self.batch_size, self.x0.size)
        if self.archive.empty:
            solutions += self.x0
        else:
            rows.add_taken(solutions, *sample_rows(self.archive, self.batch_size))
        return solutions


class IsoLineEmitter(MutationEmitter):
    """Pairs of random elites x and y: x + σ N(0, I) + σ_line N(0, 1) (y - x)."""

    def __init__(
        self, archive: Archive, sigma: float, line_sigma: float, x0: np.ndarray, batch_size: int, seed: int
    ) -> None:
        super().__init__(archive, sigma, x0, batch_size, seed)
        self.line_sigma = np.float32(line_sigma)

    def ask(self) -> np.ndarray:
        solutions, lines = self._parents(2 * self.batch_size).reshape(2, self.batch_size, -1)
        lines -= solutions
        solutions += self.noise.take(*solutions.shape)
        lines *= self.rng.normal(scale=self.line_sigma, size=(self.batch_size, 1)).astype(np.float32)
        solutions += lines
        return solutions


class GaussiansEmitter(EvolutionStrategyEmitter):
    """ribs' emitter of CMA-ME and CMA-MAE with half its solutions as parents, and no copies of all of them on the way."""

    def tell(self, add_info: dict[str, np.ndarray]) -> None:  # type: ignore[override]
        """Rank the solutions last asked for, step the ES, restart it from an elite if it is done."""
        self._itrs += 1
        order, values = self._ranker.rank(self, self.archive, {}, add_info)
        self._opt.tell(order, values, self.batch_size // 2)
        if self._opt.check_stop(values[order]) or self._check_restart(int(add_info["status"].any())):
            self._opt.reset(restart(self))
            self._ranker.reset(self, self.archive)
            self._restarts += 1


def restart(emitter: Any) -> np.ndarray:
    """Where an emitter begins again: at a random elite, or where it first began while there is none."""
    archive = emitter.archive
    return emitter.x0 if archive.empty else archive.sample_elites(1)["solution"][0]


class BranchingEmitter(GradientArborescenceEmitter):
    """ribs' emitter of CMA-MEGA with half its branches as parents, and no copies of all of them on the way."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._coefficients: np.ndarray | None = None

    def tell_dqd(self, solution: Any, objective: Any, measures: Any, jacobian: np.ndarray, add_info: Any) -> None:  # type: ignore[override]
        """Keep the gradients, each of length one."""
        norms = np.linalg.norm(jacobian, axis=2, keepdims=True)
        if not (self._normalize_grads and np.isfinite(norms).all()):
            super().tell_dqd(solution, objective, measures, jacobian, add_info)  # which says what is wrong
        else:
            jacobian /= norms + self._epsilon
            self._jacobian_batch = jacobian  # type: ignore[assignment]

    def prepare(self) -> None:
        """Draw the coefficients of the next branches now: they do not depend on the gradients."""
        self._coefficients = self._opt.ask()

    def ask(self) -> np.ndarray:
        """φ_i = φ* + Σ_k c_ik ∇_k, with coefficients c from CMA-ES."""
        branches = memory.empty((int(self.batch_size), self._grad_opt.theta.size))
        assert self._jacobian_batch is not None, "told the point before"
        coefficients, self._coefficients = self._coefficients, None
        if coefficients is None:
            coefficients = self._opt.ask()
        rows.branch(branches, self._grad_opt.theta, self._jacobian_batch[0], coefficients)
        return branches

    def tell(self, solution: np.ndarray, objective: Any, measures: Any, add_info: dict[str, np.ndarray]) -> None:  # type: ignore[override]
        """Rank the branches, step CMA-ES and φ*, restart from an elite if the rule says so or CMA-ES is done."""
        self._itrs += 1
        order, values = self._ranker.rank(self, self.archive, {}, add_info)
        n = self.batch_size // 2
        self._opt.tell(order, values, n)
        weights = np.log(n + 0.5) - np.log(np.arange(1, n + 1))
        mean = np.zeros(solution.shape[1])
        rows.add_weighted(mean, solution, order[:n].astype(np.int64), weights / np.sum(weights))
        self._grad_opt.step(mean - self._grad_opt.theta)
        if self._opt.check_stop(values[order]) or self._check_restart(int(add_info["status"].any())):
            self._grad_opt.reset(restart(self))
            self._opt.reset(np.zeros(self._num_coefficients))
            self._ranker.reset(self, self.archive)
            self._restarts += 1
