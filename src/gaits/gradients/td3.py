"""TD3: critics that learn from every policy's experience, and so can tell any policy how to get better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from gaits.checks import between, positive, whole_number
from gaits.gradients.devices import Device, wants_gpu
from gaits.gradients.experience import Lesson, experience
from gaits.gradients.networks import NO_GOAL, Networks, begin
from gaits.gradients.replay import ReplayBuffer
from gaits.policies import MLP
from gaits.states import generator_state, restore_generator
from gaits.tasks.task import check_network


@dataclass(frozen=True)
class TD3Settings:
    """Settings of TD3; the defaults are the paper's."""

    critic_steps: int = 600
    """Critic training steps per iteration (n_crit)."""
    critic_batch: int = 256
    """Transitions per critic training step (n_q)."""
    critic_hidden: tuple[int, ...] = (256, 256)
    """Hidden layers of each critic."""
    critic_learning_rate: float = 3e-4
    """Step size of the critics' Adam (α_crit)."""
    actor_learning_rate: float = 3e-4
    """Step size of the greedy actor's Adam."""
    buffer_size: int = 1_000_000
    """Transitions that the replay buffer holds (|B|)."""
    discount: float = 0.99
    """Discount factor (γ)."""
    target_rate: float = 0.005
    """How far targets move towards their networks per update (τ)."""
    target_delay: int = 2
    """Critic steps per update of the greedy actor and the targets (d)."""
    smoothing_noise: float = 0.2
    """Standard deviation of the noise on target actions (σ_p)."""
    smoothing_clip: float = 0.5
    """Largest noise on target actions (c_clip)."""
    td3_schedule: Literal["overlap", "paper"] = "overlap"
    """When critics train: while solutions are evaluated, as released, or after every iteration, as in the pseudo-code."""
    timeout_terminal: bool = True
    """Whether the step limit counts as an end beyond which there is no value, as released; TD3 itself says it does not."""
    layer_norm: bool = False
    """Whether the units of a critic's hidden layers are normalized before their ReLU (LayerNorm without parameters)."""
    return_bound: bool = False
    """Whether a target is at least the return that its episode went on to have, which nothing but the policy decided."""
    n_step: int = 1
    """Steps of reward in a target before the critics' own estimate."""
    balanced: bool = False
    """Whether minibatches are drawn evenly from the cells that episodes ended in, and not from all transitions."""
    device: Device = "auto"
    """Where networks are trained: auto is a GPU where JAX is installed and has one."""

    def __post_init__(self) -> None:
        positive(self, "critic_steps", "critic_batch", "critic_learning_rate", "actor_learning_rate", "buffer_size")
        positive(self, "target_delay", "n_step")
        between(self, 0, 1, "discount", "target_rate")
        between(self, 0, float("inf"), "smoothing_noise", "smoothing_clip")
        sizes = tuple(whole_number("A layer of critic_hidden", size, 1) for size in self.critic_hidden)
        object.__setattr__(self, "critic_hidden", sizes)
        check_network("critic", sizes)


class Learner(Protocol):
    """Trains networks on rows of a replay buffer, and climbs what was learnt."""

    def train(
        self, nets: Networks, before: int, rows: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> tuple[Networks, np.ndarray]:
        """Networks after a critic step for each minibatch of rows ``which`` (steps, n), and the losses.

        ``noise`` (steps, n, action_dim) is standard normal; ``before`` are the steps that these networks have behind them.
        """

    def gradient(
        self, solution: np.ndarray, theta: np.ndarray, goal: np.ndarray, rows: np.ndarray, which: np.ndarray
    ) -> np.ndarray:
        """∇_φ J(φ) at a solution, J the mean of Q_θ(s, goal, π_φ(s)) over the states of these rows."""

    def vary(
        self, parents: np.ndarray, theta: np.ndarray, goals: np.ndarray, rows: np.ndarray, which: np.ndarray, rate: float
    ) -> np.ndarray:
        """PG variation: parents (n, D) climb J, each with its goal, a step of a fresh Adam per minibatch of rows.

        Minibatches ``which`` are (n, steps, m), or (1, steps, m) if all parents have the same.
        """


def make_learner(policy: MLP, actor: MLP, critic: MLP, settings: TD3Settings) -> Learner:
    """For solutions of the form ``policy``, and a greedy actor that may also see a goal."""
    if wants_gpu(settings.device):
        from gaits.gradients.actor_critic import ActorCritic

        return ActorCritic(policy, actor, critic, settings)
    from gaits.gradients.learner import CompiledLearner

    return CompiledLearner(policy, actor, critic, settings)


class Diverged(ValueError):
    """What learns has numbers that are no longer finite, and the option of whose learning rate that is."""

    def __init__(self, message: str, option: str = "--critic-learning-rate") -> None:
        super().__init__(message)
        self.option = option


class TD3:
    """Replay buffer, twin critics, greedy actor. A learner, on CPU or GPU, has the equations.

    With a ``goal_dim``, states that critics and actor see end with a goal. Solutions see none: what climbs a critic is
    given one. The buffer also keeps so many ``sums`` of what was measured, for whoever learns those.
    """

    def __init__(self, policy: MLP, settings: TD3Settings, seed: int, goal_dim: int = 0, sums: int = 0) -> None:
        self.settings = settings
        self.rng = np.random.default_rng(seed)
        state_dim = policy.obs_dim + goal_dim
        self.actor = MLP(state_dim, policy.hidden, policy.action_dim)
        self.buffer = ReplayBuffer(
            settings.buffer_size,
            state_dim,
            policy.action_dim,
            bounds=settings.return_bound,
            cells=settings.balanced,
            sums=sums,
        )
        self.critic = MLP(state_dim + policy.action_dim, settings.critic_hidden, 1)
        self.learner = make_learner(policy, self.actor, self.critic, settings)
        critics = np.stack([init_uniform(self.critic, self.rng) for _ in range(2)])
        self.nets = begin(critics, init_uniform(self.actor, self.rng))
        self.steps = 0
        """Critic steps of the whole run."""
        self.loss = float("nan")
        """Mean critic loss of the last training."""
        self.goal = NO_GOAL
        """Where the next gradient is taken, for critics that have goals; not part of a state."""

    def begin(self, actor: np.ndarray) -> None:
        """Begin with this greedy actor instead of a random one."""
        self.nets = begin(self.nets.critics, actor)

    @property
    def greedy(self) -> np.ndarray:
        """The greedy actor, a solution if there are no goals."""
        return self.nets.actor

    def learn(self) -> None:
        """Train while episodes run, if that is the schedule and there is experience to learn from."""
        if self.settings.td3_schedule == "overlap" and self.buffer.size:
            self.train(self.settings.critic_steps)

    def remember(self, *lessons: Lesson) -> None:
        """End an iteration: keep its experience, in this order, and train on it if that is the schedule."""
        for lesson in lessons:
            if lesson.steps is not None:
                self.buffer.add(experience(lesson, self.settings))
        if self.settings.td3_schedule == "paper" and self.buffer.size:
            self.train(self.settings.critic_steps)

    def train(self, steps: int) -> None:
        """Critic training steps on minibatches of the buffer."""
        n = self.settings.critic_batch
        which = self.buffer.draw(self.rng, steps, n)
        noise = self.rng.standard_normal((steps, n, self.buffer.action_dim), np.float32)
        nets, losses = self.learner.train(self.nets, self.steps, self.buffer.rows, which, noise)
        self.loss = float(np.mean(losses))
        if not (np.isfinite(self.loss) and np.isfinite(nets.critics).all() and np.isfinite(nets.actor).all()):
            raise Diverged(f"The critic diverged: its loss is {self.loss}.")
        self.nets, self.steps = nets, self.steps + steps

    def gradient(self, solution: np.ndarray, states: int) -> np.ndarray:
        """∇J at a solution from so many states of the buffer."""
        which = self.buffer.draw(self.rng, states)
        return self.learner.gradient(solution, self.nets.critics[0], self.goal, self.buffer.rows, which)

    def vary(
        self,
        parents: np.ndarray,
        steps: int,
        batch: int,
        learning_rate: float,
        goals: np.ndarray | None = None,
        shared: bool = False,
    ) -> np.ndarray:
        """Policy-gradient variation of parents (n, dim): so many steps of Adam up the first critic.

        Each has its goal (n, goal_dim), if there are any; with ``shared``, all climb over the same states.
        """
        goals = np.zeros((len(parents), 0)) if goals is None else goals
        which = self.buffer.draw(self.rng, 1 if shared else len(parents), steps, batch)
        theta, rows = self.nets.critics[0], self.buffer.rows
        varied = self.learner.vary(parents, theta, goals.astype(np.float32), rows, which, learning_rate)
        if not np.isfinite(varied).all():
            option = "--pg-learning-rate" if hasattr(self.settings, "pg_learning_rate") else "--climb-learning-rate"
            raise Diverged(f"Policies that climbed the critic left all numbers, {steps} steps of {learning_rate:g}.", option)
        return varied

    def metrics(self) -> dict[str, float]:
        return {"critic_loss": self.loss, "transitions": self.buffer.size}

    def state(self) -> dict[str, Any]:
        nets, rng = self.nets._asdict(), generator_state(self.rng)
        return {"nets": nets, "steps": self.steps, "buffer": self.buffer.state(), "rng": rng, "loss": self.loss}

    def restore(self, state: dict[str, Any]) -> None:
        self.nets, self.steps = Networks(**state["nets"]), state["steps"]
        self.buffer.restore(state["buffer"])
        restore_generator(self.rng, state["rng"])
        self.loss = state["loss"]


def init_uniform(shape: MLP, rng: np.random.Generator) -> np.ndarray:
    """A network as PyTorch makes it by default: weights and biases U(±1/√inputs)."""
    parts = []
    for weights, _ in shape.layers(np.empty(shape.solution_dim)):
        n_out, n_in = weights.shape
        parts.append(rng.uniform(-1, 1, n_out * (n_in + 1)) / np.sqrt(n_in))
    return np.concatenate(parts).astype(np.float32)
