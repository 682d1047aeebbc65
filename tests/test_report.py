import dataclasses
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fabricated import copy_package, fabricated_report, with_result

from simulacrum.checkout import commit
from simulacrum.errors import SimulacrumError
from simulacrum.harness import checks, fingerprint, keys, places, report
from simulacrum.harness.finding import Finding
from simulacrum.harness.profile import DEFAULT, QUICK
from simulacrum.spec import Package


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    return tmp_path / "state" / "simulacrum"


@pytest.fixture
def folder(tmp_path):
    return copy_package(tmp_path / "toywalk")


def test_the_json_tells_what_was_done_and_on_what(folder):
    made = fabricated_report(folder, DEFAULT.seeded(5))
    with_result(made, "invariant_sweep", counts={"cause at_goal": 7, "cause fell": 2, "states injected": 9})
    with_result(made, "throughput", facts={"speedup": np.float64(250.0), "best": "compiled", "worst": float("inf")})
    path = made.write()
    assert path == folder / "validation_report.json"
    content = json.loads(path.read_bytes(), parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert content["format"] == report.FORMAT
    assert content["package"] == {"id": "tests/toywalk-v0", "name": "toywalk", "path": str(folder)}
    assert (content["outcome"], content["profile"], content["seed"]) == ("passed", "default", 5)
    assert content["totals"] == {
        "transitions": 200,
        "episodes": 6,
        "states injected": 9,
        "terminations": 0,
        "truncations": 0,
        "causes": {"at_goal": 7, "fell": 2},
    }
    assert content["combinations"] == [
        {"form": "tensor", "mode": "eager", "device": "cpu"},
        {"form": "tensor", "mode": "compiled", "device": "cpu"},
    ]
    assert content["throughput"] == {"speedup": 250.0, "best": "compiled", "worst": "inf"}
    assert [check["name"] for check in content["checks"]] == list(checks.NAMES)
    assert content["started"].endswith("+00:00")
    assert content["finished"] >= content["started"]
    taken = fingerprint.take(Package.read(folder))
    assert content["fingerprint"] == taken
    assert fingerprint.KERNEL not in taken["native"]


def test_only_passing_checks_cover(folder):
    made = fabricated_report(folder, covers=[("tensor", "eager", "cpu")])
    with_result(made, "differential", outcome="failed", facts={"covers": [["tensor", "eager", "cuda"]]})
    assert made.as_dict()["combinations"] == [{"form": "tensor", "mode": "eager", "device": "cpu"}]


def test_a_failing_report_is_written_and_says_so(folder):
    content = json.loads(fabricated_report(folder, failed=["replay"]).write().read_text())
    assert content["outcome"] == "failed"
    findings = {check["name"]: check["findings"] for check in content["checks"] if check["findings"]}
    assert findings == {
        "replay": [{"check": "replay", "message": "the sides differ", "seed": 3, "step": 7, "field": "state.position"}]
    }


@pytest.mark.parametrize(
    ("profile", "dropped", "missing"),
    [
        (QUICK, (), "'quick'"),
        (dataclasses.replace(DEFAULT, sizes={1: (1, 10)}), (), "not the whole 'default'"),
        (DEFAULT, ("replay", "throughput"), "did not run: replay, throughput"),
    ],
)
def test_less_than_the_whole_battery_writes_nothing(folder, state, profile, dropped, missing):
    made = fabricated_report(folder, profile)
    made.checks = [check for check in made.checks if check.name not in dropped]
    with pytest.raises(ValueError, match=missing):
        made.write()
    assert not list(folder.glob("validation_report.*"))
    assert not state.exists()


def test_a_report_without_a_fingerprint_is_not_written(folder):
    made = dataclasses.replace(fabricated_report(folder), fingerprint={})
    with pytest.raises(ValueError, match="fingerprint"):
        made.write()


def test_other_devices_are_the_default_battery_all_the_same(folder):
    assert fabricated_report(folder, dataclasses.replace(DEFAULT, devices=("cpu", "cuda"))).write().exists()


def test_the_report_of_a_read_only_package_lies_in_the_state_folder(folder, state, monkeypatch):
    monkeypatch.setattr(places.os, "access", lambda path, mode: False)
    path = fabricated_report(folder).write()
    assert path.is_relative_to(state)
    assert path == places.report_path(folder)
    assert path.with_name("validation_report.sig").exists()
    assert path.with_suffix(".html").exists()
    assert not list(folder.glob("validation_report.*"))


def test_writing_leaves_no_other_file_and_does_not_change_the_digest(folder, state):
    digest = Package.read(folder).digest
    fabricated_report(folder).write()
    written = sorted(file.name for file in folder.glob("validation_report.*"))
    assert written == ["validation_report.html", "validation_report.json", "validation_report.sig"]
    assert sorted(file.suffix for file in state.rglob("*") if file.is_file()) == ["", ".path"]
    assert Package.read(folder).digest == digest


def test_a_write_that_fails_keeps_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "file"
    places.write_atomically(file, b"old")
    monkeypatch.setattr(places.os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        places.write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_text_table_and_page_show_the_same_findings(folder):
    made = fabricated_report(folder)
    finding = Finding("replay", "expected [b]<3>[/b] & got 4", replay="simulacrum validate x")
    with_result(made, "replay", outcome="failed", findings=[finding], notes=["<script>alert(1)</script>"])
    from rich.console import Console

    output = io.StringIO()
    Console(file=output, width=200).print(made.table())
    for shown in (made.text(), output.getvalue()):
        assert "tests/toywalk-v0: failed" in shown
        assert all(name in shown for name in checks.NAMES)
        assert "expected [b]<3>[/b] & got 4" in shown
        assert "simulacrum validate x" in shown
        assert "transitions 200" in shown
        assert "tensor compiled cpu" in shown
    page = made.html()
    assert "expected [b]&lt;3&gt;[/b] &amp; got 4" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "<title>tests/toywalk-v0: failed</title>" in page
    assert "simulacrum validate x" in page
    assert "tensor compiled cpu" in page
    assert not [word for word in ("http:", "https:", "src=", "@import", "url(", "<link") if word in page]


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_commit_is_that_of_the_packages_checkout(tmp_path, folder, monkeypatch):
    assert commit(folder) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "toywalk"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))  # as a hook of another repository has it
    sha = commit(folder)
    assert sha is not None
    assert len(sha) == 40
    (tmp_path / "other.txt").write_text("not the package's")
    assert commit(folder) == sha
    (folder / "fast.py").write_text("x = 1\n")
    assert commit(folder) == f"{sha}-dirty"


def test_neither_json_nor_page_names_the_host(folder, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "host-of-the-test")
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "host-of-the-test", "6", "1", "x86_64")))
    monkeypatch.setenv("HOSTNAME", "host-of-the-test")
    fingerprint.forget()
    path = fabricated_report(folder).write()
    fingerprint.forget()
    assert "host-of-the-test" not in path.read_text() + path.with_suffix(".html").read_text()


def test_the_fingerprint_holds_all_that_can_change_a_bit(folder):
    taken = fingerprint.take(Package.read(folder))
    assert set(taken["package"]) == {file.name for file in folder.iterdir()}
    assert {"__init__.py", "spec.md", "schema.json", "fast.py"} <= set(taken["package"])
    assert {"harness/gate.py", "rng/threefry.pyx", "harness/report_page/style.css"} <= set(taken["framework"])
    assert not [name for name in taken["framework"] if "__pycache__" in name]
    assert list(taken["versions"]) == ["Python", "torch", "torchrl", "tensordict", "gymnasium", "numpy", "Cython"]
    assert "none" not in taken["versions"].values()
    assert {"processor", "instruction set", "C library", "compiler"} <= set(taken["machine"])


def test_every_file_of_the_framework_counts_but_caches(tmp_path, monkeypatch):
    for name in ("a.py", "rng/b.pyx", "templates/c.txt", "rng/__pycache__/b.pyc", ".d.swp", ".git/e"):
        (tmp_path / "framework" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "framework" / name).write_text(name)
    monkeypatch.setattr(fingerprint, "FRAMEWORK", tmp_path / "framework")
    fingerprint.forget()
    found = fingerprint.framework()
    fingerprint.forget()
    assert found == fingerprint.hashes({name: name.encode() for name in ("a.py", "rng/b.pyx", "templates/c.txt")})


def test_native_binaries_count_only_where_they_are_used(monkeypatch):
    fingerprint.forget()
    monkeypatch.setattr(fingerprint.native, "enabled", lambda: False)
    assert fingerprint.binaries() == {}
    fingerprint.forget()
    monkeypatch.setattr(fingerprint.native, "enabled", lambda: True)
    monkeypatch.setattr(fingerprint.native, "checksum", lambda source: source.name)
    assert fingerprint.binaries() == {"rng/threefry.pyx": "threefry.pyx"}
    fingerprint.forget()


def test_a_gpu_is_read_from_proc_or_from_nvidia_smi(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprint, "DRIVER", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert fingerprint._gpu() == {}
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H200, 1.2'\necho 'NVIDIA H200, 1.2'\n")
    program.chmod(0o755)
    assert fingerprint._gpu() == {"GPU": "NVIDIA H200", "GPU driver": "1.2"}
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX Module  535.1\nGCC version: 12\n")
    (tmp_path / "gpus" / "0").mkdir(parents=True)
    (tmp_path / "gpus" / "0" / "information").write_text("Model: \t\t NVIDIA A100\nIRQ: 7\n")
    assert fingerprint._gpu() == {"GPU": "NVIDIA A100", "GPU driver": "NVIDIA UNIX Module  535.1"}


def test_the_key_is_the_accounts_own_and_made_once(state):
    assert keys.existing_key() is None
    with ThreadPoolExecutor(16) as pool:
        made = set(pool.map(lambda _: keys.account_key(), range(64)))
    assert len(made) == 1
    assert len(next(iter(made))) == 32
    file = state / "key"
    assert file.read_bytes() in made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert [path.name for path in state.iterdir()] == ["key"]


def test_a_shared_key_is_read_where_the_variable_says(tmp_path, state, monkeypatch):
    monkeypatch.setenv("SIMULACRUM_KEY_FILE", str(tmp_path / "shared" / "key"))
    key = keys.account_key()
    assert (tmp_path / "shared" / "key").read_bytes() == key
    assert not (state / "key").exists()


def test_a_damaged_key_is_named(state):
    state.mkdir(parents=True)
    (state / "key").write_bytes(b"short")
    with pytest.raises(SimulacrumError, match="damaged"):
        keys.account_key()


def test_a_signature_is_of_these_bytes_with_this_key():
    one, other = b"1" * 32, b"2" * 32
    signature = keys.Signature.parse(keys.sign(b"data", one).to_bytes())
    assert signature is not None
    assert keys.genuine(b"data", signature, one)
    assert not keys.genuine(b"data ", signature, one)
    assert not keys.genuine(b"data", signature, other)
    assert keys.key_id(one) != keys.key_id(other)
    assert one.hex() not in signature.to_bytes().decode()


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff", b'{"key_id": 1, "hmac": "x"}', b"[" * 100_000])
def test_garbage_is_no_signature(data):
    assert keys.Signature.parse(data) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_garbage_is_no_report(data):
    with pytest.raises(ValueError, match=r"Expecting|expected|too deep|codec"):
        report.read(data)


def test_reading_a_report_needs_no_torch():
    code = "import sys, simulacrum.harness.report, simulacrum.harness.gate; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
