"""The kernels of toywalk and forager against the tensor form, bit by bit, and against the reference."""

import pytest
import torch
from environments import FORAGER, TOYWALK, Rows, actions, frozen
from tensordict import TensorDict

from simulacrum import native
from simulacrum.kernel.layout import BLOCK

pytestmark = pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
SIZES = [1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 1000]
SCALED = {  # worlds whose loops have other lengths, or fields of other types, than those of the spec
    "toywalk, wide": (TOYWALK, {"L": 200, "MAX_STEPS": 9}),
    "forager, one of all": (FORAGER, {"GRID": 2, "N_BERRIES": 1, "N_KINDS": 1, "MAX_STEPS": 7}),
    "forager, two kinds": (FORAGER, {"GRID": 3, "N_BERRIES": 2, "N_KINDS": 2, "START_ENERGY": 0.25}),
    "forager, at the end of int8": (FORAGER, {"GRID": 128, "N_BERRIES": 3}),
    "forager, beyond int8": (FORAGER, {"GRID": 200, "N_BERRIES": 9, "MAX_STEPS": 9}),
}
every_package = pytest.mark.parametrize("package", [TOYWALK, FORAGER], ids=lambda package: package.name)
every_size = pytest.mark.parametrize("rows", SIZES)


class Forms:
    """Both forms of a package, the kernel also without its state shown; each call compares all that they show."""

    def __init__(self, package, rows, seed=3):
        kinds = (("tensor", True), ("kernel", True), ("kernel", False))
        self.envs = [package.forms[form](batch_size=[rows], seed=seed, expose_state=shown) for form, shown in kinds]
        self.ended = 0
        self.reset()

    def reset(self, mask=None):
        """A new episode of every row, or of those of a mask (bool [N, 1])."""
        chosen = None if mask is None else TensorDict({"_reset": mask}, batch_size=[len(mask)])
        self.tds = [env.reset(None if chosen is None else chosen.clone()) for env in self.envs]
        self.compare(self.tds)

    def step(self, action):
        """A fused step of every row."""
        pairs = [
            env.step_and_maybe_reset(td.set("action", action)) for env, td in zip(self.envs, self.tds, strict=True)
        ]
        ended, self.tds = zip(*pairs, strict=True)
        self.compare(td["next"] for td in ended)
        self.compare(self.tds)
        self.ended += int(ended[0]["next", "done"].sum())

    def inject(self, state, t):
        """Other states (fields by name) and step counters, in the midst of an episode."""
        self.tds[0]["state"].update(state)
        self.tds[0]["clock", "t"] = t
        put = self.tds[0].select("state", "clock")
        self.tds = [env.reset(put.clone(), set_state=True) for env in self.envs]
        self.tds[2] = self.tds[2].exclude("state", "clock")  # it shows what it was given
        self.compare(self.tds)

    def compare(self, tds):
        tensor, kernel, bare = (frozen(td) for td in tds)
        assert [key for key in tensor if tensor[key] != kernel.get(key)] == []
        assert tensor.keys() == kernel.keys()
        assert bare == {key: value for key, value in tensor.items() if not {"state", "clock"} & {*key}}


def full_carry(env):
    carry = env._carry
    return {**carry.fields, "seed": carry.seed, "episode": carry.episode, "t": carry.t}


@every_size
@every_package
def test_rollouts_with_resets(package, rows):
    forms = Forms(package, rows)
    for number, action in enumerate(actions(forms.envs[0], 120)):
        forms.step(action)
        if number % 40 == 20:
            forms.reset((torch.arange(rows) % 3 == 1).unsqueeze(-1))
    forms.reset()
    forms.step(action)
    assert forms.ended >= rows / 2
    states = [full_carry(env) for env in forms.envs]
    assert all(torch.equal(states[0][name], other[name]) for other in states[1:] for name in other)


@every_size
def test_toywalk_from_injected_states(rows):
    forms, generator = Forms(TOYWALK, rows), torch.Generator().manual_seed(rows)
    edge, cap = (TOYWALK.spec.constants[name] for name in ("L", "MAX_STEPS"))
    for action in actions(forms.envs[0], 12):
        position = torch.randint(-edge, edge + 1, (rows,), generator=generator, dtype=torch.int32)
        forms.inject({"position": position}, torch.randint(0, cap, (rows,), generator=generator))
        forms.step(action)
        forms.step(action)


@every_size
def test_forager_from_injected_states(rows):
    """Crowded fields, many berries collected at once; energies about to be spent, or exactly; terminal states."""
    forms, generator = Forms(FORAGER, rows), torch.Generator().manual_seed(rows)
    constants = FORAGER.spec.constants
    count, kinds, cap = (constants[name] for name in ("N_BERRIES", "N_KINDS", "MAX_STEPS"))

    def integers(below, *shape):
        return torch.randint(0, below, (rows, *shape), generator=generator, dtype=torch.int32)

    for number, action in enumerate(actions(forms.envs[0], 24)):
        side = 2 if number % 2 else constants["GRID"]
        state = {"x": integers(side), "y": integers(side), "berry_kind": integers(kinds, count)}
        state |= {"berry_x": integers(side, count), "berry_y": integers(side, count)}
        state["berry_live"] = integers(4, count) < number % 5
        energy = torch.rand(rows, generator=generator) * (0.06 if number % 3 else 1.0)
        state["energy"] = torch.where(integers(3) == 0, constants["STEP_COST"], energy)  # a third is left exactly none
        forms.inject(state, integers(cap).to(torch.int64))
        forms.step(action)
        forms.step(action)


@pytest.mark.parametrize("name", SCALED)
def test_other_constants(name):
    package, constants = SCALED[name]
    forms = Forms(package.with_constants(constants), 300)
    for action in actions(forms.envs[0], 60):
        forms.step(action)
    assert forms.ended > 0


@every_package
def test_beside_the_reference(package):
    env = package.forms["kernel"](batch_size=[4], seed=11, expose_state=True)
    rows = Rows(package.reference, env)
    ended = sum(int(rows.step(action)["done"].sum()) for action in actions(env, 100))
    assert ended >= 4


def test_memory_stays_where_it_is_when_torchs_multiprocessing_pickles():
    from multiprocessing.reduction import ForkingPickler

    import torch.multiprocessing

    env = TOYWALK.forms["kernel"](batch_size=[300], seed=0)
    other = TOYWALK.forms["kernel"](batch_size=[300], seed=0)
    td, same = env.reset(), other.reset()
    ForkingPickler.dumps(env)
    for _ in range(30):
        action = env.rand_action(td)["action"]
        _, td = env.step_and_maybe_reset(td.set("action", action))
        _, same = other.step_and_maybe_reset(same.set("action", action))
        assert torch.equal(td["observation"], same["observation"])
