"""Faults to put into toywalk on purpose, to measure the battery: each is an edit of the package's own files.

Those of one side are what goes wrong when one implementation is written; those of both sides are what two readers of
spec.md may misread alike.
"""

from simulacrum import Fault

Changes = list[tuple[str, str]]  # (old, new); each old text stands in its file exactly once

# Texts that more than one fault edits: of both files, of fast.py, of reference.py
SLIP = "draw.bernoulli(Slots.SLIP, SLIP_P)"
START = "draw.randint(Slots.INIT_POSITION, 2 * START_RANGE + 1) - START_RANGE"
AT_GOAL = "at_goal = position == L"
MOVES_RIGHT = "moves_right = (action == 1) ^ draw.bernoulli(Slots.SLIP, SLIP_P)"
STEP = "step = torch.where(moves_right, self.int32(1), self.int32(-1))"
POSITION = "torch.clamp(state.position + step, -L, L)"
REWARD = "reward = torch.where(at_goal, self.float32(GOAL_REWARD), self.float32(STEP_REWARD))"
RETURNED = "return State(position=position), reward, at_goal"
SEEN_POSITION = "state.position / self.float32(L)"
SEEN_T = "state.t / self.float32(MAX_STEPS)"
OBSERVED = f"torch.stack([{SEEN_POSITION}, {SEEN_T}], -1)"

TURN = "step = -step"
CLAMP_LEFT = "if position < -L:\n            position = -L"
CLAMP_RIGHT = "if position > L:\n            position = L"
REFERENCE_REWARD = "reward = GOAL_REWARD if at_goal else STEP_REWARD"
SHOWN_POSITION = "np.float32(state.position) / L_FLOAT"
SHOWN_T = "np.float32(state.t) / MAX_STEPS_FLOAT"

# Replacements that stand in more than one fault
BY_RECIPROCALS = (
    "torch.stack([state.position * (1.0 / self.float32(L)), state.t * (1.0 / self.float32(MAX_STEPS))], -1)"
)

FAST: dict[str, dict[str, Changes]] = {
    # ------------------------------------------------------------------ shapes and dimensions
    "shape": {
        "the observation is stacked along the first axis": [
            (OBSERVED, f"torch.stack([{SEEN_POSITION}, {SEEN_T}]).reshape(-1, 2)")
        ],
        "the observation is not transposed at N = 2": [
            (
                f"return {OBSERVED}",
                f"values = torch.stack([{SEEN_POSITION}, {SEEN_T}])\n"
                "        return values if values.shape[-1] == 2 else values.T",
            )
        ],
        "the batch's axis is squeezed away at N = 1": [(OBSERVED, f"{OBSERVED}.squeeze()")],
        "one goal ends all": [(RETURNED, "return State(position=position), reward, at_goal.any().expand_as(at_goal)")],
        "the reward of the first row is everybody's": [
            (REWARD, REWARD.replace("at_goal", "at_goal.unsqueeze(-1)") + ".expand(-1, len(at_goal))[0]")
        ],
        "the flag is written into an expanded view": [
            (
                RETURNED,
                "ended = torch.zeros(1, device=position.device).expand(len(position))\n"
                "        return State(position=position), reward, ended.masked_fill_(at_goal, 1.0) > 0",
            )
        ],
    },
    # ------------------------------------------------------------------ rules
    "rules": {
        "no slip at the left end": [(SLIP, f"({SLIP} & (state.position > -L))")],
        "only a move to the right slips": [(MOVES_RIGHT, f"moves_right = (action == 1) & ~{SLIP}")],
        "no slip one step before the last": [(SLIP, f"({SLIP} & (state.t != MAX_STEPS - 2))")],
        "no clamp at the left end": [(POSITION, "torch.clamp(state.position + step, max=L)")],
        "no clamp at the right end": [(POSITION, "torch.clamp(state.position + step, min=-L)")],
        "the clamp comes before the step": [(POSITION, "torch.clamp(state.position, 1 - L, L - 1) + step")],
        "the left end is a goal": [(AT_GOAL, "at_goal = position.abs() == L")],
        "the goal is seen one step late": [(AT_GOAL, "at_goal = state.position == L")],
        "the reward is that of the cell before": [(REWARD, REWARD.replace("at_goal", "state.position == L"))],
        "the goal at the cap earns a step's reward": [
            (REWARD, REWARD.replace("at_goal", "at_goal & (state.t + 1 < MAX_STEPS)"))
        ],
        "the goal at the cap does not terminate": [(RETURNED, f"{RETURNED} & (state.t + 1 < MAX_STEPS)")],
        "the goal reached by a slip does not terminate": [(RETURNED, f"{RETURNED} & (action == 1)")],
        "the start range is off by one": [(START, "draw.randint(Slots.INIT_POSITION, 2 * START_RANGE) - START_RANGE")],
        "the start range is hard-coded": [(START, "draw.randint(Slots.INIT_POSITION, 5) - 2")],
        "the line's end is hard-coded": [(POSITION, "torch.clamp(state.position + step, -5, 5)")],
        "the step cap is hard-coded": [("self.float32(MAX_STEPS)", "self.float32(60)")],
    },
    # ------------------------------------------------------------------ draws
    "randomness": {
        "the slip is drawn at index 1": [(SLIP, "draw.bernoulli(Slots.SLIP, SLIP_P, index=1)")],
        "the slip is drawn with the counter after the step": [
            (SLIP, "Draw(draw._k0, draw._k1, draw._t + 1, draw._phase).bernoulli(Slots.SLIP, SLIP_P)")
        ],
        "one slip for all rows": [(SLIP, f"{SLIP}[:1]")],
        "the start is the neighbour's": [
            (START, "draw.randint(Slots.INIT_POSITION, 2 * START_RANGE + 1).roll(1) - START_RANGE")
        ],
        "the start is drawn modulo": [
            (START, "(draw.bits(Slots.INIT_POSITION) % (2 * START_RANGE + 1)).to(torch.int32) - START_RANGE")
        ],
        "the start is drawn as a float32 uniform": [
            (START, "(draw.uniform(Slots.INIT_POSITION) * (2 * START_RANGE + 1)).to(torch.int32) - START_RANGE")
        ],
        "the slip is drawn as the second of two categories": [
            (SLIP, "(draw.categorical(Slots.SLIP, [1 - SLIP_P, SLIP_P]) == 1)")
        ],
        "the global generator is touched": [(SLIP, f"({SLIP} & (torch.rand(len(action)) < 1).to(action.device))")],
    },
    # ------------------------------------------------------------------ numbers
    "numbers": {
        "the observation is multiplied by reciprocals": [(OBSERVED, BY_RECIPROCALS)],
        "zeros are seen as -0.0": [(OBSERVED, f"-torch.stack([-{SEEN_POSITION}, -{SEEN_T}], -1)")],
        "the observation is float16": [
            (SEEN_POSITION, "(state.position.half() / self.float32(L).half()).float()"),
            (SEEN_T, "(state.t.half() / self.float32(MAX_STEPS).half()).float()"),
        ],
        "the divisors have the default dtype": [
            (SEEN_POSITION, "state.position / torch.tensor(float(L), device=state.position.device)"),
            (SEEN_T, "state.t / torch.tensor(float(MAX_STEPS), device=state.t.device)"),
        ],
        "the position is int64": [(START, START.replace(" - ", ".to(torch.int64) - "))],
        "the step counter of the last observation wraps to 0": [
            (SEEN_T, "(state.t % MAX_STEPS) / self.float32(MAX_STEPS)")
        ],
    },
    # ------------------------------------------------------------------ memory, batch size, threads, compiler, time
    "system": {
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
        "the position is moved in place": [(POSITION, "state.position.data.add_(step).clamp_(-L, L)")],
        "the action becomes the step in place": [
            (MOVES_RIGHT, f"{MOVES_RIGHT}\n        action.data.copy_(moves_right)")
        ],
        "from N = 512 on the left end is a goal": [
            (AT_GOAL, "at_goal = (position if len(position) < 512 else position.abs()) == L")
        ],
        "at N = 1000 the last row does not slip": [
            (SLIP, f"({SLIP} & ((torch.arange(len(action), device=action.device) != 999) | (len(action) != 1000)))")
        ],
        "rows from 64 on do not slip": [(SLIP, f"({SLIP} & (torch.arange(len(action), device=action.device) < 64))")],
        "with one thread the observation is multiplied by reciprocals": [
            (
                f"return {OBSERVED}",
                "if not torch.compiler.is_compiling() and torch.get_num_threads() == 1:\n"
                f"            return {BY_RECIPROCALS}\n        return {OBSERVED}",
            )
        ],
        "compiled, no clamp at the left end": [
            (POSITION, "torch.clamp(state.position + step, -2 * L if torch.compiler.is_compiling() else -L, L)")
        ],
        "the first observation shows position 0": [
            (SEEN_POSITION, "torch.where(state.t == 0, 0, state.position) / self.float32(L)")
        ],
        "after 1000 transitions nobody slips": [
            ("@simulacrum.tensor_state", "CALLS = iter(range(1000))\n\n\n@simulacrum.tensor_state"),
            (
                STEP,
                "if not torch.compiler.is_compiling() and next(CALLS, None) is None:\n"
                f"            moves_right = action == 1\n        {STEP}",
            ),
        ],
    },
}

REFERENCE: dict[str, dict[str, Changes]] = {
    "rules": {
        "the reference does not clamp at the left end": [
            (CLAMP_LEFT, "if position < -L - 1:\n            position = -L")
        ],
        "the reference ends at the left end too": [(AT_GOAL, "at_goal = abs(position) == L")],
    },
    "randomness": {
        "the reference draws the slip at index 1": [(SLIP, "draw.bernoulli(Slots.SLIP, SLIP_P, index=1)")],
    },
    "numbers": {
        "the reference multiplies by a reciprocal": [
            (SHOWN_T, "np.float32(state.t) * (np.float32(1) / MAX_STEPS_FLOAT)")
        ],
    },
    "system": {
        "the reference shows one array again and again": [
            (
                "def observation(",
                "def shown(self, values, dtype):\n        self.seen = getattr(self, 'seen', np.empty(2, dtype))\n"
                "        self.seen[:] = values\n        return self.seen\n\n    def observation(",
            ),
            ("return np.array(", "return self.shown("),
        ],
    },
}

# ---------------------------------------------------------------------- misreadings: (in reference.py, in fast.py)

BOTH: dict[str, tuple[Changes, Changes]] = {
    # ------------------------------------------------------------------ reset
    "both: the start range lacks its last cell": (
        [(START, "draw.randint(Slots.INIT_POSITION, 2 * START_RANGE) - START_RANGE")],
        [(START, "draw.randint(Slots.INIT_POSITION, 2 * START_RANGE) - START_RANGE")],
    ),
    "both: the start is 0 to START_RANGE": (
        [(START, "draw.randint(Slots.INIT_POSITION, START_RANGE + 1)")],
        [(START, "draw.randint(Slots.INIT_POSITION, START_RANGE + 1)")],
    ),
    "both: the start counts from the right": (
        [(START, "START_RANGE - draw.randint(Slots.INIT_POSITION, 2 * START_RANGE + 1)")],
        [(START, "START_RANGE - draw.randint(Slots.INIT_POSITION, 2 * START_RANGE + 1)")],
    ),
    # ------------------------------------------------------------------ slip
    "both: action 0 moves right": (
        [("1 if action == 1 else -1", "1 if action == 0 else -1")],
        [("(action == 1)", "(action == 0)")],
    ),
    "both: who slips stays": (
        [(TURN, "step = 0")],
        [(MOVES_RIGHT, f"slip = {SLIP}"), (STEP, "step = (2 * action.to(torch.int32) - 1) * ~slip")],
    ),
    "both: a slip goes left": ([(TURN, "step = -1")], [(MOVES_RIGHT, f"moves_right = (action == 1) & ~{SLIP}")]),
    "both: SLIP keeps the direction": ([(SLIP, f"not {SLIP}")], [(SLIP, f"~{SLIP}")]),
    "both: the slip takes two draws": (
        [(SLIP, f"{SLIP} and draw.bernoulli(Slots.SLIP, SLIP_P, index=1)")],
        [(SLIP, f"({SLIP} & draw.bernoulli(Slots.SLIP, SLIP_P, index=1))")],
    ),
    "both: the first step never slips": ([(SLIP, f"{SLIP} and state.t > 0")], [(SLIP, f"({SLIP} & (state.t > 0))")]),
    "both: nobody slips at the left end": (
        [(SLIP, f"{SLIP} and state.position > -L")],
        [(SLIP, f"({SLIP} & (state.position > -L))")],
    ),
    # ------------------------------------------------------------------ move
    "both: the left end throws back": (
        [(CLAMP_LEFT, "if position < -L:\n            position = 1 - L")],
        [
            (
                f"position = {POSITION}",
                f"position = {POSITION}\n        position = torch.where(state.position + step < -L, 1 - L, position)",
            )
        ],
    ),
    "both: the line wraps round": (
        [
            (CLAMP_LEFT, "if position < -L:\n            position = L"),
            (CLAMP_RIGHT, "if position > L:\n            position = -L"),
        ],
        [(POSITION, "(state.position + step + L) % (2 * L + 1) - L")],
    ),
    "both: the line begins at 1 - L": (
        [(CLAMP_LEFT, "if position < 1 - L:\n            position = 1 - L")],
        [(POSITION, "torch.clamp(state.position + step, 1 - L, L)")],
    ),
    "both: the right end is not clamped": (
        [(CLAMP_RIGHT, "pass")],
        [(POSITION, "torch.clamp(state.position + step, min=-L)")],
    ),
    "both: who is on the goal stays there": (
        [("position = state.position + step", "position = state.position + step if state.position < L else L")],
        [
            (
                "torch.clamp(state.position + step,",
                "torch.clamp(torch.where(state.position < L, state.position + step, L),",
            )
        ],
    ),
    # ------------------------------------------------------------------ reward, termination
    "both: the left end is a goal": (
        [(AT_GOAL, "at_goal = abs(position) == L")],
        [(AT_GOAL, "at_goal = position.abs() == L")],
    ),
    "both: the left end earns the goal's reward": (
        [(REFERENCE_REWARD, "reward = GOAL_REWARD if abs(position) == L else STEP_REWARD")],
        [(REWARD, REWARD.replace("at_goal", "position.abs() == L"))],
    ),
    "both: the goal is L - 1": (
        [(AT_GOAL, "at_goal = position >= L - 1")],
        [(AT_GOAL, "at_goal = position >= L - 1")],
    ),
    "both: the goal is seen one step late": (
        [(AT_GOAL, "at_goal = state.position == L")],
        [(AT_GOAL, "at_goal = state.position == L")],
    ),
    "both: the reward is that of the cell before": (
        [(REFERENCE_REWARD, "reward = GOAL_REWARD if state.position == L else STEP_REWARD")],
        [(REWARD, REWARD.replace("at_goal", "state.position == L"))],
    ),
    "both: the goal's step costs as every other": (
        [(REFERENCE_REWARD, "reward = GOAL_REWARD + STEP_REWARD if at_goal else STEP_REWARD")],
        [(REWARD, REWARD.replace("self.float32(GOAL_REWARD)", "self.float32(GOAL_REWARD + STEP_REWARD)"))],
    ),
    "both: the goal reached by a slip earns a step's reward": (
        [(REFERENCE_REWARD, "reward = GOAL_REWARD if at_goal and action == 1 else STEP_REWARD")],
        [(REWARD, REWARD.replace("at_goal", "at_goal & (action == 1)"))],
    ),
    "both: who stays at the left end pays nothing": (
        [
            (
                REFERENCE_REWARD,
                "reward = 0.0 if position == state.position == -L else GOAL_REWARD if at_goal else STEP_REWARD",
            )
        ],
        [
            (
                REWARD,
                f"{REWARD}\n"
                "        reward = torch.where((position == state.position) & ~at_goal, self.float32(0.0), reward)",
            )
        ],
    ),
    "both: the goal at the cap is only truncated": (
        [("reward, at_goal", "reward, at_goal and state.t + 1 < MAX_STEPS")],
        [(RETURNED, f"{RETURNED} & (state.t + 1 < MAX_STEPS)")],
    ),
    "both: the goal at the cap earns a step's reward": (
        [(REFERENCE_REWARD, "reward = GOAL_REWARD if at_goal and state.t + 1 < MAX_STEPS else STEP_REWARD")],
        [(REWARD, REWARD.replace("at_goal", "at_goal & (state.t + 1 < MAX_STEPS)"))],
    ),
    # ------------------------------------------------------------------ observation
    "both: the two elements of the observation are exchanged": (
        [(f"{SHOWN_POSITION},\n                {SHOWN_T}", f"{SHOWN_T},\n                {SHOWN_POSITION}")],
        [(OBSERVED, f"torch.stack([{SEEN_T}, {SEEN_POSITION}], -1)")],
    ),
    "both: the position is shown as a share of the line": (
        [(SHOWN_POSITION, "np.float32(state.position + L) / np.float32(2 * L)")],
        [(SEEN_POSITION, "(state.position + L) / self.float32(2 * L)")],
    ),
    "both: the step counter is shown as before the step": (
        [(SHOWN_T, "np.float32(max(state.t - 1, 0)) / MAX_STEPS_FLOAT")],
        [(SEEN_T, "torch.clamp(state.t - 1, min=0) / self.float32(MAX_STEPS)")],
    ),
    "both: the steps that are left are shown": (
        [(SHOWN_T, "np.float32(MAX_STEPS - state.t) / MAX_STEPS_FLOAT")],
        [(SEEN_T, "(MAX_STEPS - state.t) / self.float32(MAX_STEPS)")],
    ),
    "both: the step counter is divided by MAX_STEPS - 1": (
        [("np.float32(MAX_STEPS)", "np.float32(MAX_STEPS - 1)")],
        [("self.float32(MAX_STEPS)", "self.float32(MAX_STEPS - 1)")],
    ),
}

# What goes wrong in a kernel alone: each is a build of some seconds (simulacrum faults --kind kernel).
KERNEL: dict[str, dict[str, Changes]] = {
    "shape": {
        "kernel: the slips of a block are those of its first row": [
            ("rows.action[i] ^ slips[i]", "rows.action[i] ^ slips[0]")
        ],
        "kernel: the last row of a block never ends": [
            ("rows.terminated[i] = position == L", "rows.terminated[i] = (position == L) & (i < BLOCK - 1)")
        ],
    },
    "rules": {
        "kernel: the left end is open": [("min(max(position, -L), L)", "min(position, L)")],
        "kernel: the goal is one cell early": [
            ("rows.terminated[i] = position == L", "rows.terminated[i] = position >= L - 1")
        ],
    },
    "randomness": {
        "kernel: the slip is drawn at index 1": [("draw, SLIP, 0, SLIP_P", "draw, SLIP, 1, SLIP_P")],
        "kernel: the start is one to the left": [("start[i] - START_RANGE", "start[i] - START_RANGE - 1")],
    },
    "numbers": {
        "kernel: the time is multiplied by a reciprocal": [
            ("<float>rows.t[i] / <float>MAX_STEPS", "<float>rows.t[i] * (<float>1 / <float>MAX_STEPS)")
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
EQUIVALENT: dict[str, str] = {
    "fast.py observation: `torch.stack([state.position / self.float32(L), state.t / self.float32(MAX_STEPS)], -1)` -> "
    "`torch.stack([state.position / self.float32(L), state.t / self.float32(MAX_STEPS)], 1)` #1": (
        "both tensors have one axis, so that a new last axis is axis 1"
    ),
    "reference.py transition: `position < -L` -> `position <= -L` #1": "what is -L becomes -L",
    "reference.py transition: `position < -L` -> `position < -(L - 1)` #1": "only -L lies between, and becomes -L",
    "reference.py transition: `position > L` -> `position >= L` #1": "what is L becomes L",
    "reference.py transition: `position > L` -> `position > L - 1` #1": "only L lies between, and becomes L",
}
