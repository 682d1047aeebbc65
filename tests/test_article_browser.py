"""The article in headless Chromium, from a file: each widget used, by pointer, keyboard and touch; looks and access."""

import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser import CONTRAST, browser

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "article" / "index.html"
AXE = ROOT / "tests" / "javascript" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS, SCHEMES = (360, 1280), ("light", "dark")
SLOW = 120_000  # milliseconds that a widget may take on a machine that is busy
NONE = "\u2013"  # a dash, in place of what cannot be drawn
FACTS = {"light": "rgb(250, 250, 247)", "dark": "rgb(21, 24, 21)"}

VIOLATIONS = """axe.run({ preload: false }).then((result) => result.violations.map(({ id, impact, nodes }) =>
  `${impact} ${id} ${nodes[0].html.slice(0, 200)}`))"""

__all__ = ["browser"]


@contextmanager
def opened(browser, width=1280, scheme="light", reduced="reduce", **options):
    """The page, which says nothing on the console and asks for files alone."""
    with browser.visit(PAGE, width, scheme, reduced_motion=reduced, **options) as visit:
        visit.page.set_default_timeout(SLOW)
        yield visit.page
        assert visit.said == []
        assert [url for url in visit.asked if not url.startswith(("file:", "data:"))] == []


def text(page, selector):
    return page.locator(selector).first.inner_text()


def wait(page, selector, pattern):
    """Waits until an element's text matches, and returns it."""
    page.wait_for_function(
        "([selector, pattern]) => new RegExp(pattern).test(document.querySelector(selector)?.innerText ?? '')",
        arg=[selector, pattern],
    )
    return text(page, selector)


def complaint(page, selector):
    """What is said below a control that does not take what was typed; said aloud, too."""
    control = page.locator(selector)
    assert control.get_attribute("aria-invalid") == "true"
    line = page.locator(f"#{control.get_attribute('aria-describedby')}")
    assert line.get_attribute("role") == "alert"
    assert line.is_visible()
    return line.inner_text()


def press(page, widget, name):
    page.locator(f"#{widget}").get_by_role("button", name=name, exact=True).click()


def used(page):
    """Every widget filled, as a reader leaves it."""
    press(page, "play", "Go north")
    press(page, "versions", "A thousand steps")
    press(page, "draws", "Draw in another order")
    press(page, "lab", "Run everything")
    wait(page, "#lab .says", "faults put in")
    page.locator("#lab button.cell[data-outcome=caught]").first.click()
    press(page, "crowd", "Try every size")
    wait(page, "#crowd .says", "1,024 rows, .* wrong")
    page.locator("#cost").scroll_into_view_if_needed()
    press(page, "cost", "Learn in both")
    wait(page, "#cost .halves > :last-child .says", "in the end")
    wait(page, "#cost .says", "episodes")
    page.locator("#gate").scroll_into_view_if_needed()
    wait(page, "#gate .verdict", "It loads")


# ---------------------------------------------------------------------- each widget


def test_forager_is_played(browser):
    with opened(browser) as page:
        stage = page.locator("#play .stage")
        before = page.locator("#play canvas").get_attribute("aria-label")
        stage.focus()
        for number, (key, name) in enumerate(
            [("ArrowUp", "north"), ("d", "east"), ("ArrowDown", "south"), ("a", "west")], 1
        ):
            page.keyboard.press(key)
            assert f"You go {name}" in text(page, "#play .says")
            assert f"Step {number} of 80" in text(page, "#play .bar.steps")
        assert page.evaluate("scrollY") == page.evaluate("(document.querySelector('#play .stage').focus(), scrollY)")
        assert page.locator("#play canvas").get_attribute("aria-label") != before
        press(page, "play", "Go west")
        for _ in range(85):
            press(page, "play", "Let the scripted policy move")
            if "terminated" in text(page, "#play .says") or "truncated" in text(page, "#play .says"):
                break
        assert re.search("terminated|truncated", text(page, "#play .says"))
        press(page, "play", "Go north")
        assert "Episode 1 of seed 7 begins" in text(page, "#play .says")
        page.locator("#play input").fill(str(2**53 + 1))
        assert f"Episode 0 of seed {2**53 + 1} begins" in text(page, "#play .says")
        assert text(page, "#play .error") == ""
        page.locator("#play input").fill(str(2**64))
        assert complaint(page, "#play input") == f'Seed: expected a whole number from 0 to {2**64 - 1}, got "{2**64}".'
        press(page, "play", "Next episode")
        assert f"Episode 1 of seed {2**53 + 1} begins" in text(page, "#play .says")


@pytest.mark.parametrize("world", ["toywalk", "forager"])
def test_the_two_versions_agree(browser, world):
    with opened(browser) as page:
        page.locator("#versions select").first.select_option(world)
        press(page, "versions", "One step")
        assert "6 transitions compared" in wait(page, "#versions .says", "^6 ")
        press(page, "versions", "A thousand steps")
        assert "not one bit differs" in wait(page, "#versions .says", "^6,006 ")
        page.locator("#versions select").nth(1).select_option("5")
        assert page.locator("#versions td.differs").count() == 0
        assert page.locator("#versions td.same").count() == (2 if world == "toywalk" else 8)
        for source in page.locator("#versions pre").all_inner_texts():
            assert "transition(state, action, draw)" in source


def test_draws_are_explored(browser):
    with opened(browser) as page:
        asked = {"seed": "42", "episode": "3", "step": "17", "slot": "5", "index": "1", "n of randint": "1000"}
        for name, value in asked.items():
            page.locator("#draws").get_by_label(name, exact=True).fill(value)
        told = text(page, "#draws .answers")
        for expected in ("22c00345 690fa643", "940d29fc 6398baf9", "0.5783258080482483", "578"):
            assert expected in told
        columns = [f"#draws tbody tr td:nth-of-type({column})" for column in (1, 2)]

        def drawn(column):
            names = page.locator("#draws tbody th").all_inner_texts()
            values = [value.split()[0] for value in page.locator(columns[column]).all_inner_texts()]
            return dict(zip(names, values, strict=True))

        pure, stream = drawn(0), drawn(1)
        press(page, "draws", "Draw in another order")
        assert list(drawn(0)) != list(pure)
        assert drawn(0) == pure
        assert drawn(1) != stream
        assert re.search(r"none of the draws changed. The stream: [2-6] of 6 changed", text(page, "#draws .says"))
        press(page, "draws", "As it was")
        assert (drawn(0), drawn(1)) == (pure, stream)
        press(page, "draws", "Leave one out")
        left = {name: value for name, value in drawn(0).items() if value != "not"}
        assert len(left) == 5
        assert all(pure[name] == value for name, value in left.items())


@pytest.mark.parametrize(
    ("name", "value", "expected", "left"),
    [
        ("seed", "abc", f"a whole number from 0 to {2**64 - 1}", 0),
        ("seed", "9" * 24, f"a whole number from 0 to {2**64 - 1}", 0),
        ("seed", "", f"a whole number from 0 to {2**64 - 1}", 0),
        ("slot", "240", "a whole number from 0 to 239", 0),
        ("n of randint", "0", f"a whole number from 1 to {2**31}", 5),
        ("p of bernoulli", "2", "0, or a number from 2**-32 to 1", 5),
    ],
)
def test_what_cannot_be_drawn_is_told_and_nothing_is_shown_for_it(browser, name, value, expected, left):
    with opened(browser) as page:
        answers = page.locator("#draws .answers dd")
        before = answers.all_inner_texts()
        good = page.locator("#draws").get_by_label(name, exact=True).input_value()
        page.locator("#draws").get_by_label(name, exact=True).fill(value)
        got = f'"{value}"' if value else "nothing"
        label = page.locator("#draws").get_by_label(name, exact=True)
        assert complaint(page, "#draws input[aria-invalid=true]") == f"{name}: expected {expected}, got {got}."
        shown = [(one, other) for one, other in zip(answers.all_inner_texts(), before, strict=True) if one != NONE]
        assert len(shown) == left
        assert all(one == other for one, other in shown)
        drawn = page.locator("#draws tbody td").all_inner_texts()
        assert (set(drawn) == {NONE}) == (left == 0)
        label.fill(good)
        assert answers.all_inner_texts() == before
        assert text(page, "#draws .error") == ""
        assert label.get_attribute("aria-describedby") is None


def test_the_lab_finds_every_fault(browser):
    with opened(browser) as page:
        press(page, "lab", "Run everything")
        says = wait(page, "#lab .says", "faults put in")
        put, alone, found, _ = map(int, re.findall(r"\d+", says))
        assert put == found == page.locator("#lab button.fault").count() > 10
        assert 0 < alone < found
        assert page.locator("#lab button.cell[data-outcome=open]").count() == 0
        page.get_by_role("button", name=re.compile("^< for <=, worked examples: caught")).click()
        detail = text(page, "#lab .detail")
        for expected in ("terminated", "below(energy, 0)", "atMost(energy, 0)"):
            assert expected in detail
        both = page.locator("#lab .detail dd").all_inner_texts()[-2:]
        assert both == ["true", "false"]
        assert page.evaluate("document.activeElement.className") == "detail"
        page.get_by_role("button", name=re.compile("^Gain first, cost second, lockstep: caught")).click()
        assert len(set(re.findall(r"0x[0-9a-f]{8}", text(page, "#lab .detail")))) == 2
        page.get_by_role("button", name=re.compile("^< for <=, rollouts of one: let it through")).click()
        assert "no difference" in text(page, "#lab .detail")
        page.locator("#lab button.fault").first.click()
        assert "81 steps" in text(page, "#lab .detail")


def test_one_cell_of_the_lab_runs_alone_and_a_run_stops(browser):
    with opened(browser) as page:
        page.get_by_role("button", name="Seeds are cut to 32 bits, edge seeds: not run").click()
        assert "4294967296" in wait(page, "#lab .detail", "caught")
        press(page, "lab", "Run everything")
        press(page, "lab", "Stop")
        wait(page, "#lab .says", "faults? put in")
        assert page.locator("#lab button.cell[data-outcome=open]").count() > 0
        assert page.locator("#lab button.cell[data-outcome=running]").count() == 0


def test_the_crowd_has_a_bug_of_its_own(browser):
    with opened(browser) as page:
        slider = page.locator("#crowd input[type=range]")
        slider.focus()
        assert "every row is what it should be" in wait(page, "#crowd .says", "^1 row, ")
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        assert re.search("[1-9][0-9]* of them", wait(page, "#crowd .says", "^512 rows, .*wrong"))
        assert slider.get_attribute("aria-valuetext") == "512 rows"
        page.locator("#crowd select").select_option("pair")
        press(page, "crowd", "Try every size")
        wait(page, "#crowd .says", "^1,024 rows, .*wrong")
        told = page.locator("#crowd .chart svg").get_attribute("aria-label")
        assert "0 of 1," in told
        assert re.search(r"[1-9]\d* of 64,", told)


def test_costs_are_counted(browser):
    with opened(browser) as page:
        page.locator("#cost").scroll_into_view_if_needed()
        assert int(re.search(r"difference of (\d+) standard", wait(page, "#cost .says", "episodes"))[1]) > 5
        page.locator("#cost select").select_option("aliased")
        assert "nothing that a learning curve" in wait(page, "#cost .says", "nothing that")
        press(page, "cost", "Learn in both")
        told = wait(page, "#cost .halves > :last-child .says", "in the end")
        broken, learnt, _ = map(float, re.findall(r"-?\d+\.\d", told))
        assert broken > 3 > 0 > learnt
        assert page.locator("#cost path.line").count() == 3


def test_speeds_have_bars(browser):
    with opened(browser) as page:
        rates = page.locator("#speed td[data-rate]")
        assert rates.count() > 4
        measured = [int(rate.get_attribute("data-rate")) for rate in rates.all()]
        widths = [
            bar.evaluate("one => one.getBoundingClientRect().width") for bar in page.locator("#speed i.rate").all()
        ]
        by_rate = [width for _, width in sorted(zip(measured, widths, strict=True))]
        assert by_rate == sorted(by_rate)
        assert by_rate[-1] > 2 * by_rate[0] > 0


def test_the_gate_refuses_what_was_edited(browser):
    with opened(browser) as page:
        page.locator("#gate").scroll_into_view_if_needed()
        assert "It loads" in wait(page, "#gate .verdict", "It loads")
        digest = text(page, "#gate .digest")
        assert re.fullmatch("[0-9a-f]{64}", digest)
        page.get_by_label("The package").press("End")
        page.keyboard.type(" ")
        assert "not what was validated" in wait(page, "#gate .verdict", "does not load")
        assert text(page, "#gate .digest") != digest
        assert "compared" not in text(page, "#gate .verdict")
        press(page, "gate", "Run the battery")
        assert re.search(r"The battery compared [\d,]+ transitions", wait(page, "#gate .verdict", "It loads"))
        press(page, "gate", "STEP_COST = 0.03")
        press(page, "gate", "Run the battery")
        assert "rollouts of one" in wait(page, "#gate .verdict", "the report says failed")
        press(page, "gate", "As it was")
        assert text(page, "#gate .digest") == digest
        told = text(page, "#gate .verdict")
        assert told.startswith("It does not load: the package is not what was validated last")
        assert told.endswith("run the battery again.")
        page.get_by_label("The package").fill("GRID = eight")
        press(page, "gate", "Run the battery")
        assert wait(page, "#gate .verdict", "the report says failed").endswith('"eight" is no number.')


def test_numbers_in_the_text_are_those_of_the_programs(browser):
    with opened(browser) as page:
        written = re.findall(r'data-count="(\w+)">(\d+)<', PAGE.read_text())
        assert len(written) == 3
        assert dict(written) == page.evaluate("Article.counts()")


# ---------------------------------------------------------------------- whoever reads, on whatever


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_fits_and_nothing_serious_is_wrong(browser, width, scheme):
    """No overflow before and after use, contrast of WCAG AA, and axe-core's rules."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci --prefix tests/javascript")
    with opened(browser, width, scheme, bypass_csp=True) as page:
        fits = "document.documentElement.scrollWidth <= innerWidth"
        assert page.evaluate(fits)
        used(page)
        assert page.evaluate(fits)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == FACTS[scheme]
        assert page.evaluate(CONTRAST) == []
        page.add_script_tag(path=AXE)
        assert page.evaluate(VIOLATIONS) == []


def test_colours_are_switched(browser):
    with opened(browser, scheme="dark") as page:
        ground = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(ground) == FACTS["dark"]
        page.get_by_role("button", name="Use light colours").click()
        assert page.evaluate(ground) == FACTS["light"]
        page.get_by_role("button", name="Use dark colours").click()
        assert page.evaluate(ground) == FACTS["dark"]


def frames(page):
    """The picture under the title, now and a second later."""
    picture = "document.querySelector('#hero canvas').toDataURL()"
    first = page.evaluate(picture)
    page.wait_for_timeout(1200)
    return first, page.evaluate(picture)


def test_nothing_moves_for_those_who_ask_for_it(browser):
    with opened(browser, reduced="reduce") as page:
        first, second = frames(page)
        assert first == second
        page.get_by_role("button", name="Let them walk").click()
        first, second = frames(page)
        assert first != second
    with opened(browser, reduced="no-preference") as page:
        first, second = frames(page)
        assert first != second
        page.get_by_role("button", name="Pause").click()
        first, second = frames(page)
        assert first == second


def test_the_keyboard_alone_is_enough(browser):
    """Tab reaches every control, in the order of the page, each with a visible outline; Enter and space press them."""
    with opened(browser) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#article"
        page.locator("#gate").scroll_into_view_if_needed()
        wait(page, "#gate .verdict", "It loads")
        page.reload()
        reached = page.evaluate("""() => {
          const all = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")];
          return all.filter((one) => !one.disabled && one.checkVisibility()).length;
        }""")
        seen = []
        for _ in range(reached + 5):
            page.keyboard.press("Tab")
            told = page.evaluate("""() => {
              const one = document.activeElement;
              if (one === document.body) return null;
              one.dataset.reached = "yes";
              return getComputedStyle(one).outlineStyle;
            }""")
            if told is None:
                break
            seen.append(told)
        assert set(seen) == {"solid"}
        missed = """[...document.querySelectorAll("#article :is(button, input, select)")]
          .filter((one) => !one.dataset.reached && !one.disabled && one.checkVisibility())
          .map((one) => one.outerHTML)"""
        assert page.evaluate(missed) == []
        page.locator("#versions").get_by_role("button", name="One step").focus()
        page.keyboard.press("Enter")
        wait(page, "#versions .says", "^6 ")


def test_a_finger_is_enough(browser):
    with opened(browser, 360, has_touch=True, is_mobile=True) as page:
        for number, name in enumerate(("north", "east", "south", "west"), 1):
            page.locator("#play").get_by_role("button", name=f"Go {name}").tap()
            assert f"Step {number} of 80" in text(page, "#play .bar.steps")
        small = page.evaluate("""[...document.querySelectorAll("button, input, select")].filter((one) => {
          const { width, height } = one.getBoundingClientRect();
          return one.checkVisibility() && (width < 24 || height < 24);
        }).map((one) => one.outerHTML)""")
        assert small == []


def test_nothing_says_that_it_needs_javascript_where_it_runs(browser):
    with opened(browser) as page:
        assert page.locator("#gate textarea").count() == 0, "the last figure is built already"
        assert "JavaScript." not in page.locator("main").inner_text()


def test_it_reads_without_javascript(browser):
    with browser.visit(PAGE, 360, java_script_enabled=False) as visit:
        page = visit.page
        notes = page.locator(".noscript").all_inner_texts()
        assert notes == ["This figure needs JavaScript."] * 7
        assert page.locator("#speed td[data-rate]").count() > 4
        assert "It works 34 transitions out by hand" in page.locator("main").inner_text()
        assert visit.said == []
