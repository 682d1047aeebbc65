import pytest

from simulacrum.bench.measure import WARM_SECONDS, WARM_STEPS, Side, Timing, by_turns, warm


class Machine:
    """A clock that only moves when a side runs, and the sides' order."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def __call__(self):
        return self.now

    def side(self, name, costs, rows=1, **options):
        """A side whose steps cost seconds: a number, or one after another, the last for good."""
        costs = iter(costs) if isinstance(costs, list) else None or iter([costs])
        state = {"cost": next(costs)}

        def run(steps):
            self.calls.append((name, steps))
            self.now += steps * state["cost"]
            state["cost"] = next(costs, state["cost"])

        return Side(run, rows, **options)


def test_sides_take_turns_after_they_are_warm():
    machine = Machine()
    sides = {"quick": machine.side("quick", 0.001, rows=8), "slow": machine.side("slow", 0.5)}
    shares = []
    timings = by_turns(sides, seconds=0.1, rounds=3, progress=shares.append, clock=machine)
    assert machine.calls[-6:] == [("quick", 100), ("slow", 1)] * 3
    assert timings["quick"].seconds == pytest.approx([0.1] * 3)
    assert timings["quick"].rate == pytest.approx(8000)
    assert timings["slow"].nanoseconds == pytest.approx(5e8)
    assert timings["quick"].over(timings["slow"]) == pytest.approx(4000)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_ratio_is_the_median_of_the_rounds_ratios():
    one, other = Timing(2, 1, [1.0, 2.0, 4.0]), Timing(1, 1, [1.0, 1.0, 4.0])
    assert one.over(other) == 2.0  # of 2, 1 and 2: the drift of the last round is in both
    assert one.rate == 1.0
    assert one.spread == 1.5


def test_compiling_is_not_taken_for_a_step():
    machine = Machine()
    assert warm(machine.side("compiles", [60.0, 0.01]), 0.1, machine) == 10


def test_warming_ends_by_steps_or_by_time():
    machine = Machine()
    warm(machine.side("quick", 1e-6), 0.1, machine)
    assert WARM_STEPS <= sum(steps for _, steps in machine.calls) < WARM_STEPS + 64
    machine = Machine()
    warm(machine.side("slow", 1.0), 0.1, machine)
    assert sum(steps for _, steps in machine.calls) <= 2 + 2 * WARM_SECONDS
    machine = Machine()
    warm(machine.side("few", 1e-6, warm=2), 0.1, machine)
    assert sum(steps for _, steps in machine.calls) == 2


def test_a_slow_step_is_one_round():
    machine = Machine()
    assert warm(machine.side("slow", 9.0), 0.1, machine) == 1
