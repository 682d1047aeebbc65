"""``simulacrum export-pack``: what it prints, its exit codes, and many files."""

import os
import shutil
import subprocess
import sys
import tracemalloc

import pytest
from environments import FORAGER, TOYWALK
from packed import packed, played, schema_of, tree

from simulacrum import export
from simulacrum.cli import main


@pytest.fixture
def file(tmp_path):
    played(TOYWALK, 20).save(tmp_path / "run.json")
    return tmp_path / "run.json"


def run(*arguments):
    return main(["export-pack", *map(str, arguments)])


def test_it_says_what_it_wrote(file, tmp_path, capsys):
    assert run(schema_of(TOYWALK), file, "-o", tmp_path / "pack") == 0
    out, error = capsys.readouterr()
    assert out == f"1 trajectory of simulacrum/toywalk-v0 in {tmp_path / 'pack'}: 2 episodes, 20 steps\n"
    assert error == ""
    assert export.read(tmp_path / "pack").has_columns


def test_what_is_left_out_or_doubtful_is_said(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(schema_of(TOYWALK), file, file, "-o", tmp_path / "pack") == 0
    error = capsys.readouterr().err.splitlines()
    assert error == [
        f"simulacrum: {file} was given twice: it is taken once",
        'Without columns: pyarrow is not installed (pip install "simulacrum[parquet]").',
    ]
    assert run(schema_of(TOYWALK), file, "-o", tmp_path / "pack", "--columns", "none") == 0
    assert capsys.readouterr().err == ""
    assert run(schema_of(TOYWALK), file, "-o", tmp_path / "pack", "--columns", "parquet") == 2
    assert 'pip install "simulacrum[parquet]"' in capsys.readouterr().err


def bad_inputs(folder, file):
    """Arguments that cannot be taken, each with what the message names."""
    text = file.read_text()
    contents = {
        "empty.json": b"",
        "cut.json": text[: len(text) // 2].encode(),
        "nan.json": text.replace('"reward":-1.0', '"reward":NaN', 1).encode(),
        "inf.json": text.replace('"reward":-1.0', '"reward":1e400', 1).encode(),
        "huge.json": text.replace('"position":', '"position":' + "9" * 5000, 1).encode(),
        "wrong.json": text.replace('"terminated":false', '"terminated":0', 1).encode(),
        "new.json": text.replace('"format":1', '"format":7', 1).encode(),
        "lines.jsonl": b"{}\n",
        "zip.json.gz": b"PK",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        yield (schema_of(TOYWALK), folder / name), f"{folder / name}: "
    played(FORAGER, 3).save(folder / "forager.json")
    yield (schema_of(TOYWALK), folder / "forager.json"), "forager.json: /metadata/id"
    yield (schema_of(FORAGER), file), "run.json: /metadata/id"
    yield (schema_of(TOYWALK), folder / "run.csv"), "run.csv: expected a file name"
    yield (schema_of(TOYWALK), folder / "none.json"), "none.json"
    yield (folder / "none", file), "none"
    yield (file, file), "run.json: /$defs: expected"
    yield (folder, file), str(folder)


def test_bad_input_is_named_and_leaves_nothing(file, tmp_path, capsys):
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    listed = list(bad_inputs(inputs, file))
    assert len(listed) == 16
    run(schema_of(TOYWALK), file, "-o", tmp_path / "old")
    before = tree(tmp_path)
    capsys.readouterr()
    for arguments, message in listed:
        for folder in ("new/pack", "old"):
            assert run(*arguments, "-o", tmp_path / folder) == 2
            error = capsys.readouterr().err
            assert message in error
            assert "Traceback" not in error
            assert tree(tmp_path) == before, message
            assert not (tmp_path / "new").exists()
            assert sorted(path.name for path in tmp_path.iterdir()) == ["inputs", "old", "run.json"]


def test_many_files_are_taken_one_by_one(file, tmp_path, capsys):
    """In memory that does not grow with their number."""
    peaks = []
    for number in (20, 200):
        folder = tmp_path / str(number)
        folder.mkdir()
        files = [shutil.copy(file, folder / f"{index}.json") for index in range(number)]
        tracemalloc.start()
        assert run(schema_of(TOYWALK), *files, "-o", tmp_path / f"pack{number}", "--columns", "none") == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert f"{number} trajectories" in capsys.readouterr().out
    assert peaks[1] < peaks[0] + 180 * 4000  # what a manifest holds of each, and no more
    assert len(list((tmp_path / "pack200" / "flat").iterdir())) == 200


# ---------------------------------------------------------------------- what ends it


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_leaves_nothing(name, file, tmp_path):
    """The signal comes while the pack is built."""
    code = """if True:
        import os, signal, sys, time
        from simulacrum.cli import main
        from simulacrum.export import flat
        def stopped(*_):
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
            time.sleep(60)
        flat.Flat.write = stopped
        sys.exit(main(["export-pack", *sys.argv[2:]]))
    """
    arguments = [name, str(schema_of(TOYWALK)), str(file), "-o", str(tmp_path / "new" / "pack")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (130, "\nInterrupted.\n")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["trajectories/run.json", "columns/run.parquet"])
def test_a_file_that_does_not_fit_is_named(name, file, tmp_path):
    """In a process that may write no file of the size that this one has."""
    sizes = {one: len(data) for one, data in tree(packed(TOYWALK, tmp_path / "p", steps=3)).items()}
    shutil.rmtree(tmp_path / "p")
    played(TOYWALK, 3).save(file)
    bound = sizes[name.replace("run", "one")] - 100
    code = """if True:
        import resource, sys
        import pyarrow.parquet
        from simulacrum.cli import main
        from simulacrum.export import columns
        columns.pyarrow()
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
        sys.exit(main(["export-pack", *sys.argv[2:]]))
    """
    arguments = [str(bound), str(schema_of(TOYWALK)), str(file), "-o", str(tmp_path / "pack")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"simulacrum: {tmp_path / 'pack' / name}: File too large\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_wrong_configuration_names_the_file(file, tmp_path, capsys):
    file.write_text(file.read_text().replace('"configuration":null', '"configuration":"huge"', 1))
    assert run(schema_of(TOYWALK), file, "-o", tmp_path / "pack") == 2
    assert f"simulacrum: {file}: /metadata/configuration: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


def test_a_schema_that_is_a_pipe_is_refused(file, tmp_path, capsys):
    os.mkfifo(tmp_path / "schema.json")
    assert run(tmp_path / "schema.json", file, "-o", tmp_path / "pack") == 2
    assert f"{tmp_path / 'schema.json'}: expected a regular file, got a pipe" in capsys.readouterr().err
