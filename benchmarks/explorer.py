"""From a click to the first frame of an episode: what the server takes, and what a person in front of Chromium waits.

Usage: python benchmarks/explorer.py [RUN...]
       python benchmarks/explorer.py --clicks 1000 [RUN...]     memory of the server over so many clicks

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


def measure_memory(address: str, records: list[Record], clicks: int) -> None:
    """Megabytes of this process, after nothing and after each quarter of the clicks: all that a page asks for."""
    asked = {record.id: best_cells(record) for record in records}
    names = (
        "runs",
        *(f"runs/{record.id}/{what}" for record in records for what in ("archive", "history", "metrics", "robot")),
    )
    print("clicks  MB")
    with httpx.Client(base_url=address, timeout=60) as client:
        for i in range(clicks + 1):
            if i % (clicks // 4) == 0:
                print(f"{i:6}  {int(Path('/proc/self/statm').read_text().split()[1]) * 4096 / 1e6:.0f}", flush=True)
            record = records[i % len(records)]
            cells, joints = asked[record.id], record.run.task.robot.joints
            body: dict[str, object] = {"cell": cells[i % len(cells)], "seed": i if i % 3 else None}
            if i % 2:  # every position of a slider is another robot
                body["damage"] = {"joints": {joints[i % len(joints)]: (i % 101) / 101}, "friction": {}}
            client.post(f"api/runs/{record.id}/episode", json=body).raise_for_status()
            client.get(f"api/{names[i % len(names)]}").raise_for_status()


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
    words = sys.argv[1:]
    clicks = int(words[1]) if words[:1] == ["--clicks"] else 0
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(word) for word in words[2 * bool(clicks) :]] or train(Path(temporary))
        if clicks:
            records = find_records(folders)
            with serving(records) as address:
                measure_memory(address, records, clicks)
        else:
            main(folders)
