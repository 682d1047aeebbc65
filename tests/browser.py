"""Headless Chromium for tests of pages: the system's own, never one that is downloaded; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# What a text stands on is the nearest background that is not transparent; WCAG 2.2, 1.4.3: 4.5, of large texts 3.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const [r, g, b, alpha] = parse(getComputedStyle(one).backgroundColor);
      if (alpha === undefined || alpha === 1) { return [r, g, b]; }
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest(".unseen, script, style, title")) { continue; }
    const style = getComputedStyle(element);
    const over = element instanceof SVGElement ? style.fill : style.color;
    const [one, other] = [light(parse(over)), light(ground(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      weak.push(`${element.tagName} ${element.className} ${ratio.toFixed(2)} ${element.textContent.slice(0, 40)}`);
    }
  }
  return weak;
}"""
# What a checker of accessibility asks of a page's structure
STRUCTURE = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const wrong = [];
  const must = (holds, what) => { if (!holds) { wrong.push(what); } };
  must(document.documentElement.lang, "no language");
  must(document.title, "no title");
  for (const name of ["main", "header", "nav", "h1"]) { must(all(name).length === 1, `not one ${name}`); }
  const ids = all("[id]").map((one) => one.id);
  must(new Set(ids).size === ids.length, "an id twice");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    must(own <= level + 1, `${heading.tagName} after H${level}: ${heading.textContent}`);
    level = own;
  }
  for (const link of all("a[href^='#']")) { must(document.getElementById(link.hash.slice(1)), `lost: ${link.hash}`); }
  for (const one of all("[aria-labelledby]")) {
    must(document.getElementById(one.getAttribute("aria-labelledby")), "labelled by nothing");
  }
  for (const one of all("button, summary, a")) { must(one.textContent.trim(), `no name: ${one.outerHTML}`); }
  for (const one of all("img")) { must(one.alt, "an image without alternative text"); }
  for (const one of all("svg")) { must(one.querySelector("title") || one.ariaHidden, "a nameless svg"); }
  for (const one of all("table")) { must(one.caption && one.caption.textContent, "a table without caption"); }
  for (const one of all("th")) { must(one.scope, "a header cell without scope"); }
  for (const one of all("[role=region]")) { must(one.getAttribute("aria-label") && one.tabIndex === 0, "a region"); }
  for (const one of all("dl > *, dl > div > *")) { must(["DIV", "DT", "DD"].includes(one.tagName), "in a dl"); }
  return wrong;
}"""


@dataclass
class Visit:
    """An open page, with all that it logged, raised and asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def width(self) -> tuple[int, int]:
        """How wide the page's content is, and how wide the window."""
        content, window = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        return content, window


class Browser:
    """A running Chromium."""

    def __init__(self, running: Any) -> None:
        self.running = running

    @contextmanager
    def visit(self, file: Path, width: int = 1280, scheme: str = "light", **options: Any) -> Iterator[Visit]:
        """Open a file in a window of its own; ``options`` are Playwright's for a context (``java_script_enabled``)."""
        context = self.running.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, **options)
        visit = Visit(context.new_page())
        visit.page.on("console", lambda message: visit.said.append(message.text))
        visit.page.on("pageerror", lambda error: visit.said.append(str(error)))
        visit.page.on("request", lambda request: visit.asked.append(request.url))
        visit.page.on("dialog", lambda dialog: (visit.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        visit.page.goto(file.as_uri())
        yield visit
        context.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium, for the tests of a module that imports this fixture."""
    driver = pytest.importorskip("playwright.sync_api", reason="no playwright")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium")
    with driver.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield Browser(running)
        running.close()
