"""Two trajectories beside each other: which states stand together, what differs first, and how it is marked."""

from pathlib import Path

import numpy as np
import pytest
from environments import FORAGER, TOYWALK
from filming import changed, kept, recorded
from PIL import Image

from simulacrum.cli import COULD_NOT_RUN, PASSED, main
from simulacrum.render.captions import FIRST, LATER, NOTE
from simulacrum.render.text import beside, cut, width
from simulacrum.viewer import Beside, Tape, moments
from simulacrum.viewer.differences import located
from simulacrum.viewer.pairs import Pair, Span, paired

RENDER = ["render", "run.jsonl", "--beside", "other.jsonl", "--package", str(FORAGER.path)]
LINE = 20  # of the file: the metadata, the first state, then steps 0 .. 17


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A folder and a state of the test's own, and no colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def reel(*files):
    tapes = tuple(Tape(moments(file, lambda metadata: FORAGER)) for file in files)
    for tape in tapes:
        list(tape.read_all())
    return Beside(FORAGER, tapes, files)


def planted(**fields):
    """run.jsonl, and other.jsonl whose state after step 18 has other fields."""
    images, texts = recorded(FORAGER, 30, "run.jsonl")
    changed(Path("run.jsonl"), Path("other.jsonl"), {LINE: lambda line: line["state"].update(fields)})
    return images, texts


# ---------------------------------------------------------------------- what differs first


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda line: line["state"].update(energy=-0.0), "energy: "),
        (lambda line: line["state"].update(x=(line["state"]["x"] + 1) % 8), "x: "),
        (
            lambda line: line["state"]["berry_live"].__setitem__(3, not line["state"]["berry_live"][3]),
            "berry_live[3]: ",
        ),
        (lambda line: line.update(reward=line["reward"] + 2**-40), "reward: "),
        (lambda line: line.update(action=(line["action"] + 1) % 4), "action: "),
    ],
)
def test_the_first_difference_is_found_where_it_is(change, expected):
    recorded(FORAGER, 30, "run.jsonl")
    changed(Path("run.jsonl"), Path("other.jsonl"), {LINE: change})
    one = reel("run.jsonl", "other.jsonl")
    assert [number for number in one.first_difference() if number is not None] == [19]
    shots = [one[number] for number in range(len(one))]
    assert [number for number, shot in enumerate(shots) if shot.first] == [19]
    assert [number for number, shot in enumerate(shots) if shot.differs] == [19]
    assert shots[19].where == "step 19"
    assert shots[19].difference.startswith(expected)
    assert not any(shot.difference for shot in shots[:19])
    assert all(shot.difference == shots[19].difference for shot in shots[19:])
    assert one[25].difference == reel("run.jsonl", "other.jsonl")[25].difference


def test_a_flag_differs():
    recorded(FORAGER, 30, "run.jsonl")
    changed(Path("run.jsonl"), Path("other.jsonl"), {-2: lambda line: line.update(truncated=True)})
    one = reel("run.jsonl", "other.jsonl")
    assert one[30].difference == "truncated: False beside True"
    assert one[30].first


def test_what_is_alike_has_no_difference():
    recorded(FORAGER, 90, "run.jsonl")
    one = reel("run.jsonl", "run.jsonl")
    assert not any(one[number].difference for number in range(len(one)))
    assert not [number for number in one.first_difference() if number is not None]
    assert one.left_out == ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (0.0, -0.0, "v: 0. beside -0."),
        (1, 1.0, "v: 1 beside 1."),
        ([1, [2, 3]], [1, [2, 4]], "v[1][1]: 3 beside 4"),
        ([1], [1, 2], "the length of v: 1 beside 2"),
        ({"a": True}, {"a": False}, "v.a: True beside False"),
        (None, 3, "v: None beside 3"),
        (2**63, 2**63 + 1, "v: 9223372036854775808 beside 9223372036854775809"),
        ([1.5, None], [1.5, None], "None"),
    ],
)
def test_values_are_told_apart_by_their_bits(one, other, expected):
    assert str(located("v", one, other)) == expected


# ---------------------------------------------------------------------- which stand together


def span(seed, episode, start, states, clock=0):
    return Span(seed, episode, clock, start, states)


def test_episodes_of_one_seed_and_number_stand_together():
    one = [span(7, number, 10 * number, 10) for number in range(4)]
    pairs, left = paired(one, [span(7, 1, 0, 12), span(7, 2, 12, 3)])
    assert [(pair.spans[0].episode, pair.spans[1].episode, pair.over) for pair in pairs] == [
        (1, 1, None),
        (2, 2, None),
        (3, 2, 1),
    ]
    assert pairs[2].spans[1] == span(7, 2, 14, 1)
    assert left == [1, 0]


def test_without_a_shared_episode_the_order_counts():
    pairs, left = paired([span(7, 0, 0, 5), span(7, 1, 5, 5)], [span(8, 3, 0, 9)])
    assert [(pair.spans[0].start, pair.spans[1].start, pair.keyed, pair.over) for pair in pairs] == [
        (0, 0, False, None),
        (5, 8, False, 1),
    ]
    assert left == [0, 0]


def test_a_seed_that_was_reset_to_twice_is_paired_twice():
    side = [span(7, 0, 0, 5), span(7, 0, 5, 6)]
    pairs, _ = paired(side, side)
    assert [pair.spans[0].start for pair in pairs] == [0, 5]


def test_states_of_one_step_counter_stand_together():
    pair = Pair((span(7, 0, 100, 10), span(7, 0, 0, 3, clock=4)), keyed=True)
    assert pair.length == 10
    assert [pair.place(1, index) for index in range(10)] == [
        *[(0, "not begun")] * 4,
        *[(0, ""), (1, ""), (2, "")],
        *[(2, "ended")] * 3,
    ]
    assert pair.place(0, 9) == (109, "")
    assert Pair(pair.spans, keyed=False).place(1, 2) == (2, "")


def test_one_goes_on_beside_the_last_state_of_the_other():
    recorded(FORAGER, 30, "run.jsonl")
    kept(Path("run.jsonl"), Path("other.jsonl"), lambda number, line: number < 12)
    one = reel("run.jsonl", "other.jsonl")
    assert len(one) == 31
    for number in range(31):
        left, right = one[number].panels
        assert int(left.state.t) == number
        assert int(right.state.t) == min(number, 10)
        assert right.lines[0].endswith("ended") is (number > 10)
    assert not any(one[number].differs for number in range(31))


# ---------------------------------------------------------------------- how it is shown


def test_in_text_a_line_names_the_field_and_both_values(capsys):
    _, texts = planted(energy=0.25)
    assert main(RENDER) == PASSED
    frames = capsys.readouterr().out.removesuffix("\n\n").split("\n\n")
    joined = "\n\n".join(frames).split("seed 7  episode 0\n")[1:]
    assert len(joined) == 31
    for number, (frame, text) in enumerate(zip(joined, texts, strict=True)):
        lines = frame.strip("\n").split("\n")
        assert lines[0].split() == ["run.jsonl", "other.jsonl"]
        assert all(shown.startswith(line) for shown, line in zip(lines[3:], text.split("\n"), strict=False))
        marked = [line for line in lines if "first difference" in line]
        assert len(marked) == (number >= 19)
    last = joined[19].strip("\n").split("\n")[-1]
    assert last.startswith("<- the first difference, at step 19: energy: ")
    assert last.endswith(" beside 0.25")


def test_in_images_a_border_and_a_note_mark_it():
    images, _ = planted(energy=0.25)
    lines = {LINE + 1: lambda line: line["state"].update(energy=0.5)}
    changed(Path("other.jsonl"), Path("other.jsonl"), lines)
    assert main([*RENDER, "--to", "png", "-o", "frames"]) == PASSED
    frames = [np.array(Image.open(file)) for file in sorted(Path("frames").iterdir())]
    assert len({frame.shape for frame in frames}) == 1

    def has(frame, colour):
        return int((frame == colour).all(axis=2).sum())

    height, wide = images[0].shape[:2]
    border = 2 * ((height + 8) * (wide + 8) - height * wide)
    assert [number for number, frame in enumerate(frames) if has(frame, LATER)] == [20]
    assert has(frames[20], LATER) == border
    assert [number for number, frame in enumerate(frames) if has(frame, FIRST) >= border] == [19]
    assert [has(frame, NOTE) > 1000 for frame in frames] == [number >= 19 for number in range(31)]
    for frame, image in zip(frames, images, strict=True):
        assert any(
            np.array_equal(frame[top : top + height, left : left + wide], image)
            for top in range(20, 40)
            for left in range(10, 60)
        )


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_both_are_filmed(kind, capsys):
    planted(energy=0.25)
    assert main([*RENDER, "--to", kind]) == PASSED
    assert capsys.readouterr().out == f"31 frames in run-beside-other.{kind}\n"


def test_what_is_left_out_is_told(capsys):
    recorded(FORAGER, 170, "run.jsonl")
    starts = [n for n, line in enumerate(Path("run.jsonl").read_text().splitlines()) if line.startswith('{"first"')]
    kept(Path("run.jsonl"), Path("other.jsonl"), lambda number, line: number == 0 or number >= starts[1])
    assert main(RENDER) == PASSED
    error = capsys.readouterr().err
    assert "left out are the episodes that are in one file alone: 1 of run.jsonl" in error


def test_two_packages_do_not_stand_beside_each_other(capsys):
    recorded(FORAGER, 3, "run.jsonl")
    recorded(TOYWALK, 3, "other.jsonl")
    assert main(["render", "run.jsonl", "--beside", "other.jsonl"]) == COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "--beside: expected a trajectory of simulacrum/forager-v0, got simulacrum/toywalk-v0" in error


# ---------------------------------------------------------------------- findings


@pytest.fixture
def finding(tmp_path):
    """What validate finds in a forager whose fast side gains half of what it should."""
    from dataclasses import replace

    from edited import changed as faulty

    from simulacrum.harness.profile import QUICK
    from simulacrum.harness.runner import run_check

    package = faulty(tmp_path / "package", "+ gained", "+ gained * 0.5", base="forager")
    profile = replace(QUICK, seed=11, sizes={7: (7, 100)}, sweep=(64, 60))
    (found,) = run_check("differential", package, profile).findings
    return found.file


def test_a_finding_shows_both_sides(finding, capsys):
    assert main(["render", finding]) == PASSED
    shown = capsys.readouterr().out
    assert shown.split("\n")[0].split() == ["reference", "fast"]
    assert shown.count("<- the first difference, at step 1, after a step: state.energy: ") == 1
    assert main(["render", finding, "--to", "png", "-o", "frames"]) == PASSED
    marked = [
        (np.array(Image.open(file)) == FIRST).all(axis=2).sum() > 2000 for file in sorted(Path("frames").iterdir())
    ]
    assert marked.count(True) == 1
    assert marked[1]


@pytest.mark.parametrize("option", [["--beside", "run.jsonl"], ["--episode", "0"]])
def test_a_finding_has_no_episodes(option, finding, capsys):
    assert main(["render", finding, *option]) == COULD_NOT_RUN
    assert f"{option[0]}: expected a trajectory for it, got a finding" in capsys.readouterr().err


# ---------------------------------------------------------------------- lines


def test_lines_are_cut_and_set_beside_each_other_by_what_is_seen_of_them():
    red = "\x1b[31mabc\x1b[0mdef"
    assert width(red) == 6
    assert cut(red, 6) == red
    assert cut(red, 5) == "\x1b[31mabc\x1b[0md\x1b[0m…"
    assert width(cut(red, 3)) == 3
    assert cut("abc", 0) == ""
    assert beside("a\nbc", f"{red}\nx\ny") == f"a    {red}\nbc   x\n     y"
