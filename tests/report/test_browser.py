"""The page in a real browser: it runs, asks for nothing, fits, and can be used by the keyboard alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.report_page import large_facts
from hudiformat import Table, Workload, simulate
from hudiformat.report.page import page_of
from hudiformat.report.simulated import page_of_simulations
from hudiformat.simulation.simulating import Point, mark_best
from tests.report.hostile import PARTITION, SCRIPT
from tests.report.support import empty_facts, facts_of
from tools.browser import Browser

pytestmark = pytest.mark.unmeasured

ACTIVE = "((one) => one.getAttribute('aria-label') || one.textContent)(document.activeElement)"
SPOKEN = "document.getElementById('spoken').textContent"
SIZES = pytest.mark.parametrize("width", [360, 768, 1200])


@pytest.fixture(scope="module")
def hostile_page(hostile: Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "hostile.html"
    page.write_text(page_of(facts_of(hostile)), "utf-8")
    return page


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    page = folder / "large.html"
    page.write_text(page_of(large_facts(folder / "table", 20_000, 200)), "utf-8")
    return page


def focused(browser: Browser, selector: str) -> None:
    browser.run(f"document.querySelector({selector!r}).focus()")


def test_hostile_names_are_text_and_nothing_is_asked_for(browser: Browser, hostile_page: Path) -> None:
    browser.open(hostile_page)
    assert browser.errors() == []
    assert browser.requests() == [hostile_page.as_uri()]
    assert browser.run("document.documentElement.dataset.ready") == "true"
    assert browser.run("document.querySelector('h1').textContent") == SCRIPT
    assert browser.run("document.querySelectorAll('img, iframe, object, script[src]').length") == 0
    assert PARTITION in browser.run("document.querySelector('#partitions tbody').textContent")


def test_the_policy_forbids_the_network_and_other_scripts(browser: Browser, hostile_page: Path) -> None:
    browser.open(hostile_page)
    blocked = browser.run(
        "new Promise((done) => { document.addEventListener('securitypolicyviolation', (event) =>"
        " done(event.effectiveDirective)); const one = document.createElement('img');"
        " one.src = 'http://127.0.0.1:9/x.png'; document.body.append(one); })"
    )
    assert blocked == "img-src"
    assert browser.run("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert (
        browser.run("(() => { try { document.body.innerHTML = '<b>'; } catch { return 'refused'; } })()") == "refused"
    )


@pytest.mark.all_sets
@SIZES
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_width_needs_scrolling_sideways(browser: Browser, hostile_page: Path, width: int, dark: bool) -> None:
    browser.open(hostile_page, width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('.list .scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert browser.run(wide) == 0
    assert browser.errors() == []


def test_dark_and_light_follow_the_system_or_the_switch(browser: Browser, hostile_page: Path) -> None:
    def ground() -> str:
        return str(browser.run("getComputedStyle(document.body).backgroundColor"))

    browser.open(hostile_page)
    light = ground()
    browser.open(hostile_page, dark=True)
    dark = ground()
    assert light != dark
    browser.run("document.querySelector('input[value=light]').click()")
    assert ground() == light
    browser.run("document.querySelector('input[value=auto]').click()")
    assert ground() == dark


def test_partitions_are_entered_and_left_by_the_keyboard(browser: Browser, large_page: Path) -> None:
    browser.open(large_page)
    focused(browser, "canvas")
    browser.press("ArrowRight", "ArrowRight")
    partition = browser.run(SPOKEN).split(",")[0]
    browser.press("Enter")
    assert browser.run(SPOKEN).startswith(f"Partition {partition},")
    assert partition in browser.run("document.querySelector('canvas').getAttribute('aria-label')")
    browser.press("ArrowRight")
    assert "of the partition" in browser.run(SPOKEN)
    browser.press("Escape")
    assert browser.run(SPOKEN) == "All partitions"
    browser.press("Escape", "Enter")
    assert browser.errors() == []


def test_a_click_enters_a_partition_and_the_button_leaves_it(browser: Browser, large_page: Path) -> None:
    browser.open(large_page)
    x, y = browser.run(
        "((box) => [box.left + 20, box.top + 60])(document.querySelector('canvas').getBoundingClientRect())"
    )
    browser.click(x, y)
    first = "document.querySelector('#partitions caption').textContent"
    assert browser.run(first).startswith("File groups of 2026/")
    browser.run("document.querySelector('.out').click()")
    assert browser.run(first) == "Partitions"


def test_the_page_of_a_large_table_has_few_elements(browser: Browser, large_page: Path) -> None:
    browser.open(large_page)
    assert browser.errors() == []
    assert browser.run("document.querySelectorAll('*').length") < 1500
    assert browser.run("document.querySelectorAll('#partitions tbody tr').length") == 15
    browser.run("[...document.querySelectorAll('#partitions .pager button')].at(-1).click()")
    assert "16\u201330" in browser.run("document.querySelector('#partitions .where').textContent")
    browser.run(
        "((one) => { one.value = '2026/01/0'; one.dispatchEvent(new Event('input')); })"
        "(document.querySelector('#partitions input'))"
    )
    shown = browser.run("[...document.querySelectorAll('#partitions tbody th')].map((one) => one.textContent)")
    assert shown
    assert all(one.startswith("2026/01/0") for one in shown)


def test_charts_tell_their_values_to_the_keyboard(browser: Browser, hostile_page: Path) -> None:
    browser.open(hostile_page)
    focused(browser, "#histogram svg")
    browser.press("End")
    assert "base file" in browser.run(SPOKEN)
    focused(browser, "#events svg")
    browser.press("End")
    assert "failed" in browser.run(SPOKEN)
    focused(browser, "#grown svg")
    browser.press("ArrowRight")
    assert "written" in browser.run(SPOKEN)
    browser.press("Escape")
    assert browser.run("document.getElementById('tip').hidden") is True


def test_tab_reaches_every_part(browser: Browser, hostile_page: Path) -> None:
    browser.open(hostile_page)
    reached = []
    for _ in range(200):
        browser.press("Tab")
        reached.append(browser.run(f"document.activeElement === document.body ? 'the end' : {ACTIVE}"))
        if reached[-1] == "the end":
            break
    told = " | ".join(reached)
    for part in (
        "Skip",
        "Copy the command",
        "Treemap",
        "Base files by size",
        "Timeline of",
        "Bytes that a query",
        "Findings",
    ):
        assert part in told


def test_everything_that_takes_the_focus_has_a_name(browser: Browser, hostile_page: Path) -> None:
    browser.open(hostile_page)
    name = "one.getAttribute('aria-label') || one.textContent.trim() || (one.labels?.[0]?.textContent ?? '').trim()"
    focusable = "a[href], button, input, select, summary, [tabindex='0']"
    nameless = browser.run(
        f"[...document.querySelectorAll({focusable!r})].filter((one) => !({name})).map((one) => one.outerHTML)"
    )
    assert nameless == []


def test_a_slice_is_chosen_and_its_blocks_are_listed(browser: Browser, hostile_page: Path) -> None:
    browser.open(hostile_page)
    before = browser.run("document.querySelector('#log-blocks tbody').textContent")
    browser.run(
        "((one) => { one.value = '1'; one.dispatchEvent(new Event('change')); })(document.getElementById('slice'))"
    )
    after = browser.run("document.querySelector('#log-blocks tbody').textContent")
    assert "AVRO_DATA" in after
    assert after != before


def test_a_table_without_files_has_a_page(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "empty.html"
    page.write_text(page_of(replace(empty_facts(tmp_path), findings=None)), "utf-8")
    browser.open(page)
    assert browser.errors() == []
    assert "no files yet" in browser.run("document.getElementById('treemap').textContent")
    assert "not verified" in browser.run("document.getElementById('found').textContent")


@pytest.fixture(scope="module")
def simulated_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    load = Workload(commits=300, rows=2000, updates=0.2)
    limits = ("0", "20000000", "</script><b>")
    points = []
    for limit in limits:
        keys = {"hoodie.parquet.small.file.limit": limit if limit.isdigit() else "1000000"}
        points.append(Point({"hoodie.parquet.small.file.limit": limit}, simulate(load, options=keys, samples=40)))
    page = tmp_path_factory.mktemp("page") / "simulated.html"
    page.write_text(page_of_simulations(mark_best(points)), "utf-8")
    return page


@pytest.mark.all_sets
@SIZES
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_of_simulations_fits(browser: Browser, simulated_page: Path, width: int, dark: bool) -> None:
    browser.open(simulated_page, width=width, dark=dark)
    assert browser.errors() == []
    assert browser.requests() == [simulated_page.as_uri()]
    assert browser.run("document.documentElement.dataset.ready") == "true"
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('#drawn svg path.line').length") == 4 * 3
    assert "</script><b>" in browser.run("document.querySelector('#numbers tbody').textContent")


def test_curves_of_simulations_tell_their_values_to_the_keyboard(browser: Browser, simulated_page: Path) -> None:
    browser.open(simulated_page)
    told = []
    for label in ("File groups, ", "Small file groups, ", "Files that a query reads, ", "Bytes stored, "):
        focused(browser, f"#drawn svg[aria-label^='{label}']")
        browser.press("End")
        told.append(browser.run(SPOKEN))
    assert ", 300: hoodie.parquet.small.file.limit=0" in told[0]
    assert all("hoodie.parquet.small.file.limit=20000000" in one for one in told)
    browser.press("Escape")
    assert browser.run("document.getElementById('tip').hidden") is True
