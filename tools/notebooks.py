"""The tutorials: Markdown pages whose Python blocks are the cells of a notebook, executed."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FENCE = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
TIMEOUT = 1200
"""Seconds that a cell may take: the first one to use it compiles the physics, on a busy machine for minutes."""
ENCRYPTED = {"transport_encryption": "auto"}
"""Without keys, a kernel that is reached through TCP warns on every start."""


def read(page: Path) -> Any:
    """The notebook of a page: what is between Python blocks is text."""
    parts = FENCE.split(page.read_text())
    make = (nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell)
    cells = [make[i % 2](part.strip(), id=f"cell-{i}") for i, part in enumerate(parts) if part.strip()]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})


def execute(page: Path, folder: Path) -> Any:
    """The same with outputs, of a kernel that works in ``folder``. A cell that fails, or writes a warning, raises."""
    notebook = read(page)
    nbclient.NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(folder)}}).execute(**ENCRYPTED)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr" and "compiling" not in output.text:
                raise RuntimeError(f"{page.name}: {output.text}")
    return notebook


def to_markdown(notebook: Any, stem: str, folder: Path) -> str:
    """A page with every cell's outputs below it; pictures become files of ``folder``."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            parts.append(_show(output, folder / f"{stem}-{len(parts)}.png"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _show(output: Any, picture: Path) -> str:
    if output.output_type == "stream":
        return "" if output.name == "stderr" else _text(output.text)
    data = output.data
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![What the cell above shows]({picture.name}){{ loading=lazy }}"
    if "text/html" in data:
        return f'<div class="output" markdown="0">\n{data["text/html"]}\n</div>'
    return _text(data["text/plain"])


def _text(text: str) -> str:
    return f'<pre class="output">{html.escape(text.rstrip())}</pre>'
