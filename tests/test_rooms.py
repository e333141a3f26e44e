"""Rooms and who may look into whom: every import of every module, also those inside functions and for types only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from gaits.tasks.problem import Problem

SOURCE = Path(__file__).parents[1] / "src" / "gaits"
TREES = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}

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
        "lanes",
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
    tree = TREES[path]
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
    for path in TREES
    for name, inside in imports(path)
    if not (room(path) == "tasks" and inside and name in KINDS)
]


@pytest.mark.parametrize(("one", "other"), STRANGERS)
def test_strangers(one, other):
    assert [file for here, there, file in ARROWS if (here, there) == (one, other)] == []


def test_arrows_go_down():
    floor = {name: i for i, names in enumerate(FLOORS) for name in names}
    rooms = {room(path) for path in TREES} - {"__init__"}
    assert rooms == floor.keys(), "a new room, or one less: say on which floor it is"
    up = {(file, there) for here, there, file in ARROWS if here != "__init__" and floor[there] > floor[here]}
    assert up == set()


@pytest.mark.parametrize(("one", "other"), [("engine", "bullet"), ("bullet", "engine")])
def test_the_engine_and_its_oracle_know_nothing_of_each_other(one, other):
    text = "\n".join(path.read_text() for path in (SOURCE / "physics" / one).glob("*.py"))
    assert re.findall(rf"^ *(?:from|import) .*\b{other}\b.*$", text, re.MULTILINE) == []


def test_no_import_is_hidden():
    """None is relative, and nobody reaches others through the package, which gives away all names."""
    hidden = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            relative = isinstance(node, ast.ImportFrom) and node.level > 0
            through = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "gaits" and node.attr[:2] != "__"
            hidden += [f"{path.name}: {ast.unparse(node)}"] if relative or through else []
    assert hidden == []


def find_kinds() -> set[str]:
    """Names of the kinds of problem: all classes of their room that are a Problem."""
    tasks = [tree for path, tree in TREES.items() if room(path) == "tasks"]
    classes = [node for tree in tasks for node in tree.body if isinstance(node, ast.ClassDef)]
    kinds = {"Problem"}
    for _ in classes:
        kinds |= {one.name for one in classes if {ast.unparse(base) for base in one.bases} & kinds}
    return kinds


def names(node: ast.AST) -> set[str]:
    return set(re.findall(r"\w+", ast.unparse(node)))


def test_nothing_outside_the_kinds_asks_what_a_task_is():
    """No isinstance and no pattern of a kind, and no look at what only some kinds have."""
    kinds = find_kinds()
    assert kinds >= {"Robot", "MujocoRobot", "Environment", "Function", "LinearProjection", "Unknown"}
    asking = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            asks = (
                (called in ("isinstance", "issubclass") and names(node.args[1]) & kinds)
                or (called in ("type", "hasattr", "getattr") and "problem" in names(node.args[0]))
                or (isinstance(node, ast.MatchClass) and names(node.cls) & kinds)
                or (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Attribute)
                    and node.value.attr == "problem"
                    and not hasattr(Problem, node.attr)
                )
            )
            asking += [f"{path.name}: {ast.unparse(node)}"] if asks else []
    assert asking == []
