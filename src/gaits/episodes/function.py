"""Functions behind the door of episodes: no steps, no luck, and all solutions at once."""

from __future__ import annotations

import numpy as np

from gaits.episodes.episode import NON_FINITE, TRUNCATED
from gaits.episodes.job import Job
from gaits.episodes.player import Player
from gaits.tasks.function import Function


class FunctionPlayer(Player):
    """Computes a function. Seeds, noise, normalization and recording, which only episodes have, are ignored."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def play(self, job: Job) -> None:
        taken = np.array(list(iter(job.take, None)), int)
        objective, measures = self.function.evaluate(job.solutions[taken // job.episodes_each])
        job.objective[taken], job.measures[taken] = objective, measures
        inside = np.isfinite(objective) & (objective >= self.function.lowest)
        job.end[taken] = np.where(inside, TRUNCATED, NON_FINITE)
