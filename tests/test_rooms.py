"""Rooms and who may look into whom: every import of every module, also those inside functions and for types only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "gaits"

FLOORS = [
    {
        "checks",
        "console",
        "compiling",
        "policies",
        "drawing",
        "reading",
        "states",
        "pcg64",
        "normals",
        "memory",
        "rows",
        "light",
    },
    {"tasks", "episodes", "versions"},
    {"physics", "evaluation", "gradients", "archives"},
    {"algorithms"},
    {"search"},
    {"runs"},
    {"training", "progress", "loggers"},
    {"study", "analysis", "adaptation", "explorer", "video", "export", "bench"},
    {"commands", "cli", "__main__"},
]
"""Arrows go down, or stay on a floor where no rule forbids it."""

STRANGERS = [
    ("physics", "evaluation"),
    ("evaluation", "physics"),
    ("episodes", "physics"),
    ("episodes", "evaluation"),
    ("tasks", "evaluation"),
    ("gradients", "physics"),
    ("search", "tasks"),
    ("adaptation", "analysis"),
    ("analysis", "adaptation"),
    ("explorer", "analysis"),
    ("drawing", "physics"),
    ("archives", "episodes"),
]

PLAYERS = {"gaits.physics", "gaits.physics.mujoco", "gaits.physics.environment", "gaits.physics.world"}
KINDS = PLAYERS | {"gaits.physics.figure", "gaits.physics.mujoco_figure"}
"""Modules that a kind of problem may name inside a function: its players, its looks, and what its numbers are called."""


def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules of gaits that a module imports, and whether inside a function."""
    tree = ast.parse(path.read_text())
    inside = {id(node) for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) for node in ast.walk(one)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "gaits":
            names = [f"gaits.{alias.name}" for alias in node.names] if node.module == "gaits" else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("gaits.")]
        else:
            continue
        found += [(name, id(node) in inside) for name in names]
    return found


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


ARROWS = [
    (room(path), name.split(".")[1], str(path.relative_to(SOURCE)))
    for path in sorted(SOURCE.rglob("*.py"))
    for name, inside in imports(path)
    if not (room(path) == "tasks" and inside and name in KINDS)
]


@pytest.mark.parametrize(("one", "other"), STRANGERS)
def test_strangers(one, other):
    assert [file for here, there, file in ARROWS if (here, there) == (one, other)] == []


def test_arrows_go_down():
    floor = {name: i for i, names in enumerate(FLOORS) for name in names}
    rooms = {room(path) for path in SOURCE.rglob("*.py")} - {"__init__"}
    assert rooms == floor.keys(), "a new room, or one less: say on which floor it is"
    up = {(file, there) for here, there, file in ARROWS if here != "__init__" and floor[there] > floor[here]}
    assert up == set()


@pytest.mark.parametrize(("one", "other"), [("engine", "bullet"), ("bullet", "engine")])
def test_the_engine_and_its_oracle_know_nothing_of_each_other(one, other):
    text = "\n".join(path.read_text() for path in (SOURCE / "physics" / one).glob("*.py"))
    assert re.findall(rf"^ *(?:from|import) .*\b{other}\b.*$", text, re.MULTILINE) == []


def test_nothing_outside_the_kinds_asks_what_a_task_is():
    """No isinstance of a problem, and no look at a field that only some kinds have."""
    kinds = ("Problem", "Robot", "MujocoRobot", "Environment", "Function", "LinearProjection", "Unknown")
    asking = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass", "type"):
                text = ast.unparse(node)
                asking += [f"{path.name}: {text}" for kind in kinds if text.endswith((f", {kind})", ".problem)"))]
    assert asking == []
