"""What an episode is, and who plays it. Neither the physics nor the evaluators own this; both meet here.

episode.py     set-up, outcome, trace, ways to end, seeds
job.py         a checked batch of episodes, and room for their outcomes
player.py      the protocol of everything that plays
pool.py        players for many threads
process.py     a player in a process of its own
function.py    functions, which have no episodes, behind the same door
"""

from __future__ import annotations

from gaits.episodes.episode import (
    NON_FINITE,
    TERMINATED,
    TRUNCATED,
    Episode,
    Pictures,
    Setup,
    Steps,
    Trace,
    check_seed,
)
from gaits.episodes.job import Batch, Job, make_job
from gaits.episodes.player import EpisodeFailed, Player, play_each
from gaits.episodes.pool import Pool

__all__ = [
    "NON_FINITE",
    "TERMINATED",
    "TRUNCATED",
    "Batch",
    "Episode",
    "EpisodeFailed",
    "Job",
    "Pictures",
    "Player",
    "Pool",
    "Setup",
    "Steps",
    "Trace",
    "check_seed",
    "make_job",
    "play_each",
]
