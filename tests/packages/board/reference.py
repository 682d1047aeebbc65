"""The readable side of board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import simulacrum
from simulacrum.rng import Draw

from . import ENVIRONMENT, FILL_WEIGHTS, KIND_WEIGHTS, LEVELS, OPEN_P, SIDE, SPOTS, STAKE, TOOLS, Slots


@dataclass
class State:
    board: np.ndarray  # [SIDE, SIDE] uint8
    open: list[bool]
    order: list[int]
    heat: np.float64
    glow: np.float32
    score: int
    code: int
    key: int
    t: int = 0


class BoardReference(simulacrum.ReferenceEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        board = draw.categorical(Slots.FILL, FILL_WEIGHTS, shape=(SIDE, SIDE)).astype(np.uint8)
        warm = [draw.uniform(Slots.WARM, index=i, dtype="float64") for i in range(2)]
        heat = (warm[0] + warm[1]) * np.float64(0.5)
        order = draw.permutation(Slots.ORDER, TOOLS).tolist()
        key = _signed(draw.bits(Slots.MARK, 64))
        return State(board, [True] * TOOLS, order, heat, np.float32(0.0), 0, 1, key)

    def transition(self, state: State, action: np.ndarray, draw: Draw) -> tuple[State, np.float64, bool]:
        row, column, tool = (int(part) for part in action)
        board = state.board.copy()
        if state.open[tool]:  # spec, transition 1
            if tool == 0:
                board[row, column] = (board[row, column] + 1) % LEVELS
            elif tool == 1:
                last = board[row, SIDE - 1]
                for k in range(SIDE - 1, 0, -1):
                    board[row, k] = board[row, k - 1]
                board[row, 0] = last
            else:
                for k in range(SIDE - 1, 0, -1):
                    board[k, column] = board[k - 1, column]
                board[0, column] = 0
        for j in range(SPOTS):  # spec, transition 2
            spot = draw.randint(Slots.SPOT, SIDE * SIDE, index=j)
            board[spot // SIDE, spot % SIDE] ^= 1
        opened = [draw.bernoulli(Slots.OPEN, OPEN_P, index=k) for k in range(TOOLS)]  # spec, transition 3
        kind = draw.categorical(Slots.KIND, KIND_WEIGHTS)  # spec, transition 4
        score = state.score + (kind - 1) * STAKE
        # spec, transition 5
        jitter = draw.uniform(Slots.JITTER, dtype="float64")
        heat = state.heat * np.float64(0.5) + jitter * np.float64(0.5)
        glow = draw.uniform(Slots.GLOW)
        reward = np.float64(kind) * heat + np.float64(glow)
        code = int(draw.bits(Slots.CODE))  # spec, transition 6
        key = _signed(draw.bits(Slots.KEY, 64))
        order = draw.permutation(Slots.TURN, TOOLS).tolist()
        after = State(board, opened, order, heat, glow, score, code, key)
        return after, reward, code % 16 == 0  # spec, transition 7

    def observation(self, state: State) -> dict[str, Any]:
        image = np.zeros((SIDE, SIDE, 2), np.uint8)
        for row in range(SIDE):
            for column in range(SIDE):
                image[row, column, 0] = state.board[row, column] * 60
                for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                    inside = 0 <= row + down < SIDE and 0 <= column + right < SIDE
                    if inside and state.board[row + down, column + right] > 0:
                        image[row, column, 1] += 1
        heat = np.array([state.heat, np.float64(state.glow)], np.float64)
        return {"image": image, "tool": np.int64(state.order[0]), "heat": heat}

    def action_mask(self, state: State) -> np.ndarray:
        return np.array(state.open)

    def info(self, state: State) -> dict[str, Any]:
        return {
            "lamps": np.int32(np.count_nonzero(state.board)),
            "sums": state.board.sum(axis=1, dtype=np.int64),
            "rich": np.bool_(state.score > STAKE),
        }


def _signed(number: Any) -> int:
    """The int64 of the same bits."""
    return (int(number) + 2**63) % 2**64 - 2**63
