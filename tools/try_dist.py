"""Say what is in dist/, then install the wheel in fresh environments, with and without extras, and use it.

Usage: python tools/try_dist.py [PYTHON ...]     # such as python3.11 python3.12
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = str(Path(sys.executable).with_name("uv"))
EXTRAS = "explore,mujoco,onnx,safetensors,sweep,tensorboard,video"
NEEDED = ("gaits/py.typed", "gaits/demo/", "gaits/explorer/static/", "gaits/physics/robots/", "gaits/analysis/paper/")
UNWANTED = re.compile(r"^[^/]+/(replication|build|\.\w*cache|\.venv.*)/|__pycache__")
PLAIN = """
gaits --version
gaits tasks
gaits train lp_sphere map_elites --evaluations 300 --out run
gaits resume run --evaluations 400
gaits check run
gaits compare run --out comparison
"""
"""Commands that need no extra; the physics is not compiled, which takes minutes on a busy machine."""
WITH_EXTRAS = """
gaits demo --export demo.html
gaits train qd_hopper cma_mega_es --evaluations 400 --out hopper --tensorboard
gaits video hopper --seconds 1
gaits export hopper --out best.onnx
gaits export hopper --out best.safetensors
"""


def main(pythons: list[str]) -> None:
    wheel, sdist = (next((ROOT / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    with tarfile.open(sdist) as sources:
        contents = {wheel: zipfile.ZipFile(wheel).namelist(), sdist: sources.getnames()}
    for file, names in contents.items():
        print(f"{file.name}: {len(names)} files, {file.stat().st_size / 1e6:.1f} MB")
        missing = [part for part in NEEDED if not any(part in name for name in names)]
        unwanted = [name for name in names if UNWANTED.search(name)]
        if missing or unwanted:
            raise SystemExit(f"{file.name} lacks {missing} and should not have {unwanted}.")
    folders = sorted({"/".join(name.split("/")[:2]) for name in contents[wheel]})
    print("  " + " ".join(folders))
    for python in pythons:
        attempt(python, str(wheel), PLAIN)
        attempt(python, f"{wheel}[{EXTRAS}]", WITH_EXTRAS)


def attempt(python: str, what: str, commands: str) -> None:
    """Install and use it where nothing of the source is in sight."""
    print(f"\n== {python}: {Path(what).name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder, "venv")
        run = functools.partial(subprocess.run, check=True, cwd=folder)
        run([UV, "venv", "--quiet", "--python", python, str(venv)])
        run([UV, "pip", "install", "--quiet", "--python", str(venv), what])
        run([UV, "pip", "check", "--quiet", "--python", str(venv)])
        bin_folder = venv / ("Scripts" if sys.platform == "win32" else "bin")
        for line in commands.strip().splitlines():
            name, *words = line.split()
            print(f"$ {line}", flush=True)
            run([str(bin_folder / name), *words], stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
