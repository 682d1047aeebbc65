import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest
from fabricated import copy_package, fabricated_report, validated

from simulacrum.errors import GateError, PackageError
from simulacrum.harness import fingerprint, keys, places, require_fresh_report
from simulacrum.harness.gate import Refusal, admit
from simulacrum.spec import Package

REPORT, SIGNATURE = "validation_report.json", "validation_report.sig"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    return tmp_path / "state" / "simulacrum"


@pytest.fixture
def folder(tmp_path):
    return validated(copy_package(tmp_path / "walk one"))


def refused(target, **combination):
    """The reason and the message of a refusal."""
    with pytest.raises(GateError) as caught:
        admit(target, **combination)
    assert isinstance(caught.value, gymnasium.error.Error)
    assert f"run: simulacrum validate '{caught.value.args[0].split(' (')[1].split(') does')[0]}'" in str(caught.value)
    return caught.value.reason, str(caught.value)


def rewritten(folder, change):
    """Change the report's content and sign it anew, as if it had been written so."""
    content = json.loads((folder / REPORT).read_text())
    change(content)
    data = json.dumps(content).encode()
    (folder / REPORT).write_bytes(data)
    (folder / SIGNATURE).write_bytes(keys.sign(data, keys.account_key()).to_bytes())


def test_a_fresh_report_admits_by_path_bare_name_and_id(folder, monkeypatch):
    assert require_fresh_report(folder) is True
    assert require_fresh_report(str(folder)) is True
    assert require_fresh_report("walk one") is True
    assert require_fresh_report("tests/toywalk-v0") is True
    monkeypatch.chdir(folder)
    assert admit(".").path == folder
    assert admit(Path("../walk one")).path == folder


def test_what_is_admitted_holds_the_bytes_that_were_compared(folder):
    package = admit(folder)
    before = package.files["reference.py"]
    (folder / "reference.py").write_text("raise RuntimeError('the disk is read again')\n")
    assert package.reference.__name__ == "ToywalkReference"
    assert package.files["reference.py"] == before


def test_touching_files_changes_nothing(folder):
    for file in folder.rglob("*"):
        os.utime(file, (1, 1))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "fast.pyc").write_bytes(b"cache")
    (folder / "failures").mkdir()
    (folder / "failures" / "replay.json").write_text("{}")
    assert require_fresh_report(folder)


def test_a_moved_package_is_the_same_package(folder, tmp_path):
    shutil.move(folder, tmp_path / "moved")
    assert require_fresh_report(tmp_path / "moved")


def test_without_strict_it_warns_and_returns_false(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert require_fresh_report(folder, strict=False) is True
    (folder / REPORT).unlink()
    with pytest.warns(UserWarning, match="NOT VALIDATED: no report.*\n.*simulacrum validate") as caught:
        assert require_fresh_report(folder, strict=False) is False
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="no environment 'nowhere'"):
        assert require_fresh_report("nowhere", strict=False) is False


def test_an_environment_that_is_not_there_is_named():
    with pytest.raises(PackageError, match="no environment 'nowhere'"):
        require_fresh_report("nowhere")


def test_no_report(folder):
    (folder / REPORT).unlink()
    reason, message = refused(folder)
    assert reason is Refusal.NO_REPORT
    assert str(folder / REPORT) in message


@pytest.mark.parametrize("data", [b"", b"{", b"[1, 2]", b"\xff", b"[" * 100_000])
def test_an_unreadable_report(folder, data):
    (folder / REPORT).write_bytes(data)
    assert refused(folder)[0] is Refusal.UNREADABLE


def test_a_report_that_is_a_folder(folder):
    (folder / REPORT).unlink()
    (folder / REPORT).mkdir()
    assert refused(folder)[0] is Refusal.UNREADABLE


def test_a_report_of_an_unknown_format(folder):
    rewritten(folder, lambda content: content.update(format=2))
    reason, message = refused(folder)
    assert reason is Refusal.UNKNOWN_FORMAT
    assert "format 2" in message
    assert "reads 1" in message


@pytest.mark.parametrize("data", [None, b"", b"{}", b"nonsense"])
def test_no_signature(folder, data):
    (folder / SIGNATURE).unlink()
    if data is not None:
        (folder / SIGNATURE).write_bytes(data)
    assert refused(folder)[0] is Refusal.UNSIGNED


def test_a_report_edited_by_hand(folder):
    (folder / REPORT).write_bytes((folder / REPORT).read_bytes() + b" ")
    assert refused(folder)[0] is Refusal.EDITED


def test_a_forged_hmac(folder):
    content = json.loads((folder / SIGNATURE).read_text())
    content["hmac"] = "0" * 64
    (folder / SIGNATURE).write_text(json.dumps(content))
    assert refused(folder)[0] is Refusal.EDITED


@pytest.mark.parametrize("own", [True, False])
def test_a_report_of_another_account(folder, tmp_path, monkeypatch, own):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other account"))
    if own:
        keys.account_key()
    assert refused(folder)[0] is Refusal.OTHER_ACCOUNT
    assert own or not (tmp_path / "other account").exists()  # looking makes no key


def test_a_damaged_key_checks_nothing(folder, state):
    (state / "key").write_bytes(b"short")
    reason, message = refused(folder)
    assert reason is Refusal.OTHER_ACCOUNT
    assert "is damaged" in message


def test_a_shared_key_admits_on_another_account(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMULACRUM_KEY_FILE", str(tmp_path / "cluster key"))
    folder = validated(copy_package(tmp_path / "walk"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other account"))
    assert require_fresh_report(folder)
    monkeypatch.setattr(places.os, "access", lambda path, mode: False)  # and its folder is read-only there
    assert require_fresh_report(folder)


def test_a_read_only_package_has_its_report_in_the_state_folder(tmp_path, state, monkeypatch):
    monkeypatch.setattr(places.os, "access", lambda path, mode: False)
    folder = validated(copy_package(tmp_path / "walk"))
    assert not (folder / REPORT).exists()
    assert require_fresh_report("tests/toywalk-v0")


def test_a_report_of_another_package(folder, tmp_path):
    other = validated(copy_package(tmp_path / "other", "tests/other-v3"))
    for name in (REPORT, SIGNATURE):
        shutil.copy(other / name, folder / name)
    reason, message = refused(folder)
    assert reason is Refusal.OTHER_PACKAGE
    assert "is for tests/other-v3" in message
    assert "tests/toywalk-v0" in message


def test_a_changed_byte_with_the_old_time(folder):
    for name in sorted(Package.read(folder).files):
        data, stat = (folder / name).read_bytes(), (folder / name).stat()
        (folder / name).write_bytes(data[:-1] + b" ")
        os.utime(folder / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        reason, message = refused(folder)
        assert reason is Refusal.PACKAGE_CHANGED
        assert f"validated: changed {name}\n" in message
        (folder / name).write_bytes(data)
        assert require_fresh_report(folder)


def test_added_and_removed_files(folder):
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text("a")
    reason, message = refused(folder)
    assert reason is Refusal.PACKAGE_CHANGED
    assert "validated: added notes/a.txt\n" in message
    shutil.rmtree(folder / "notes")
    (folder / "more.py").write_text("")
    validated(folder)
    (folder / "more.py").unlink()
    assert "validated: removed more.py\n" in refused(folder)[1]


def test_a_raised_version_is_another_id(folder):
    file = folder / "__init__.py"
    file.write_text(file.read_text().replace("toywalk-v0", "toywalk-v1"))
    assert refused(folder)[0] is Refusal.OTHER_PACKAGE


def test_an_id_that_cannot_be_read_is_a_changed_file(folder):
    (folder / "__init__.py").write_text("def (")
    reason, message = refused(folder)
    assert reason is Refusal.PACKAGE_CHANGED
    assert "changed __init__.py" in message


def test_a_failing_report(tmp_path):
    folder = validated(copy_package(tmp_path / "walk one"), failed=["replay", "auto_reset"])
    reason, message = refused(folder)
    assert reason is Refusal.FAILED
    assert "auto_reset, replay" in message


def test_a_report_without_one_of_the_checks_is_no_passing_one(folder):
    rewritten(folder, lambda content: content["checks"].pop())
    reason, message = refused(folder)
    assert reason is Refusal.FAILED
    assert "throughput (did not run)" in message


def test_a_changed_framework(folder, monkeypatch):
    files = {**fingerprint.framework(), "bits.py": "0" * 64, "new.py": "1" * 64}
    monkeypatch.setattr(fingerprint, "framework", lambda: files)
    reason, message = refused(folder)
    assert reason is Refusal.FRAMEWORK_CHANGED
    assert "changed bits.py, added new.py" in message


def test_many_changed_files_are_not_all_named(folder, monkeypatch):
    monkeypatch.setattr(fingerprint, "framework", lambda: {})
    assert refused(folder)[1].count("removed ") == 12
    assert " more\n" in refused(folder)[1]


@pytest.mark.parametrize("name", ["Python", "torch", "torchrl", "tensordict", "gymnasium", "numpy", "Cython"])
def test_another_version(folder, monkeypatch, name):
    now = dict(fingerprint.versions())
    monkeypatch.setattr(fingerprint, "versions", lambda: {**now, name: "99.1"})
    reason, message = refused(folder)
    assert reason is Refusal.VERSION_CHANGED
    assert f": {name} {now[name]} -> 99.1\n" in message


@pytest.mark.parametrize("name", ["processor", "instruction set", "C library", "compiler", "GPU"])
def test_another_machine(folder, monkeypatch, name):
    now = dict(fingerprint.machine())
    monkeypatch.setattr(fingerprint, "machine", lambda: {**now, name: "another"})
    reason, message = refused(folder)
    assert reason is Refusal.OTHER_MACHINE
    assert f"{name} {now.get(name, 'none')} -> another" in message


@pytest.mark.parametrize("now", [{"rng/threefry.pyx": "0" * 64}, {}])
def test_another_native_binary(folder, monkeypatch, now):
    monkeypatch.setattr(fingerprint, "binaries", lambda: {"rng/threefry.pyx": "f" * 64})
    validated(folder)
    monkeypatch.setattr(fingerprint, "binaries", lambda: now)
    assert refused(folder)[0] is Refusal.NATIVE_CHANGED


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"device": "cuda:1"}, "tensor eager cuda;"),
        ({"mode": "compiled"}, "tensor compiled cpu;"),
    ],
)
def test_a_combination_that_is_not_covered(tmp_path, asked, named):
    folder = validated(copy_package(tmp_path / "walk one"), covers=[("tensor", "eager", "cpu")])
    assert admit(folder).path == folder
    assert admit(folder, form=None, device="cuda").path == folder
    reason, message = refused(folder, **asked)
    assert reason is Refusal.NOT_COVERED
    assert f"does not cover {named} it covers: tensor eager cpu" in message


def test_a_form_that_the_package_has_not_is_no_case_for_a_validation(tmp_path):
    folder = validated(copy_package(tmp_path / "walk"), covers=[("tensor", "eager", "cpu")])
    with pytest.raises(GateError) as caught:
        admit(folder, form="kernel", mode="native")
    assert caught.value.reason is Refusal.NOT_COVERED
    assert "does not cover kernel native cpu; it covers: tensor eager cpu" in str(caught.value)
    assert str(caught.value).endswith('there is no kernel form: take form="tensor"')


def test_the_command_keeps_the_devices_that_were_covered(tmp_path):
    folder = validated(copy_package(tmp_path / "walk one"))
    assert refused(folder, device="cuda:1")[1].endswith("' --device cpu --device cuda")
    (folder / "fast.py").write_text("")
    assert refused(folder, device="cuda")[1].endswith("'")
    validated(folder, covers=[("tensor", "eager", "cuda")])
    (folder / "fast.py").write_text("x = 1")
    assert refused(folder)[1].endswith("' --device cuda")


def test_a_report_of_another_device_admits_the_reference(tmp_path):
    folder = validated(copy_package(tmp_path / "walk one"), covers=[("tensor", "eager", "cuda")])
    assert require_fresh_report(folder)
    assert refused(folder)[0] is Refusal.NOT_COVERED


def test_a_change_while_the_battery_runs_is_found(tmp_path):
    folder = copy_package(tmp_path / "walk one")
    made = fabricated_report(folder)
    (folder / "fast.py").write_text((folder / "fast.py").read_text() + "# edited meanwhile\n")
    made.write()
    assert refused(folder)[0] is Refusal.PACKAGE_CHANGED


def test_every_refusal_has_a_test():
    own = Path(__file__).read_text()
    assert [reason.name for reason in Refusal if f"Refusal.{reason.name}" not in own] == []


def test_the_gate_needs_no_torch(folder):
    code = (
        "import sys\nfrom simulacrum.harness import require_fresh_report\n"
        f"require_fresh_report({str(folder)!r})\n"
        "heavy = {'torch', 'torchrl', 'tensordict', 'markdown_it', 'rich', 'Cython'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
