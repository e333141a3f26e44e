"""Importing ribs in half the time: what only parts of it need that gaits does not use comes when it is called.

With ribs come scikit-learn, SciPy's statistics and numpy_groupies, which Numba looks at for a second; together they take
longer than most commands. ribs only calls what it imports from them, so a stand-in that imports at the first call will do.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

STAND_INS = {
    "numpy_groupies": ("aggregate_nb",),
    "sklearn.cluster": ("k_means",),
    "sklearn.neighbors": ("KernelDensity", "NearestNeighbors"),
    "ribs.emitters._bayesian_opt_emitter": ("BayesianOptimizationEmitter",),
}
"""Modules that ribs 0.12 imports, and the names that it takes from them."""


class Late:
    """Stands for a function or a class of a module that is imported when it is needed."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _find(self) -> Any:
        return getattr(importlib.import_module(self._module), self._name)

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self._find()(*values, **named)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._find())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._find(), name)


@contextlib.contextmanager
def light_imports() -> Iterator[None]:
    """Import ribs inside this. Nothing happens where it, or one of the modules, is imported already."""
    standing: dict[str, ModuleType] = {}
    for module, names in STAND_INS.items() if "ribs" not in sys.modules else ():
        if module not in sys.modules:
            standing[module] = ModuleType(module)
            vars(standing[module]).update({name: Late(module, name) for name in names})
    sys.modules.update(standing)
    try:
        yield
    finally:
        for module, stand_in in standing.items():
            if sys.modules.get(module) is stand_in:
                del sys.modules[module]
