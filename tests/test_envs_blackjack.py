"""blackjack beside Gymnasium's Blackjack-v1: rollouts, every draw of every dealer, every pair of hands, the returns it
states, and its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch
from beside_original import printed, program
from environments import ENVS

from simulacrum import native
from simulacrum.originals import KeyedGenerator
from simulacrum.rng import Draw
from simulacrum.rng.fixed import FixedRows
from simulacrum.spec import Package

BLACKJACK = Package.read(ENVS / "blackjack")
OPTIONS = {
    "sab": {},
    "natural": {"sab": False, "natural": True},
    "plain": {"sab": False, "natural": False},
}
RESET, STEP = range(6), (6,)  # the slots of each phase
VALUES = range(1, 11)
STICK, HIT = 0, 1
Hand = tuple[int, bool, int]  # total, ace, cards

needs_compiler = pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
FORMS = [(config, "tensor") for config in OPTIONS] + [
    pytest.param(config, "kernel", marks=needs_compiler) for config in ("sab", "natural")
]


class Original:
    """One of ``gymnasium.make`` with its wrappers, its ``np_random`` replaced by hand: episodes of one seed."""

    def __init__(self, config: str, seed: int) -> None:
        self.env = gymnasium.make("Blackjack-v1", **OPTIONS[config])
        self.generator = self.env.unwrapped.np_random = KeyedGenerator()
        self.seed, self.episode, self.t = seed, -1, 0

    def reset(self):
        self.episode, self.t = self.episode + 1, 0
        with self.generator.drawing(Draw.at(self.seed, self.episode, 0), RESET, "reset"):
            return self.env.reset()[0]

    def step(self, action):
        with self.generator.drawing(Draw.at(self.seed, self.episode, self.t), STEP, "step"):
            observation, reward, terminated, truncated, _ = self.env.step(action)
        self.t += 1
        return observation, reward, terminated, truncated


def seen(td, row: int) -> tuple[int, ...]:
    return tuple(td["observation", str(part)][row].item() for part in range(3))


@pytest.mark.parametrize(("config", "form"), FORMS)
def test_rollouts_are_those_of_the_original_with_its_own_wrappers(config, form):
    rows, rng = 12, np.random.default_rng(len(config))
    env = BLACKJACK.configured(config).forms[form](batch_size=[rows], seed=7)
    td = env.reset()
    originals = [Original(config, int(seed)) for seed in env.instance_seeds.numpy().view(np.uint64)]
    assert [one.reset() for one in originals] == [seen(td, row) for row in range(rows)]
    rewards, longest = set(), 0
    for step in range(200):
        actions = (rng.random(rows) < (0.5, 0.8)[step % 2]).astype(np.int64)
        done, td = env.step_and_maybe_reset(td.set("action", torch.from_numpy(actions)))
        after = done["next"]
        for row, one in enumerate(originals):
            observation, reward, terminated, truncated = one.step(int(actions[row]))
            flags = after["terminated"][row].item(), after["truncated"][row].item()
            assert (seen(after, row), after["reward"][row].item(), *flags) == (
                observation,
                reward,
                terminated,
                truncated,
            ), (step, row)
            rewards.add(reward)
            longest = max(longest, one.t)
            assert seen(td, row) == (one.reset() if terminated else observation)
    assert rewards == {-1.0, 0.0, 1.0} | ({1.5} if config == "natural" else set())
    assert longest > 3


@pytest.mark.parametrize("config", list(OPTIONS))
def test_a_configuration_is_what_gymnasium_makes(config):
    made, package = gymnasium.make("Blackjack-v1", **OPTIONS[config]), BLACKJACK.configured(config)
    original, environment = package.reference().original, package.environment
    assert (original.sab, original.natural) == (made.unwrapped.sab, made.unwrapped.natural)
    assert (environment.action_space, environment.observation_space) == (made.action_space, made.observation_space)
    assert environment.max_episode_steps is made.spec.max_episode_steps is None


# ---------------------------------------------------------------------- every hand


def is_hand(total: int, ace: bool, cards: int) -> bool:
    return cards <= total <= 10 * cards - 9 if ace else 2 * cards <= total <= 10 * cards


def hands(totals: range, most: int) -> Iterator[Hand]:
    for total in totals:
        for cards in range(2, most + 1):
            yield from ((total, ace, cards) for ace in (False, True) if is_hand(total, ace, cards))


PLAYERS = list(hands(range(2, 32), 22))
PLAYED = [(10, 17, False, 2), (1, 11, True, 2), (10, 11, True, 2)]  # shows, and a hand; two naturals
PLAYED += [(5, 7 + more, True, 4) for more in range(5)]
PLAYED += [(5, 17 + more, more % 2 == 1, 4) for more in range(10)]


class Scripted:
    """In the place of ``np_random``: cards that are known."""

    def __init__(self, values) -> None:
        self.values = iter(values)

    def choice(self, deck):
        value = next(self.values)
        assert value in deck
        return value


def of(player: Hand, dealer: tuple[int, int, bool, int]) -> dict[str, int]:
    names = ("player_total", "player_ace", "player_cards", "dealer_shows", "dealer_total", "dealer_ace", "dealer_cards")
    return dict(zip(names, (*player, *dealer), strict=True))


def stepped(package: Package, states: list[dict[str, int]], action: int, ranks: np.ndarray):
    """What the tensor form gives of a step from each state, its cards given: states, sums and flags as lists."""
    env = package.fast(batch_size=[1], seed=0)
    dtypes = {name: bool if name.endswith("ace") else np.int8 for name in states[0]}
    fields = {
        name: torch.from_numpy(np.array([state[name] for state in states], dtype)) for name, dtype in dtypes.items()
    }
    state = env._core.state(fields, torch.zeros(len(states), dtype=torch.int64))
    actions = torch.full((len(states),), action)
    after, reward, terminated = env.transition(state, actions, FixedRows({6: ranks}, rows=len(states)))
    shown = zip(*(part.tolist() for part in env.observation(after)), strict=True)
    fields = zip(*(getattr(after, name).tolist() for name in states[0]), strict=True)
    return [list(one) for one in zip(fields, shown, reward.tolist(), terminated.tolist(), strict=True)]


def steps_of_the_original(package: Package, states: list[dict[str, int]], action: int, values: list[list[int]]):
    """The same of the original; all the given cards must be drawn."""
    module, original = package.module("reference"), package.reference().original
    found = []
    for state, cards in zip(states, values, strict=True):
        module.write(original, SimpleNamespace(**state))
        original._np_random = Scripted(cards)
        observation, reward, terminated, _, _ = original.step(action)
        assert next(original._np_random.values, None) is None
        found.append([tuple(module.read(original).values()), observation, reward, terminated])
    return found


def test_a_hand_that_is_written_into_the_original_is_read_again():
    module, original = BLACKJACK.module("reference"), BLACKJACK.reference().original
    dealers = [
        (shows, total + shows, ace or shows == 1, cards + 1)
        for shows in VALUES
        for total in range(1, 26)
        for cards in range(1, 12)
        for ace in (False, True)
        if (cards <= total <= 10 * cards if shows == 1 else is_hand(total, ace, cards))
    ]
    assert len(PLAYERS) > 500
    assert len(dealers) > 1000
    for player, dealer in [(one, PLAYED[0]) for one in PLAYERS] + [(PLAYERS[0], one) for one in dealers]:
        state = of(player, dealer)
        module.write(original, SimpleNamespace(**state))
        assert module.read(original) == state
        assert all(1 <= card <= 10 for card in [*original.player, *original.dealer])


@pytest.mark.parametrize("config", list(OPTIONS))
def test_every_player_beside_every_dealer_who_has_played(config):
    package = BLACKJACK.configured(config)
    states = [of(player, dealer) for player in PLAYERS for dealer in PLAYED]
    none = np.full((len(states), 10), 12)
    found = stepped(package, states, STICK, none)
    assert found == steps_of_the_original(package, states, STICK, [[]] * len(states))


def test_every_player_gets_every_card():
    states = [of(player, PLAYED[0]) for player in PLAYERS for _ in range(13)]
    ranks = np.tile(np.arange(13), len(PLAYERS))
    cards = [[min(rank + 1, 10)] for rank in ranks.tolist()]
    found = stepped(BLACKJACK, states, HIT, np.repeat(ranks[:, None], 10, axis=1))
    assert found == steps_of_the_original(BLACKJACK, states, HIT, cards)


def draws(total: int, ace: bool) -> Iterator[list[int]]:
    """The values that a dealer may draw, until the sum is 17 or more."""
    if total + (10 if ace and total <= 11 else 0) >= 17:
        yield []
        return
    for value in VALUES:
        for others in draws(total + value, ace or value == 1):
            yield [value, *others]


def test_a_dealer_draws_every_sequence_of_cards_that_there_is():
    states, values = [], []
    for shows in VALUES:
        for hides in range(shows, 11):
            for drawn in draws(shows + hides, 1 in (shows, hides)):
                states.append(of((19, False, 2), (shows, shows + hides, 1 in (shows, hides), 2)))
                values.append(drawn)
    assert max(map(len, values)) == 10
    assert len(values) > 30_000
    ranks = np.array([[*(value - 1 for value in drawn), *[7] * (10 - len(drawn))] for drawn in values])
    assert stepped(BLACKJACK, states, STICK, ranks) == steps_of_the_original(BLACKJACK, states, STICK, values)


# ---------------------------------------------------------------------- returns, pictures


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return printed(program(BLACKJACK))


def test_the_returns_in_the_spec_are_those_that_its_program_prints(lines):
    policies = BLACKJACK.spec.policies
    assert len(policies) == 4
    for name, policy in policies.items():
        assert f"natural {name} [{policy.expected_return:.6f}, {policy.standard_deviation:.6f}]" in lines


@needs_compiler
@pytest.mark.parametrize("config", ["sab", "natural"])
def test_a_kernel_earns_what_the_program_prints_of_its_configuration(config, lines):
    stated = next(line for line in lines if line.startswith(f"{config} careful"))
    mean, deviation = map(float, stated.partition("[")[2].rstrip("]").split(","))
    package, rows = BLACKJACK.configured(config), 16384
    env = package.forms["kernel"](batch_size=[rows], seed=3)
    td, total, episodes = env.reset(), 0.0, 0
    for _ in range(40):
        observation = tuple(td["observation", str(part)].numpy() for part in range(3))
        actions = torch.from_numpy(package.checks.careful(None, observation))
        done, td = env.step_and_maybe_reset(td.set("action", actions))
        total += float(done["next", "reward"].sum())
        episodes += int(done["next", "done"].sum())
    assert episodes > 300_000
    assert abs(total / episodes - mean) < 5 * deviation / episodes**0.5


@pytest.mark.parametrize(
    ("player", "dealer", "text"),
    [
        ((7, True, 2), (9, 16, False, 2), "dealer 16, 2 cards, shows 9\nplayer 17 with an ace as 11, 2 cards\nstep 1"),
        (
            (25, True, 4),
            (1, 11, True, 2),
            "dealer 21 with an ace as 11, 2 cards, shows 1\nplayer 25, bust, 4 cards\nstep 1",
        ),
    ],
)
def test_pictures_show_both_hands(player, dealer, text):
    render = BLACKJACK.module("render")
    state = SimpleNamespace(**of(player, dealer), t=1)
    assert render.render_text(state) == text
    picture, size, margin = render.render_rgb(state), render.CELL, render.MARGIN
    tops = margin + 2, size + 2 * margin + 2  # beside the edge of each square
    for top, (total, ace) in zip(tops, (dealer[1:3], player[:2]), strict=True):
        squares = picture[top, margin + 2 : -margin : size]
        assert (squares != render.EMPTY).any(axis=1).sum() == total + (10 if ace and total <= 11 else 0)
