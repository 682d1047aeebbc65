"""``simulacrum render FILE`` on a terminal: a pseudo-terminal, and the player driven without one."""

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from environments import FORAGER, TOYWALK
from filming import SNAKE, changed, kept, recorded
from pseudo_terminal import Terminal

from simulacrum.cli import COULD_NOT_RUN, INTERRUPTED, PASSED
from simulacrum.errors import SimulacrumError
from simulacrum.render.terminal import ENTER, LEAVE
from simulacrum.viewer import Alone, Drawer, Moment, Player, Tape, moments, show

STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A folder and a state of the test's own, and no colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def terminal():
    """Begins ``simulacrum render`` at a pseudo-terminal."""
    with contextlib.ExitStack() as stack:

        def made(*arguments, wait=" frames/s", **options):
            one = stack.enter_context(contextlib.closing(Terminal("render", *arguments, **options)))
            one.wait_for(wait)
            return one

        yield made


@pytest.fixture
def tape():
    """Makes tapes of files, and closes them."""
    with contextlib.ExitStack() as stack:

        def made(file, package=FORAGER, **options):
            one = Tape(moments(file, lambda metadata: package, **options))
            stack.callback(one.close)
            return one

        yield made


@pytest.fixture
def player(tape):
    """Makes players of forager's files."""

    def made(file, package=FORAGER, fps=8):
        one = tape(file, package)
        one.read()
        return Player(Alone(one, [package]), fps)

    return made


class Screen:
    """A screen whose keys are chosen before: a name, or seconds to wait."""

    size = 24, 80

    def __init__(self, *pressed):
        self.pressed, self.drawn, self.until = list(pressed), [], 0.0

    def draw(self, lines):
        if not self.drawn or self.drawn[-1] != lines:
            self.drawn.append(lines)

    def key(self, wait):
        if self.until > time.monotonic():
            time.sleep(wait)
            return ""
        if self.pressed and isinstance(self.pressed[0], float):
            self.until = time.monotonic() + self.pressed.pop(0)
            return ""
        return self.pressed.pop(0) if self.pressed else "q"


def settled(player):
    """Go on with a search until it is over."""
    while player._errand is not None:
        player.work(time.monotonic() + 1)
    return player.number


# ---------------------------------------------------------------------- on a pseudo-terminal


def test_a_file_is_played_back(terminal):
    _, texts = recorded(FORAGER, 120, "run.jsonl")
    one = terminal("run.jsonl", "--fps", "60")
    one.wait_for(f"frame {len(texts)} of {len(texts)}  the end  60 frames/s")
    one.press(" ")
    one.wait_for("playing")
    one.press("q")
    assert one.end() == (PASSED, "")
    shown = [STYLE.sub("", frame).replace("\r", "") for frame in one.seen.split("\x1b[H")[1:]]
    numbers = [int(re.search(r"frame (\d+) of", frame)[1]) - 1 for frame in shown]
    for frame, number in zip(shown, numbers, strict=True):
        assert frame.startswith(texts[number] + "\n")
    end = numbers.index(len(texts) - 1)
    assert numbers[:end] == sorted(numbers[:end])
    assert len(set(numbers)) > len(texts) * 0.7


def test_keys_pause_step_and_go_by_episode(terminal):
    _, texts = recorded(FORAGER, 120, "run.jsonl")
    second = next(number for number, text in enumerate(texts) if number and "step 0/" in text)
    one = terminal("run.jsonl", "--fps", "0.01")
    for keys, number, state in [
        (" ", 1, "paused"),
        ("\x1b[C", 2, "paused"),
        ("\x1bOC", 3, "paused"),
        ("\x1b[D", 2, "paused"),
        ("]", second + 1, "paused"),
        ("\x1b[D", second, "paused"),
        ("[", 1, "paused"),
        ("\x1b[F", len(texts), "the end"),
        ("[", second + 1, "paused"),
        ("[", 1, "paused"),
        ("\x1b[4~", len(texts), "the end"),
        ("\x1b[1~", 1, "paused"),
    ]:
        one.press(keys)
        one.wait_for(f"frame {number} of {len(texts)}  {state}")
    one.press("\x1b")
    assert one.end() == (PASSED, "")


def test_the_status_says_what_happened(terminal):
    recorded(FORAGER, 10, "run.jsonl")
    steps = [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()[2:-1]]
    one = terminal("run.jsonl", "--fps", "0.01")
    assert "seed 7  episode 0  step 0  first state\x1b[K" in one.seen
    total = 0.0
    for step in steps:
        total += step["reward"]
        one.press("\x1b[C")
        seen = one.wait_for(f"frame {step['t'] + 2} of 11")
        assert f"seed 7  episode 0  step {step['t'] + 1}\x1b[K" in seen
        assert f"action {step['action']}  reward {step['reward']:.6g}  return {total:.6g}\x1b[K" in seen
    one.press("q")
    assert one.end() == (PASSED, "")


def test_the_speed_changes(terminal):
    recorded(FORAGER, 10, "run.jsonl")
    one = terminal("run.jsonl", "--fps", "0.01")
    for key, speed in [("+", "0.02"), ("+", "0.04"), ("=", "0.08"), ("-", "0.04"), ("-", "0.02")]:
        one.press(key)
        one.wait_for(f"playing  {speed} frames/s")
    one.press("q")
    assert one.end()[0] == PASSED


def test_colour_where_there_is_some(terminal):
    recorded(SNAKE, 3, "run.jsonl")
    one = terminal("run.jsonl", "--fps", "0.01")
    one.press("q")
    assert one.end()[0] == PASSED
    assert "\x1b[48;2;" in one.seen
    one = terminal("run.jsonl", "--fps", "0.01", NO_COLOR="1")
    one.press("q")
    assert one.end()[0] == PASSED
    assert not re.search(r"\x1b\[[0-9;]*m", one.seen)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(number, terminal):
    recorded(FORAGER, 10, "run.jsonl")
    one = terminal("run.jsonl", "--fps", "0.01")
    one.process.send_signal(number)
    assert one.end() == (INTERRUPTED, "\nInterrupted.\n")


def test_ctrl_z_gives_the_terminal_back_and_takes_it_again(terminal):
    recorded(FORAGER, 10, "run.jsonl")
    one = terminal("run.jsonl", "--fps", "0.01", job=True)
    one.process.send_signal(signal.SIGTSTP)
    one.wait_for(LEAVE)
    until = time.monotonic() + 30
    while os.waitpid(one.process.pid, os.WNOHANG | os.WUNTRACED) == (0, 0):
        assert time.monotonic() < until
        time.sleep(0.01)
    one.process.send_signal(signal.SIGCONT)
    one.wait_for(ENTER)
    one.press(" ")
    one.wait_for("frame 1 of 11  paused")
    one.press("q")
    assert one.end(taken=2) == (PASSED, "")


def test_an_error_of_the_renderer_restores_the_terminal(terminal):
    recorded(SNAKE, 3, "run.jsonl")
    one = terminal("run.jsonl", "--around", "7", wait=LEAVE)
    code, error = one.end()
    assert code == COULD_NOT_RUN
    assert "around: expected a snake of 0..2, got 7" in error


def test_a_file_that_is_wrong_further_on_is_shown_until_there(terminal):
    recorded(FORAGER, 30, "run.jsonl")
    changed(Path("run.jsonl"), Path("bad.jsonl"), {20: lambda line: line.update(t=77)})
    one = terminal("bad.jsonl", "--fps", "0.01")
    one.press("\x1b[F")
    one.wait_for("frame 19 of 19  the end")
    one.press("q")
    code, error = one.end()
    assert code == COULD_NOT_RUN
    assert error == "simulacrum: bad.jsonl: line 21, /t: expected 18, got 77\n"


def test_a_file_that_was_cut_off_is_told_when_the_terminal_is_given_back(terminal):
    recorded(FORAGER, 30, "run.jsonl")
    kept(Path("run.jsonl"), Path("cut.jsonl"), lambda number, line: number < 9)
    one = terminal("cut.jsonl", "--fps", "0.01")
    one.press("\x1b[F")
    one.wait_for("frame 8 of 8  the end")
    one.press("q")
    code, error = one.end()
    assert code == PASSED
    assert error.startswith("simulacrum: cut.jsonl: cut off: ")


def test_a_small_terminal_is_not_overrun(terminal):
    recorded(FORAGER, 3, "run.jsonl")
    one = terminal("run.jsonl", "--fps", "0.01", size=(9, 30), wait="playing")
    one.press("q")
    assert one.end()[0] == PASSED
    lines = [line.rstrip("\r") for line in STYLE.sub("", one.seen.split("\x1b[H")[1]).split("\n")]
    assert len(lines) == 9
    assert max(map(len, lines)) <= 30
    assert lines[-1].endswith("…")


def test_two_beside_each_other_and_their_first_difference(terminal):
    recorded(FORAGER, 30, "run.jsonl")
    changed(Path("run.jsonl"), Path("other.jsonl"), {20: lambda line: line["state"].update(energy=0.5)})
    one = terminal("run.jsonl", "--beside", "other.jsonl", "--fps", "0.01", size=(30, 100))
    one.press("d")
    seen = one.wait_for("frame 20 of 31  paused")
    assert re.search(r"<- the first difference, at step 19: energy: [0-9.]+ beside 0.5\x1b", seen)
    one.press("q")
    assert one.end() == (PASSED, "")


def test_what_does_not_fit_beside_stands_below(terminal):
    recorded(FORAGER, 3, "run.jsonl")
    one = terminal("run.jsonl", "--beside", "run.jsonl", "--fps", "0.01", size=(45, 65))
    one.press("d")
    one.wait_for("there is no difference")
    one.press("q")
    assert one.end() == (PASSED, "")
    assert not re.search(r"berries \d/\d  step \d+/\d+ +berries", one.seen)


# ---------------------------------------------------------------------- the player


def test_the_speed_holds_where_drawing_is_slow(player, monkeypatch):
    recorded(FORAGER, 60, "run.jsonl")
    one, drawer = player("run.jsonl", fps=50), Drawer(FORAGER.module("render"))
    fitted = drawer.fitted
    monkeypatch.setattr(drawer, "fitted", lambda *room: time.sleep(0.1) or fitted(*room))
    began = time.monotonic()
    show(one, drawer, Screen(0.5))
    played = (time.monotonic() - began) * 50
    assert one.number >= 0.5 * played
    assert one.number <= played + 1


def test_a_paused_player_stays(player):
    recorded(FORAGER, 60, "run.jsonl")
    one, screen = player("run.jsonl", fps=1000), Screen(" ", 0.3)
    show(one, Drawer(FORAGER.module("render")), screen)
    assert one.paused
    assert one.number < 60
    last = one.number
    assert screen.drawn[-1][-2].startswith(f"frame {last + 1} of ")


def test_going_on_from_a_pause_takes_a_whole_period(player):
    recorded(FORAGER, 60, "run.jsonl")
    one, screen = player("run.jsonl", fps=2), Screen(" ", 1.2, " ", 0.2)
    show(one, Drawer(FORAGER.module("render")), screen)
    assert one.number == 0


def test_it_stops_at_the_end_and_begins_anew(player):
    recorded(FORAGER, 3, "run.jsonl")
    one = player("run.jsonl")
    one.advance(100)
    assert one.number == 3
    one.work(time.monotonic() + 1)
    assert not one.running
    one.advance()
    assert one.number == 3
    one.press(" ")
    assert one.number == 0
    assert one.running


def test_keys_at_the_edges(player):
    recorded(FORAGER, 120, "run.jsonl")
    one = player("run.jsonl")
    for key in ("left", "[", "home"):
        one.press(key)
        assert one.number == 0
    one.press("end")
    last = settled(one)
    assert last == len(one._reel) - 1
    for key in ("right", "]"):
        one.press(key)
        assert settled(one) == last
    for _ in range(20):
        one.press("+")
    assert one.period == pytest.approx(1 / (8 * 64))
    for _ in range(40):
        one.press("-")
    assert one.period == pytest.approx(2)
    before = vars(one).copy()
    for key in ("x", "", "up", "7"):
        one.press(key)
    assert vars(one) == before


def test_a_key_ends_a_search(player):
    recorded(FORAGER, 120, "run.jsonl")
    one = player("run.jsonl")
    one.press("end")
    one.press("home")
    assert settled(one) == 0


# ---------------------------------------------------------------------- the tape


def test_a_tape_gives_back_what_was_read_in_any_order(tape):
    recorded(FORAGER, 120, "run.jsonl")
    expected = list(moments("run.jsonl", lambda metadata: FORAGER))
    one = tape("run.jsonl")
    assert list(one.read_all()) == list(range(1, len(expected) + 1))
    for number in [*reversed(range(len(expected))), 5, 100, 5]:
        assert one[number] == expected[number]
    assert one.starts == [number for number, moment in enumerate(expected) if not hasattr(moment.part, "action")]
    for number in (-1, len(expected)):
        with pytest.raises(IndexError):
            one[number]


def test_a_tape_reads_no_more_than_was_asked_for(tape):
    recorded(FORAGER, 50, "run.jsonl")
    text = Path("run.jsonl").read_text().splitlines(keepends=True)
    Path("run.jsonl").write_text("".join([*text[:5], "broken\n", *text[5:]]))
    one = tape("run.jsonl")
    assert [one.read() for _ in range(4)] == [True] * 4
    assert not one.whole
    assert one.error is None
    assert not one.read()
    assert one.whole
    assert "line 6" in str(one.error)
    assert len(one) == 4
    with pytest.raises(SimulacrumError, match="line 6"):
        list(one.read_all())


def test_a_tape_holds_one_moment_in_memory(tape):
    import gc

    recorded(FORAGER, 120, "run.jsonl")
    one = tape("run.jsonl")
    list(one.read_all())
    gc.collect()
    assert sum(type(each) is Moment for each in gc.get_objects()) <= 2


def test_returns_add_up_by_episode_and_by_agent():
    recorded(SNAKE, 40, "run.jsonl")
    totals = None
    for moment in moments("run.jsonl", lambda metadata: SNAKE):
        if not hasattr(moment.part, "action"):
            totals = [0.0] * 3
            continue
        totals = [one + other for one, other in zip(totals, moment.part.reward, strict=True)]
        assert moment.total == totals
        assert f"return {totals[1]:.6g}" in moment.caption(agent=1)[1]
        assert moment.caption()[1].endswith(f"return {sum(totals):.6g} (the sum)")


def test_toywalk_is_shown_too(terminal):
    recorded(TOYWALK, 5, "run.json")
    one = terminal("run.json", "--fps", "0.01")
    assert "position" in one.seen
    one.press("q")
    assert one.end() == (PASSED, "")
