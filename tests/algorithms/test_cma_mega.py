"""CMA-MEGA against a line-by-line transcription of the paper's Algorithm 1, with its CMA-ES as ribs has it."""

from __future__ import annotations

import numpy as np
import pytest
from conformance.algorithm import AlgorithmSuite, made_up, small_task
from conformance.gradient_source import TASK

import gaits
from gaits.algorithms.base import spawn_ints
from gaits.algorithms.cma_mega import (
    CmaMega,
    CmaMegaEsSettings,
    CmaMegaSettings,
    CmaMegaTd3EsSettings,
    cma_mega,
    cma_mega_es,
    cma_mega_td3_es,
)
from gaits.gradients import TD3, CriticGradient, EvolutionStrategy
from gaits.gradients.networks import NO_GOAL
from gaits.search import Search


class TestConformance(AlgorithmSuite):
    name = "cma_mega_es"
    settings = {"batch_size": 9, "es_samples": 6}  # noqa: RUF012


TD3_SMALL = {
    "batch_size": 9,
    "es_samples": 6,
    "critic_steps": 3,
    "critic_batch": 16,
    "critic_hidden": (8,),
    "gradient_states": 32,
}


class TestConformanceWithACritic(AlgorithmSuite):
    name = "cma_mega_td3_es"
    settings = TD3_SMALL


class TestConformanceWithACriticAndAnotherSource(TestConformanceWithACritic):
    """A critic that gives a greedy actor, and no gradient: it is saved all the same."""

    def make(self, seed=1):
        settings = CmaMegaTd3EsSettings(**TD3_SMALL)
        *seeds, es_seed, td3_seed = spawn_ints(np.random.SeedSequence(seed), 5)
        source = EvolutionStrategy(settings.es_samples, settings.es_sigma, es_seed)
        critic = TD3(small_task().policy, settings, td3_seed)
        return CmaMega(small_task(), settings, seeds, objective=source, measures=source, critic=critic)


def test_a_source_that_does_not_tell_measures_is_refused():
    settings = CmaMegaTd3EsSettings(**TD3_SMALL)
    critic = TD3(small_task().policy, settings, 0)
    source = CriticGradient(critic, 32)
    algorithm = CmaMega(small_task(), settings, [1, 2, 3], objective=source, measures=source, critic=critic)
    algorithm.ask()
    with pytest.raises(ValueError, match="CriticGradient gave the gradients of 0 measures, and the task has 1"):
        algorithm.tell(made_up([1.0], np.full((1, 1), 0.5)))


class Transcription:
    """Algorithm 1 in plain float64: a dictionary for the archive, loops over branches. Coefficients are given, not drawn."""

    def __init__(self, point, n, branches, sigma_g, eta, index_of):
        self.point, self.n, self.branches, self.sigma_g, self.eta = point.astype(float), n, branches, sigma_g, eta
        self.index_of, self.archive = index_of, {}
        self.restart_cma()

    def restart_cma(self):
        self.mu, self.sigma, self.C = np.zeros(self.n), self.sigma_g, np.eye(self.n)
        self.p_s, self.p_c, self.evals = np.zeros(self.n), np.zeros(self.n), 0

    def update_archive(self, f, m):
        cell = self.index_of(m)
        if cell not in self.archive:
            self.archive[cell] = f
            return 2, f
        if f > self.archive[cell]:
            delta, self.archive[cell] = f - self.archive[cell], f
            return 1, delta
        return 0, f - self.archive[cell]

    def insert_mean(self, f, m):  # line 8
        self.update_archive(f, m)

    def finish(self, coefficients, jacobian, objective, measures, failed):
        """Lines 14 to 25. Returns why CMA-ES restarts, or None."""
        unit = jacobian / (np.linalg.norm(jacobian, axis=1, keepdims=True) + 1e-8)
        nablas = [c @ unit for c in coefficients]
        told = zip(objective, measures, failed, strict=True)
        deltas = [(0, -np.inf) if bad else self.update_archive(f, m) for f, m, bad in told]
        order = sorted(range(self.branches), key=lambda i: (*deltas[i], i), reverse=True)
        mu = self.branches // 2
        w = np.array([np.log(mu + 0.5) - np.log(i) for i in range(1, mu + 1)])
        w /= w.sum()
        condition, spread = self.adapt([coefficients[i] for i in order[:mu]], w)
        self.point = self.point + self.eta * sum(w[i] * nablas[order[i]] for i in range(mu))
        best, worst = deltas[order[0]], deltas[order[-1]]
        if condition > 1e14:
            return "condition"
        if spread < 1e-11:
            return "step size"
        if np.hypot(best[0] - worst[0], best[1] - worst[1]) < 1e-12:
            return "flat"
        return "no change" if all(status == 0 for status, _ in deltas) else None

    def adapt(self, parents, w):
        n, old = self.n, self.mu
        mueff = 1 / (w**2).sum()
        cc = (4 + mueff / n) / (n + 4 + 2 * mueff / n)
        cs = (mueff + 2) / (n + mueff + 5)
        c1 = 2 / ((n + 1.3) ** 2 + mueff)
        cmu = min(1 - c1, 2 * (mueff - 2 + 1 / mueff) / ((n + 2) ** 2 + mueff))
        damping = 1 + 2 * max(0, np.sqrt((mueff - 1) / (n + 1)) - 1) + cs
        values, basis = np.linalg.eigh(self.C)
        invsqrt = basis @ np.diag(1 / np.sqrt(np.abs(values))) @ basis.T
        self.evals += self.branches
        self.mu = sum(wi * c for wi, c in zip(w, parents, strict=True))
        y = self.mu - old
        self.p_s = (1 - cs) * self.p_s + np.sqrt(cs * (2 - cs) * mueff) / self.sigma * invsqrt @ y
        left = (self.p_s**2).sum() / n / (1 - (1 - cs) ** (2 * self.evals / self.branches))
        h = 1 if left < 2 + 4 / (n + 1) else 0
        self.p_c = (1 - cc) * self.p_c + h * np.sqrt(cc * (2 - cc) * mueff) * y
        c1a = c1 * (1 - (1 - h) * cc * (2 - cc))
        rank_mu = sum(wi * np.outer(c - old, c - old) for wi, c in zip(w, parents, strict=True))
        self.C = (1 - c1a - cmu) * self.C + c1 * c1 * np.outer(self.p_c, self.p_c) + cmu / self.sigma**2 * rank_mu
        self.sigma *= np.exp(min(1, cs / damping * ((self.p_s**2).sum() / n - 1) / 2))
        return np.abs(values).max() / np.abs(values).min(), self.sigma * np.sqrt(np.abs(values).max())


class Pair:
    """The algorithm and its transcription, driven by the same mocked evaluations."""

    def __init__(self, seed=0):
        self.algorithm = cma_mega_es(
            TASK,
            CmaMegaEsSettings(batch_size=21, es_samples=10, sigma0=2.0, learning_rate=0.7),
            np.random.SeedSequence(seed),
        )
        self.rng = np.random.default_rng(seed)
        archive = self.algorithm.archive
        start = self.algorithm.emitter.ask_dqd()[0]
        self.slow = Transcription(start, 3, 20, 2.0, 0.7, lambda m: int(archive.index_of_single(m)))

    def iterate(self, branch_results=None, before_branches=None):
        algorithm = self.algorithm
        first = algorithm.ask().solutions
        np.testing.assert_allclose(first[0], self.slow.point, rtol=1e-4, atol=1e-4)
        assert len(first) == 11
        told = made_up(self.rng.normal(size=11), self.rng.uniform(-20, 20, (11, 2)))
        self.slow.insert_mean(told.objective[0], told.measures[0])
        point, noise = first[0].copy(), algorithm.sources[0].noise
        assert algorithm.tell(told) is None
        assert len(algorithm.archive) == len(self.slow.archive)  # ES samples are not inserted
        jacobian = algorithm.sources[0].jacobian(point, told.rows(slice(1, None))).astype(float)
        assert noise.shape == (5, 12)
        if before_branches:
            before_branches(algorithm.emitter, self.slow)
        branches = algorithm.ask().solutions
        assert len(branches) == 20
        unit = jacobian / np.linalg.norm(jacobian, axis=1, keepdims=True)
        coefficients = np.linalg.lstsq(unit.T, (branches - point).astype(float).T, rcond=None)[0].T
        np.testing.assert_allclose(point + coefficients @ unit, branches, rtol=1e-3, atol=1e-3)  # lines 13 to 15
        told = branch_results or made_up(self.rng.normal(size=20), self.rng.uniform(-20, 20, (20, 2)))
        done = algorithm.tell(told)
        why = self.slow.finish(coefficients, jacobian, told.objective, told.measures, told.failed)
        assert sorted(algorithm.archive.data("objective").tolist()) == sorted(self.slow.archive.values())
        return done, why

    def restarts(self):
        return self.algorithm.emitter.restarts


def test_iterations_equal_the_transcription():
    pair = Pair()
    for iteration in range(6):
        done, why = pair.iterate()
        assert why is None
        assert pair.restarts() == 0
        assert [len(one.cell) for one in done.insertions] == [1, 20]
        optimizer = pair.algorithm.emitter._opt
        tolerance = {"rtol": 5e-3, "atol": 5e-3}
        np.testing.assert_allclose(optimizer.mean, pair.slow.mu, **tolerance)
        np.testing.assert_allclose(optimizer.cov.cov, pair.slow.C, **tolerance)
        assert optimizer.sigma == pytest.approx(pair.slow.sigma, rel=5e-3), iteration


def restarted(pair, **arguments):
    """Iterate once; the point must come from the archive afterwards, and CMA-ES start anew."""
    before = pair.restarts()
    _, why = pair.iterate(**arguments)
    assert pair.restarts() == before + 1
    optimizer = pair.algorithm.emitter._opt
    assert optimizer.sigma == 2.0
    np.testing.assert_array_equal(optimizer.mean, 0)
    np.testing.assert_array_equal(optimizer.cov.cov, np.eye(3))
    point = pair.algorithm.emitter.ask_dqd()[0]
    assert (pair.algorithm.archive.data("solution") == point).all(axis=1).any()
    pair.slow.restart_cma()
    pair.slow.point = point.astype(float)
    return why


def test_restart_when_no_branch_is_added():
    pair = Pair()
    pair.iterate()
    elite = pair.algorithm.archive.data("measures")[:1]
    nothing = made_up(np.linspace(-1e4, -1e3, 20), np.repeat(elite, 20, axis=0))
    assert restarted(pair, branch_results=nothing) == "no change"
    pair.iterate()  # and goes on


def test_restart_when_branches_are_all_alike():
    pair = Pair()
    pair.iterate()
    elite = pair.algorithm.archive.data("measures")[:1]
    assert restarted(pair, branch_results=made_up(np.full(20, -1e4), np.repeat(elite, 20, axis=0))) == "flat"


def test_restart_when_the_covariance_degenerates():
    def degenerate(emitter, slow):
        for cov in (emitter._opt.cov.cov, slow.C):
            cov[:] = np.diag([1e8, 1.0, 1e-8])

    pair = Pair()
    pair.iterate()
    assert restarted(pair, before_branches=degenerate) == "condition"


def test_restart_when_steps_vanish():
    def shrink(emitter, slow):
        emitter._opt.sigma = slow.sigma = 1e-13

    pair = Pair()
    pair.iterate()
    assert restarted(pair, before_branches=shrink) == "step size"


def test_a_failed_branch_is_not_inserted_and_ranks_last():
    """Also below branches that are worse than the elites they met."""
    pair = Pair()
    pair.iterate()
    elite = pair.algorithm.archive.data("measures")[:1]
    measures = np.concatenate([np.repeat(elite, 17, axis=0), [[-19.0, 19.0], [19.0, -19.0], [19.0, 19.0]]])
    failed = np.arange(20) == 4
    done, _ = pair.iterate(made_up(np.where(failed, 1e6, np.linspace(-1e3, -1e2, 20)), measures, failed))
    assert not done.insertions[1].status[4]
    np.testing.assert_allclose(pair.algorithm.emitter._opt.mean, pair.slow.mu, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 4}, "at least 5"),
        ({"es_samples": 7}, "es_samples must be even"),
        ({"es_sigma": 0}, "es_sigma must be a number above 0"),
        ({"learning_rate": -1}, "learning_rate must be"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        CmaMegaEsSettings(**settings)


def test_exact_gradients_need_a_function():
    with pytest.raises(ValueError, match="qd_hopper is simulated and has no exact gradients"):
        cma_mega(gaits.make_task("qd_hopper"), CmaMegaSettings(), np.random.SeedSequence(0))


# --- with a critic ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def evaluator():
    with gaits.LocalEvaluator(small_task(), workers=2) as evaluator:
        yield evaluator


def with_critic(**settings):
    return cma_mega_td3_es(small_task(), CmaMegaTd3EsSettings(**{**TD3_SMALL, **settings}), np.random.SeedSequence(0))


@pytest.mark.parametrize(("schedule", "sizes"), [("overlap", [1, 1, 7]), ("paper", [1, 7, 1])])
def test_the_greedy_actor_is_inserted_but_never_ranked(evaluator, schedule, sizes):
    algorithm = with_critic(td3_schedule=schedule)
    search = Search(algorithm, evaluator, seed_key=0)
    for _ in range(3):
        done = search.iterate()
        assert [len(one.cell) for one in done.insertions] == sizes
        greedy = done.insertions[sizes.index(1, 1)]
        assert greedy.objective[0] == done.metrics["greedy_objective"]
    assert search.counters.evaluations == 3 * (1 + 6 + 1 + 7)
    assert algorithm.emitter.batch_size == 7


def test_the_order_of_experience_and_when_critics_train(evaluator):
    algorithm = with_critic()
    batches = []
    for _ in range(2):
        for _ in range(2):
            batch = algorithm.ask()
            before = algorithm.critic.steps
            algorithm.learn()
            trained = algorithm.critic.steps - before
            results = evaluator.evaluate(batch.solutions, range(len(batch.solutions)), batch.transitions)
            batches.append((len(batch.solutions), trained, results.transitions.obs))
            algorithm.tell(results)
    # The point and its samples, then the greedy actor and the branches; trained with the branches, from iteration 2 on.
    assert [(n, trained) for n, trained, _ in batches] == [(7, 0), (8, 0), (7, 0), (8, 3)]
    stored = algorithm.critic.buffer.rows[: algorithm.critic.buffer.size, :15]
    np.testing.assert_array_equal(stored, np.concatenate([obs for _, _, obs in batches]))


def test_the_objective_row_is_the_critics_and_the_others_are_the_samples(evaluator):
    algorithm = with_critic()
    search = Search(algorithm, evaluator, seed_key=0)
    search.iterate()
    batch = algorithm.ask()
    results = evaluator.evaluate(batch.solutions, range(7), transitions=True)
    critic, es = algorithm.sources
    rng = np.random.default_rng()
    rng.bit_generator.state = critic.td3.rng.bit_generator.state
    rows, which = critic.td3.buffer.rows, critic.td3.buffer.draw(rng, 32)
    objective = critic.td3.learner.gradient(batch.solutions[0], critic.td3.nets.critics[0], NO_GOAL, rows, which)
    expected = np.concatenate(
        [np.asarray(objective)[None], es.jacobian(batch.solutions[0], results.rows(slice(1, None)))[1:]]
    )
    algorithm.tell(results)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(algorithm.emitter._jacobian_batch[0], expected, rtol=1e-4, atol=1e-6)


def test_with_a_critic_functions_will_not_do():
    with pytest.raises(ValueError, match="lp_sphere is a function"):
        cma_mega_td3_es(gaits.make_task("lp_sphere"), CmaMegaTd3EsSettings(), np.random.SeedSequence(0))
