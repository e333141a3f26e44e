"""A task of the user's own, as a run's folder describes it where the task itself is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gaits.checks import check_source
from gaits.tasks.problem import Problem

if TYPE_CHECKING:
    from gaits.tasks.task import Task


@dataclass(frozen=True)
class Unknown(Problem):
    """It can be looked at, not played: a run's files run nobody's code."""

    source: str | None = None

    def __post_init__(self) -> None:
        if self.source is not None:
            check_source(self.source)

    def check(self) -> None:
        raise ValueError(self._told)

    def unwatchable(self, task: Task) -> str:
        return self._told

    @property
    def _told(self) -> str:
        return (
            "This run is of a task of your own. Its files never run code, so name the task again: "
            f"--task {self.source or 'MODULE:NAME'}, or gaits.register_task(task) in Python."
        )
