"""The page in a browser: what a person does with it, by mouse, by keys, on a phone, from a file."""

from __future__ import annotations

import contextlib
import csv
import re
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import uvicorn
from explorer.small_runs import HOPPER as HOPPER_TASK
from explorer.small_runs import make_centroid_run, make_conditioned_run, make_other_runs, make_small_runs
from helpers import unbind
from PIL import Image, ImageSequence
from playwright.sync_api import sync_playwright

import gaits
from gaits.explorer.app import make_app
from gaits.explorer.export import export
from gaits.explorer.launch import listen
from gaits.explorer.records import make_records
from gaits.runs import load_run
from gaits.runs.evaluation import load_evaluation

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
HOPPER, WALKER, ANT, SPHERE = range(4)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on this machine (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return make_small_runs(tmp_path_factory)


@contextlib.contextmanager
def serving(records):
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


@pytest.fixture(scope="module")
def address(records):
    with serving(records) as address:
        yield address


@pytest.fixture(scope="module")
def file(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "page.html"
    assert export(records, path) > 3
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens an address and waits until a policy walks; in the end there must have been no message on the console."""
    said: list[str] = []
    pages = []

    def open_page(address, width=1000, height=760, plays=True, moves=False, **options):
        motion = "no-preference" if moves else "reduce"  # without, everything stands still until somebody presses play
        page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion=motion, **options)
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: _is_own(request.url, address) or said.append(request.url))
        page.goto(address)
        if plays:
            page.locator(".lane dd").first.wait_for()
        return page

    open_page.said = said
    yield open_page
    for page in pages:
        page.close()
    assert said == []


def _is_own(url, address):
    return url.startswith((address.partition("#")[0], "data:"))


def picture(page, lane=0):
    return page.evaluate("i => document.querySelectorAll('.view')[i].toDataURL()", lane)


@contextlib.contextmanager
def changes(page, lane=0):
    """What happens inside must show on the robot's canvas."""
    before = picture(page, lane)
    yield
    until(lambda: picture(page, lane) != before)


def until(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen within 4 seconds")


def pause(page):
    if page.locator("#play").get_attribute("aria-label") == "Pause":
        page.locator("#play").click()


def spot(page, record, cell):
    """Where a cell of a two-dimensional grid is, inside the margins of the map."""
    box, (columns, rows) = page.locator("#map").bounding_box(), record.run.task.grid
    column, row = divmod(cell, rows)
    width, height = box["width"] - 46 - 6, box["height"] - 6 - 40
    return {"x": 46 + (column + 0.5) / columns * width, "y": 6 + (1 - (row + 0.5) / rows) * height}


def filled(record):
    archive = record.archive()
    return [cell for _, cell in sorted(zip(archive["objective"], archive["cell"], strict=True), reverse=True)]


def lane_names(page):
    return page.locator(".lane strong").all_inner_texts()


def test_the_best_policy_walks_at_once(open_page, address, records):
    page = open_page(address, moves=True)
    best = filled(records[HOPPER])[0]
    assert lane_names(page) == [f"Cell {best}"]
    assert page.title() == "MAP-Elites on QD Hopper · gaits"
    assert page.locator(".lane .main dt").inner_text() == "return, as recorded"
    with changes(page):
        pass
    assert "MAP-Elites" in page.locator("#runs [aria-current]").inner_text()
    assert page.locator("#curves svg").count() == 3
    page.locator("#about summary").click()
    assert "batch size" in page.locator("#details").inner_text()
    page.locator("#show-help").click()
    assert page.locator("#help").is_visible()


def test_a_click_plays_a_cell(open_page, address, records):
    page = open_page(address + "#run=1", moves=True)
    cell = filled(records[WALKER])[1]
    page.locator("#map").hover(position=spot(page, records[WALKER], cell))
    assert "objective" in page.locator("#tip").inner_text()
    page.locator("#map").click(position=spot(page, records[WALKER], cell))
    column, row = divmod(cell, 8)
    until(lambda: lane_names(page) == [f"Cell {column}, {row}"])
    page.locator(".lane dd").first.wait_for()
    with changes(page):
        pass
    assert f"cell={cell}" in page.url
    page.reload()
    page.locator(".lane dd").first.wait_for()
    assert lane_names(page) == [f"Cell {column}, {row}"]
    took = page.evaluate("performance.getEntriesByName('gaits-first-frame').length")
    assert took == 1


def test_time_can_be_moved(open_page, address):
    page = open_page(address + "#run=1")
    pause(page)
    for value in (2, 5, 3):
        with changes(page):
            page.locator("#scrub").fill(str(value))
    with changes(page):
        page.keyboard.press(".")
    until(lambda: page.locator("#scrub").input_value() == "4")
    page.keyboard.press(",")
    until(lambda: page.locator("#scrub").input_value() == "3")
    with changes(page):
        page.locator(".contacts").click(position={"x": page.locator(".contacts").bounding_box()["width"] - 5, "y": 5})
    page.locator("#speed").select_option("0.25")
    page.locator("#restart").click()
    until(lambda: page.locator("#scrub").input_value() == "0")
    with changes(page):
        page.locator("#play").click()


def test_keys(open_page, address, records):
    page = open_page(address)
    page.locator("#map").focus()
    page.keyboard.press("Home")
    assert f"Cell {filled(records[HOPPER])[0]}:" in page.locator("#told").inner_text()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    told = page.locator("#told").inner_text()
    assert f"Cell {filled(records[HOPPER])[0]}:" not in told
    page.keyboard.press("Enter")
    until(lambda: lane_names(page) == [told.split(":")[0]])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+Enter")
    until(lambda: len(lane_names(page)) == 2)
    before = page.locator("#play").get_attribute("aria-label")
    page.keyboard.press(" ")
    assert page.locator("#play").get_attribute("aria-label") != before
    page.keyboard.press("]")
    assert page.locator("#speed").input_value() == "2"
    page.keyboard.press("n")
    until(lambda: page.locator("#seed").input_value() != "")
    until(lambda: page.locator(".lane .main dt").first.inner_text() == "return")
    page.locator("#recorded-seed").click()
    until(lambda: page.locator(".lane .main dt").first.inner_text() == "return, as recorded")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_what_is_said_of_a_cell_follows_the_map(open_page, address):
    page = open_page(address + "#run=1", width=1200)
    page.locator("#map").focus()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    assert "objective" in page.locator("#tip").inner_text()
    page.set_viewport_size({"width": 400, "height": 800})
    until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 400)
    page.evaluate("document.querySelector('#iteration').value = 0")
    page.evaluate("document.querySelector('#iteration').dispatchEvent(new Event('input'))")
    until(lambda: "empty" in page.locator("#tip").inner_text())
    page.keyboard.press("Tab")
    assert page.locator("#tip").is_hidden()


def test_clicks_leave_nothing_behind(open_page, address, records):
    page = open_page(address + "#run=1")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")

    def count_nodes_after(clicks):
        for i in range(clicks):
            page.locator("#map").click(position=spot(page, records[WALKER], filled(records[WALKER])[i % 2]))
        devtools.send("HeapProfiler.collectGarbage")
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "Nodes")

    before = count_nodes_after(4)
    assert count_nodes_after(12) < before + 40  # a lane has about fifty


def test_policies_side_by_side(open_page, address):
    page = open_page(address + "#run=2")
    page.locator("#pin-current").click()
    page.locator("#map").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(lambda: page.locator(".lane").count() == 2)
    page.locator(".lane dd").nth(8).wait_for()
    page.locator("#runs button").nth(WALKER).click()
    until(lambda: page.locator(".lane").count() == 2 and "ME-ES" in page.locator(".lane .names").nth(1).inner_text())
    pause(page)
    with changes(page, 0), changes(page, 1):
        page.locator("#scrub").fill("3")
    page.locator(".view").first.focus()
    home = picture(page)
    with changes(page):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    until(lambda: picture(page) == home)
    colors = page.evaluate("[...document.querySelectorAll('.lane .dot')].map((dot) => dot.style.background)")
    assert len(set(colors)) == 2
    page.get_by_role("button", name=f"Close {lane_names(page)[0]}").click()
    assert page.locator(".lane").count() == 1


def test_damage(open_page, address):
    page = open_page(address + "#run=1")
    page.locator("#damage summary").click()
    until(lambda: page.locator("#damage-joints input").count() == 6)
    pause(page)
    page.locator("#scrub").fill("5")
    sound = page.locator(".lane .main dd").inner_text()
    page.get_by_label("Strength of thigh_joint").fill("0")
    page.get_by_label("Grip of left foot").fill("0.2")
    until(lambda: "undamaged" in page.locator(".lane .numbers").inner_text())
    assert page.locator("#damage-count").inner_text() == "2 changed"
    until(lambda: page.locator(".lane .main dd").inner_text() != sound)
    page.locator("#damage-reset").click()
    until(lambda: page.locator(".lane .main dd").inner_text() == sound)
    assert page.get_by_label("Strength of thigh_joint").input_value() == "1"


def test_mujocos_robots_and_environments_that_draw_themselves(open_page, tmp_path):
    records = make_other_runs(tmp_path)
    with serving(records) as address:
        page = open_page(address)
        assert page.locator(".lane .main dt").inner_text() == "return, as recorded"
        for value in ("9", "4"):
            with changes(page):
                page.locator("#scrub").fill(value)
        assert "Time on the ground: right foot" in page.locator(".contacts").get_attribute("aria-label")
        lane = "document.querySelector('.lane .numbers').innerText"
        steps = int(page.locator("#scrub").get_attribute("max"))
        assert f"{steps * 0.008:.1f} s" in page.evaluate(lane)
        page.locator("#damage summary").click()
        page.get_by_label("Strength of thigh_joint").fill("0")
        page.get_by_label("Grip of left foot").fill("0.2")
        until(lambda: "undamaged" in page.locator(".lane .numbers").inner_text())
        page.locator("#pin-current").click()
        page.locator("#runs button").nth(1).click()  # beside it, on one clock
        page.locator(".lane").nth(1).get_by_text("place 1").wait_for()  # its process takes seconds to start
        assert page.locator("#damage").is_hidden()
        assert page.locator(".contacts").nth(1).is_hidden()
        page.locator("#scrub").fill("1")
        with changes(page, 1):
            page.locator("#scrub").fill(page.locator("#scrub").get_attribute("max"))
        assert page.locator("#time").inner_text() == "3.0 / 3.0 s"
        page.close()  # it would ask a server that is gone what is new
        export(make_records([records[1].run]), tmp_path / "page.html", cells=[str(filled(records[1])[0])])
        page = open_page((tmp_path / "page.html").as_uri())
        with changes(page):
            page.locator("#scrub").fill("25")
    gaits.TASKS.pop("drawn")


def test_a_policy_is_asked_for_a_gait(open_page, address, tmp_path):
    """Any cell will do, empty ones too; runs without such a policy do not offer it."""
    record = make_conditioned_run(tmp_path / "run")
    empty = min(set(range(64)) - set(filled(record)))
    with serving([record]) as own:
        page = open_page(own)
        before = lane_names(page)
        page.locator("#map").click(position=spot(page, record, empty))
        assert lane_names(page) == before
        page.locator("#ask").check()
        page.locator("#map").click(position=spot(page, record, empty))
        until(lambda: lane_names(page) == [f"Asked for cell {empty // 8}, {empty % 8}"])
        page.locator(".lane dd").first.wait_for()
        numbers = page.locator(".lane .numbers").inner_text()
        assert "asked: " in numbers
        assert "archive" not in numbers
        page.close()
    page = open_page(address)
    assert not page.locator("#ask").is_visible()


def test_runs_can_be_switched(open_page, address):
    page = open_page(address)
    page.locator("#runs button").nth(ANT).click()
    until(lambda: page.locator("#map-title").inner_text().startswith("QD Ant:"))
    until(lambda: page.locator(".lane .names").inner_text().endswith("QD Ant"))
    page.locator("#runs button").nth(SPHERE).click()
    until(lambda: page.locator("#map-title").inner_text().startswith("Linear projection"))
    until(lambda: "is a function, not a robot" in page.locator("#stage-empty").inner_text())
    page.locator("#map").focus()
    page.keyboard.press("Enter")
    assert page.locator(".lane").count() == 0
    page.evaluate("location.hash = 'run=length'")  # there is no such run: the first
    until(lambda: page.locator(".lane .names").count() and "QD Hopper" in page.locator(".lane .names").inner_text())


def test_runs_with_the_same_algorithm_and_seed_are_told_apart(open_page, records, tmp_path):
    twins = [load_run(shutil.copytree(records[HOPPER].run.folder, tmp_path / name)) for name in ("early", "late")]
    export(make_records([*twins, records[ANT].run]), tmp_path / "page.html", cells=[str(filled(records[HOPPER])[0])])
    page = open_page((tmp_path / "page.html").as_uri())
    cards = page.locator("#runs button").all_inner_texts()
    assert [[name in card for name in ("early", "late", "ant")] for card in cards] == [
        [True, False, False],
        [False, True, False],
        [False, False, False],
    ]
    assert page.locator(".lane .names .muted").inner_text() == "MAP-Elites, seed 1, early, QD Hopper"


def test_history(open_page, address, records):
    page = open_page(address)
    assert page.locator("#moment").inner_text() == "60 evaluations, the end"
    for iteration in (1, 2, 0):
        page.locator("#iteration").fill(str(iteration))
        n = len(records[HOPPER].run.archive_at(iteration))
        until(lambda n=n: page.locator("#map-title").inner_text() == f"QD Hopper: {n} of 64 cells")
    assert page.locator("#moment").inner_text() == "0 evaluations"
    assert page.locator(".moment:not(.off)").count() == 3
    page.locator("#grow").click()
    until(lambda: page.locator("#map-title").inner_text() != "QD Hopper: 0 of 64 cells")
    page.locator("#iteration").fill("3")
    until(lambda: page.locator("#moment").inner_text() == "60 evaluations, the end")


@pytest.mark.parametrize("where", ["address", "file"])
def test_progress_over_what_it_cost(open_page, request, records, where):
    """Evaluations, environment steps or hours; the moment on the slider stays marked. Its numbers lead without luck."""
    page = open_page(request.getfixturevalue(where))
    metrics = records[HOPPER].metrics()
    page.locator("#iteration").fill("1")
    until(lambda: page.locator(".moment:not(.off)").count() == 3)
    seen = {}
    for over, spent in (("steps", "steps"), ("hours", "seconds"), ("evaluations", "evaluations")):
        page.locator("#curves-over").select_option(over)
        text = page.locator("#curves .along span").nth(1).inner_text()
        first, last = (metrics[spent][i] / (3600 if over == "hours" else 1) for i in (0, -1))
        assert float(text.removesuffix(" h").replace(",", "")) == pytest.approx(last, rel=0.05, abs=1e-6)
        assert page.locator(".moment:not(.off)").count() == 3
        assert float(page.locator(".moment").first.get_attribute("x1")) == pytest.approx(300 * first / last)
        seen[over] = page.locator("#curves .curve.current").first.get_attribute("d")
    assert len(set(seen.values())) == 3
    assert re.fullmatch(r"[\d,]+ corrected, [\d,]+ recorded", page.locator("#curves .value").first.inner_text())
    page.locator("#iteration").fill("0")
    until(lambda: float(page.locator(".moment").first.get_attribute("x1")) == 0)
    page.locator("#iteration").fill("3")
    until(lambda: page.locator(".moment:not(.off)").count() == 0)


def test_what_was_not_counted_is_not_offered(open_page, records, tmp_path):
    folder = shutil.copytree(records[HOPPER].run.folder, tmp_path / "run")
    table = load_run(folder).metrics.drop(columns="steps")
    table.to_csv(folder / "metrics.csv", index=False)
    unbind(folder)
    export(make_records([load_run(folder)]), tmp_path / "page.html")
    page = open_page((tmp_path / "page.html").as_uri())
    offered = page.locator("#curves-over option").evaluate_all(
        "all => all.filter((one) => !one.disabled).map((one) => one.value)"
    )
    assert offered == ["evaluations", "hours"]


def test_colours_can_be_changed(open_page, address, records):
    """The same for all runs of a task; an end of the scale that some objectives lie beyond says so."""
    page = open_page(address + "#run=1")
    map_picture = "document.querySelector('#map').toDataURL()"
    best = max(records[WALKER].archive()["objective"])
    assert page.locator("#legend-low").inner_text().removeprefix("≤ ").strip("0.") == ""
    before = page.evaluate(map_picture)
    page.locator("#limits-of").select_option("task")
    assert page.locator("#legend-high").inner_text() == "2,500"
    assert page.evaluate(map_picture) != before
    page.locator("#limits-of").select_option("own")
    page.locator("#limits-low").fill("5")
    page.locator("#limits-high").fill(str(best / 2))
    page.locator("#limits-high").blur()
    until(lambda: page.locator("#legend-high").inner_text().startswith("≥ "))
    page.locator("#limits-high").fill("-5")
    page.locator("#limits-high").blur()
    assert page.locator("#limits-high").get_attribute("aria-invalid") == "true"


def test_what_is_low_is_seen_at_night(open_page, address):
    """An elite at the bottom of the scale and an empty cell differ enough, in both themes (WCAG asks for 3)."""
    contrast = """async () => {
        const [{ makeScale }, { themed }] = await Promise.all([import('./static/colors.js'), import('./static/dom.js')]);
        const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0.05);
        const [a, b] = [makeScale('objective', 0, 1).color(0), themed('empty').match(/[0-9]+/g).map(Number)].map(light);
        return Math.max(a, b) / Math.min(a, b) }"""
    for scheme in ("dark", "light"):
        assert open_page(address, color_scheme=scheme).evaluate(contrast) > 3


def test_runs_and_lanes_share_no_colour(open_page, address):
    page = open_page(address, plays=False)
    colors = """async () => {
        const { runColor, laneColor, LANES } = await import('./static/colors.js');
        return [[...Array(10).keys()].map(runColor), [...Array(LANES).keys()].map(laneColor)] }"""
    runs, lanes = page.evaluate(colors)
    assert len({*runs, *lanes}) == len(runs) + len(lanes) == 16


def test_many_runs(open_page, address):
    """Filtered, sorted, grouped."""
    page = open_page(address)
    cards = page.locator("#runs button strong")
    page.locator("#runs-filter").fill("hopper map")
    assert cards.count() == 1
    assert page.locator("#runs-count").inner_text() == "1 of 4"
    page.locator("#runs-filter").fill("")
    page.locator("#runs-sort").select_option("coverage")
    shares = [float(re.search(r"([\d.]+) % filled", text)[1]) for text in page.locator("#runs button").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    page.locator("#runs-group").select_option("algorithm")
    assert sorted(page.locator("#runs h3").all_inner_texts()) == ["MAP-Elites", "ME-ES"]


def test_runs_are_sorted_by_the_numbers_on_their_cards(open_page, address, records):
    """Which are without luck where it is known: the run that recorded most of all may not be the first."""
    about = [record.describe() for record in records]
    for i, run in enumerate(about):
        run["numbers"] = {**run["numbers"], "qd_score": 100.0 + i, "coverage": 0.5, "objective_max": 10.0 + i}
        run["corrected"] = None
    about[SPHERE]["corrected"] = {"qd_score": 50.0, "coverage": 0.25, "objective_max": 5.0}
    page = open_page(address)
    page.route("**/api/runs", lambda route: route.fulfill(json=about))
    page.reload()
    cards = page.locator("#runs button .muted")
    until(lambda: cards.count() and cards.nth(SPHERE).inner_text() == "QD 50, 25 % filled, best 5, corrected")
    for by in ("qd_score", "objective_max"):
        page.locator("#runs-sort").select_option(by)
        scores = [int(re.search(r"QD (\d+)", text)[1]) for text in cards.all_inner_texts()]
        assert scores == [102, 101, 100, 50]


def test_two_archives_side_by_side(open_page, records, tmp_path):
    """One scale, one zoom, one cell pointed at; a click on the second plays its own policy."""
    other = shutil.copytree(records[WALKER].run.folder, tmp_path / "other")
    pair = make_records([records[WALKER].run, load_run(other), records[ANT].run])
    with serving(pair) as address:
        page = open_page(address)
        assert page.locator("#second").is_hidden()
        page.locator("#beside").select_option("1")
        until(lambda: "of 64 cells" in page.locator("#second-title").inner_text())
        cell = filled(records[WALKER])[0]
        box = page.locator("#second-map").bounding_box()
        place = spot(page, records[WALKER], cell)
        assert box["width"] == page.locator("#map").bounding_box()["width"]
        page.locator("#second-map").hover(position=place)
        assert "objective" in page.locator("#second #tip").inner_text()
        page.locator("#second-map").click(position=place)
        until(lambda: "other" in page.locator(".lane .names").inner_text())
        pictures = "['map', 'second-map'].map((id) => document.getElementById(id).toDataURL())"
        page.mouse.move(0, 0)
        page.locator("#map").focus()
        page.wait_for_timeout(100)  # for frames that the pointer leaves
        before = page.evaluate(pictures)
        page.keyboard.press("+")
        until(lambda: all(a != b for a, b in zip(before, page.evaluate(pictures), strict=True)))
        page.locator("#runs button").nth(2).click()  # the only run of its task
        until(lambda: page.locator("#beside-label").is_hidden())
        assert page.locator("#second").is_hidden()
        page.close()


@pytest.mark.parametrize("run", [HOPPER, WALKER, ANT])
def test_zoom(open_page, address, run):
    """Closer, moved by a drag that plays nothing, to a cell that keys go to, and back."""
    page = open_page(f"{address}#run={run}")
    whole, playing = page.evaluate("document.querySelector('#map').toDataURL()"), lane_names(page)
    box = page.locator("#map").bounding_box()
    for _ in range(2):
        page.locator("#zoom-in").click()
    until(lambda: page.evaluate("document.querySelector('#map').toDataURL()") != whole)
    closer = page.evaluate("document.querySelector('#map').toDataURL()")
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9 - 40
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] + 10, steps=3)
    page.mouse.up()
    assert page.evaluate("document.querySelector('#map').toDataURL()") != closer
    assert lane_names(page) == playing
    page.locator("#map").focus()
    page.keyboard.press("Home")
    tip, frame = page.locator("#tip").bounding_box(), page.locator("#map").bounding_box()
    assert frame["x"] - 1 <= tip["x"] <= frame["x"] + frame["width"]
    for _ in range(4):
        page.keyboard.press("-")
    page.keyboard.press("Tab")
    page.mouse.move(0, 0)
    until(lambda: page.evaluate("document.querySelector('#map').toDataURL()") == whole)


def test_downloads(open_page, address, records):
    page = open_page(address)
    saved = {}
    for kind in ("png", "csv", "gif"):
        with page.expect_download() as download:
            page.locator(f"#save-{kind}").click()
        saved[kind] = Path(download.value.path())
        assert download.value.suggested_filename == f"qd_hopper-map-elites-seed1.{kind}"
    with Image.open(saved["png"]) as picture:
        assert min(picture.size) > 200
    with saved["csv"].open() as file:
        rows = list(csv.DictReader(file))
    archive = records[HOPPER].archive()
    assert [float(row["objective"]) for row in rows] == archive["objective"]
    assert {"cell", "index 0", "foot contact", "robustness"} <= rows[0].keys()
    with Image.open(saved["gif"]) as film:
        frames = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(film)]
    length = float(page.locator("#time").inner_text().split(" / ")[1].split()[0])
    assert len(frames) == pytest.approx(20 * length, abs=2)
    assert frames[0].shape == (240, 320, 3)
    assert np.abs(frames[0] - frames[-1]).max() > 50
    inside = page.evaluate("[...document.querySelector('.view').getContext('2d').getImageData(5, 5, 1, 1).data]")
    assert np.abs(frames[0][5, 5] - inside[:3]).max() <= 24  # sky, in one of 255 colours


def test_settings_in_which_runs_differ_stand_out(open_page, records, tmp_path):
    run = gaits.train(HOPPER_TASK, "map_elites", evaluations=20, batch_size=10, out=tmp_path / "other", workers=1)
    export(make_records([records[HOPPER].run, run]), tmp_path / "page.html", cells=[str(filled(records[HOPPER])[0])])
    page = open_page((tmp_path / "page.html").as_uri())
    page.locator("#about summary").click()
    assert sorted(page.locator(".differs dt").all_inner_texts()) == ["batch size", "evaluations", "sigma"]
    assert page.locator("#details-command").inner_text().startswith("gaits train qd_hopper map_elites")


def test_what_luck_did_is_left_out_first(open_page, tmp_path, records):
    """The map, the first policy and its numbers are those of new episodes: here the worst as recorded is the best."""
    run = load_run(shutil.copytree(records[HOPPER].run.folder, tmp_path / "run"))
    found = load_evaluation(run)
    found.objective[:] = -found.recorded[:, None]
    found.save(run)
    data, left = run.archive.data(), found.numbers(run.task)["corrected"]["coverage"] * run.task.total_cells
    with serving(make_records([run])) as address:
        page = open_page(address)
        worst = data["index"][np.argmin(data["objective"])]
        assert page.url.endswith(f"cell={worst}")
        assert page.locator("#map-title").inner_text().endswith(f"{len(data['index'])} of 64 cells, {left:.0f} without luck")
        assert page.locator("#legend-name").inner_text() == "mean of new episodes"
        numbers = page.locator(".lane .numbers").inner_text()
        assert "return, as recorded" in numbers
        assert "mean of new episodes" in numbers
        map_picture = "document.querySelector('#map').toDataURL()"
        before = page.evaluate(map_picture)
        page.get_by_role("button", name="Recorded").click()
        assert page.evaluate(map_picture) != before
        assert page.locator("#legend-name").inner_text() == "objective"


def test_robustness_as_colour(open_page, address):
    page = open_page(address)
    map_picture = "document.querySelector('#map').toDataURL()"
    before = page.evaluate(map_picture)
    page.get_by_role("button", name="Robustness").click()
    assert page.evaluate(map_picture) != before
    assert page.locator("#legend-name").inner_text() == "robustness"
    page.locator("#runs button").nth(WALKER).click()
    until(lambda: page.locator("#colour").is_hidden())
    assert page.locator("#legend-name").inner_text() == "objective"
    assert "mean of new episodes" not in page.locator(".lane").inner_text()
    heights = """async () => {
        const { MapView } = await import('./static/map.js');
        return [-9, -1, 1, 9].map((v) => MapView.prototype.level.call({ profileRange: [-1, 1] }, v, { top: 200 })) }"""
    least, low, high, most = page.evaluate(heights)
    assert least == low > high == most  # outliers are drawn at the ends


@pytest.mark.parametrize("run", [HOPPER, ANT])
def test_on_a_phone_nothing_is_wider_than_the_page(open_page, address, run):
    page = open_page(f"{address}#run={run}", width=400, height=800)
    page.locator("#damage summary").click()
    page.locator("#about summary").click()
    page.locator("#pin-current").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    wide = "[...document.querySelectorAll('main *')].map((e) => [e.getBoundingClientRect().right, e.outerHTML])"
    assert [html for right, html in page.evaluate(wide) if right > 400.5] == []
    assert page.locator("#map").bounding_box()["width"] > 300


def test_light_and_dark(open_page, address):
    background = "getComputedStyle(document.body).backgroundColor"
    dark = open_page(address, color_scheme="dark")
    light = open_page(address, color_scheme="light")
    assert dark.evaluate(background) != light.evaluate(background)
    with changes(light):
        light.locator("#theme").click()
    assert dark.evaluate(background) == light.evaluate(background)
    light.reload()
    assert dark.evaluate(background) == light.evaluate(background)  # it is remembered
    with changes(dark):
        dark.emulate_media(color_scheme="light")


def test_those_who_want_no_motion_get_none(open_page, address):
    page = open_page(address)
    assert page.locator("#play").get_attribute("aria-label") == "Play"
    assert page.locator("#scrub").input_value() == "0"


def test_a_problem_is_said(open_page, address):
    page = open_page(address)
    page.route("**/episode", lambda route: route.fulfill(status=409, json={"error": "The archive is being written."}))
    page.locator("#map").focus()
    page.keyboard.press("ArrowLeft")
    with page.expect_response("**/episode"):
        page.keyboard.press("Enter")
    until(lambda: "The archive is being written." in page.locator(".lane .message").inner_text())
    assert open_page.said.pop().startswith("Failed to load resource")  # Chromium's own words


def test_a_run_that_has_just_begun(open_page, records, tmp_path):
    folder = shutil.copytree(records[HOPPER].run.folder, tmp_path / "run")
    for name in ("archive.npz", "history.npz", "metrics.csv"):
        (folder / name).unlink()
    with serving(make_records([load_run(folder)])) as address:
        page = open_page(address, plays=False)
        until(lambda: "has no archive.npz yet" in page.locator("#note").inner_text())
        page.locator("#map").click()
        page.keyboard.press("ArrowLeft")
        assert page.locator("#history").is_hidden()
        assert [text for text in open_page.said if "409" not in text] == []
        open_page.said.clear()
        page.close()


def test_a_run_of_one_iteration_is_a_dot(open_page, records, tmp_path):
    folder = shutil.copytree(records[HOPPER].run.folder, tmp_path / "run")
    header, first, *_ = (folder / "metrics.csv").read_text().splitlines()
    (folder / "metrics.csv").write_text(f"{header}\n{first}\n")
    unbind(folder)
    export(make_records([load_run(folder)]), tmp_path / "page.html")
    page = open_page((tmp_path / "page.html").as_uri())
    assert page.locator("#curves .curve.alone").count() == 3
    best, least = page.locator("#curves .scale.up").nth(2).locator("span").all_inner_texts()
    assert float(best) > float(least)


def test_a_run_that_goes_on(open_page, tmp_path):
    """What is new comes to the page by itself, here when somebody comes back to it."""
    run = gaits.train(
        HOPPER_TASK, "map_elites", evaluations=40, batch_size=20, out=tmp_path / "run", callback=lambda *_: True
    )
    with serving(make_records([run])) as address:
        page = open_page(address)
        before = page.locator("#map-title").inner_text()
        page.locator("#iteration").fill("0")
        until(lambda: page.locator("#moment").inner_text() == "0 evaluations")
        gaits.resume(run.folder)
        with page.expect_response("**/api/runs"):
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        assert page.locator("#map-title").inner_text() == "QD Hopper: 0 of 64 cells"  # who looks at the past stays there
        page.locator("#iteration").fill("1")
        n = len(run.archive)
        until(lambda: page.locator("#map-title").inner_text() == f"QD Hopper: {n} of 64 cells")
        assert page.locator("#map-title").inner_text() != before
        assert page.locator("#curves .along span").nth(1).inner_text() == "40"
        assert page.locator("#iteration").get_attribute("max") == "2"
        page.close()


def test_an_archive_of_centroids(open_page, tmp_path):
    export([make_centroid_run(tmp_path / "run")], tmp_path / "page.html")
    page = open_page((tmp_path / "page.html").as_uri())
    assert page.locator("#map-title").inner_text() == "QD Walker: 48 of 48 cells"
    colors = page.evaluate("""() => {
        const { data } = document.querySelector('#map').getContext('2d').getImageData(60, 20, 300, 300);
        return new Set(new Uint32Array(data.buffer)).size }""")
    assert colors > 40  # a patch for each
    page.locator("#map").click(position={"x": 150, "y": 150})
    page.keyboard.press("ArrowRight")
    assert page.locator("#told").inner_text().startswith("Cell ")


def test_numbers_and_names_on_the_axes(open_page, address):
    page = open_page(address, plays=False)
    names = """async (n) => {
        const { makeLayout } = await import('./static/layout.js');
        const all = ['a', 'b', 'c', 'd'].slice(0, n);
        const archive = { measure_names: all, ranges: all.map(() => [0, 1]), centroids: [all.map(() => 0.5)], cells: 1 };
        return makeLayout(archive).axes.x.name }"""
    assert [page.evaluate(names, n) for n in (1, 2, 4)] == ["a", "a", "a (first 2 of 4 measures)"]
    digits = "async (width) => (await import('./static/dom.js')).digitsFor(width)"
    assert [page.evaluate(digits, width) for width in (0, 2000, 10, 9, 0.4)] == [0, 0, 0, 1, 2]


def test_the_exported_file(open_page, file, records):
    """Opened from disk: playing, scrubbing, comparing, history; what needs a server says so."""
    page = open_page(file, moves=True)
    with changes(page):
        pass
    pause(page)
    with changes(page):
        page.locator("#scrub").fill("4")
    page.locator("#iteration").fill("1")
    n = len(records[HOPPER].run.archive_at(1))
    until(lambda: page.locator("#map-title").inner_text() == f"QD Hopper: {n} of 64 cells")
    page.locator("#pin-current").click()
    page.locator("#runs button").nth(ANT).click()
    until(lambda: page.locator(".lane dd").count() > 10)
    assert page.locator(".lane").count() == 2
    assert page.locator("#new-seed").is_disabled()
    page.locator("#damage summary").click()
    assert "gaits explore" in page.locator("#damage-note").inner_text()


def test_the_exported_file_has_everything_inside(records, tmp_path):
    assert export(records[:1], tmp_path / "page.html", cells=[str(filled(records[HOPPER])[0])]) == 1
    text = (tmp_path / "page.html").read_text()
    outside = re.findall(r"""(?:src|href)=["'](?!data:)[^"']*|\bimport\b[^;]*from[^;]*|url\([^)]*""", text)
    assert outside == []
    assert "default-src 'none'" in text
