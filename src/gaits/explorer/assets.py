"""The page's own files."""

from __future__ import annotations

from importlib import resources

MODULES = (
    "dom.js",
    "colors.js",
    "source.js",
    "layout.js",
    "view.js",
    "map.js",
    "camera.js",
    "scene.js",
    "robot.js",
    "film.js",
    "timeline.js",
    "lane.js",
    "stage.js",
    "curves.js",
    "past.js",
    "legend.js",
    "limits.js",
    "damage.js",
    "runs.js",
    "beside.js",
    "gif.js",
    "save.js",
    "app.js",
)
"""In an order in which each imports only from earlier ones, so that they can also be joined into one."""

ASSETS = {
    "index.html": "text/html",
    "explorer.css": "text/css",
    "icon.svg": "image/svg+xml",
    **dict.fromkeys(MODULES, "text/javascript"),
}


def read_asset(name: str) -> str:
    return resources.files("gaits.explorer").joinpath("static", name).read_text(encoding="utf-8")
