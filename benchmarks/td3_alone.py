"""TD3 by itself, without an archive: its greedy actor learns to hop.

Usage: python benchmarks/td3_alone.py [SEED] [STEPS] [TASK]

The greedy actor plays two episodes with noise on its actions, then the critics train a step for every step that was played.
Every 5,000 steps, ten episodes without noise are played and their mean return is printed. Target on QD Hopper: 1,000.
"""

import sys
import time

import numpy as np

import gaits
from gaits.gradients import TD3, Lesson, TD3Settings

EPISODES, EVALUATION_EPISODES, EVALUATE_EVERY = 2, 10, 5_000
RANDOM_STEPS = 10_000
BLOCK = 500
"""Critic steps per call."""

if __name__ == "__main__":
    seed, budget, name = (*sys.argv[1:4], *("1", "100000", "qd_hopper")[len(sys.argv) - 1 :])
    task = gaits.make_task(name)
    rng = np.random.default_rng(int(seed))
    td3 = TD3(
        task.policy, TD3Settings(critic_learning_rate=1e-3, actor_learning_rate=1e-3, timeout_terminal=False), int(seed)
    )
    began, best, owed, next_evaluation = time.perf_counter(), -np.inf, 0, RANDOM_STEPS

    def seeds(n: int) -> np.ndarray:
        return rng.integers(2**31, size=n)

    with gaits.LocalEvaluator(task) as evaluator:
        while td3.buffer.size < int(budget):
            warming_up = td3.buffer.size < RANDOM_STEPS
            actors = [task.policy.init(rng) for _ in range(EPISODES)] if warming_up else [td3.greedy] * EPISODES
            results = evaluator.evaluate(actors, seeds(EPISODES), transitions=True, action_noise=0.3 if warming_up else 0.1)
            td3.remember(Lesson(results.transitions))
            owed += 0 if warming_up else int(results.length.sum())
            while owed >= BLOCK:
                td3.train(BLOCK)
                owed -= BLOCK
            if td3.buffer.size >= next_evaluation:
                next_evaluation += EVALUATE_EVERY
                played = evaluator.evaluate([td3.greedy] * EVALUATION_EPISODES, seeds(EVALUATION_EPISODES))
                mean = float(played.objective.mean())
                best = max(best, mean)
                passed = time.perf_counter() - began
                print(
                    f"{td3.buffer.size:>8,} steps   return {mean:>7.1f}   best {best:>7.1f}   {passed:>5.0f} s", flush=True
                )
    print(f"\nBest mean return of the greedy actor over {EVALUATION_EPISODES} episodes: {best:.1f} (target: 1,000)")
