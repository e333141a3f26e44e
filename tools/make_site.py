"""Put the site's pages together in build/docs, build it with warnings as errors into build/site, and check its links.

Usage: python tools/make_site.py [--quick]     # quick: tutorials are not executed, and there is no demo
"""

from __future__ import annotations

import contextlib
import html
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import MISSING, Field, fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import griffe
import nbformat
import notebooks

import gaits
from gaits.algorithms import ALGORITHMS
from gaits.cli import main as command_line

ROOT = Path(__file__).parents[1]
SOURCE, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
CODE = "https://github.com/gaits-project/gaits/{}/main/{}"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "replication/README.md": "long_runs.md",
}
"""Pages that are not in docs/, and where they go."""
PARTS = {
    "Algorithms and gradients": """algorithms.base.Algorithm algorithms.base.Iteration algorithms.base.spawn_ints
        search.Search evaluation.Evaluator evaluation.make_evaluator algorithms.cma_mega.CmaMega gradients.GradientSource
        gradients.EvolutionStrategy gradients.ExactGradients""",
    "Studies": "study.Study study.make_study study.preset",
    "Comparisons": """analysis.collect.collect analysis.collect.Collection analysis.compare.find analysis.compare.Findings
        analysis.statistics.two_way_anova analysis.statistics.simple_main_effects analysis.statistics.pairwise_tests
        analysis.statistics.bootstrap_interval analysis.tables.means analysis.tables.to_markdown analysis.tables.to_latex
        analysis.figures.comparison_figure analysis.figures.archives_figure analysis.figures.profiles_figure""",
    "Pictures": "archives.heatmaps.save_archive_figure adaptation.recovery.draw drawing.Figure drawing.Painter",
}
"""What tutorials and examples use from the modules of gaits."""
NAMED = re.compile(r"\[[\w/]+\.md\]\(([\w/.]+\.md)")
LINK = re.compile(r'(?:(?<=\]\()|(?<=<img src="))([^)"#\s]+)')


def main(quick: bool) -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
    places = PAGES | {str(page.relative_to(ROOT)): str(page.relative_to(ROOT / "docs")) for page in docs_files()}
    for old, new in places.items():
        if old.endswith(".md"):
            write(new, move_links(old, new, places))
    for page in sorted((SOURCE / "tutorials").glob("*.md")):
        make_tutorial(page, quick)
    write("demo.md", make_demo(quick))
    write("reference/python.md", describe_python())
    write("reference/parts.md", describe_parts())
    write("reference/settings.md", describe_settings())
    write("reference/commands.md", describe_commands())
    build()
    check_links()


def docs_files() -> list[Path]:
    return [path for path in sorted(ROOT.glob("docs/**/*")) if path.is_file()]


def write(name: str, text: str) -> None:
    path = SOURCE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def move_links(old: str, new: str, places: dict[str, str]) -> str:
    """A page's text with its links as they must be at the new place. What is not on the site is linked where the code is.

    A page that is linked by its file's name is called by its title.
    """

    def name(match: re.Match[str]) -> str:
        title = (ROOT / Path(old).parent / match[1]).read_text().split("\n", 1)[0].removeprefix("# ")
        return f"[{title}]({match[1]}"

    def move(match: re.Match[str]) -> str:
        target = os.path.normpath(ROOT / Path(old).parent / match[1])
        name = os.path.relpath(target, ROOT)
        if name in places:
            return os.path.relpath(places[name], Path(new).parent)
        if not os.path.exists(target):
            return match[1]
        return CODE.format("tree" if os.path.isdir(target) else "blob", name)

    return LINK.sub(move, NAMED.sub(name, (ROOT / old).read_text()))


def make_tutorial(page: Path, quick: bool) -> None:
    """Execute a tutorial; its page gets the outputs, and the notebook is there to be taken away."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = notebooks.read(page) if quick else notebooks.execute(page, Path(folder))
    name = page.with_suffix(".ipynb").name
    title, rest = notebooks.to_markdown(notebook, page.stem, page.parent).split("\n", 1)
    page.write_text(f"{title}\n\n[This page as a notebook]({name}){{ download }}\n{rest}")
    nbformat.write(notebook, page.with_suffix(".ipynb"))


def make_demo(quick: bool) -> str:
    """A page around the explorer's, which is exported with the repertoires that come with gaits."""
    if quick:
        write("explorer_demo.html", "<!doctype html><title>demo</title>")
    else:
        command_line(["demo", "--export", str(SOURCE / "explorer_demo.html")])
    return """# Demo

Two repertoires that come with gaits. Click a cell with a frame and its policy walks; pin it and choose another to
compare. `gaits demo` opens the same with every cell, other starts and damage ([explorer](explorer.md)).
[Open it alone](explorer_demo.html).

<iframe class="demo" src="explorer_demo.html" title="The explorer with two repertoires" loading="lazy"></iframe>
"""


def describe_python() -> str:
    text = "# Python\n\nEverything that `import gaits` offers. [From Python](../python.md) shows how it is used.\n"
    for name in gaits.__all__:
        text += f"\n::: gaits.{name}\n"
        if name.endswith("Evaluator"):  # the others of its methods are for gaits itself
            text += "    options:\n      inherited_members: true\n      members: [submit, evaluate, close]\n"
    return text


def describe_parts() -> str:
    text = """# Parts

What algorithms, comparisons and pictures of your own are made of. A minor version may change these names, and the
[changelog](../CHANGELOG.md) says so.
"""
    for title, names in PARTS.items():
        text += f"\n## {title}\n"
        for name in names.split():
            text += f"\n::: gaits.{name}\n    options:\n      heading_level: 3\n      show_root_full_path: true\n"
    return text


def describe_settings() -> str:
    """Every setting of every algorithm, from the records themselves."""
    package: Any = griffe.load("gaits", search_paths=[ROOT / "src"])
    text = """# Settings

Every setting of every algorithm: a keyword of `gaits.train`, an option of `gaits train` (`--batch-size`), a line under
`[settings]` in a file. The algorithms' [pages](../algorithms.md) say what the symbols mean.
"""
    for name, entry in ALGORITHMS.items():
        text += f"\n## `{name}` {{ #{name} }}\n\n{entry.title}: {entry.summary}.\n\n"
        text += "| setting | type | default | |\n|---|---|---|---|\n"
        for field in fields(entry.settings):
            said = find_doc(package, entry.settings, field.name).replace("\n", " ").replace("|", "\\|")
            kind = str(field.type).replace("|", "\\|")
            text += f"| `{field.name}` | {kind} | {find_default(field)} | {said} |\n"
    return text


def find_doc(package: Any, record: type, name: str) -> str:
    """The text below a field, where the class that declares it is."""
    for kind in record.__mro__:
        if name in inspect.get_annotations(kind):
            said = package[f"{kind.__module__.removeprefix('gaits.')}.{kind.__name__}.{name}"].docstring
            if said is not None:
                return str(said.value)
    raise ValueError(f"{record.__name__}.{name} is not described.")


def find_default(field: Field[Any]) -> str:
    make: Any = field.default_factory
    return f"`{make() if field.default is MISSING else field.default}`"


def describe_commands() -> str:
    """What every command says of itself."""
    text = "# Command line\n\nWhat `gaits COMMAND --help` says.\n\n" + show(ask("--help"))
    for name in re.findall(r"^ +([a-z]+) {2,}", ask("--help"), re.MULTILINE):
        words = [name, "qd_hopper", "map_elites"] if name == "train" else [name]
        text += f"\n## gaits {name}\n\n{show(ask(*words, '--help'))}"
    return text


def ask(*words: str) -> str:
    """What a command prints."""
    os.environ["COLUMNS"], os.environ["NO_COLOR"] = "100", "1"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        command_line(list(words))
    return out.getvalue()


def show(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return f'<pre class="output">{html.escape(lines)}</pre>\n'


def build() -> None:
    """Zensical counts broken links as warnings; griffe only talks, of docstrings that do not fit: any word is too many."""
    shutil.rmtree(SITE, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    said = re.sub(r"\x1b\[[0-9;]*m|No issues found", "", done.stderr).strip()
    if done.returncode or said:
        raise SystemExit(f"{said}\nThe site has warnings.")


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.links, self.loads, self.ids = path, list[str](), list[str](), {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        found = [given[name] for name in ("href", "src") if name in given]
        canonical = given.get("rel") in ("canonical", "prev", "next", "alternate")
        (self.links if tag == "a" or canonical else self.loads).extend(found)


def check_links() -> None:
    """Every link within the site leads to a file and to a place in it; nothing is loaded from other hosts."""
    pages = {path: Page(path) for path in SITE.rglob("*.html") if path.name not in ("404.html", "explorer_demo.html")}
    wrong = []
    for page in pages.values():
        wrong += [f"{page.path}: loads {url}" for url in page.loads if urlsplit(url).netloc]
        for url in page.links + page.loads:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (target in pages and unquote(parts.fragment) not in pages[target].ids):
                wrong.append(f"{page.path}: {url} leads nowhere")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(
        f"{len(pages)} pages, all links within the site lead somewhere, nothing is loaded from elsewhere: {SITE}/index.html"
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
