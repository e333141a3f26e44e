"""Rollout speed against bare physics and the original environments. Usage: python benchmarks/rollout.py"""

from gaits.bench import rollout

if __name__ == "__main__":
    rollout.main()
