"""Playing: games, keys, policies, the window under SDL's dummy driver, and the terminal at a pseudo-terminal."""

import contextlib
import re
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from gymnasium import spaces
from pseudo_terminal import Terminal

from simulacrum import play, trajectory
from simulacrum.cli import COULD_NOT_RUN, INTERRUPTED, PASSED, main
from simulacrum.errors import GateError, PackageError, SimulacrumError, SpaceError
from simulacrum.harness.gate import Refusal
from simulacrum.play import Game, keys
from simulacrum.play.policies import policy_of
from simulacrum.play.window import WindowScreen
from simulacrum.reference import state_of
from simulacrum.spec import Package

ENVS = TOYWALK.path.parent
SNAKE = Package.read(ENVS / "snake")
TINY, CLASSIC = (SNAKE.configured(name) for name in ("tiny", "classic"))
PACKAGES = [TOYWALK, FORAGER, TINY, CLASSIC]


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A folder and a state of the test's own, no display and no colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def game():
    """Makes games, and closes them."""
    with contextlib.ExitStack() as stack:
        yield lambda package, **options: stack.enter_context(Game(package, **{"seed": 3, **options}))


class Script:
    """A screen whose keys were chosen before; an empty one lets time pass."""

    def __init__(self, *pressed):
        self.pressed, self.shown = list(pressed), []

    def show(self, game):
        self.shown.append("\n".join([game.text(False, 24, 80), *game.status()]))

    def key(self, wait):
        if not self.pressed:
            return "q"
        key = self.pressed.pop(0)
        if not key:
            time.sleep(wait)
        return key


def names(package):
    return f"{package.name}-{package.config}"


# ---------------------------------------------------------------------- the game


@pytest.mark.parametrize(
    ("package", "key", "action"),
    [
        *((FORAGER, key, action) for action, key in enumerate(["up", "right", "down", "left"])),
        *((FORAGER, key, action) for action, key in enumerate("wdsa")),
        *((TOYWALK, key, action) for key, action in {"left": 0, "right": 1, "a": 0, "d": 1}.items()),
    ],
)
def test_a_key_makes_a_step_of_a_game_that_waits(package, key, action, game):
    one, env = game(package), package.reference()
    env.reset(seed=3)
    one.press(key)
    env.step(action)
    assert repr(one.state) == repr(state_of(env))
    assert one.steps == 1
    assert not one.running


def test_a_game_in_real_time_moves_on_by_itself_and_keeps_its_direction(game):
    one = game(CLASSIC)
    assert not one.running
    assert "steer to begin" in one.status()[0]
    one.press("right")
    assert one.running
    assert one.steps == 0
    before = int(one.state.head[0])
    one.advance()
    one.advance()
    assert int(one.state.head[0]) == before + 2
    one.press("s")
    one.advance()
    assert int(one.state.head[0]) == before + 2 + CLASSIC.module().WIDTH


def test_a_pause_stops_it_and_a_single_step_goes_on(game):
    one = game(CLASSIC)
    one.press("right")
    for pause in ("p", " "):
        one.press(pause)
        assert not one.running
        assert "paused" in one.status()[0]
        one.press("n")
        one.press("down")
        assert not one.running
        one.press(pause)
        assert one.running
    assert one.steps == 2


def test_in_a_pause_a_key_steers_and_n_steps(game):
    one = game(FORAGER)
    one.press("p")
    one.press("up")
    assert one.steps == 0
    one.press("n")
    assert one.steps == 1


def test_an_episode_ends_and_r_begins_the_next(game):
    one = game(TOYWALK)
    for _ in range(60):
        one.press("left")
    assert one.steps == 60
    assert "episode over (truncated): r begins the next one" in one.status()[0]
    assert "return -60" in one.status()[0]
    one.press("left")
    assert one.steps == 60
    one.press("r")
    assert one.steps == 0
    assert "return 0" in one.status()[0]
    one.press("left")
    saved = trajectory.read(one.save(), TOYWALK)
    assert [(episode.episode, len(episode.steps)) for episode in saved.episodes] == [(0, 60), (1, 1)]


@pytest.mark.parametrize("key", ["q", "escape"])
def test_keys_that_leave(key, game):
    one = game(TOYWALK)
    one.press(key)
    assert one.left


def test_keys_that_mean_nothing(game):
    one = game(TOYWALK)
    before = one.status()
    for key in ("", "x", "up", "down", "w", "5", "\x00"):
        one.press(key)
    assert one.status() == before


def test_only_one_agent_is_steered(game):
    one = game(TINY, agent=1, policy="always_right")
    one.press("left")
    for _ in range(4):
        one.advance()
    steps = trajectory.read(one.save(), TINY).steps
    assert [step.action for step in steps] == [[3, 2, 3]] * 4
    assert one.status()[0].startswith("agent 1 of 3  seed 3  step 4")
    assert f"return {sum(step.reward[1] for step in steps):.4g}" in one.status()[0]


def test_a_death_is_told(game):
    one = game(TINY, agent=0)
    one.press("up")
    told = []
    for _ in range(6):
        one.advance()
        told.append("reward -1, died" in one.status()[0])
    assert told == [step.died[0] for step in trajectory.read(one.save(), TINY).steps]
    assert any(told)


@pytest.mark.parametrize("package", PACKAGES, ids=names)
def test_a_game_is_played_and_saved_as_the_reference_plays_it(package, game):
    one = game(package)
    screen = Script(*["left", "", "right", "n", "up", "", "p", "n", "p", ""])
    play.run(one, screen, fps=1000)
    saved = trajectory.read(one.save(), package)
    env = package.reference()
    env.reset(seed=3)
    assert saved.metadata.seed == 3
    assert len(saved.steps) == one.steps > 2
    many = package.environment.agents is not None
    for step in saved.steps:
        env.step(np.array(step.action, np.int64) if many else step.action)
    assert repr(state_of(env)) == repr(one.state)
    assert len(set(screen.shown)) > 2


def test_a_held_key_does_not_stop_the_clock(game):
    one = game(CLASSIC)
    play.run(one, Script(*["right"] * 3000), fps=1000)
    assert one.steps > 3


def test_a_slow_game_still_hears_keys(game, monkeypatch):
    one = game(CLASSIC)
    monkeypatch.setattr(Game, "text", lambda *_: time.sleep(0.02) or "")
    play.run(one, Script("right", *[""] * 5), fps=10_000)
    assert one.left


@pytest.mark.parametrize("agent", [-1, 3])
def test_there_is_no_such_agent(agent):
    with pytest.raises(SimulacrumError, match=rf"agent: expected one of 0\.\.2, got {agent}"):
        Game(TINY, agent=agent)


def test_a_game_closed_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Game(TOYWALK) as one:
        one.press("left")
        assert list(tmp_path.glob("simulacrum-play-*"))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- saving


@pytest.mark.parametrize("key", ["S", "\x13"])
def test_a_game_is_saved_under_a_name_of_its_own(key, game):
    Path("forager-game-3.jsonl").write_text("kept")
    one = game(FORAGER)
    one.press("left")
    one.press(key)
    assert "saved " in one.status()[0]
    assert "forager-game-3-2.jsonl" in one.status()[0]
    one.press("left")
    one.press(key)
    assert len(trajectory.read("forager-game-3-2.jsonl", FORAGER).steps) == 2
    assert Path("forager-game-3.jsonl").read_text() == "kept"


def test_where_s_does_not_steer_it_saves(game):
    one = game(TOYWALK)
    one.press("s")
    assert "saved " in one.status()[0]
    assert len(list(Path().glob("toywalk-game-3.jsonl"))) == 1


def test_a_game_that_cannot_be_saved_goes_on(game):
    one = game(TOYWALK, file=Path("nowhere/a.json"))
    one.press("S")
    assert "not saved: " in one.status()[0]
    one.press("left")
    assert one.steps == 1


def test_a_file_that_is_there_is_not_written_over(game):
    Path("a.json").write_text("kept")
    one = game(TOYWALK, file=Path("a.json"))
    one.press("S")
    assert "not saved: a.json exists already" in one.status()[0]
    assert Path("a.json").read_text() == "kept"


# ---------------------------------------------------------------------- keys


def module(**values):
    return SimpleNamespace(__file__="render.py", **values)


def test_without_keys_digits_choose():
    assert keys.actions_of(module(), spaces.Discrete(3, start=2)) == {"0": 2, "1": 3, "2": 4}
    assert len(keys.actions_of(module(), spaces.Discrete(99))) == 10


def test_letters_stand_for_arrows():
    found = keys.actions_of(module(KEYS={"up": 0, "x": 1}), spaces.Discrete(2))
    assert found == {"up": 0, "w": 0, "x": 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": 0}, r"KEYS\['q'\]: expected one of"),
        ({"enter": 0}, r"KEYS\['enter'\]: expected one of"),
        ({1: 0}, r"KEYS\[1\]: expected one of"),
        ({"up": 4}, r"KEYS\['up'\]: expected an action of Discrete\(2\), got 4"),
        ({"up": True}, "got True"),
        ({"up": "north"}, "got 'north'"),
        (["up"], "expected KEYS, a dict"),
    ],
)
def test_keys_that_do_not_fit(given, message):
    with pytest.raises(PackageError, match=message):
        keys.actions_of(module(KEYS=given), spaces.Discrete(2))


def test_actions_without_numbers_cannot_be_steered():
    with pytest.raises(SpaceError, match="expected Discrete, one action a key"):
        keys.actions_of(module(), spaces.Box(0, 1))


def test_the_help_names_the_keys():
    assert keys.help_of({"up": 0, "w": 0}).startswith("arrows/WASD: steer  p: pause")
    assert keys.help_of({"0": 0, "1": 1, "2": 2}).startswith("0-2: steer")


# ---------------------------------------------------------------------- policies


def test_a_scripted_policy_takes_a_batch_of_one():
    env = TINY.reference()
    seen, _ = env.reset(seed=0)
    chosen = policy_of(TINY, "always_right", 0)(state_of(env), seen)
    assert chosen.tolist() == [3, 3, 3]
    assert env.action_space.contains(chosen)
    assert env.action_space.contains(policy_of(TINY, "to_food", 0)(state_of(env), seen))


def test_the_random_policy_follows_its_seed_and_takes_every_action():
    one, other, third = (policy_of(TINY, "random", seed) for seed in (1, 1, 2))
    rows = [[policy(None, None).tolist() for _ in range(50)] for policy in (one, other, third)]
    assert rows[0] == rows[1] != rows[2]
    assert set(np.ravel(rows)) == {0, 1, 2, 3}
    assert TINY.environment.action_space.contains(one(None, None))


def test_a_policy_that_is_not_there_is_told():
    with pytest.raises(PackageError, match=r"expected one of random, always_right, to_food .*, got 'clever'"):
        policy_of(TINY, "clever", 0)


def test_one_agent_alone_has_no_policy():
    with pytest.raises(SimulacrumError, match="has one agent, whom you steer"):
        Game(FORAGER, policy="greedy_nearest")


# ---------------------------------------------------------------------- the window


@pytest.fixture
def window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with WindowScreen("title") as screen:
        yield screen


def post(key, letter=""):
    import pygame

    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode=letter, mod=0))


@pytest.mark.parametrize("package", PACKAGES, ids=names)
def test_the_window_shows_the_image_and_the_status(package, window, game):
    import pygame

    one = game(package)
    window.show(one)
    image = one.image()
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    factor = max(1, 620 // image.shape[1])
    large = image.repeat(factor, axis=0).repeat(factor, axis=1)
    left = (shown.shape[1] - large.shape[1]) // 2
    assert np.array_equal(shown[: large.shape[0], left : left + large.shape[1]], large)
    below = shown[large.shape[0] :]
    assert below.min() < 60 < 240 < below.max()
    one.press("right")
    one.advance()
    window.show(one)
    assert not np.array_equal(pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1), shown)


def test_the_window_hears_keys(window, game):
    import pygame

    window.show(game(TOYWALK))
    window.key(0)
    pressed = [(pygame.K_UP, ""), (pygame.K_LEFT, ""), (pygame.K_ESCAPE, "\x1b"), (pygame.K_w, "w"), (pygame.K_s, "S")]
    for one in pressed:
        post(*one)
    assert [window.key(1) for _ in pressed] == ["up", "left", "escape", "w", "S"]
    assert window.key(0.05) == ""
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert window.key(1) == "escape"


def test_a_game_in_the_window(monkeypatch):
    import pygame

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    show, pressed = WindowScreen.show, [pygame.K_RIGHT, pygame.K_UP, pygame.K_RIGHT]

    def shown(self, game):
        show(self, game)
        post(pressed.pop(0)) if pressed else post(pygame.K_q, "q")

    monkeypatch.setattr(WindowScreen, "show", shown)
    arguments = ["play", str(FORAGER.path), "--unvalidated", "--seed", "5", "--save", "a.json"]
    assert main(arguments) == PASSED
    assert [step.action for step in trajectory.read("a.json", FORAGER).steps] == [1, 0, 1]
    assert not pygame.display.get_init()


# ---------------------------------------------------------------------- the terminal


@pytest.fixture
def terminal():
    with contextlib.ExitStack() as stack:

        def made(*arguments, **variables):
            one = Terminal("play", *arguments, "--terminal", "--unvalidated", **variables)
            return stack.enter_context(contextlib.closing(one))

        yield made


def test_a_game_in_the_terminal(terminal):
    one = terminal(str(FORAGER.path), "--seed", "3", "--save", "a.jsonl")
    one.wait_for("q: quit")
    for key in ("\x1b[C", "\x1bOA", "s", "n"):
        one.press(key)
        one.wait_for("reward")
    one.press("\x1b[15~x")  # a key that it does not know, and one that means nothing
    one.press("\x1b")
    code, error = one.end()
    assert (code, error) == (PASSED, "Saved a.jsonl\n")
    assert [step.action for step in trajectory.read("a.jsonl", FORAGER).steps] == [1, 0, 2, 2]
    assert "+-----------------+" in one.seen


def test_snake_in_the_terminal_moves_by_itself_in_colour(terminal):
    one = terminal(str(SNAKE.path), "--config", "classic", "--seed", "3", "--fps", "30", "--save", "a.json")
    one.wait_for("steer to begin")
    one.press("d")
    one.wait_for("step 5")
    one.press("q")
    assert one.end()[0] == PASSED
    assert "\x1b[48;2;" in one.seen
    assert len(trajectory.read("a.json", CLASSIC).steps) >= 5
    frames = one.seen.split("\x1b[H")[1:]
    assert max(frame.count("\r\n") for frame in frames) < 24


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_text_is_plain(variables, terminal):
    one = terminal(str(SNAKE.path), "--config", "tiny", "--seed", "3", **variables)
    one.wait_for("steer to begin")
    one.press("q")
    assert one.end()[0] == PASSED
    assert not re.search(r"\x1b\[[0-9;]*m", one.seen)
    assert "@ " in one.seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_game_is_saved_and_the_terminal_restored(number, terminal):
    one = terminal(str(TOYWALK.path), "--seed", "3", "--save", "a.jsonl")
    one.wait_for("q: quit")
    one.press("d")
    one.wait_for("reward")
    one.process.send_signal(number)
    code, error = one.end()
    assert code == INTERRUPTED
    assert error == "Saved a.jsonl\n\nInterrupted.\n"
    found = trajectory.read("a.jsonl", TOYWALK)
    assert len(found.steps) == 1
    assert found.cut_off == ""


def test_an_error_in_the_game_restores_the_terminal_and_saves(terminal, tmp_path):
    import shutil

    folder = tmp_path / "toywalk"
    shutil.copytree(TOYWALK.path, folder, ignore=shutil.ignore_patterns("validation_report*", "__pycache__"))
    text = (folder / "render.py").read_text()
    (folder / "render.py").write_text(text.replace("position, t =", "assert state.t < 2\n    position, t ="))
    one = terminal(str(folder), "--seed", "3", "--save", "a.json")
    one.wait_for("q: quit")
    one.press("aa")
    code, error = one.end()
    assert code == COULD_NOT_RUN
    assert "AssertionError" in error
    assert len(trajectory.read("a.json").steps) == 2


# ---------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--save", "a.csv"], "expected a file name that ends with .json"),
        (["--save", "there.json"], "--save: there.json exists already"),
        (["--save", "nowhere/a.json"], "there is no folder nowhere"),
        (["--config", "huge"], "config: "),
        (["--terminal"], "no terminal: expected stdin and stdout to be one"),
        ([], "no terminal: expected stdin and stdout to be one"),
    ],
)
def test_what_cannot_be_played_is_told(arguments, message, capsys):
    Path("there.json").write_text("kept")
    assert main(["play", str(TOYWALK.path), "--unvalidated", *arguments]) == COULD_NOT_RUN
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--agent", "5"], "agent: expected one of 0..2, got 5"), (["--policy", "clever"], "policy: expected one of")],
)
def test_agents_and_policies_that_are_not_there_are_told(arguments, message, capsys, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert main(["play", str(SNAKE.path), "--config", "tiny", "--unvalidated", *arguments]) == COULD_NOT_RUN
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--fps", "0"], ["--fps", "fast"], ["--seed", "-1"], ["--seed", str(1 << 64)]])
def test_arguments_that_cannot_be_read(arguments):
    with pytest.raises(SystemExit) as caught:
        main(["play", "toywalk", *arguments])
    assert caught.value.code == COULD_NOT_RUN


def test_without_a_report_nothing_is_played(monkeypatch, capsys):
    def refuse(target, *, form, config):
        assert (target, form, config) == ("toywalk", None, "small")
        raise GateError("no report: validate it", Refusal.NO_REPORT)

    monkeypatch.setattr("simulacrum.cli.play.admit", refuse)
    assert main(["play", "toywalk", "--config", "small"]) == COULD_NOT_RUN
    assert "no report: validate it" in capsys.readouterr().err
