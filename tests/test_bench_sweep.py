import json
from dataclasses import replace
from pathlib import Path

import pytest

from simulacrum.bench import layers, plot, sides, sweep, tables
from simulacrum.bench.measure import Timing
from simulacrum.bench.memory import Weight
from simulacrum.errors import BuildError, SimulacrumError
from simulacrum.spec import Package

PLAN = sweep.Plan(("eager",), (1, 8), (1, 2), seconds=1e-4, rounds=2, weighs=False)


@pytest.fixture(scope="module")
def gates():
    return Package.read(Path(__file__).resolve().parent / "packages" / "gates")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Copies of little, and no long warming up."""
    copying = sides.copying
    monkeypatch.setattr(sides, "copying", lambda: copying(1 << 12))
    monkeypatch.setattr("simulacrum.bench.measure.WARM_SECONDS", 0.01)


class Kept(sweep.Watch):
    def __init__(self, stop_at=None):
        self.names, self.shares, self.stop_at = [], {}, stop_at

    def progress(self, name, share):
        if name == self.stop_at and share > 0:
            raise KeyboardInterrupt
        self.shares.setdefault(name, []).append(share)

    def finished(self, name, seconds):
        self.names.append(name)


def fabricated(**forms):
    """Results at the sizes of the growth: nanoseconds a row by form, the yardstick's 40 and twice that."""
    plan = sweep.Plan(tuple(forms), sweep.GROWTH, (1,), rounds=2)
    results = sweep.Results(plan, {1: Timing(10**6, 1, [1e-6] * 2)}, complete=True)  # 1000 GB/s
    for at, size in enumerate(sweep.GROWTH):
        took = {"reference": 5000, "yardstick": 40 * (at + 1), **{form: ns[at] for form, ns in forms.items()}}
        timings = {name: Timing(1, 1, [ns * 1e-9] * 2) for name, ns in took.items()}
        results.groups.append(sweep.Group(size, 1, timings, dict.fromkeys(forms, 100), {}))
    return results


def test_every_form_size_and_thread_count_is_measured_beside_both(gates):
    watch = Kept()
    results = sweep.sweep(gates, PLAN, watch)
    assert results.complete
    assert watch.names == PLAN.parts
    assert all(shares == sorted(shares) and shares[-1] == 1.0 for shares in watch.shares.values())
    assert [(group.threads, group.batch_size) for group in results.groups] == [(1, 1), (1, 8), (2, 1), (2, 8)]
    for group in results.groups:
        assert group.timings.keys() == {"reference", "yardstick", "eager"}
        assert {timing.rows for timing in group.timings.values()} == {1, sides.YARDSTICK_ROWS, group.batch_size}
        assert all(len(timing.seconds) == PLAN.rounds for timing in group.timings.values())
        assert group.step_bytes["eager"] > 0


def test_an_interruption_keeps_what_was_measured(gates):
    results = sweep.sweep(gates, PLAN, Kept(stop_at="N = 8, 1 thread"))
    assert not results.complete
    assert [(group.threads, group.batch_size) for group in results.groups] == [(1, 1)]
    shown, content = tables.text(results), tables.as_json(results, {})
    assert "| eager" in shown
    assert content["complete"] is False
    assert len(content["groups"]) == 1


def test_an_interruption_at_once_leaves_nothing(gates):
    results = sweep.sweep(gates, PLAN, Kept(stop_at="copying memory, 1 thread"))
    assert not results.complete
    assert "Nothing was measured." in tables.text(results)
    assert json.dumps(tables.as_json(results, {}))


@pytest.mark.parametrize("error", [BuildError("no C compiler: install one\nmore"), RuntimeError("no C++ compiler")])
def test_a_form_that_cannot_run_here_is_left_out_with_its_reason(gates, monkeypatch, error):
    make = sides.make

    def refusing(package, form, rows, seed=0, **options):
        if form == "kernel":
            raise error
        return make(package, form, rows, seed, **options)

    monkeypatch.setattr(sides, "make", refusing)
    results = sweep.sweep(gates, replace(PLAN, forms=("eager", "kernel"), threads=(1,)))
    assert results.complete
    told = f"{type(error).__name__}: {str(error).splitlines()[0]} (N = 1)"
    assert results.missing == {"kernel": told}
    assert f"kernel is missing: {told}" in tables.text(results)
    assert "eager" in results.groups[0].timings
    assert layers.profile(gates, replace(PLAN, forms=("kernel",)), collectors={}).missing.keys() == {"kernel"}


def test_growth_is_taken_against_the_yardstick_beside_each():
    results = fabricated(eager=(10, 30), kernel=(4, 8))
    assert results.growth("eager", 1) == pytest.approx(1.5)  # the machine was half as fast by then
    assert results.growth("kernel", 1) == pytest.approx(1.0)
    results.groups.pop()
    assert results.growth("kernel", 1) is None


def test_the_table_shows_every_figure():
    results = fabricated(kernel=(4, 16))
    results.weights["kernel"] = Weight(1 << 20, 300 << 20)
    lines = tables.text(results).splitlines()
    cells = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert cells == ["kernel", "1", "1,024", "250", "4.00", "0%", "10", "1,250", "100", "2.5%"]
    assert len({len(line) for line in lines[:4]}) == 1
    assert "growth (a row's step at N = 1,048,576 over N = 1,024): kernel, 1 thread: 2.00" in lines
    memory = next(line for line in lines if line.startswith("memory"))
    assert memory.startswith("memory, kernel: 300 bytes an instance (N = 1,048,576: 300 MiB")
    assert any("copies 1000.0 GB/s" in line and "yardstick 25 M steps/s [12.5 - 25]" in line for line in lines)


def test_json_has_medians_and_rounds():
    results = fabricated(kernel=(4, 16))
    results.weights["kernel"] = "it broke"
    content = json.loads(json.dumps(tables.as_json(results, {"command": "simulacrum bench x"})))
    assert content["format"] == tables.FORMAT
    assert content["command"] == "simulacrum bench x"
    assert content["plan"]["sizes"] == list(sweep.GROWTH)
    (group, _) = content["groups"]
    assert {"batch size", "threads", "reference", "yardstick", "forms", "missing"} == group.keys()
    kernel = group["forms"]["kernel"]
    assert kernel["nanoseconds a step"] == pytest.approx(4)
    assert kernel["rounds"] == pytest.approx([2.5e8] * 2)
    assert kernel["ratio to yardstick"] == pytest.approx(10)
    assert kernel["share of copy bandwidth"] == pytest.approx(0.025)
    assert content["growth"] == [{"form": "kernel", "threads": 1, "from": 1024, "to": 1048576, "times": 2.0}]
    assert content["memory"] == [{"form": "kernel", "problem": "it broke"}]


def test_the_plot_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib", reason='the extra "viz" is not installed')
    plot.draw(fabricated(kernel=(4, 16), eager=(40, 50)), "some environment", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    empty = sweep.Results(PLAN)
    plot.draw(empty, "nothing", tmp_path / "empty.png")
    assert (tmp_path / "empty.png").is_file()


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(SimulacrumError, match=r'pip install "simulacrum\[viz\]"'):
        plot.require()


# where a step's microseconds go


def test_a_layer_is_what_it_adds_to_the_one_before():
    took = {"inside": 1.0, "beside": 5.0, "around": 4.0}
    timings = {way: Timing(1000, 1, [us * 1e-6]) for way, us in took.items()}
    found = {one.way: one for one in layers.layered(timings, 1000, ("inside", "around"))}
    assert list(found) == ["inside", "around", "beside"]
    assert [one.microseconds for one in found.values()] == pytest.approx([1, 4, 5])
    assert [one.more for one in found.values()] == pytest.approx([1, 3, 1])
    assert [one.share for one in found.values()] == pytest.approx([0.25, 0.75, 0.25])


def test_every_way_makes_steps_of_the_same_environment(gates):
    plan = replace(PLAN, sizes=(8,), threads=(1,))
    watch = Kept()
    found = layers.profile(gates, plan, watch)
    assert found.complete
    assert watch.names == layers.parts(plan) == ["eager, N = 8"]
    ways = [one.way for one in found.found["eager", 8]]
    assert ways[:4] == list(layers.CHAINS["eager"])
    assert {"TorchRL: step, then maybe_reset", "TorchRL: TransformedEnv", "TorchRL: Collector"} == set(ways[4:])
    shown, content = tables.layers_text(found), tables.layers_json(found, {})
    assert shown.count("| eager") == len(ways)
    assert [one["way"] for one in content["layers"]] == ways
    assert all(len(one["rounds"]) == plan.rounds for one in content["layers"])


def test_a_collectors_frames_are_counted(gates):
    asked = []

    def collecting(env, policy, frames):
        asked.append(frames)
        while True:
            yield policy(env.reset())

    ways = layers.ways_of(sides.make(gates, "eager", 4), "eager", {"mine": collecting})
    assert asked == [4 * layers.BATCH]
    assert ways["mine"].rows == 4 * layers.BATCH
    assert ways[layers.WHOLE].rows == 4


def test_a_profile_that_is_interrupted_keeps_what_it_has(gates):
    plan = replace(PLAN, sizes=(4, 8))
    found = layers.profile(gates, plan, Kept(stop_at="eager, N = 8"), collectors={})
    assert not found.complete
    assert list(found.found) == [("eager", 4)]
