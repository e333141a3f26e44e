"""What a kind of problem knows: the one thing of a task that decides how it is played, checked and shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from gaits.policies import MLP

if TYPE_CHECKING:
    from gaits.drawing.puppet import Puppet
    from gaits.episodes.player import Player
    from gaits.tasks.function import Function
    from gaits.tasks.qdgym import Robot
    from gaits.tasks.task import Task


class Parts(NamedTuple):
    """What of a robot can be damaged, by name."""

    joints: tuple[str, ...]  # in the order of its actions
    feet: tuple[str, ...]


Factors = tuple[tuple[str, float], ...]
"""Of parts that are not what they were, by name."""


def multiply(names: tuple[str, ...], before: Factors, more: Mapping[str, float]) -> Factors:
    """Factors on top of others; those that come to 1 are left out."""
    known = dict(before)
    factors = {name: known.get(name, 1.0) * more.get(name, 1.0) for name in names}
    return tuple((name, factor) for name, factor in factors.items() if factor != 1.0)


class Problem:
    """A problem of some kind. A new kind is a subclass in a file of its own; nothing else asks which kind a task is of.

    What is here holds for most kinds: solutions are policies, played in episodes, of nothing that can be drawn. Where a kind
    lacks something, it raises, and says what to do instead.
    """

    remedy: ClassVar[str] = ""
    """How to get its ``modules``."""
    own_process: ClassVar[bool] = False
    """Whether a player on this machine needs a process of its own."""
    side_by_side: ClassVar[int] = 1
    """Episodes that a player plays at once, in about the time of one."""
    source: str | None = None
    """``MODULE:NAME`` that gives the task, if it came from there."""

    @property
    def suited(self) -> Mapping[str, Any]:
        """Defaults of settings, by name, that suit it where an algorithm's own do not."""
        return {}

    # --- solutions ---------------------------------------------------------------------------------------------------------

    def make_policy(self, task: Task) -> MLP:
        """The network that a solution is the parameters of."""
        return MLP(task.obs_dim, task.hidden, task.action_dim)

    def solution_dim(self, task: Task) -> int:
        return self.make_policy(task).solution_dim

    def first_solution(self, task: Task, rng: np.random.Generator) -> np.ndarray:
        """Where a search starts."""
        return self.make_policy(task).init(rng)

    # --- playing -----------------------------------------------------------------------------------------------------------

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of others, besides those that all of gaits needs, whose versions decide its episodes."""
        return ()

    def check(self) -> None:
        """Raise if it cannot be played here."""

    def make_player(self, task: Task) -> Player:
        """Plays in this process; any number may play at once, in threads."""
        raise NotImplementedError

    def make_local_player(self, task: Task) -> Player:
        """What a thread of an evaluator on this machine plays on."""
        return self.make_player(task)

    def check_luck(self, task: Task) -> None:
        """Raise if a solution does the same every time."""

    # --- names -------------------------------------------------------------------------------------------------------------

    def env_id(self, task: Task) -> str:
        """The name under which Gymnasium makes its environment; - if there is none."""
        return "-"

    def named(self, source: str) -> Self:
        """The same, knowing the ``MODULE:NAME`` that it came from."""
        return self

    def describe_policy(self) -> dict[str, Any]:
        """What a policy's numbers stand for, in order, where they have names."""
        return {}

    # --- what only some have -----------------------------------------------------------------------------------------------

    def unwatchable(self, task: Task) -> str:
        """Why its episodes cannot be drawn; empty if they can."""
        return f"{task.title} has no robot that can be drawn here, only the map."

    def make_puppet(self, task: Task) -> Puppet | None:
        """What draws its robot where an episode's trace says; None where episodes come with pictures of their own."""
        raise ValueError(self.unwatchable(task))

    def find_parts(self, task: Task) -> Parts:
        raise ValueError(
            f"{task.name} has no robot whose motors and feet are known here, so it cannot be damaged. Choose a task such as "
            "qd_hopper or mj_hopper."
        )

    def damaged(self, strength: Mapping[str, float], friction: Mapping[str, float]) -> Self:
        """The same with these factors on motors and feet of ``find_parts``, on top of what is damaged already."""
        raise NotImplementedError

    def find_robot(self, task: Task) -> Robot:
        """The robot that our own physics moves."""
        raise ValueError(f"{task.name} has no robot of QDGym's, which this needs. Choose a task such as qd_hopper.")

    def step_measures(self, task: Task, next_obs: np.ndarray, last: np.ndarray, measures: np.ndarray) -> np.ndarray:
        """(N, k): what each step added to its episode's measures, which are means over its steps.

        ``next_obs`` (N, obs_dim) are those after the steps, ``last`` (N,) which step its episode's last one is, and
        ``measures`` (N, k) those of its episode.
        """
        raise ValueError(
            f"{task.name} does not tell step by step what it measures, which this needs. Choose a task such as qd_hopper, "
            "or an algorithm that needs no critic of measures, such as cma_mega_es."
        )

    def find_function(self, task: Task) -> Function:
        """The function whose gradients are known."""
        raise ValueError(
            f"{task.name} is simulated and has no exact gradients. Add _es to the algorithm's name for the one that "
            "estimates them (cma_mega_es, cma_maega_es), or choose a task such as lp_sphere."
        )
