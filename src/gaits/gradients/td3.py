"""TD3: critics that learn from every policy's experience, and so can tell any policy how to get better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from gaits.checks import between, positive, whole_number
from gaits.evaluation.results import Results, Transitions
from gaits.gradients.devices import Device, wants_gpu
from gaits.gradients.networks import Networks, begin
from gaits.gradients.replay import ReplayBuffer
from gaits.policies import MLP
from gaits.states import generator_state, restore_generator


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
    device: Device = "auto"
    """Where networks are trained: auto is a GPU where JAX is installed and has one."""

    def __post_init__(self) -> None:
        positive(self, "critic_steps", "critic_batch", "critic_learning_rate", "actor_learning_rate", "buffer_size")
        positive(self, "target_delay")
        between(self, 0, 1, "discount", "target_rate")
        between(self, 0, float("inf"), "smoothing_noise", "smoothing_clip")
        sizes = tuple(whole_number("A layer of critic_hidden", size, 1) for size in self.critic_hidden)
        object.__setattr__(self, "critic_hidden", sizes)


class Learner(Protocol):
    """Trains networks on rows of a replay buffer, and climbs what was learnt."""

    def train(
        self, nets: Networks, before: int, rows: np.ndarray, which: np.ndarray, noise: np.ndarray
    ) -> tuple[Networks, np.ndarray]:
        """Networks after a critic step for each minibatch of rows ``which`` (steps, n), and the losses.

        ``noise`` (steps, n, action_dim) is standard normal; ``before`` are the steps that these networks have behind them.
        """

    def gradient(self, solution: np.ndarray, theta: np.ndarray, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
        """∇_φ J(φ) at a solution, J the mean of Q_θ(s, π_φ(s)) over the states of these rows."""

    def vary(
        self, parents: np.ndarray, theta: np.ndarray, rows: np.ndarray, which: np.ndarray, learning_rate: float
    ) -> np.ndarray:
        """PG variation: parents (n, D) climb J, a step of a fresh Adam per minibatch of rows ``which`` (n, steps, m)."""


def make_learner(policy: MLP, critic: MLP, settings: TD3Settings) -> Learner:
    if wants_gpu(settings.device):
        from gaits.gradients.actor_critic import ActorCritic

        return ActorCritic(policy, critic, settings)
    from gaits.gradients.learner import CompiledLearner

    return CompiledLearner(policy, critic, settings)


class Diverged(ValueError):
    """A critic whose numbers are no longer finite."""


class TD3:
    """Replay buffer, twin critics, greedy actor. A learner, on CPU or GPU, has the equations."""

    def __init__(self, policy: MLP, settings: TD3Settings, seed: int) -> None:
        self.settings = settings
        self.rng = np.random.default_rng(seed)
        self.buffer = ReplayBuffer(settings.buffer_size, policy.obs_dim, policy.action_dim)
        self.critic = MLP(policy.obs_dim + policy.action_dim, settings.critic_hidden, 1)
        self.learner = make_learner(policy, self.critic, settings)
        critics = np.stack([init_uniform(self.critic, self.rng) for _ in range(2)])
        self.nets = begin(critics, init_uniform(policy, self.rng))
        self.steps = 0
        """Critic steps of the whole run."""
        self.loss = float("nan")
        """Mean critic loss of the last training."""

    @property
    def greedy(self) -> np.ndarray:
        """The greedy actor, a solution."""
        return self.nets.actor

    def learn(self) -> None:
        """Train while episodes run, if that is the schedule and there is experience to learn from."""
        if self.settings.td3_schedule == "overlap" and self.buffer.size:
            self.train(self.settings.critic_steps)

    def remember(self, *experience: Transitions | None) -> None:
        """End an iteration: keep its experience, in this order, and train on it if that is the schedule."""
        for steps in experience:
            if steps is not None:
                self.buffer.add(steps, self.settings.timeout_terminal)
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
        """∇J at a solution from so many states of the buffer; a random direction while the buffer is empty."""
        if not self.buffer.size:
            return self.rng.standard_normal(solution.size, np.float32)
        which = self.buffer.draw(self.rng, states)
        return self.learner.gradient(solution, self.nets.critics[0], self.buffer.rows, which)

    def vary(self, parents: np.ndarray, steps: int, batch: int, learning_rate: float) -> np.ndarray:
        """Policy-gradient variation of parents (n, dim): so many steps of Adam up the first critic."""
        which = self.buffer.draw(self.rng, len(parents), steps, batch)
        return self.learner.vary(parents, self.nets.critics[0], self.buffer.rows, which, learning_rate)

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


class CriticGradient:
    """The objective's gradient from a critic, without samples. It has nothing to say about measures.

    The critic belongs to the algorithm that trains it, which also saves and restores it.
    """

    def __init__(self, td3: TD3, states: int) -> None:
        self.td3, self.states = td3, states

    def samples(self, solution: np.ndarray) -> np.ndarray:
        return np.zeros((0, solution.size), np.float32)

    def jacobian(self, solution: np.ndarray, results: Results) -> np.ndarray:
        return self.td3.gradient(solution, self.states)[None]

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


def init_uniform(shape: MLP, rng: np.random.Generator) -> np.ndarray:
    """A network as PyTorch makes it by default: weights and biases U(±1/√inputs)."""
    parts = []
    for weights, _ in shape.layers(np.empty(shape.solution_dim)):
        n_out, n_in = weights.shape
        parts.append(rng.uniform(-1, 1, n_out * (n_in + 1)) / np.sqrt(n_in))
    return np.concatenate(parts).astype(np.float32)
