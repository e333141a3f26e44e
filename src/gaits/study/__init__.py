"""Studies: tasks x algorithms x seeds, run one after the other and compared later.

plan.py        which runs a study makes, and in which order
read.py        studies from TOML files, from the folders of studies that were begun, and presets
execute.py     one planned run: make, resume, extend or skip it
overview.py    all runs at a glance, while they go
run.py         the loop over the runs, and what is said at its end
"""

from __future__ import annotations

from gaits.study.execute import Outcome, execute
from gaits.study.overview import LiveOverview, Overview, PlainOverview, make_overview
from gaits.study.plan import PlannedRun, Study, Variant, parse_seeds
from gaits.study.read import PRESETS, load_study, make_study, preset
from gaits.study.run import StudyReport, run_study

__all__ = [
    "PRESETS",
    "LiveOverview",
    "Outcome",
    "Overview",
    "PlainOverview",
    "PlannedRun",
    "Study",
    "StudyReport",
    "Variant",
    "execute",
    "load_study",
    "make_overview",
    "make_study",
    "parse_seeds",
    "preset",
    "run_study",
]
