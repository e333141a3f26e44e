"""A small study, and its comparison from Python. Usage: python examples/04_compare.py [EVALUATIONS] [FOLDER]"""

import sys

import gaits
from gaits.analysis import collect, compare, sentences, statistics, tables
from gaits.study import make_study

evaluations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
folder = sys.argv[2] if len(sys.argv) > 2 else "runs/example-study"

document = {
    "evaluations": evaluations,
    "seeds": "1..3",
    "tasks": ["qd_hopper"],
    "algorithms": ["map_elites"],
    "variant": [{"name": "bolder", "algorithm": "map_elites", "settings": {"sigma": 0.05}}],
}
print(gaits.run_study(make_study(document, "example"), folder))

collection = collect.collect([folder])  # tidy tables: a row per run in .final, a row per iteration in .curves
print(collection.final[["algorithm", "seed", "qd_score", "coverage", "best"]].to_string(index=False))
print(tables.to_markdown(tables.means(collection, "qd_score"), collection, tables.METRICS["qd_score"]))
tests = statistics.pairwise_tests(collection.final, "qd_score_normalized", [("bolder", "map_elites")])
print("p =", sentences.format_p(tests["p"].iloc[0]))

compare.compare([folder], f"{folder}/comparison")
print(f"The same, with figures and a report: {folder}/comparison/report.html")
