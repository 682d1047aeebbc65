"""docs/cookbook.md: every snippet runs, the forms of an idiom have the same bits, and every trap is one."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from cookbook import cases
from cookbook.cases import CASES
from cookbook.forms import fast, random_inputs, run_kernel, run_reference, run_tensor, tensors
from cookbook.package import WORLD, method_name, write_package
from cookbook.page import FORMS, HEADING, IDIOMS, LINK, ROW_FORM, TEXT, anchor

from simulacrum import native
from simulacrum.fast.compiling import INDUCTOR_OPTIONS
from simulacrum.harness import checks
from simulacrum.harness.source import Sources, problems
from simulacrum.harness.source.kernel import problems as kernel_problems
from simulacrum.kernel.layout import BLOCK

ROWS = (1, 2, cases.ITEMS, 65, BLOCK, BLOCK + 1, 1000)
needs_a_compiler = pytest.mark.skipif(not native.enabled(), reason="kernels need a C compiler")
each_idiom = pytest.mark.parametrize("idiom", IDIOMS.values(), ids=IDIOMS)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return write_package(tmp_path_factory.mktemp("cookbook") / "blocks", BLOCK)


@pytest.fixture(scope="module")
def package_of_rows(tmp_path_factory):
    return write_package(tmp_path_factory.mktemp("cookbook") / "rows", 1)


@pytest.fixture(scope="module")
def found(package):
    """What the static read finds in ``fast.py``: kinds by method."""
    files = {name: data for name, data in package.files.items() if name.endswith(".py")}
    floats = {field.name: field.dtype.kind == "f" for field in package.spec.fields.values()}
    lines = files["fast.py"].decode().split("\n")
    kinds: dict[str, set[str]] = {}
    for problem in problems(Sources(files), floats, False, package.spec.constants):
        assert problem.file == "fast.py", problem.text
        methods = [line.split("(")[0].split()[1] for line in lines[: problem.line] if line.startswith("    def ")]
        kinds.setdefault(methods[-1], set()).add(problem.kind)
    return kinds


def bits_of(given):
    """What a snippet gives as dtypes, shapes and bytes, by variable."""
    arrays = {name: np.ascontiguousarray(value) for name, value in given.items()}
    return {name: (str(value.dtype), value.shape, value.tobytes()) for name, value in arrays.items()}


def inputs_of(seed):
    """Rows of each batch size."""
    generator = np.random.default_rng(seed)
    return [random_inputs(generator, rows) for rows in ROWS]


# ---------------------------------------------------------------------- the forms


@each_idiom
def test_tensors_are_the_reference(package, idiom):
    for inputs in inputs_of(len(idiom.name)):
        assert bits_of(run_tensor(package, idiom, inputs)) == bits_of(run_reference(package, idiom, inputs))


@needs_a_compiler
@each_idiom
def test_kernels_are_the_reference(package, package_of_rows, idiom):
    for inputs in inputs_of(len(idiom.name)):
        expected = bits_of(run_reference(package, idiom, inputs))
        assert bits_of(run_kernel(package, idiom, inputs, "kernel", BLOCK)) == expected
        if ROW_FORM in idiom.forms:
            assert bits_of(run_kernel(package_of_rows, idiom, inputs, ROW_FORM, 1)) == expected


def test_compiled_tensors_are_the_eager_ones(package):
    """All idioms in one graph."""
    env = fast(package)
    methods = {name: getattr(env, method_name(idiom, "tensor")) for name, idiom in IDIOMS.items()}

    def every_idiom(state, action, draw):
        return {name: method(state, action, draw) for name, method in methods.items()}

    inputs = random_inputs(np.random.default_rng(3), 1000)
    eager = every_idiom(*tensors(package, inputs))
    env.eager()  # takes the constants that the idioms have asked for
    compiled = torch.compile(every_idiom, fullgraph=True, dynamic=False, options=INDUCTOR_OPTIONS["cpu"])
    for name, given in compiled(*tensors(package, inputs)).items():
        assert bits_of(given) == bits_of(eager[name]), name


@each_idiom
def test_tensors_leave_the_state_as_it_was(package, idiom):
    state, action, draw = tensors(package, random_inputs(np.random.default_rng(1), 33))
    before = {name: getattr(state, name).clone() for name in WORLD.fields if name != "t"}, action.clone()
    getattr(fast(package), method_name(idiom, "tensor"))(state, action, draw)
    assert torch.equal(action, before[1])
    assert all(getattr(state, name).view(torch.uint8).equal(old.view(torch.uint8)) for name, old in before[0].items())


def test_the_static_read_finds_nothing_in_tensors(found):
    assert not [name for name in found if name.endswith("_tensor")]


@pytest.mark.parametrize("block", ["package", "package_of_rows"])
def test_the_static_read_finds_nothing_in_kernels(block, request):
    files = request.getfixturevalue(block).files
    assert not list(kernel_problems("kernel.pyx", files["kernel.pyx"], WORLD.constants))


# ---------------------------------------------------------------------- the traps


@pytest.fixture
def wrong(package, idiom):
    """A function that runs an idiom's trap on inputs."""
    if idiom.forms["trap"].language == "python":
        return lambda inputs: {
            name: value.numpy() for name, value in run_tensor(package, idiom, inputs, "trap").items()
        }
    if not native.enabled():
        pytest.skip("kernels need a C compiler")
    return lambda inputs: run_kernel(package, idiom, inputs, "trap", BLOCK)


@each_idiom
def test_traps_go_wrong(package, idiom, wrong):
    trap = CASES[idiom.name].trap
    inputs = random_inputs(np.random.default_rng(7), trap.rows).with_values(trap.on)
    if trap.raises:
        with pytest.raises((RuntimeError, IndexError), match=trap.raises):
            wrong(inputs)
        return
    expected = run_reference(package, idiom, inputs)
    torch.set_default_dtype(getattr(torch, trap.default_dtype))
    try:
        given = wrong(inputs)
    finally:
        torch.set_default_dtype(torch.float32)
    assert (bits_of(given) == bits_of(expected)) == (trap.right == "here")
    if trap.right == "alone":
        for row in range(inputs.rows):
            alone = inputs.of([row])
            assert bits_of(wrong(alone)) == bits_of(run_reference(package, idiom, alone))


@each_idiom
def test_the_static_read_finds_the_traps_that_it_is_said_to_find(found, idiom):
    trap = CASES[idiom.name].trap
    assert found.get(method_name(idiom, "trap"), set()) == ({trap.static} if trap.static else set())
    assert ("`static_read`" in idiom.prose.split("**Trap.**")[1]) == bool(trap.static)
    assert trap.static or trap.right != "here"


@pytest.mark.parametrize("idiom", [IDIOMS[name] for name, case in CASES.items() if case.trap.writes], ids=str)
def test_traps_that_write_change_the_state_that_they_were_given(package, idiom):
    trap = CASES[idiom.name].trap
    given = tensors(package, random_inputs(np.random.default_rng(7), 3).with_values(trap.on))
    before = getattr(given[0], trap.writes).clone()
    getattr(fast(package), method_name(idiom, "trap"))(*given)
    assert not torch.equal(getattr(given[0], trap.writes), before)


def test_a_mask_without_its_axis_raises_at_most_batch_sizes(package):
    idiom = IDIOMS["a_mask_lifted_to_the_rank_of_what_it_selects"]
    for rows in (2, cases.ITEMS - 1, cases.ITEMS + 1, 64):
        with pytest.raises(RuntimeError, match="must match the size"):
            run_tensor(package, idiom, random_inputs(np.random.default_rng(0), rows), "trap")


# ---------------------------------------------------------------------- the page


def test_every_idiom_has_its_forms_in_order_and_one_trap():
    assert list(IDIOMS) == list(CASES)
    for idiom in IDIOMS.values():
        forms = [form for form in idiom.forms if form != ROW_FORM]
        assert tuple(forms) == FORMS, idiom.title
        languages = [idiom.forms[form].language for form in FORMS[:3]]
        assert languages == ["python", "python", "cython"], idiom.title
        assert idiom.prose.count("**Trap.**") == 1, idiom.title


def test_snippets_fit_on_the_page():
    snippets = [snippet for idiom in IDIOMS.values() for snippet in idiom.forms.values()]
    assert max(len(line) for snippet in snippets for line in snippet.text.splitlines()) <= 88


def test_checks_that_the_page_names_are_checks():
    named = {name for idiom in IDIOMS.values() for name in re.findall(r"`(\w+_\w+)`", idiom.prose)}
    assert named & {*checks.NAMES} >= {"static_read", "batch_independence"}
    assert named - {*checks.NAMES} == {"scatter_add"}  # of torch


def test_the_table_of_contents_leads_to_every_idiom_and_links_lead_somewhere():
    titles = [title for _, title in HEADING.findall(re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))]
    anchors = [anchor(title) for title in titles]
    assert len(set(anchors)) == len(anchors)
    links = LINK.findall(TEXT)
    assert [(title, anchor(title)) for title in (idiom.title for idiom in IDIOMS.values())] == links


def test_sizes_of_the_cases_are_the_page_s():
    for name in ("WIDTH", "HEIGHT", "ITEMS", "KINDS", "CAPACITY"):
        assert getattr(cases, name) == WORLD.constants[name]
    for case in CASES.values():
        for name in case.gives.keys() & WORLD.fields.keys():
            field = WORLD.fields[name]
            assert case.gives[name] == (str(field.dtype), field.shape)


def test_inputs_reach_what_the_idioms_are_about():
    every = [random_inputs(np.random.default_rng(seed), 1000).fields for seed in range(3)]
    for field in every:
        assert field["wall"].all((1, 2)).any()
        assert not field["live"].all(1).all()
        assert (field["count"] == 0).any()
        assert (field["count"] == cases.CAPACITY).any()
        assert (field["carried"] == -1).any()
        assert (field["debt"] < 0).any()
        assert (np.signbit(field["energy"]) & (field["energy"] == 0)).any()
