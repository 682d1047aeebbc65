"""Native helpers: built once, cached by content, checked before they load, and missed by nobody."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulacrum import native
from simulacrum.errors import BuildError

GOOD = "def answer():\n    return 42\n"
BROKEN = "def answer(:\n"

pytestmark = pytest.mark.skipif(native.compiler() is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A cache, and a source whose binary lies in it."""
    folder = tmp_path_factory.mktemp("native")
    source = folder / "helper.pyx"
    source.write_text(GOOD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        native.build(source)
    return folder


@pytest.fixture
def source(built, monkeypatch):
    """That source, with that cache in use."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(built / "cache"))
    return built / "helper.pyx"


@pytest.fixture
def no_builds(monkeypatch):
    """Any command that is run is an error."""

    def refused(command, *arguments):
        raise AssertionError(f"ran {command}")

    monkeypatch.setattr(native, "_run", refused)


def test_a_helper_is_built_and_loads(source):
    assert native.load(source).answer() == 42


def test_binaries_lie_in_the_cache_and_nothing_else(source, built):
    binary = native.binary_path(source)
    assert binary.parent == built / "cache" / "simulacrum" / "native"
    assert sorted(path.name for path in binary.parent.iterdir()) == [binary.name, f"{binary.name}.sha256"]
    assert native.checksum(source) == Path(f"{binary}.sha256").read_text()


def test_without_a_cache_of_its_own_the_homes_is_used(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/somewhere")
    assert native.cache_directory() == Path("/somewhere/.cache/simulacrum/native")


def test_a_binary_is_built_once(source, no_builds):
    assert native.load(source).answer() == 42
    copy = source.with_name("elsewhere")
    copy.mkdir(exist_ok=True)
    (copy / "helper.pyx").write_text(GOOD)
    assert native.load(copy / "helper.pyx").answer() == 42


@pytest.mark.parametrize("what", ["FLAGS", "processor", "compiler_version"])
def test_a_binary_is_named_by_all_that_makes_it(source, monkeypatch, what):
    before = native.binary_path(source)
    other = (*native.FLAGS, "-DX") if what == "FLAGS" else lambda: "another"
    monkeypatch.setattr(native, what, other)
    assert native.binary_path(source) != before


def test_a_changed_source_is_another_binary(source, tmp_path):
    changed = tmp_path / "helper.pyx"
    changed.write_text(GOOD + "# changed\n")
    assert native.binary_path(changed) != native.binary_path(source)


def test_a_binary_that_was_changed_does_not_load(source):
    binary = native.binary_path(source)
    whole = binary.read_bytes()
    binary.unlink()  # a mapped file is not to be written
    binary.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    try:
        with pytest.raises(BuildError, match=r"is not what was built \(sha256 .*\): delete it"):
            native.load(source)
    finally:
        binary.unlink()
        binary.write_bytes(whole)


def test_building_again_gives_the_same_bytes(source, tmp_path, monkeypatch):
    before = native.checksum(source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert native.checksum(source) == before


def test_a_binary_without_its_checksum_is_built_again(source, no_builds):
    sidecar = Path(f"{native.binary_path(source)}.sha256")
    text = sidecar.read_text()
    sidecar.unlink()
    try:
        with pytest.raises(AssertionError, match="ran"):
            native.build(source)
    finally:
        sidecar.write_text(text)


def test_a_source_that_does_not_compile_is_an_error_that_says_why(source, tmp_path):
    broken = tmp_path / "broken.pyx"
    broken.write_text(BROKEN)
    with pytest.raises(BuildError, match=r"(?s)building .*broken\.pyx failed: .*cython.*broken\.pyx:1:11"):
        native.build(broken)
    assert not native.binary_path(broken).exists()


def test_without_a_compiler_nothing_is_enabled_and_a_build_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(native, "compiler", lambda: None)
    monkeypatch.setattr(native, "compiler_version", lambda: "none")
    assert not native.enabled()
    helper = tmp_path / "helper.pyx"
    helper.write_text(GOOD)
    with pytest.raises(BuildError, match=r"no C compiler: install one \(cc\), or set SIMULACRUM_NATIVE=0"):
        native.build(helper)


def test_one_variable_switches_all_helpers_off(monkeypatch):
    monkeypatch.delenv("SIMULACRUM_NATIVE", raising=False)
    assert native.enabled()
    monkeypatch.setenv("SIMULACRUM_NATIVE", "0")
    assert not native.enabled()


def test_the_compiler_is_the_environments():
    program = "from simulacrum import native; print(native.compiler(), native.compiler_version(), native.enabled())"
    for name, expected in ((sys.executable, f"{sys.executable} Python"), ("no-such-compiler", "None none False")):
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "CC": name}, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(expected)


def test_the_processor_is_named():
    model, flags = native.processor()
    assert model
    assert flags
