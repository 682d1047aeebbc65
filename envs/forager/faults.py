"""Faults to put into forager on purpose, to measure the battery: each is an edit of the package's own files.

Those of one side are what goes wrong when one implementation is written; those of both sides are what two readers of
spec.md may misread alike.
"""

from simulacrum import Fault

Changes = list[tuple[str, str]]  # (old, new); each old text stands in its file exactly once

# Lines that more than one fault edits: of both files, of fast.py, of reference.py
SLIP = "draw.bernoulli(Slots.SLIP, SLIP_P)"
FORMULA = "draw.bernoulli(Slots.SLIP, SLIP_P)) & 3"
HEADING = "heading = (action + draw.bernoulli(Slots.SLIP, SLIP_P)) & 3"
MOVED_X = "torch.clamp(state.x + self.int32(DX).index_select(0, heading), 0, GRID - 1)"
MOVED_Y = "torch.clamp(state.y + self.int32(DY).index_select(0, heading), 0, GRID - 1)"
HERE = "here = (state.berry_x == x.unsqueeze(-1)) & (state.berry_y == y.unsqueeze(-1))"
COLLECTED = "collected = state.berry_live & here"
GAINED = "gained = self.gained(state.berry_kind, collected)"
TERMS = "(collected * gains).unbind(-1)"
ENERGY = "(state.energy - self.float32(STEP_COST)) + gained"
REWARD = "self.float32(REWARD_SCALE) * gained - self.float32(REWARD_COST)"
TERMINATED = "~berry_live.any(-1) | (energy <= 0)"
LIVE_AT_FIRST = "torch.ones_like(berry_x, dtype=torch.bool)"
OBSERVED = "values / self.float32([GRID - 1, GRID - 1, 1.0, N_BERRIES, MAX_STEPS])"

TURN = "dx, dy = dy, -dx"
IF_HERE = "if berry_live[i] and state.berry_x[i] == x and state.berry_y[i] == y:"
ADD_GAIN = "gained = gained + GAINS_FLOAT[state.berry_kind[i]]"
REFERENCE_ENERGY = "(state.energy - STEP_COST_FLOAT) + gained"
REFERENCE_REWARD = "REWARD_SCALE_FLOAT * gained - REWARD_COST_FLOAT"
CLEARED = "not any(berry_live)"
EXHAUSTED = "bool(energy <= ZERO)"
COLUMN_THEN_ROW = "np.float32(state.x) / LAST_CELL_FLOAT,\n                np.float32(state.y)"
ROW_THEN_COLUMN = "np.float32(state.y) / LAST_CELL_FLOAT,\n                np.float32(state.x)"

# Replacements that stand in more than one fault
TURN_IF_FREE = (
    "ahead_x = state.x + self.int32(DX).index_select(0, action)\n        "
    "ahead_y = state.y + self.int32(DY).index_select(0, action)\n        "
    "free = (ahead_x >= 0) & (ahead_x < GRID) & (ahead_y >= 0) & (ahead_y < GRID)\n        "
    "heading = (action + (draw.bernoulli(Slots.SLIP, SLIP_P) & free)) & 3"
)
MOVED = "((x != state.x) | (y != state.y))"
NOT_AT_START = "(berry_x != x.unsqueeze(-1)) | (berry_y != y.unsqueeze(-1))"

FAST: dict[str, dict[str, Changes]] = {
    # ------------------------------------------------------------------ shapes and dimensions
    "shape": {
        "the gains are looked up in the transposed order": [("kind.reshape(-1))", "kind.T.reshape(-1))")],
        "the observation is stacked along the first axis": [("state.t], -1)", "state.t]).reshape(-1, 5)")],
        "the agents' columns are repeated by berry, not by row": [
            ("x.unsqueeze(-1)", "x.repeat(N_BERRIES).reshape(-1, N_BERRIES)")
        ],
        "at N = N_BERRIES the agents' rows are taken for one a berry": [
            ("y.unsqueeze(-1)", "(y if len(y) == N_BERRIES else y.unsqueeze(-1))")
        ],
        "one cleared row ends all": [(TERMINATED, "(~berry_live.any(-1, keepdim=True) | (energy <= 0)).any(0)")],
        "no row is exhausted before all are": [(TERMINATED, "~berry_live.any(-1) | (energy <= 0).all()")],
        "no row is cleared before all are": [(TERMINATED, "~berry_live.any() | (energy <= 0)")],
        "a single berry's axis is squeezed away": [(TERMINATED, "~berry_live.squeeze(-1).any(-1) | (energy <= 0)")],
        "the batch's axis is squeezed away at N = 1": [(TERMS, "(collected * gains).squeeze().unbind(-1)")],
        "the flag is written into an expanded view": [
            (
                TERMINATED,
                "torch.zeros(1, device=x.device).expand(len(x)).masked_fill_("
                "~berry_live.any(-1) | (energy <= 0), 1.0) > 0",
            )
        ],
        "every row has the kinds of the first": [
            ("berry_kind=berry_kind,", "berry_kind=berry_kind[:1].expand_as(berry_kind),")
        ],
        "the live berries of the whole batch are shown": [
            (
                "state.berry_live.sum(-1, dtype=torch.int32)",
                "state.berry_live.sum(dtype=torch.int32).expand_as(state.x)",
            )
        ],
    },
    # ------------------------------------------------------------------ rules
    "rules": {
        "the slip turns counterclockwise": [(FORMULA, "3 * draw.bernoulli(Slots.SLIP, SLIP_P)) & 3")],
        "north and south are exchanged": [("DY = [1, 0, -1, 0]", "DY = [-1, 0, 1, 0]")],
        "no slip on the western edge": [(SLIP, f"({SLIP} & (state.x > 0))")],
        "a blocked move is not turned": [(HEADING, TURN_IF_FREE)],
        "x is not clamped in the east": [(MOVED_X, MOVED_X.replace(", 0, GRID - 1)", ", min=0)"))],
        "y wraps round the field": [(MOVED_Y, "(state.y + self.int32(DY).index_select(0, heading)) % GRID")],
        "in the north-east corner nobody walks south": [
            (
                "y = " + MOVED_Y,
                f"y = {MOVED_Y}\n        y = torch.where((x == GRID - 1) & (state.y == GRID - 1), state.y, y)",
            )
        ],
        "berries are collected where the step began": [
            (HERE, "here = (state.berry_x == state.x.unsqueeze(-1)) & (state.berry_y == state.y.unsqueeze(-1))")
        ],
        "cells are numbered with the stride GRID - 1": [
            (HERE, "here = state.berry_y * (GRID - 1) + state.berry_x == (y * (GRID - 1) + x).unsqueeze(-1)")
        ],
        "berries on the start cell are collected by the reset": [(LIVE_AT_FIRST, NOT_AT_START)],
        "who stays collects nothing": [(COLLECTED, f"{COLLECTED} & {MOVED}.unsqueeze(-1)")],
        "one berry a step": [
            (COLLECTED, "collected = state.berry_live & here\n        collected &= collected.cumsum(-1) == 1")
        ],
        "at most four berries a step": [
            (COLLECTED, "collected = state.berry_live & here\n        collected &= collected.cumsum(-1) <= 4")
        ],
        "a berry on a visited cell comes back": [("state.berry_live ^ collected", "state.berry_live ^ here")],
        "collected berries give again": [(GAINED, "gained = self.gained(state.berry_kind, here)")],
        "collected berries move to column 0": [("berry_x=state.berry_x,", "berry_x=state.berry_x * berry_live,")],
        "the gain of kind 2 is that of kind 1": [("self.float32(GAINS)", "self.float32([*GAINS[:2], GAINS[1]])")],
        "the gain of a step saturates at 1": [(GAINED, f"{GAINED}.clamp(max=1.0)")],
        "the energy saturates at the start's": [(ENERGY, f"torch.clamp({ENERGY}, max=START_ENERGY)")],
        "the energy saturates at 2.5": [(ENERGY, f"torch.clamp({ENERGY}, max=2.5)")],
        "the reward of the last step is 0": [
            ("after = State(", "reward = torch.where(terminated, self.float32(0.0), reward)\n        after = State(")
        ],
        "exhausted only below 0": [(TERMINATED, "~berry_live.any(-1) | (energy < 0)")],
        "exhausted before the gain": [(TERMINATED, "~berry_live.any(-1) | (energy - gained <= 0)")],
        "exhausted one step late": [(TERMINATED, "~berry_live.any(-1) | (state.energy <= 0)")],
        "never exhausted": [(TERMINATED, "~berry_live.any(-1)")],
        "never cleared": [(TERMINATED, "energy <= 0")],
        "cleared one step late": [(TERMINATED, "~state.berry_live.any(-1) | (energy <= 0)")],
        "cleared without the last berry": [(TERMINATED, "~berry_live[:, :-1].any(-1) | (energy <= 0)")],
        "not cleared by the last energy": [
            (TERMINATED, "(~berry_live.any(-1) & (state.energy > self.float32(STEP_COST))) | (energy <= 0)")
        ],
        "cleared and exhausted at once is neither": [(TERMINATED, "~berry_live.any(-1) ^ (energy <= 0)")],
        "no slip one step before the last": [(SLIP, f"({SLIP} & (state.t != MAX_STEPS - 2))")],
        "the field's side is hard-coded": [(MOVED_X, MOVED_X.replace("GRID - 1", "7"))],
        "the number of berries is hard-coded": [("1.0, N_BERRIES, MAX_STEPS", "1.0, 6, MAX_STEPS")],
        "the step cap is hard-coded": [("N_BERRIES, MAX_STEPS]", "N_BERRIES, 80]")],
    },
    # ------------------------------------------------------------------ draws
    "randomness": {
        "one draw for the columns of all berries": [
            ("GRID, shape=(N_BERRIES,))  # spec", "GRID, shape=(1,)).expand(-1, N_BERRIES)  # spec")
        ],
        "the rows of the berries are drawn from the slot of the columns": [("Slots.BERRY_Y", "Slots.BERRY_X")],
        "the agent's row is drawn from the slot of its column": [("Slots.AGENT_Y", "Slots.AGENT_X")],
        "the index of the kinds begins at 1": [
            ("N_KINDS, shape=(N_BERRIES,))", "N_KINDS, index=1, shape=(N_BERRIES,))")
        ],
        "the index of the last berry's kind is off by one": [
            (
                "draw.randint(Slots.BERRY_KIND, N_KINDS, shape=(N_BERRIES,))",
                "torch.stack([draw.randint(Slots.BERRY_KIND, N_KINDS, index=i + i // (N_BERRIES - 1))"
                " for i in range(N_BERRIES)], -1)",
            )
        ],
        "the slip is drawn at index 1": [(SLIP, "draw.bernoulli(Slots.SLIP, SLIP_P, index=1)")],
        "the slip is drawn with the counter after the step": [
            (SLIP, "Draw(draw._k0, draw._k1, draw._t + 1, draw._phase).bernoulli(Slots.SLIP, SLIP_P)")
        ],
        "the place in the batch goes into the key": [
            (
                SLIP,
                "Draw(draw._k0, draw._k1 + torch.arange(draw.rows, dtype=torch.int32, device=action.device), draw._t,"
                " draw._phase).bernoulli(Slots.SLIP, SLIP_P)",
            )
        ],
        "the columns of the berries are the neighbour's": [("berry_x=berry_x,", "berry_x=berry_x.roll(1, 0),")],
        "the kinds are drawn modulo": [
            (
                "draw.randint(Slots.BERRY_KIND, N_KINDS, shape=(N_BERRIES,))",
                "(draw.bits(Slots.BERRY_KIND, shape=(N_BERRIES,)) % N_KINDS).to(torch.int32)",
            )
        ],
        "the slip compares a float32 uniform": [(SLIP, "(draw.uniform(Slots.SLIP) < SLIP_P)")],
        "the slip is drawn from the global generator": [
            (SLIP, "(torch.rand(len(action), device=action.device) < SLIP_P)")
        ],
        "the global generator is touched": [
            (
                "torch.full_like(x, START_ENERGY, dtype=torch.float32)",
                "torch.rand_like(x, dtype=torch.float32).fill_(START_ENERGY)",
            )
        ],
    },
    # ------------------------------------------------------------------ numbers
    "numbers": {
        "the gains are added from the last berry": [(TERMS, "(collected * gains).flip(-1).unbind(-1)")],
        "the gains are added in float64": [
            ("self.float32(GAINS)", "self.float64(GAINS)"),
            ("return total", "return total.to(torch.float32)"),
        ],
        "the gains are float16": [("self.float32(GAINS)", "self.float32(GAINS).half().float()")],
        "the gain is added before the cost": [(ENERGY, "(state.energy + gained) - self.float32(STEP_COST)")],
        "the gain less the cost is added": [(ENERGY, "state.energy + (gained - self.float32(STEP_COST))")],
        "the reward is computed in float64": [
            (REWARD, "(REWARD_SCALE * gained.to(torch.float64) - REWARD_COST).to(torch.float32)")
        ],
        "the observation is multiplied by reciprocals": [
            (OBSERVED, "values * (1.0 / self.float32([GRID - 1, GRID - 1, 1.0, N_BERRIES, MAX_STEPS]))")
        ],
        "row 0 is seen as -0.0": [
            ("state.y, state.energy, live", "-((GRID - 1 - state.y).float() - (GRID - 1)), state.energy, live")
        ],
        "the mean gain of no berry is NaN": [
            (
                GAINED,
                "count = collected.sum(-1)\n        mean = self.gained(state.berry_kind, collected) / count\n"
                "        gained = torch.where(count >= 0, mean * count, self.float32(0.0))",
            )
        ],
        "cells are packed into eight bits, six for the column": [
            (
                HERE,
                "here = ((state.berry_y << 6) | state.berry_x).to(torch.uint8)"
                " == ((y << 6) | x).to(torch.uint8).unsqueeze(-1)",
            )
        ],
        "the turn is taken modulo 4 with its sign dropped": [
            (HEADING, "heading = torch.fmod(action - 3 * draw.bernoulli(Slots.SLIP, SLIP_P), 4).abs()")
        ],
        "the start energy has the default dtype": [
            (
                "torch.full_like(x, START_ENERGY, dtype=torch.float32)",
                "torch.full(x.shape, START_ENERGY, device=x.device)",
            )
        ],
        "the gains have the default dtype": [("self.float32(GAINS)", "torch.tensor(GAINS, device=kind.device)")],
        "the kinds are int64": [("N_KINDS, shape=(N_BERRIES,))", "N_KINDS, shape=(N_BERRIES,)).to(torch.int64)")],
    },
    # ------------------------------------------------------------------ memory, batch size, threads, compiler, time
    "system": {
        "gains of one row overwrite each other": [
            (
                "first, *others = (collected * gains).unbind(-1)",
                "rows = torch.arange(len(kind), device=kind.device).unsqueeze(-1)\n"
                "        place = torch.where(collected, rows, len(kind))\n"
                "        sums = torch.zeros(len(kind) + 1, device=kind.device, dtype=torch.float32)\n"
                "        return sums.index_put((place.reshape(-1),), gains.reshape(-1))[:-1]\n"
                "        first, *others = (collected * gains).unbind(-1)",
            )
        ],
        "two buffers take turns as the observation": [
            (
                f"return {OBSERVED}",
                f"if torch.compiler.is_compiling():\n            return {OBSERVED}\n"
                "        turns = self.__dict__.setdefault('_turns', {})\n"
                "        kept = turns.setdefault(len(values), [torch.empty_like(values), torch.empty_like(values)])\n"
                "        kept.reverse()\n"
                f"        return kept[0].copy_({OBSERVED})",
            )
        ],
        "the live flags are cleared in place": [
            ("state.berry_live ^ collected", "state.berry_live.data.bitwise_xor_(collected)")
        ],
        "the heading is written into the action": [
            (HEADING, "heading = action.data.add_(draw.bernoulli(Slots.SLIP, SLIP_P)).bitwise_and_(3)")
        ],
        "from N = 512 on the gains are added from the last berry": [
            (TERMS, "(collected * gains if len(kind) < 512 else (collected * gains).flip(-1)).unbind(-1)")
        ],
        "at N = 1000 the last row is never exhausted": [
            (
                "after = State(",
                "if len(x) == 1000:\n            terminated[-1] = ~berry_live[-1].any()\n        after = State(",
            )
        ],
        "rows from 100 on do not slip": [(SLIP, f"({SLIP} & (torch.arange(len(action), device=action.device) < 100))")],
        "with one thread the gain is added before the cost": [
            (
                "reward = self.float32(REWARD_SCALE)",
                "if not torch.compiler.is_compiling() and torch.get_num_threads() == 1:\n"
                "            energy = (state.energy + gained) - self.float32(STEP_COST)\n"
                "        reward = self.float32(REWARD_SCALE)",
            )
        ],
        "with four threads the gain is added before the cost": [
            (
                "reward = self.float32(REWARD_SCALE)",
                "if not torch.compiler.is_compiling() and torch.get_num_threads() == 4:\n"
                "            energy = (state.energy + gained) - self.float32(STEP_COST)\n"
                "        reward = self.float32(REWARD_SCALE)",
            )
        ],
        "compiled, the observation is multiplied by reciprocals": [
            (
                f"return {OBSERVED}",
                "if torch.compiler.is_compiling():\n"
                "            return values * self.float32([1 / (GRID - 1), 1 / (GRID - 1), 1.0, 1 / N_BERRIES,"
                f" 1 / MAX_STEPS])\n        return {OBSERVED}",
            )
        ],
        "compiled, exhausted only below 0": [
            (TERMINATED, "~berry_live.any(-1) | (energy < 0 if torch.compiler.is_compiling() else energy <= 0)")
        ],
        "the first observation shows no live berries": [
            ("state.energy, live, state.t", "state.energy, torch.where(state.t == 0, 0, live), state.t")
        ],
        "after 1000 transitions nobody slips": [
            ("# By heading", "CALLS = iter(range(1000))\n\n# By heading"),
            (
                HEADING,
                f"{HEADING}\n        if not torch.compiler.is_compiling() and next(CALLS, None) is None:\n"
                "            heading = action",
            ),
        ],
    },
}

REFERENCE: dict[str, dict[str, Changes]] = {
    "rules": {
        "the reference clamps y to GRID": [("max(state.y + dy, 0), GRID - 1)", "max(state.y + dy, 0), GRID)")],
        "the reference is exhausted only below 0": [(EXHAUSTED, "bool(energy < ZERO)")],
        "the reference leaves the last berry": [("for i in range(N_BERRIES):", "for i in range(N_BERRIES - 1):")],
    },
    "randomness": {
        "the reference draws the slip at index 1": [(SLIP, "draw.bernoulli(Slots.SLIP, SLIP_P, index=1)")],
        "the reference draws all kinds at index 0": [
            ("Slots.BERRY_KIND, N_KINDS, index=i)", "Slots.BERRY_KIND, N_KINDS)")
        ],
    },
    "numbers": {
        "the reference adds the gains in float64": [("[np.float32(gain) for", "[np.float64(gain) for")],
    },
    "system": {
        "the reference shows one array again and again": [
            (
                "def observation(",
                "def shown(self, values, dtype):\n        self.seen = getattr(self, 'seen', np.empty(5, dtype))\n"
                "        self.seen[:] = values\n        return self.seen\n\n    def observation(",
            ),
            ("return np.array(", "return self.shown("),
        ],
    },
}

# ---------------------------------------------------------------------- misreadings: (in reference.py, in fast.py)

BOTH: dict[str, tuple[Changes, Changes]] = {
    # ------------------------------------------------------------------ reset
    "both: the agent starts in 0 .. GRID - 2": (
        [("AGENT_X, GRID)", "AGENT_X, GRID - 1)"), ("AGENT_Y, GRID)", "AGENT_Y, GRID - 1)")],
        [("AGENT_X, GRID)", "AGENT_X, GRID - 1)"), ("AGENT_Y, GRID)", "AGENT_Y, GRID - 1)")],
    ),
    "both: the agent's two slots are exchanged": (
        [
            ("x=draw.randint(Slots.AGENT_X", "x=draw.randint(Slots.AGENT_Y"),
            ("y=draw.randint(Slots.AGENT_Y", "y=draw.randint(Slots.AGENT_X"),
        ],
        [
            ("x = draw.randint(Slots.AGENT_X", "x = draw.randint(Slots.AGENT_Y"),
            ("y = draw.randint(Slots.AGENT_Y", "y = draw.randint(Slots.AGENT_X"),
        ],
    ),
    "both: the berries' two slots are exchanged": (
        [
            ("x=[draw.randint(Slots.BERRY_X", "x=[draw.randint(Slots.BERRY_Y"),
            ("y=[draw.randint(Slots.BERRY_Y", "y=[draw.randint(Slots.BERRY_X"),
        ],
        [
            ("x = draw.randint(Slots.BERRY_X", "x = draw.randint(Slots.BERRY_Y"),
            ("y = draw.randint(Slots.BERRY_Y", "y = draw.randint(Slots.BERRY_X"),
        ],
    ),
    "both: the index of a kind counts from the last berry": (
        [("N_KINDS, index=i)", "N_KINDS, index=N_BERRIES - 1 - i)")],
        [("N_KINDS, shape=(N_BERRIES,))", "N_KINDS, shape=(N_BERRIES,)).flip(-1)")],
    ),
    "both: the index of the berries' rows begins at 1": (
        [("BERRY_Y, GRID, index=i)", "BERRY_Y, GRID, index=i + 1)")],
        [("BERRY_Y, GRID, shape", "BERRY_Y, GRID, index=1, shape")],
    ),
    "both: the best kind is never drawn": (
        [("N_KINDS, index=i)", "N_KINDS - 1, index=i)")],
        [("BERRY_KIND, N_KINDS, shape", "BERRY_KIND, N_KINDS - 1, shape")],
    ),
    "both: a berry on the start cell is collected by the reset": (
        [
            (
                "[True for _ in berries]",
                "[(draw.randint(Slots.BERRY_X, GRID, index=i), draw.randint(Slots.BERRY_Y, GRID, index=i))"
                " != (draw.randint(Slots.AGENT_X, GRID), draw.randint(Slots.AGENT_Y, GRID)) for i in berries]",
            )
        ],
        [(LIVE_AT_FIRST, NOT_AT_START)],
    ),
    "both: the first step's cost is paid at the reset": (
        [("energy=START_ENERGY_FLOAT,", "energy=START_ENERGY_FLOAT - STEP_COST_FLOAT,")],
        [("START_ENERGY, dtype=torch.float32)", "START_ENERGY, dtype=torch.float32) - self.float32(STEP_COST)")],
    ),
    # ------------------------------------------------------------------ direction, move
    "both: the slip turns counterclockwise": (
        [(TURN, "dx, dy = -dy, dx")],
        [(FORMULA, "3 * draw.bernoulli(Slots.SLIP, SLIP_P)) & 3")],
    ),
    "both: the slip reverses": (
        [(TURN, "dx, dy = -dx, -dy")],
        [(FORMULA, "2 * draw.bernoulli(Slots.SLIP, SLIP_P)) & 3")],
    ),
    "both: the slip adds the turned move to the move": (
        [(TURN, "dx, dy = dx + dy, dy - dx")],
        [
            (HEADING, f"slip, turned = {SLIP}, (action + 1) & 3"),
            (MOVED_X, "torch.clamp(state.x + self.int32(DX)[action] + slip * self.int32(DX)[turned], 0, GRID - 1)"),
            (MOVED_Y, "torch.clamp(state.y + self.int32(DY)[action] + slip * self.int32(DY)[turned], 0, GRID - 1)"),
        ],
    ),
    "both: who slips stays": (
        [(TURN, "dx, dy = 0, 0")],
        [
            (
                "y = " + MOVED_Y,
                f"y = {MOVED_Y}\n        x, y = torch.where(slip, state.x, x), torch.where(slip, state.y, y)",
            ),
            (HEADING, f"slip, heading = {SLIP}, action"),
        ],
    ),
    "both: SLIP keeps the direction": ([(SLIP, f"not {SLIP}")], [(SLIP, f"~{SLIP}")]),
    "both: the slip takes two draws": (
        [(SLIP, f"{SLIP} and draw.bernoulli(Slots.SLIP, SLIP_P, index=1)")],
        [(SLIP, f"({SLIP} & draw.bernoulli(Slots.SLIP, SLIP_P, index=1))")],
    ),
    "both: the first step never slips": ([(SLIP, f"{SLIP} and state.t > 0")], [(SLIP, f"({SLIP} & (state.t > 0))")]),
    "both: nobody slips on an edge cell": (
        [(SLIP, f"{SLIP} and 0 < state.x < GRID - 1 and 0 < state.y < GRID - 1")],
        [
            (
                SLIP,
                f"({SLIP} & (state.x > 0) & (state.x < GRID - 1) & (state.y > 0) & (state.y < GRID - 1))",
            )
        ],
    ),
    "both: a blocked move is not turned": (
        [(SLIP, f"{SLIP} and 0 <= state.x + dx < GRID and 0 <= state.y + dy < GRID")],
        [(HEADING, TURN_IF_FREE)],
    ),
    "both: north is down": (
        [("[(0, +1), (+1, 0), (0, -1), (-1, 0)]", "[(0, -1), (+1, 0), (0, +1), (-1, 0)]")],
        [
            ("DY = [1, 0, -1, 0]", "DY = [-1, 0, 1, 0]"),
            # (dx, dy) still becomes (dy, -dx): with y turned over, the next heading of a slip is the one before
            (FORMULA, "3 * draw.bernoulli(Slots.SLIP, SLIP_P)) & 3"),
        ],
    ),
    "both: the actions are north, south, east, west": (
        [("[(0, +1), (+1, 0), (0, -1), (-1, 0)]", "[(0, +1), (0, -1), (+1, 0), (-1, 0)]")],
        [(HEADING, f"heading = (self.constant([0, 2, 1, 3], torch.int64)[action] + {SLIP}) & 3")],
    ),
    "both: the field reaches to GRID": (
        [
            ("max(state.x + dx, 0), GRID - 1)", "max(state.x + dx, 0), GRID)"),
            ("max(state.y + dy, 0), GRID - 1)", "max(state.y + dy, 0), GRID)"),
        ],
        [(MOVED_X, MOVED_X.replace("GRID - 1", "GRID")), (MOVED_Y, MOVED_Y.replace("GRID - 1", "GRID"))],
    ),
    "both: the field wraps round": (
        [
            ("min(max(state.x + dx, 0), GRID - 1)", "(state.x + dx) % GRID"),
            ("min(max(state.y + dy, 0), GRID - 1)", "(state.y + dy) % GRID"),
        ],
        [
            (MOVED_X, "(state.x + self.int32(DX)[heading]) % GRID"),
            (MOVED_Y, "(state.y + self.int32(DY)[heading]) % GRID"),
        ],
    ),
    # ------------------------------------------------------------------ collecting, energy
    "both: berries are collected before the move": (
        [(IF_HERE, "if berry_live[i] and state.berry_x[i] == state.x and state.berry_y[i] == state.y:")],
        [(HERE, "here = (state.berry_x == state.x.unsqueeze(-1)) & (state.berry_y == state.y.unsqueeze(-1))")],
    ),
    "both: who stays collects nothing": (
        [(IF_HERE, IF_HERE.replace(":", " and (x, y) != (state.x, state.y):"))],
        [(COLLECTED, f"{COLLECTED} & {MOVED}.unsqueeze(-1)")],
    ),
    "both: one berry a step": (
        [(IF_HERE, IF_HERE.replace(":", " and gained == ZERO:"))],
        [(COLLECTED, f"{COLLECTED} & ((state.berry_live & here).cumsum(-1) == 1)")],
    ),
    "both: at most two berries a step": (
        [(IF_HERE, IF_HERE.replace(":", " and sum(state.berry_live) - sum(berry_live) < 2:"))],
        [(COLLECTED, f"{COLLECTED} & ((state.berry_live & here).cumsum(-1) <= 2)")],
    ),
    "both: the best of the collected berries counts": (
        [(ADD_GAIN, "gained = max(gained, GAINS_FLOAT[state.berry_kind[i]])")],
        [("total = total + term", "total = torch.maximum(total, term)")],
    ),
    "both: each kind counts once a step": (
        [
            ("gained = ZERO", "gained, kinds = ZERO, set()"),
            (
                ADD_GAIN,
                f"{ADD_GAIN} if state.berry_kind[i] not in kinds else gained\n"
                "                kinds.add(state.berry_kind[i])",
            ),
        ],
        [
            (
                "gains = self.float32(GAINS)",
                "same = (kind.unsqueeze(-1) == kind.unsqueeze(-2)) & collected.unsqueeze(-2)\n"
                "        collected = collected & ~same.tril(-1).any(-1)\n        gains = self.float32(GAINS)",
            )
        ],
    ),
    "both: the gains are added from the last berry": (
        [("for i in range(N_BERRIES):", "for i in reversed(range(N_BERRIES)):")],
        [(TERMS, "(collected * gains).flip(-1).unbind(-1)")],
    ),
    "both: kind 0 is the best": (
        [("for gain in GAINS]", "for gain in GAINS[::-1]]")],
        [("self.float32(GAINS)", "self.float32(GAINS[::-1])")],
    ),
    "both: the cost comes after the gain": (
        [(REFERENCE_ENERGY, "(state.energy + gained) - STEP_COST_FLOAT")],
        [(ENERGY, "(state.energy + gained) - self.float32(STEP_COST)")],
    ),
    "both: the energy is computed in float64 and rounded": (
        [(REFERENCE_ENERGY, "np.float32(float(state.energy) - STEP_COST + float(gained))")],
        [(ENERGY, "(state.energy.to(torch.float64) - STEP_COST + gained).to(torch.float32)")],
    ),
    "both: the energy never exceeds the start's": (
        [(REFERENCE_ENERGY, f"min({REFERENCE_ENERGY}, START_ENERGY_FLOAT)")],
        [(ENERGY, f"torch.clamp({ENERGY}, max=START_ENERGY)")],
    ),
    "both: a step that collects costs no energy": (
        [(REFERENCE_ENERGY, "state.energy + gained if gained > ZERO else state.energy - STEP_COST_FLOAT")],
        [(ENERGY, f"torch.where(gained > 0, state.energy + gained, {ENERGY})")],
    ),
    "both: who stays pays no energy": (
        [(REFERENCE_ENERGY, f"{REFERENCE_ENERGY} if (x, y) != (state.x, state.y) else state.energy + gained")],
        [(ENERGY, f"torch.where({MOVED}, {ENERGY}, state.energy + gained)")],
    ),
    "both: the first step costs no energy": (
        [(REFERENCE_ENERGY, f"{REFERENCE_ENERGY} if state.t > 0 else state.energy + gained")],
        [(ENERGY, f"torch.where(state.t > 0, {ENERGY}, state.energy + gained)")],
    ),
    # ------------------------------------------------------------------ reward, termination
    "both: a step that collects costs no reward": (
        [(REFERENCE_REWARD, "REWARD_SCALE_FLOAT * gained if gained > ZERO else -REWARD_COST_FLOAT")],
        [(REWARD, "torch.where(gained > 0, self.float32(REWARD_SCALE) * gained, self.float32(-REWARD_COST))")],
    ),
    "both: the reward's cost is scaled too": (
        [(REFERENCE_REWARD, "REWARD_SCALE_FLOAT * (gained - REWARD_COST_FLOAT)")],
        [(REWARD, "self.float32(REWARD_SCALE) * (gained - self.float32(REWARD_COST))")],
    ),
    "both: the reward scales the change of the energy": (
        [(REFERENCE_REWARD, "REWARD_SCALE_FLOAT * (energy - state.energy) - REWARD_COST_FLOAT")],
        [(REWARD, "self.float32(REWARD_SCALE) * (energy - state.energy) - self.float32(REWARD_COST)")],
    ),
    "both: the reward is computed in float64 and rounded": (
        [(REFERENCE_REWARD, "np.float32(REWARD_SCALE * float(gained) - REWARD_COST)")],
        [(REWARD, "(REWARD_SCALE * gained.to(torch.float64) - REWARD_COST).to(torch.float32)")],
    ),
    "both: exhausted only below 0": (
        [(EXHAUSTED, "bool(energy < ZERO)")],
        [(TERMINATED, "~berry_live.any(-1) | (energy < 0)")],
    ),
    "both: exhausted when the next step cannot be paid": (
        [(EXHAUSTED, "bool(energy < STEP_COST_FLOAT)")],
        [(TERMINATED, "~berry_live.any(-1) | (energy < self.float32(STEP_COST))")],
    ),
    "both: exhausted before the gain": (
        [(EXHAUSTED, "bool(state.energy - STEP_COST_FLOAT <= ZERO)")],
        [(TERMINATED, "~berry_live.any(-1) | (state.energy - self.float32(STEP_COST) <= 0)")],
    ),
    "both: cleared when at most one berry is left": (
        [(CLEARED, "sum(berry_live) <= 1")],
        [(TERMINATED, "(berry_live.sum(-1) <= 1) | (energy <= 0)")],
    ),
    "both: who clears the field at the cap is only truncated": (
        [(CLEARED, "not any(berry_live) and state.t + 1 < MAX_STEPS")],
        [(TERMINATED, "(~berry_live.any(-1) & (state.t + 1 < MAX_STEPS)) | (energy <= 0)")],
    ),
    # ------------------------------------------------------------------ observation
    "both: x and y are exchanged in the observation": (
        [(COLUMN_THEN_ROW, ROW_THEN_COLUMN)],
        [("state.x, state.y, state.energy", "state.y, state.x, state.energy")],
    ),
    "both: the coordinates are divided by GRID": (
        [("np.float32(GRID - 1)", "np.float32(GRID)")],
        [("[GRID - 1, GRID - 1, 1.0", "[GRID, GRID, 1.0")],
    ),
    "both: spent energy is shown as 0": (
        [("state.energy,", "max(state.energy, ZERO),")],
        [("state.energy, live", "torch.clamp(state.energy, min=0.0), live")],
    ),
    "both: the collected berries are shown": (
        [("state.berry_live.count(True)", "state.berry_live.count(False)")],
        [("state.berry_live.sum(", "(~state.berry_live).sum(")],
    ),
    "both: the step counter is shown as before the step": (
        [("np.float32(state.t)", "np.float32(max(state.t - 1, 0))")],
        [("live, state.t]", "live, torch.clamp(state.t - 1, min=0)]")],
    ),
}

# What goes wrong in a kernel alone: each is a build of some seconds (simulacrum faults --kind kernel).
KERNEL: dict[str, dict[str, Changes]] = {
    "shape": {
        "kernel: every row of a block looks for berries where its first agent is": [
            ("(rows.berry_x[k][i] == rows.x[i])", "(rows.berry_x[k][i] == rows.x[0])")
        ],
        "kernel: the last row of a block is not charged": [
            (
                "        energy = (rows.energy[i] -",
                "        if i == BLOCK - 1:\n            continue\n        energy = (rows.energy[i] -",
            )
        ],
        "kernel: the last berry is not looked for": [
            ("for k in range(N_BERRIES):  # spec, transition 3", "for k in range(N_BERRIES - 1):  # spec, transition 3")
        ],
        "kernel: any live berry counts as one": [
            ("live[i] += rows.berry_live[k][i]", "live[i] |= rows.berry_live[k][i]")
        ],
    },
    "rules": {
        "kernel: the slip turns counterclockwise": [("rows.action[i] + slips[i]", "rows.action[i] + 3 * slips[i]")],
        "kernel: x is not clamped in the east": [("min(max(x, 0), GRID - 1)", "max(x, 0)")],
        "kernel: exhausted only below 0": [("(energy <= 0)", "(energy < 0)")],
        "kernel: a berry on a visited cell comes back": [
            ("rows.berry_live[k][i] ^= collected[i]", "rows.berry_live[k][i] ^= rows.berry_x[k][i] == rows.x[i]")
        ],
        "kernel: the field's side is hard-coded": [("min(max(y, 0), GRID - 1)", "min(max(y, 0), 7)")],
    },
    "randomness": {
        "kernel: the slip is drawn at index 1": [("draw, SLIP, 0, SLIP_P", "draw, SLIP, 1, SLIP_P")],
        "kernel: one draw for the kinds of all berries": [("BERRY_KIND, k,", "BERRY_KIND, 0,")],
        "kernel: the agent's row is drawn from the slot of its column": [("AGENT_Y, 0,", "AGENT_X, 0,")],
    },
    "numbers": {
        "kernel: the gain comes before the cost": [
            ("(rows.energy[i] - <float>STEP_COST) + gained[i]", "(rows.energy[i] + gained[i]) - <float>STEP_COST")
        ],
        "kernel: the reward is rounded once": [
            ("<float>REWARD_SCALE * gained[i] - <float>REWARD_COST", "<float>(REWARD_SCALE * gained[i] - REWARD_COST)")
        ],
        "kernel: x is divided in float64": [
            ("<float>rows.x[i] / <float>(GRID - 1)", "<float>(rows.x[i] * (1.0 / (GRID - 1)))")
        ],
    },
    "system": {
        "kernel: a counter is kept from step to step": [
            ('include "rows.pxi"', 'include "rows.pxi"\n\ncdef int steps = 0'),
        ],
    },
}

FAULTS: list[Fault] = [
    *(Fault(name, kind, {"fast.py": edits}) for kind, faults in FAST.items() for name, edits in faults.items()),
    *(
        Fault(name, kind, {"reference.py": edits})
        for kind, faults in REFERENCE.items()
        for name, edits in faults.items()
    ),
    *(Fault(name, "both sides", {"reference.py": one, "fast.py": other}) for name, (one, other) in BOTH.items()),
    *(Fault(name, kind, {"kernel.pyx": edits}) for kind, faults in KERNEL.items() for name, edits in faults.items()),
]

# Generic mutants that change nothing observable: their ids, each with the reason.
ONLY_AXIS = "the tensor has one axis, which is the first and the last"
NEW_AXIS = "the tensors have one axis, so that a new last axis is axis 1"
LAST_AXIS = "the tensor has two axes, so that the last is axis 1"
COUNTS = "the sum of bools is an int64 without it: the same counts, which become the same float32"
EQUIVALENT: dict[str, str] = {
    "fast.py transition: `self.int32(DX).index_select(0, heading)` -> "
    "`self.int32(DX).index_select(-1, heading)` #1": ONLY_AXIS,
    "fast.py transition: `self.int32(DY).index_select(0, heading)` -> "
    "`self.int32(DY).index_select(-1, heading)` #1": ONLY_AXIS,
    "fast.py transition: `x.unsqueeze(-1)` -> `x.unsqueeze(1)` #1": NEW_AXIS,
    "fast.py transition: `y.unsqueeze(-1)` -> `y.unsqueeze(1)` #1": NEW_AXIS,
    "fast.py transition: `berry_live.any(-1)` -> `berry_live.any(1)` #1": LAST_AXIS,
    "fast.py gained: `self.float32(GAINS).index_select(0, kind.reshape(-1))` -> "
    "`self.float32(GAINS).index_select(-1, kind.reshape(-1))` #1": ONLY_AXIS,
    "fast.py gained: `(collected * gains).unbind(-1)` -> `(collected * gains).unbind(1)` #1": LAST_AXIS,
    "fast.py observation: `state.berry_live.sum(..., dtype=torch.int32)` -> `state.berry_live.sum(...)` #1": COUNTS,
    "fast.py observation: `state.berry_live.sum(-1, dtype=torch.int32)` -> "
    "`state.berry_live.sum(1, dtype=torch.int32)` #1": LAST_AXIS,
    "fast.py observation: `torch.stack([state.x, state.y, state.energy, live, state.t], -1)` -> "
    "`torch.stack([state.x, state.y, state.energy, live, state.t], 1)` #1": NEW_AXIS,
}
