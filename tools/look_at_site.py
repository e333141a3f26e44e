"""Open every page of build/site in Chromium, wide and narrow, light and dark: no error, nothing from elsewhere or too wide.

Usage: python tools/look_at_site.py [FOLDER]     # screenshots go there; needs make docs, and a Chromium
"""

from __future__ import annotations

import functools
import shutil
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).parents[1] / "build" / "site"
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
BROKEN = "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def main(folder: Path | None) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages = sorted(str(path.parent.relative_to(SITE)) for path in SITE.rglob("index.html"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        wrong = [
            f"{page} at {width} px, {scheme}: {one}"
            for width in (1280, 400)
            for scheme in SCHEMES
            for page, found in look(browser, f"http://127.0.0.1:{server.server_port}", pages, width, scheme, folder)
            for one in found
        ]
        browser.close()
    server.shutdown()
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"{len(pages)} pages, each at 1280 and 400 pixels, light and dark: nothing is wrong.")


def look(
    browser: Browser, address: str, pages: list[str], width: int, scheme: Literal["light", "dark"], folder: Path | None
) -> list[tuple[str, list[str]]]:
    """What is wrong with each page."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab, found = context.new_page(), list[str]()
    tab.on("console", lambda one: found.extend([one.text] if one.type in ("error", "warning") else []))
    tab.on("pageerror", lambda error: found.append(str(error)))
    tab.on("request", lambda request: found.extend([f"asks for {request.url}"] if is_outside(request.url, address) else []))
    tab.on("response", lambda one: found.extend([f"{one.status} {one.url}"] if one.status >= 400 else []))
    outcome = []
    for name in pages:
        found.clear()
        tab.goto(f"{address}/{name}/", wait_until="load", timeout=120_000)
        if tab.evaluate(TOO_WIDE):
            found.append("is wider than the window")
        found += [f"{source} is no picture" for source in tab.evaluate(BROKEN)]
        if folder is not None:
            tab.screenshot(path=folder / f"{name.replace('/', '_')}-{width}-{scheme}.png", timeout=120_000)
        outcome.append((name, list(found)))
    context.close()
    return outcome


def is_outside(url: str, address: str) -> bool:
    return url.startswith(("http", "ws")) and not url.startswith(address)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    main(folder)
