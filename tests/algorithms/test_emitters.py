"""Our emitters propose what ribs' do, bit for bit, from an empty archive on."""

from __future__ import annotations

import numpy as np
import pytest
import ribs.emitters
from numba.core.caching import FunctionCache
from ribs.archives import GridArchive

from gaits.algorithms.emitters import COMPILED, BranchingEmitter, GaussianEmitter, GaussiansEmitter, IsoLineEmitter
from gaits.states import copy

DIM, BATCH = 300, 12


def make_archive(**annealing):
    options = {"solution_dtype": np.float32, "objective_dtype": np.float64, "measures_dtype": np.float64, **annealing}
    return GridArchive(solution_dim=DIM, dims=(8, 8), ranges=[(0, 1)] * 2, seed=4, **options)


def x0():
    return np.random.default_rng(3).standard_normal(DIM).astype(np.float32)


def outcomes(rng):
    return rng.random(BATCH), rng.random((BATCH, 2))


PAIRS = {
    "gaussian": (
        lambda archive: GaussianEmitter(archive, 0.02, x0(), BATCH, seed=5),
        lambda archive: ribs.emitters.GaussianEmitter(archive, sigma=0.02, x0=x0(), batch_size=BATCH, seed=5),
    ),
    "iso_line": (
        lambda archive: IsoLineEmitter(archive, 0.005, 0.05, x0(), BATCH, seed=5),
        lambda archive: ribs.emitters.IsoLineEmitter(
            archive, iso_sigma=0.005, line_sigma=0.05, x0=x0(), batch_size=BATCH, seed=5
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("ahead", [False, True])
def test_mutations_equal_those_of_ribs(name, ahead):
    ours, theirs = (make(make_archive()) for make in PAIRS[name])
    rng = np.random.default_rng(0)
    for _ in range(6):
        asked = ours.ask()
        assert asked.dtype == np.float32
        np.testing.assert_array_equal(asked, theirs.ask())
        objective, measures = outcomes(rng)
        for emitter in (ours, theirs):
            emitter.archive.add(asked, objective, measures)
        if ahead:
            ours.prepare()
            other = PAIRS[name][0](ours.archive)
            other.restore(copy(ours.state(), other.state()))
            ours = other


def make_branching(kind, archive, **rules):
    return kind(archive, x0=x0(), sigma0=0.5, lr=1.0, selection_rule="mu", batch_size=BATCH, seed=6, **rules)


@pytest.mark.parametrize("annealed", [False, True])
def test_branches_equal_those_of_ribs(annealed):
    annealing = {"learning_rate": 0.1, "threshold_min": 0.0} if annealed else {}
    rules = {"ranker": "imp", "restart_rule": "basic"} if annealed else {"ranker": "2imp"}
    kinds = (BranchingEmitter, ribs.emitters.GradientArborescenceEmitter)
    ours, theirs = (make_branching(kind, make_archive(**annealing), **rules) for kind in kinds)
    rng = np.random.default_rng(0)
    for i in range(40):
        point = ours.ask_dqd()
        np.testing.assert_array_equal(point, theirs.ask_dqd())
        jacobian = rng.standard_normal((1, 3, DIM)).astype(np.float32)
        if i % 2:
            ours.prepare()
        told = rng.random(1), rng.random((1, 2)), jacobian
        for emitter in (ours, theirs):
            emitter.tell_dqd(point, *told[:2], told[2].copy(), {"status": np.array([2]), "value": told[0]})
        branches = ours.ask()
        assert branches.dtype == np.float32
        np.testing.assert_array_equal(branches, theirs.ask())
        objective, measures = outcomes(rng)
        for emitter in (ours, theirs):
            info = emitter.archive.add(branches, objective - i % 3, measures)  # so that some iterations find nothing
            emitter.tell(branches, objective, measures, info)
        np.testing.assert_array_equal(ours.ask_dqd(), theirs.ask_dqd())
    assert ours.restarts == theirs.restarts
    assert annealed == (ours.restarts == 0)


def test_gaussians_equal_those_of_ribs():
    rules = {"sigma0": 0.1, "ranker": "imp", "es": "sep_cma_es", "selection_rule": "mu", "restart_rule": "basic"}
    kinds = (GaussiansEmitter, ribs.emitters.EvolutionStrategyEmitter)
    archives = [make_archive(learning_rate=0.1, threshold_min=0.0) for _ in kinds]
    ours, theirs = (
        kind(archive, x0=x0(), batch_size=BATCH, seed=6, **rules) for kind, archive in zip(kinds, archives, strict=True)
    )
    rng = np.random.default_rng(0)
    for i in range(20):
        asked = ours.ask()
        np.testing.assert_array_equal(asked, theirs.ask())
        objective, measures = outcomes(rng)
        if i == 10:  # all alike: the rule of the ES says restart
            objective, measures = np.full(BATCH, -1.0), np.full((BATCH, 2), 0.5)
        told = [emitter.archive.add(asked, objective, measures) for emitter in (ours, theirs)]
        ours.tell(told[0])
        theirs.tell(asked, objective, measures, told[1])
    assert ours.restarts == theirs.restarts == 1


def test_a_restart_while_there_are_no_elites_is_from_the_beginning():
    emitter = GaussiansEmitter(make_archive(), x0=x0(), sigma0=0.1, es="sep_cma_es", batch_size=BATCH, seed=6)
    emitter.ask()
    emitter.tell({"status": np.zeros(BATCH, int), "value": np.zeros(BATCH)})
    assert emitter.restarts == 1
    np.testing.assert_array_equal(emitter._opt.mean, x0())


def test_what_ribs_compiles_is_kept_on_disk():
    names = {function.py_func.__name__ for function in COMPILED}
    assert names == {"_transform_and_check_sol", "_calc_mean", "_calc_weighted_ys", "_calc_cov_update"}
    assert all(isinstance(function._cache, FunctionCache) for function in COMPILED)
