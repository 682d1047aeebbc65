"""board, the fast side."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

import simulacrum
from simulacrum.rng.tensor import Draw

from . import ENVIRONMENT, FILL_WEIGHTS, KIND_WEIGHTS, LEVELS, OPEN_P, SIDE, SPOTS, STAKE, TOOLS, Slots


@simulacrum.tensor_state
class State:
    board: Tensor  # [N, SIDE, SIDE] uint8
    open: Tensor  # [N, TOOLS] bool
    order: Tensor  # [N, TOOLS] int32
    heat: Tensor  # [N] float64
    glow: Tensor  # [N] float32
    score: Tensor  # [N] int64
    code: Tensor  # [N] int64
    key: Tensor  # [N] int64
    t: Tensor


class BoardFast(simulacrum.FastEnv[State]):
    environment = ENVIRONMENT

    def initial(self, draw: Draw) -> State:
        board = draw.categorical(Slots.FILL, FILL_WEIGHTS, shape=(SIDE, SIDE)).to(torch.uint8)
        warm = draw.uniform(Slots.WARM, shape=(2,), dtype="float64")
        heat = (warm[:, 0] + warm[:, 1]) * self.float64(0.5)
        order = draw.permutation(Slots.ORDER, TOOLS)
        zero = torch.zeros_like(heat, dtype=torch.int64)
        return State(
            board=board,
            open=torch.ones_like(order, dtype=torch.bool),
            order=order,
            heat=heat,
            glow=torch.zeros_like(heat, dtype=torch.float32),
            score=zero,
            code=torch.ones_like(zero),
            key=draw.bits(Slots.MARK, 64),
        )

    def transition(self, state: State, action: Tensor, draw: Draw) -> tuple[State, Tensor, Tensor]:
        row, column, tool = action.unbind(-1)
        board = self._used(state.board, row, column, tool, state.open.gather(-1, tool.unsqueeze(-1)).squeeze(-1))
        spots = draw.randint(Slots.SPOT, SIDE * SIDE, shape=(SPOTS,))
        cells = self.int32(list(range(SIDE * SIDE))).reshape(SIDE, SIDE)
        for j in range(SPOTS):  # spec, transition 2
            board = torch.where(cells == spots[:, j, None, None], board ^ 1, board)
        kind = draw.categorical(Slots.KIND, KIND_WEIGHTS)  # spec, transition 4
        jitter = draw.uniform(Slots.JITTER, dtype="float64")  # spec, transition 5
        heat = state.heat * self.float64(0.5) + jitter * self.float64(0.5)
        glow = draw.uniform(Slots.GLOW)
        code = draw.bits(Slots.CODE)
        after = State(
            board=board,
            open=draw.bernoulli(Slots.OPEN, OPEN_P, shape=(TOOLS,)),
            order=draw.permutation(Slots.TURN, TOOLS),
            heat=heat,
            glow=glow,
            score=state.score + (kind.to(torch.int64) - 1) * STAKE,
            code=code,
            key=draw.bits(Slots.KEY, 64),
        )
        reward = kind.to(torch.float64) * heat + glow.to(torch.float64)
        return after, reward, code % 16 == 0

    def _used(self, board: Tensor, row: Tensor, column: Tensor, tool: Tensor, legal: Tensor) -> Tensor:
        """The board after the tool (spec, transition 1)."""
        line = torch.arange(SIDE, device=board.device)
        rows = (line == row.unsqueeze(-1)).unsqueeze(-1)  # [N, SIDE, 1]
        columns = (line == column.unsqueeze(-1)).unsqueeze(-2)  # [N, 1, SIDE]
        raised = torch.where(rows & columns, (board + 1) % LEVELS, board)
        turned = torch.where(rows, torch.roll(board, 1, -1), board)
        dark = torch.zeros_like(board[:, :1])
        fallen = torch.where(columns, torch.cat([dark, board[:, :-1]], 1), board)
        tools = tool[:, None, None]
        used = torch.where(tools == 0, raised, torch.where(tools == 1, turned, fallen))
        return torch.where(legal[:, None, None], used, board)

    def observation(self, state: State) -> dict[str, Tensor]:
        lit = torch.nn.functional.pad((state.board > 0).to(torch.uint8), (1, 1, 1, 1))
        around = lit[:, :-2, 1:-1] + lit[:, 2:, 1:-1] + lit[:, 1:-1, :-2] + lit[:, 1:-1, 2:]
        heat = torch.stack([state.heat, state.glow.to(torch.float64)], -1)
        image = torch.stack([state.board * 60, around], -1)
        return {"image": image, "tool": state.order[:, 0].to(torch.int64), "heat": heat}

    def action_mask(self, state: State) -> Tensor:
        return state.open

    def info(self, state: State) -> dict[str, Tensor]:
        return {
            "lamps": (state.board > 0).sum((1, 2), dtype=torch.int32),
            "sums": state.board.sum(2, dtype=torch.int64),
            "rich": state.score > STAKE,
        }


class BoardKernel(simulacrum.KernelEnv):
    environment = ENVIRONMENT
    rows_per_thread = 100
    shows: ClassVar = {
        "action_mask": ("bool", (TOOLS,)),
        ("info", "lamps"): ("int32", ()),
        ("info", "sums"): ("int64", (SIDE,)),
        ("info", "rich"): ("bool", ()),
    }
