"""Faults to put into forager on purpose, to measure the battery: each is an edit of the package's own files.

Those of one side are what goes wrong when one implementation is written; those of both sides are what two readers of
spec.md may misread alike.
"""

from simulacrum import Fault

Changes = list[tuple[str, str]]  # (old, new); each old text stands in its file exactly once

# Lines that more than one fault edits: of both files, of fast.py, of reference.py
SLIP = "draw.bernoulli(Slots.SLIP, SLIP_P)"
HEADINGS = "NORTH, EAST, SOUTH, WEST = range(4)"
FORMULA = "(action.to(torch.int32) + slips) & 3"
HEADING = f"heading = {FORMULA}"
TO_EAST = "(heading == EAST).to(torch.int32) - (heading == WEST).to(torch.int32)"
TO_NORTH = "(heading == NORTH).to(torch.int32) - (heading == SOUTH).to(torch.int32)"
MOVED_X = "torch.clamp(state.x + to_east, 0, GRID - 1)"
MOVED_Y = "torch.clamp(state.y + to_north, 0, GRID - 1)"
HERE = "here = (state.berry_x == x.unsqueeze(-1)) & (state.berry_y == y.unsqueeze(-1))"
COLLECTED = "collected = state.berry_live & here"
GAINED = "gained = self.gained(state.berry_kind, collected)"
LAST_GAIN = "self.float32(GAINS[-1])"
OTHER_GAIN = "self.float32(value)"
TERMS = "torch.where(collected, gain, self.float32(0.0))"
ENERGY = "(state.energy - self.float32(STEP_COST)) + gained"
REWARD = "self.float32(REWARD_SCALE) * gained - self.float32(REWARD_COST)"
LEFT = "left = berry_live.sum(-1, dtype=torch.int32)"
TERMINATED = "(left == 0) | (energy <= 0)"
LIVE_AT_FIRST = "torch.ones_like(berry_x, dtype=torch.bool)"
OBSERVED = "torch.stack([state.x / side, state.y / side, state.energy, live / berries, state.t / steps], -1)"

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
    f"ahead_x = state.x + {TO_EAST.replace('heading', 'action')}\n        "
    f"ahead_y = state.y + {TO_NORTH.replace('heading', 'action')}\n        "
    "free = (ahead_x >= 0) & (ahead_x < GRID) & (ahead_y >= 0) & (ahead_y < GRID)\n        "
    "heading = (action.to(torch.int32) + (slips & free)) & 3"
)
COUNTERCLOCKWISE = "(action.to(torch.int32) + 3 * slips) & 3"
SOUTH_FIRST = "SOUTH, EAST, NORTH, WEST = range(4)"
BY_RECIPROCALS = (
    "torch.stack([state.x * (1.0 / side), state.y * (1.0 / side), state.energy, live * (1.0 / berries),"
    " state.t * (1.0 / steps)], -1)"
)
MOVED = "((x != state.x) | (y != state.y))"
NOT_AT_START = "(berry_x != x.unsqueeze(-1)) | (berry_y != y.unsqueeze(-1))"

FAST: dict[str, dict[str, Changes]] = {
    # ------------------------------------------------------------------ shapes and dimensions
    "shape": {
        "the gains are looked up in the transposed order": [("kind == number", "kind.T.reshape(kind.shape) == number")],
        "the observation is stacked along the first axis": [
            ("state.t / steps], -1)", "state.t / steps]).reshape(-1, 5)")
        ],
        "the agents' columns are repeated by berry, not by row": [
            ("x.unsqueeze(-1)", "x.repeat(N_BERRIES).reshape(-1, N_BERRIES)")
        ],
        "at N = N_BERRIES the agents' rows are taken for one a berry": [
            ("y.unsqueeze(-1)", "(y if len(y) == N_BERRIES else y.unsqueeze(-1))")
        ],
        "one cleared row ends all": [
            (LEFT, "left = berry_live.sum(-1, keepdim=True, dtype=torch.int32)"),
            (TERMINATED, f"({TERMINATED}).any(0)"),
        ],
        "no row is exhausted before all are": [(TERMINATED, "(left == 0) | (energy <= 0).all()")],
        "no row is cleared before all are": [(LEFT, "left = berry_live.sum(dtype=torch.int32)")],
        "a single berry's axis is squeezed away": [(LEFT, "left = berry_live.squeeze(-1).sum(-1, dtype=torch.int32)")],
        "the batch's axis is squeezed away at N = 1": [(TERMS, f"{TERMS}.squeeze()")],
        "the flag is written into an expanded view": [
            (
                TERMINATED,
                f"torch.zeros(1, device=x.device).expand(len(x)).masked_fill_({TERMINATED}, 1.0) > 0",
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
        "the slip turns counterclockwise": [(FORMULA, COUNTERCLOCKWISE)],
        "north and south are exchanged": [(HEADINGS, SOUTH_FIRST)],
        "no slip on the western edge": [(SLIP, f"({SLIP} & (state.x > 0))")],
        "a blocked move is not turned": [(HEADING, TURN_IF_FREE)],
        "x is not clamped in the east": [(MOVED_X, MOVED_X.replace(", 0, GRID - 1)", ", min=0)"))],
        "y wraps round the field": [(MOVED_Y, "(state.y + to_north) % GRID")],
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
        "the gain of kind 2 is that of kind 1": [(LAST_GAIN, "self.float32(GAINS[1])")],
        "the gain of a step saturates at 1": [(GAINED, f"{GAINED}.clamp(max=1.0)")],
        "the energy saturates at the start's": [(ENERGY, f"torch.clamp({ENERGY}, max=START_ENERGY)")],
        "the energy saturates at 2.5": [(ENERGY, f"torch.clamp({ENERGY}, max=2.5)")],
        "the reward of the last step is 0": [
            ("after = State(", "reward = torch.where(terminated, self.float32(0.0), reward)\n        after = State(")
        ],
        "exhausted only below 0": [(TERMINATED, "(left == 0) | (energy < 0)")],
        "exhausted before the gain": [(TERMINATED, "(left == 0) | (energy - gained <= 0)")],
        "exhausted one step late": [(TERMINATED, "(left == 0) | (state.energy <= 0)")],
        "never exhausted": [(TERMINATED, "left == 0")],
        "never cleared": [(TERMINATED, "energy <= 0")],
        "cleared one step late": [(LEFT, "left = state.berry_live.sum(-1, dtype=torch.int32)")],
        "cleared without the last berry": [(LEFT, "left = berry_live[:, :-1].sum(-1, dtype=torch.int32)")],
        "not cleared by the last energy": [
            (TERMINATED, "((left == 0) & (state.energy > self.float32(STEP_COST))) | (energy <= 0)")
        ],
        "cleared and exhausted at once is neither": [(TERMINATED, "(left == 0) ^ (energy <= 0)")],
        "no slip one step before the last": [(SLIP, f"({SLIP} & (state.t != MAX_STEPS - 2))")],
        "the field's side is hard-coded": [(MOVED_X, MOVED_X.replace("GRID - 1", "7"))],
        "the number of berries is hard-coded": [("self.float32(N_BERRIES)", "self.float32(6)")],
        "the step cap is hard-coded": [("self.float32(MAX_STEPS)", "self.float32(80)")],
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
        "the gains are added from the last berry": [(TERMS, f"{TERMS}.flip(-1)")],
        "the gains are added in float64": [
            (LAST_GAIN, "self.float64(GAINS[-1])"),
            (OTHER_GAIN, "self.float64(value)"),
            (TERMS, "torch.where(collected, gain, self.float64(0.0))"),
            ("return total", "return total.to(torch.float32)"),
        ],
        "the gains are float16": [
            (LAST_GAIN, f"{LAST_GAIN}.half().float()"),
            (OTHER_GAIN, f"{OTHER_GAIN}.half().float()"),
        ],
        "the gain is added before the cost": [(ENERGY, "(state.energy + gained) - self.float32(STEP_COST)")],
        "the gain less the cost is added": [(ENERGY, "state.energy + (gained - self.float32(STEP_COST))")],
        "the reward is computed in float64": [
            (REWARD, "(REWARD_SCALE * gained.to(torch.float64) - REWARD_COST).to(torch.float32)")
        ],
        "the observation is multiplied by reciprocals": [(OBSERVED, BY_RECIPROCALS)],
        "row 0 is seen as -0.0": [("state.y / side", "-((GRID - 1 - state.y).float() - (GRID - 1)) / side")],
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
            (HEADING, "heading = torch.fmod(action - 3 * slips, 4).abs()")
        ],
        "the start energy has the default dtype": [
            (
                "torch.full_like(x, START_ENERGY, dtype=torch.float32)",
                "torch.full(x.shape, START_ENERGY, device=x.device)",
            )
        ],
        "the gains have the default dtype": [
            (LAST_GAIN, "torch.tensor(GAINS[-1], device=kind.device)"),
            (OTHER_GAIN, "torch.tensor(value, device=kind.device)"),
        ],
        "the kinds are int64": [("N_KINDS, shape=(N_BERRIES,))", "N_KINDS, shape=(N_BERRIES,)).to(torch.int64)")],
    },
    # ------------------------------------------------------------------ memory, batch size, threads, compiler, time
    "system": {
        "gains of one row overwrite each other": [
            (
                f"first, *others = {TERMS}",
                "rows = torch.arange(len(kind), device=kind.device).unsqueeze(-1)\n"
                "        place = torch.where(collected, rows, len(kind))\n"
                "        sums = torch.zeros(len(kind) + 1, device=kind.device, dtype=torch.float32)\n"
                "        return sums.index_put((place.reshape(-1),), gain.expand_as(kind).reshape(-1))[:-1]\n"
                f"        first, *others = {TERMS}",
            )
        ],
        "two buffers take turns as the observation": [
            (
                f"return {OBSERVED}",
                f"values = {OBSERVED}\n"
                "        if torch.compiler.is_compiling():\n            return values\n"
                "        turns = self.__dict__.setdefault('_turns', {})\n"
                "        kept = turns.setdefault(len(values), [torch.empty_like(values), torch.empty_like(values)])\n"
                "        kept.reverse()\n"
                "        return kept[0].copy_(values)",
            )
        ],
        "the live flags are cleared in place": [
            ("state.berry_live ^ collected", "state.berry_live.data.bitwise_xor_(collected)")
        ],
        "the heading is written into the action": [(HEADING, "heading = action.data.add_(slips).bitwise_and_(3)")],
        "from N = 512 on the gains are added from the last berry": [
            (TERMS, f"({TERMS} if len(kind) < 512 else {TERMS}.flip(-1))")
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
                f"if torch.compiler.is_compiling():\n            return {BY_RECIPROCALS}\n        return {OBSERVED}",
            )
        ],
        "compiled, exhausted only below 0": [
            (TERMINATED, "(left == 0) | (energy < 0 if torch.compiler.is_compiling() else energy <= 0)")
        ],
        "the first observation shows no live berries": [
            ("live / berries", "torch.where(state.t == 0, 0, live) / berries")
        ],
        "after 1000 transitions nobody slips": [
            (HEADINGS, f"CALLS = iter(range(1000))\n\n{HEADINGS}"),
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
        [(FORMULA, COUNTERCLOCKWISE)],
    ),
    "both: the slip reverses": (
        [(TURN, "dx, dy = -dx, -dy")],
        [(FORMULA, "(action.to(torch.int32) + 2 * slips) & 3")],
    ),
    "both: the slip adds the turned move to the move": (
        [(TURN, "dx, dy = dx + dy, dy - dx")],
        [
            (HEADING, "heading, turned = action, (action + 1) & 3"),
            (TO_EAST, f"{TO_EAST} + slips * ({TO_EAST.replace('heading', 'turned')})"),
            (TO_NORTH, f"{TO_NORTH} + slips * ({TO_NORTH.replace('heading', 'turned')})"),
        ],
    ),
    "both: who slips stays": (
        [(TURN, "dx, dy = 0, 0")],
        [
            (
                "y = " + MOVED_Y,
                f"y = {MOVED_Y}\n        x, y = torch.where(slips, state.x, x), torch.where(slips, state.y, y)",
            ),
            (HEADING, "heading = action"),
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
            (HEADINGS, SOUTH_FIRST),
            # (dx, dy) still becomes (dy, -dx): with y turned over, the next heading of a slip is the one before
            (FORMULA, COUNTERCLOCKWISE),
        ],
    ),
    "both: the actions are north, south, east, west": (
        [("[(0, +1), (+1, 0), (0, -1), (-1, 0)]", "[(0, +1), (0, -1), (+1, 0), (-1, 0)]")],
        [(HEADING, "heading = (self.int32([0, 2, 1, 3])[action] + slips) & 3")],
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
        [(MOVED_X, "(state.x + to_east) % GRID"), (MOVED_Y, "(state.y + to_north) % GRID")],
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
                f"gain = {LAST_GAIN}",
                "same = (kind.unsqueeze(-1) == kind.unsqueeze(-2)) & collected.unsqueeze(-2)\n"
                f"        collected = collected & ~same.tril(-1).any(-1)\n        gain = {LAST_GAIN}",
            )
        ],
    ),
    "both: the gains are added from the last berry": (
        [("for i in range(N_BERRIES):", "for i in reversed(range(N_BERRIES)):")],
        [(TERMS, f"{TERMS}.flip(-1)")],
    ),
    "both: kind 0 is the best": (
        [("for gain in GAINS]", "for gain in GAINS[::-1]]")],
        [(LAST_GAIN, "self.float32(GAINS[::-1][-1])"), ("GAINS[:-1]", "GAINS[::-1][:-1]")],
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
        [(TERMINATED, "(left == 0) | (energy < 0)")],
    ),
    "both: exhausted when the next step cannot be paid": (
        [(EXHAUSTED, "bool(energy < STEP_COST_FLOAT)")],
        [(TERMINATED, "(left == 0) | (energy < self.float32(STEP_COST))")],
    ),
    "both: exhausted before the gain": (
        [(EXHAUSTED, "bool(state.energy - STEP_COST_FLOAT <= ZERO)")],
        [(TERMINATED, "(left == 0) | (state.energy - self.float32(STEP_COST) <= 0)")],
    ),
    "both: cleared when at most one berry is left": (
        [(CLEARED, "sum(berry_live) <= 1")],
        [(TERMINATED, "(left <= 1) | (energy <= 0)")],
    ),
    "both: who clears the field at the cap is only truncated": (
        [(CLEARED, "not any(berry_live) and state.t + 1 < MAX_STEPS")],
        [(TERMINATED, "((left == 0) & (state.t + 1 < MAX_STEPS)) | (energy <= 0)")],
    ),
    # ------------------------------------------------------------------ observation
    "both: x and y are exchanged in the observation": (
        [(COLUMN_THEN_ROW, ROW_THEN_COLUMN)],
        [("state.x / side, state.y / side", "state.y / side, state.x / side")],
    ),
    "both: the coordinates are divided by GRID": (
        [("np.float32(GRID - 1)", "np.float32(GRID)")],
        [("self.float32(GRID - 1)", "self.float32(GRID)")],
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
        [("state.t / steps", "torch.clamp(state.t - 1, min=0) / steps")],
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
NEW_AXIS = "the tensors have one axis, so that a new last axis is axis 1"
LAST_AXIS = "the tensor has two axes, so that the last is axis 1"
EQUIVALENT: dict[str, str] = {
    "fast.py transition: `x.unsqueeze(-1)` -> `x.unsqueeze(1)` #1": NEW_AXIS,
    "fast.py transition: `y.unsqueeze(-1)` -> `y.unsqueeze(1)` #1": NEW_AXIS,
    "fast.py transition: `berry_live.sum(..., dtype=torch.int32)` -> `berry_live.sum(...)` #1": (
        "the sum of bools is an int64 without it: the same counts, which are only compared with 0"
    ),
    "fast.py transition: `berry_live.sum(-1, dtype=torch.int32)` -> "
    "`berry_live.sum(1, dtype=torch.int32)` #1": LAST_AXIS,
    "fast.py gained: `torch.where(collected, gain, self.float32(0.0)).unbind(-1)` -> "
    "`torch.where(collected, gain, self.float32(0.0)).unbind(1)` #1": LAST_AXIS,
    "fast.py observation: `state.berry_live.sum(..., dtype=torch.int32)` -> `state.berry_live.sum(...)` #1": (
        "the sum of bools is an int64 without it: the same counts, which become the same float32"
    ),
    "fast.py observation: `state.berry_live.sum(-1, dtype=torch.int32)` -> "
    "`state.berry_live.sum(1, dtype=torch.int32)` #1": LAST_AXIS,
    "fast.py observation: `torch.stack([state.x / side, state.y / side, state.energy, live / berries, "
    "state.t / steps], -1)` -> `torch.stack([state.x / side, state.y / side, state.energy, live / berries, "
    "state.t / steps], 1)` #1": NEW_AXIS,
}
