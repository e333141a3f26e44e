"""What plays episodes: one per thread or process, made for one task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gaits.console import describe
from gaits.episodes.episode import Episode
from gaits.episodes.job import Job


class EpisodeFailed(ValueError):
    """An episode that could not be played: the user's environment raised, or its process died."""


class Player(Protocol):
    """Plays episodes of one task. An episode depends on its setup alone, not on what the player played before."""

    def play(self, job: Job) -> None:
        """Take episodes from the job until none is left, and put each back as it ends. One player, one thread at a time."""

    def stop(self) -> None:
        """Called from another thread while it plays: give up at once what would keep it waiting. Then it is closed."""
        return None

    def close(self) -> None:
        """Free what it holds."""
        return None


def play_each(job: Job, play: Callable[[int], Episode]) -> None:
    """The loop of a player that plays one episode at a time, by number. If one fails, nobody need go on with the others."""
    while (i := job.take()) is not None:
        try:
            job.put(i, play(i))
        except Exception as error:
            job.cancel()
            if isinstance(error, EpisodeFailed):
                raise
            raise EpisodeFailed(job.blame(i, describe(error))) from None
