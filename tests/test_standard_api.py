"""Frames that cannot be drawn, differ in form, or leave a trace are found, in whatever state."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited import broken
from environments import TOYWALK
from test_harness import PROFILE

from simulacrum.harness.runner import run_check

TEXT = '    cells[position + L] = "*" if position == L else "A"\n'
IMAGE = "    cells = 2 * L + 1\n    width"
SIZE = "(CELL + 3 * MARGIN + BAR, width, 3), BACKGROUND, np.uint8)"
FAULTS = {
    # a change of toywalk's render.py: what the finding says
    "no text at the goal": (
        (TEXT, '    cells[position + L + (position == L)] = "A"\n'),
        "render() raised IndexError",
    ),
    "no image late": ((IMAGE, f"    assert state.t < 30\n{IMAGE}"), "render() raised AssertionError"),
    "no text": (('    return f"|', '    return None if t > 30 else f"|'), "render() gave a NoneType, expected str"),
    "another dtype": ((SIZE, SIZE.replace("np.uint8", "np.uint8 if state.t < 30 else np.int16")), "expected uint8"),
    "another shape": ((SIZE, SIZE.replace("width", "width + state.t // 30")), "a frame of the shape"),
    "the text writes": ((TEXT, f"{TEXT}    state.position = max(state.position - 1, -L)\n"), "changed state.position"),
    "the image writes": ((IMAGE, f"    state.t = min(int(state.t), 30)\n{IMAGE}"), "changed clock.t from "),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_pictures_is_found_with_its_state(name: str, tmp_path: Path) -> None:
    change, says = FAULTS[name]
    findings = run_check("standard_api", broken(tmp_path / "package", "toywalk", render=change), PROFILE).findings
    drawn = [finding.message for finding in findings if "in the state {'state.position': " in finding.message]
    assert any(says in message for message in drawn), findings


def test_hundreds_of_states_are_drawn_worked_and_terminal_ones_too() -> None:
    result = run_check("standard_api", TOYWALK, PROFILE)
    assert result.findings == []
    assert result.counts["frames drawn"] == 2 * (180 + 2 * len(TOYWALK.spec.examples) + 3)
