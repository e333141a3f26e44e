"""The README as a package index shows it: hatchling asks for it when it builds. Links lead into the repository.

It is a metadata hook of hatchling's (``[tool.hatch.metadata.hooks.custom]``), which needs no other package.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Readme(MetadataHookInterface):
    """README.md with every link that is relative made absolute."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = make_absolute(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def make_absolute(text: str, repository: str) -> str:
    """Links lead to the page of a file, pictures to the file itself."""
    elsewhere = r"(?!https://|#)"
    text = re.sub(rf'(!\[[^]]*\]\(|<img src="){elsewhere}', rf"\g<1>{repository}/raw/HEAD/", text)
    return re.sub(rf"(\]\(){elsewhere}", rf"\g<1>{repository}/blob/HEAD/", text)
