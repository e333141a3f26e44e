"""What an algorithm is to the search loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gaits.archives import Archive, Insertions
from gaits.episodes import Batch
from gaits.evaluation.results import Results


@dataclass(frozen=True)
class Iteration:
    """An iteration that was completed."""

    insertions: list[Insertions]
    metrics: dict[str, float] = field(default_factory=dict)
    """Columns that this algorithm adds to the metrics."""


class Algorithm(Protocol):
    """Proposes solutions and learns from their results. It may ask several times per iteration.

    Built as ``Algorithm(task, settings, seed)``. Same task, settings and seed: same proposals.
    """

    archive: Archive

    def ask(self) -> Batch:
        """The next solutions to evaluate."""

    def learn(self) -> None:
        """Train while the batch is being evaluated; does nothing without a critic."""

    def tell(self, results: Results) -> Iteration | None:
        """Take the results of the batch just asked for. None if the iteration goes on."""

    def state(self) -> dict[str, Any]:
        """Everything it knows, between iterations, as named plain fields: see ``gaits.states``."""

    def restore(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` of one built from the same task and settings described."""


def spawn_ints(seed: np.random.SeedSequence, n: int) -> list[int]:
    """n independent seeds, as the integers that ribs takes."""
    return [int(child.generate_state(1, np.uint64)[0]) for child in seed.spawn(n)]
