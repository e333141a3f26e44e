"""From a click to the first frame of an episode: what the server takes, and what a person in front of Chromium waits.

Usage: python benchmarks/explorer.py [RUN...]

Plays the best elites of each run, three times each with new seeds; without RUN, of two that it trains first (some minutes).
Target: 100 ms for QD Hopper, 250 ms for QD Ant with its 1000 steps.
"""

import contextlib
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import uvicorn
from playwright.sync_api import Page, sync_playwright

import gaits
from gaits.explorer.app import make_app
from gaits.explorer.launch import find_records, listen
from gaits.explorer.packing import unpack
from gaits.explorer.records import Record

ELITES, SEEDS = 10, (None, 1, 2)


def best_cells(record: Record) -> list[int]:
    archive = record.archive()
    order = np.argsort(archive["objective"])[::-1][:ELITES]
    return [archive["cell"][i] for i in order]


@contextlib.contextmanager
def serving(records: list[Record]) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(records), log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def measure_http(address: str, record: Record) -> tuple[list[float], list[int], list[int]]:
    """Milliseconds, steps and bytes of each episode."""
    times, steps, sizes = [], [], []
    with httpx.Client(base_url=address, timeout=60) as client:
        cells = best_cells(record)
        client.post(f"api/runs/{record.id}/episode", json={"cell": cells[0]})  # compiles and builds
        for seed in SEEDS:
            for cell in cells:
                began = time.perf_counter()
                answer = client.post(f"api/runs/{record.id}/episode", json={"cell": cell, "seed": seed})
                times.append(1000 * (time.perf_counter() - began))
                steps.append(unpack(answer.content)[0]["length"])
                sizes.append(len(answer.content))
    return times, steps, sizes


def measure_page(page: Page, address: str, record: Record) -> list[float]:
    """Milliseconds from choosing a cell to its first frame on the canvas."""
    first, *cells = best_cells(record)
    page.goto(f"{address}#run={record.id}&cell={first}")
    page.locator(".lane dd").first.wait_for()
    times = []
    for cell in cells:
        page.evaluate("performance.clearMeasures()")
        page.evaluate(f"location.hash = '#run={record.id}&cell={cell}'")
        while not page.evaluate("performance.getEntriesByName('gaits-first-frame').length"):
            time.sleep(0.05)
        times.append(page.evaluate("performance.getEntriesByName('gaits-first-frame')[0].duration"))
    return times


def train(folder: Path) -> list[Path]:
    for task in ("qd_hopper", "qd_ant"):
        gaits.train(task, "map_elites", evaluations=300, sigma=0.1, out=folder / task)
    return [folder]


def main(folders: list[Path]) -> None:
    records = find_records(folders)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    print("run  task  steps (median)  KB  HTTP ms (median, worst)  in Chromium ms (median, worst)")
    with serving(records) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for record in records:
            times, steps, sizes = measure_http(address, record)
            seen = measure_page(page, address, record)
            print(
                f"{record.name}  {record.run.task.title}  {np.median(steps):.0f}  {np.median(sizes) / 1000:.0f}  "
                f"{np.median(times):.0f}, {max(times):.0f}  {np.median(seen):.0f}, {max(seen):.0f}",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main([Path(word) for word in sys.argv[1:]] or train(Path(temporary)))
