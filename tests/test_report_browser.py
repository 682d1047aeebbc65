"""The report's page in headless Chromium: clicked through, by mouse, by keyboard alone, without a script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST, STRUCTURE, Browser, browser
from edited import changed
from fabricated import fabricated_report, with_result
from reports import BENCH, HOSTILE, summary

from simulacrum.harness import report_page
from simulacrum.harness.profile import QUICK
from simulacrum.harness.report import Report
from simulacrum.harness.runner import run_check
from simulacrum.spec import Package

__all__ = ["browser"]
PROFILE = replace(QUICK, seed=11, sizes={7: (7, 100)})
SPEEDS = {
    "reference steps per second": 1e5,
    "eager steps per second": 4e6,
    "compiled steps per second": 2e7,
    "kernel steps per second": 1e8,
    "ratio": 1000.0,
    "fastest form": "kernel",
    "batch size": 4096,
    "threads": 1,
    "by batch size": {"eager": {"1": 5e3, "4096": 4e6}, "kernel": {"1": 1e5, "4096": 1e8}, "compiled": {"4096": 2e7}},
}


def whole(package: Package) -> Report:
    """A fabricated report with coverage that was counted, speeds, and the findings of a real fault."""
    report = fabricated_report(package.path)
    for name in ("differential", "replay", "coverage"):
        result = run_check(name, package, PROFILE)
        with_result(report, name, outcome=result.outcome, findings=result.findings, facts=result.facts, notes=[HOSTILE])
    with_result(report, "auto_reset", outcome="not_applicable")
    return with_result(report, "throughput", facts=SPEEDS)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a failing report, with everything on it that a page can have."""
    folder = tmp_path_factory.mktemp("page")
    package = changed(folder / "package", "torch.clamp(state.position + step, -L, L)", "state.position + step")
    content = whole(package).as_dict()
    assert [check["name"] for check in content["checks"] if check["findings"]] == ["differential", "replay", "coverage"]
    beside = replace(report_page.illustrated(package, content, 60.0), faults=(summary(), HOSTILE), bench=BENCH)
    file = folder / "page.html"
    file.write_text(report_page.page(content, beside), encoding="utf-8")
    return file


def quiet(visit: Any, file: Path) -> None:
    """Nothing was logged or raised, nothing but the file itself and its own images was asked for."""
    assert visit.said == []
    assert {url for url in visit.asked if not url.startswith("data:image/png")} == {file.as_uri()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_is_clicked_through(browser: Browser, page: Path, width: int, scheme: str) -> None:
    with browser.visit(page, width, scheme) as visit:
        assert visit.page.evaluate(STRUCTURE) == []
        assert visit.width() == (width, width)
        for part in visit.page.locator("summary").all():
            if part.is_visible() and not part.evaluate("one => one.parentElement.open"):
                part.click()
        assert visit.page.locator("details:not([open]):visible").count() == 0
        assert visit.width() == (width, width)
        assert visit.page.evaluate(CONTRAST) == []
        assert visit.page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
        quiet(visit, page)


def test_moments_are_stepped_through(browser: Browser, page: Path) -> None:
    with browser.visit(page) as visit:
        stepper = visit.page.locator(".stepper").first
        shown, place = stepper.locator(".moment:visible"), stepper.locator(".place")
        number = stepper.locator(".moment").count()
        assert number >= 2
        assert shown.count() == 1
        assert "the sides differ" in shown.inner_text()  # it begins where they do
        assert shown.locator("img").count() == 2 or shown.locator(".problem").count()
        back, on = stepper.get_by_role("button", name="Back"), stepper.get_by_role("button", name="On")
        while back.get_attribute("aria-disabled") == "false":
            back.click()
        assert place.inner_text() == f"1 of {number}"
        assert back.get_attribute("aria-disabled") == "true"
        assert shown.locator("img").count() == 2
        first = shown.inner_text()
        on.click()
        assert place.inner_text() == f"2 of {number}"
        assert shown.inner_text() != first
        visit.page.keyboard.press("End")
        assert place.inner_text() == f"{number} of {number}"
        visit.page.keyboard.press("ArrowLeft")
        assert place.inner_text() == f"{number - 1} of {number}"
        visit.page.keyboard.press("Home")
        assert shown.inner_text() == first
        quiet(visit, page)


def test_the_scheme_is_toggled(browser: Browser, page: Path) -> None:
    with browser.visit(page, scheme="light") as visit:
        button = visit.page.locator("#scheme")
        ground = "getComputedStyle(document.body).backgroundColor"
        light = visit.page.evaluate(ground)
        assert button.inner_text() == "Scheme: system"
        button.click()
        assert (button.inner_text(), visit.page.evaluate(ground)) == ("Scheme: light", light)
        button.click()
        dark = visit.page.evaluate(ground)
        assert button.inner_text() == "Scheme: dark"
        assert dark != light
        visit.page.reload()
        assert visit.page.evaluate(ground) == dark  # it is kept
        visit.page.locator("#scheme").click()
        visit.page.emulate_media(color_scheme="dark")
        assert visit.page.evaluate(ground) == dark
        visit.page.emulate_media(color_scheme="light")
        assert visit.page.evaluate(ground) == light


def test_a_command_is_copied(browser: Browser, page: Path) -> None:
    with browser.visit(page, permissions=["clipboard-read", "clipboard-write"]) as visit:
        command = visit.page.locator(".finding .command").first
        command.get_by_role("button").click()
        command.get_by_text("Copied").wait_for()
        text = command.locator("code").inner_text()
        assert text.startswith("simulacrum explain ")
        assert visit.page.evaluate("navigator.clipboard.readText()") == text
        quiet(visit, page)


def test_checks_are_filtered_and_opened(browser: Browser, page: Path) -> None:
    with browser.visit(page) as visit:
        checks, status = visit.page.locator(".check"), visit.page.locator("#filter-status")
        number = checks.count()
        for name, times in (("failed", 3), ("not_applicable", 1), ("passed", number - 4), ("all", number)):
            button = visit.page.locator(f".filter[data-outcome={name}]")
            button.click()
            assert button.get_attribute("aria-pressed") == "true"
            assert visit.page.locator(".filter[aria-pressed=true]").count() == 1
            assert visit.page.locator(".check:visible").count() == times
            assert status.inner_text() == f"{times} checks shown"
        visit.page.get_by_role("button", name="Open all").click()
        assert visit.page.locator(".check[open]").count() == number
        quiet(visit, page)


def test_the_keyboard_alone_is_enough(browser: Browser, page: Path) -> None:
    with browser.visit(page, reduced_motion="reduce") as visit:
        keyboard = visit.page.keyboard
        keyboard.press("Tab")
        assert visit.page.evaluate("document.activeElement.textContent") == "Skip to the report"
        assert visit.page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
        keyboard.press("Enter")
        assert visit.page.evaluate("document.activeElement.id") == "main"
        seen = set()
        for _ in range(400):
            keyboard.press("Tab")
            where = visit.page.evaluate(
                "(() => { const one = document.activeElement, box = one.getBoundingClientRect();"
                " const style = getComputedStyle(one);"
                " return [one.tagName + ' ' + one.className, style.outlineStyle, parseFloat(style.outlineWidth),"
                " one.checkVisibility() && box.bottom > 0 && box.top < innerHeight]; })()"
            )
            if where[0].startswith("BODY"):
                break
            seen.add(where[0])
            assert where[1] != "none", where  # the focus shows
            assert where[2] >= 2, where
            assert where[3], where
        assert {"BUTTON copy", "BUTTON filter", "DIV scrolls", "DIV scrolls code", "SUMMARY "} <= seen
        visit.page.locator(".check:not([open]) > summary").first.focus()
        closed = visit.page.locator(".check:not([open])").count()
        keyboard.press("Enter")
        assert visit.page.locator(".check:not([open])").count() == closed - 1
        quiet(visit, page)


def test_without_a_script_everything_is_there(browser: Browser, page: Path) -> None:
    with browser.visit(page, java_script_enabled=False) as visit:
        assert visit.page.locator("button:visible").count() == 0
        moments = visit.page.locator(".moment")
        assert moments.count() >= 4
        assert visit.page.locator(".moment:visible").count() == moments.count()
        titles = ("Findings", "Checks", "Coverage of the reference", "Throughput", "Kill matrix", "What it vouches for")
        for heading in titles:
            assert visit.page.get_by_role("heading", name=heading, exact=True).is_visible()
        visit.page.locator(".check:not([open]) > summary").first.click()
        quiet(visit, page)


def test_print_shows_every_moment_and_no_button(browser: Browser, page: Path) -> None:
    with browser.visit(page) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.locator("button:visible").count() == 0
        assert visit.page.locator(".moment:visible").count() == visit.page.locator(".moment").count()


def test_a_hostile_text_stays_a_text(browser: Browser, page: Path) -> None:
    with browser.visit(page) as visit:
        assert visit.page.locator("img[src=x]").count() == 0
        assert visit.page.locator("script").count() == 1
        for place in ("#check-list", "section[aria-labelledby=kills]"):
            assert HOSTILE in visit.page.locator(place).text_content()
        visit.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')")
        visit.page.wait_for_timeout(100)
        assert not [line for line in visit.said if line.startswith("dialog")]  # nor would the policy let one run
        assert any("Content Security Policy" in line for line in visit.said)


def test_nothing_moves_for_those_who_ask_for_stillness(browser: Browser, page: Path) -> None:
    with browser.visit(page, reduced_motion="reduce") as visit:
        assert visit.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    with browser.visit(page, reduced_motion="no-preference") as visit:
        assert visit.page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "smooth"
