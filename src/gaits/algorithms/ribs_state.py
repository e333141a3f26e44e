"""The state of ribs' archives, emitters and optimizers, in and out: the one place that reaches into their private fields.

``FIELDS`` lists every field of every class that is used. Those ``kept`` make up its state; those ``made`` come from the
configuration, through the constructor; those ``passing`` are set and used within an iteration. A test compares the lists
with the classes, so that a version of ribs with other fields is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from ribs.archives import CVTArchive, GridArchive
from ribs.archives._array_store import ArrayStore
from ribs.emitters.opt import AdamOpt, CMAEvolutionStrategy, GradientAscentOpt, SeparableCMAEvolutionStrategy
from ribs.emitters.opt._cma_es import DecompMatrix
from ribs.emitters.opt._sep_cma_es import DiagonalMatrix
from ribs.emitters.rankers import ImprovementRanker, TwoStageImprovementRanker

from gaits.algorithms.emitters import BranchingEmitter, GaussiansEmitter
from gaits.archives import Archive
from gaits.states import Misfit, Real, Rows, generator_state, restore_generator


@dataclass(frozen=True)
class Fields:
    kept: tuple[str, ...]
    made: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()


_ARCHIVE_KEPT = ("_rng", "_store", "_objective_sum", "_best_elite", "_stats")
_ARCHIVE_MADE = (
    *("_solution_dim", "_objective_dim", "_measure_dim", "_lower_bounds", "_upper_bounds", "_interval_size"),
    *("_learning_rate", "_threshold_min", "_qd_score_offset"),
)
_EMITTER_MADE = ("_archive", "_solution_dim", "_lower_bounds", "_upper_bounds", "_batch_size")

FIELDS: dict[type, Fields] = {
    GridArchive: Fields(_ARCHIVE_KEPT, (*_ARCHIVE_MADE, "_dims", "_boundaries", "_epsilon")),
    CVTArchive: Fields(
        _ARCHIVE_KEPT,
        (*_ARCHIVE_MADE, "_centroids", "_nearest_neighbors", "_kdtree_kwargs", "_centroid_kd_tree", "_kdtree_query_kwargs"),
    ),
    ArrayStore: Fields(("_props", "_fields"), ("_xp", "_device")),
    BranchingEmitter: Fields(
        ("_x0", "_restarts", "_itrs", "_ranker", "_grad_opt", "_opt"),
        (*_EMITTER_MADE, "_epsilon", "_sigma0", "_normalize_grads", "_selection_rule", "_restart_rule", "_num_coefficients"),
        ("_jacobian_batch", "_coefficients"),
    ),
    GaussiansEmitter: Fields(
        ("_x0", "_restarts", "_itrs", "_ranker", "_opt"),
        (*_EMITTER_MADE, "_sigma0", "_selection_rule", "_restart_rule"),
    ),
    ImprovementRanker: Fields(("_rng",)),
    TwoStageImprovementRanker: Fields(("_rng",)),
    GradientAscentOpt: Fields(("_theta",), ("_lr",)),
    AdamOpt: Fields(("_theta", "_m", "_v", "_t"), ("_lr", "_epsilon", "_beta1", "_beta2", "_l2_coeff")),
    CMAEvolutionStrategy: Fields(
        ("_rng", "current_eval", "mean", "sigma", "pc", "ps", "cov"),
        ("batch_size", "sigma0", "solution_dim", "dtype", "lower_bounds", "upper_bounds", "lazy_gap_evals"),
        ("_solutions",),
    ),
    SeparableCMAEvolutionStrategy: Fields(
        ("_rng", "current_eval", "mean", "sigma", "pc", "ps", "cov"),
        ("batch_size", "sigma0", "solution_dim", "dtype", "lower_bounds", "upper_bounds"),
        ("_solutions",),
    ),
    DiagonalMatrix: Fields(("cov", "updated_eval"), ("dtype",)),
    DecompMatrix: Fields(
        ("cov", "eigenbasis", "eigenvalues", "condition_number", "invsqrt", "updated_eval"),
        ("dtype",),
    ),
}
COUNTS = ("_t", "_restarts", "_itrs", "current_eval", "updated_eval")
"""Kept fields that are whole numbers."""


def ribs_state(thing: Any) -> dict[str, Any]:
    """The state of an emitter or optimizer, and of what it is made of."""
    return {name.lstrip("_"): _leaf(name, getattr(thing, name)) for name in FIELDS[type(thing)].kept}


def _leaf(name: str, value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return generator_state(value)
    if type(value) in FIELDS:
        return ribs_state(value)
    return int(value) if name in COUNTS else Real(value)


def restore_ribs(thing: Any, state: dict[str, Any]) -> None:
    """Become what ``ribs_state`` described."""
    for name in FIELDS[type(thing)].kept:
        value, now = state[name.lstrip("_")], getattr(thing, name)
        if isinstance(now, np.random.Generator):
            restore_generator(now, value)
        elif type(now) in FIELDS:
            restore_ribs(now, value)
        else:
            setattr(thing, name, value)


def archive_state(archive: Archive) -> dict[str, Any]:
    """The state of an archive: its elites in the order in which their cells were filled, which sampling goes by."""
    store = archive._store
    cells = store.occupied_list.copy()
    return {
        "rng": generator_state(archive._rng),
        "index": Rows(cells, int(archive.cells)),
        "elites": {name: Rows(values, int(archive.cells), cells) for name, values in store._fields.items()},
        "objective_sum": float(archive._objective_sum or 0.0),
        # Not ribs' best elite: an archive whose elites may become worse has it no more.
        "best": int(cells[np.argmax(store._fields["objective"][cells])]) if len(cells) else 0,
    }


def restore_archive(archive: Archive, state: dict[str, Any]) -> None:
    """Become what ``archive_state`` described."""
    cells, elites, store = state["index"], state["elites"], archive._store
    n = len(cells)
    if any(len(values) != n for values in elites.values()):
        raise Misfit("its elites lack some of their fields")
    if n and not (cells.min() >= 0 and cells.max() < archive.cells and len(np.unique(cells)) == n):
        raise Misfit("its elites are in cells that the archive does not have, or two in one")
    if not (np.isfinite(elites["objective"]).all() and np.isfinite(elites["measures"]).all()):
        raise Misfit("its elites have objectives or measures that are not finite")
    if n and not (np.array_equal(archive.index_of(elites["measures"]), cells) and state["best"] in cells):
        raise Misfit("its elites are not in their cells")
    archive.clear()
    restore_generator(archive._rng, state["rng"])
    for name, values in elites.items():
        store._fields[name][cells] = values
    store._props["occupied"][cells] = True
    store._props["occupied_list"][:n] = cells
    store._props["n_occupied"] = n
    if n:
        archive._stats_update(np.float64(state["objective_sum"]), state["best"])
