"""What all commands have in common, in this process and in one of their own."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat
from hudiformat.cli import app
from hudiformat.cli.app import run
from hudiformat.codec.log.block import encode_block
from hudiformat.codec.log.build import data_block
from tests.cli.support import DATA, SOUND, Command, start
from tests.codec.log.golden import ARCHIVES, log_files
from tests.effort import sample
from tests.tables import new_table, rows

Log = Callable[[bytes], Path]
COMMANDS = ("blocks", "records", "verify", "salvage")
WITH_OUTPUT = {name: ("-o", "out") if name == "salvage" else () for name in COMMANDS}
every_command = pytest.mark.parametrize("name", COMMANDS)


def many_blocks(count: int) -> bytes:
    return DATA * count


def test_the_version_is_that_of_the_package(command: Command) -> None:
    result = command("--version")
    assert (result.code, result.out) == (0, f"hudiformat, version {hudiformat.__version__}\n")


def test_the_help_names_every_command_and_exit_code(command: Command) -> None:
    result = command("--help")
    assert result.code == 0
    assert all(f"  {name} " in result.out for name in (*COMMANDS, "slices"))
    assert "JSON Lines" in result.out
    assert "1  findings" in result.out
    assert "binary values are hex" in " ".join(result.out.split())


@every_command
def test_the_help_of_a_command_has_examples(command: Command, name: str) -> None:
    result = command(name, "--help")
    assert result.code == 0
    assert f"\n  Examples:\n    hudiformat {name} " in result.out
    assert "--json" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("block",), "No such command 'block'"),
        (("blocks",), "Missing argument 'FILE' (see hudiformat blocks --help)"),
        (("blocks", "--nope", "x"), "No such option"),
        (("records", "--block", "x", "y"), "Invalid value for '--block'"),
        (("records", "--limit", "-1", "y"), "Invalid value for '--limit'"),
        (("salvage", "x"), "Missing option '-o' / '--output'"),
    ],
    ids=str,
)
def test_wrong_usage_is_one_line(command: Command, arguments: tuple[str, ...], message: str) -> None:
    result = command(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("hudiformat: ")
    assert message in result.err
    assert result.err.count("\n") == 1


@every_command
def test_a_missing_file_is_one_line(command: Command, name: str, tmp_path: Path) -> None:
    result = command(name, tmp_path / "none", *WITH_OUTPUT[name])
    assert (result.code, result.out) == (2, "")
    assert result.err == f"hudiformat: cannot read {tmp_path / 'none'}: No such file or directory\n"


@every_command
def test_a_folder_is_refused(command: Command, name: str, tmp_path: Path) -> None:
    result = command(name, tmp_path, *WITH_OUTPUT[name])
    assert (result.code, result.out) == (2, "")
    if name == "verify":  # which takes tables
        assert result.err == f"hudiformat: {tmp_path} is not a Hudi table: it has no folder .hoodie\n"
    else:
        assert (
            result.err == f"hudiformat: {tmp_path} is a folder: expected a log file; whole tables are not taken here\n"
        )


@every_command
def test_a_pipe_is_refused_without_waiting_for_it(command: Command, name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = command(name, tmp_path / "pipe", *WITH_OUTPUT[name])
    assert (result.code, result.out) == (2, "")
    assert "is a pipe or device: expected a log file" in result.err


def test_a_scheme_that_is_not_supported_is_refused(command: Command) -> None:
    result = command("blocks", "nfs4://bucket/log")
    assert (result.code, "cannot open nfs4://bucket" in result.err) == (2, True)


def test_a_full_disk_is_one_line(log: Log, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(app, "_discard_stdout", lambda: None)
    assert run(["blocks", str(log(SOUND))]) == 2
    assert capsys.readouterr().err == "hudiformat: cannot write: No space left on device\n"


@pytest.mark.parametrize("arguments", [("blocks",), ("records", "--json")], ids=" ".join)
def test_a_closed_pipe_ends_the_command_quietly_after_the_first_line(log: Log, arguments: tuple[str, ...]) -> None:
    process = start(*arguments, log(many_blocks(50_000)))
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


# Who runs the tests in the background may have them ignore interrupts, and so all that they start.
INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from hudiformat.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.slow
def test_an_interrupt_ends_the_command_quietly(log: Log) -> None:
    with start("records", log(many_blocks(50_000)), code=INTERRUPTED) as process:
        assert process.stdout is not None
        process.stdout.readline()  # then the pipe fills up, and the process waits
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "")


LARGE = """
import resource, sys
from hudiformat.cli import run
sys.stdout = open("/dev/null", "w")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
assert run([*sys.argv[1:]]) == 0
sys.stderr.write(str(peak() - before))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    sample([("blocks",), ("blocks", "--reverse"), ("verify", "--no-contents"), ("salvage", "-o")], of=2),
    ids=" ".join,
)
def test_a_file_of_200_mb_takes_little_memory(log: Log, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    batch = pa.record_batch({"s": ["x" * 1000] * 1000})
    path = log(encode_block(data_block(batch, instant="1")) * 200)
    target = (tmp_path / "out",) if arguments[-1] == "-o" else ()
    process = start(*arguments, *target, path, code=LARGE)
    kilobytes = int(process.communicate(timeout=60)[1])
    assert process.returncode == 0
    assert kilobytes < 80 << 10


@pytest.mark.parametrize(
    "archive",
    sample([path for path in ARCHIVES if "damaged" in path.stem or "metadata" in path.stem], of=4),
    ids=lambda path: path.stem,
)
def test_golden_files_are_read_by_every_command(command: Command, log: Log, tmp_path: Path, archive: Path) -> None:
    for data in log_files(archive).values():
        path, target = log(data), tmp_path / "out"
        found = command("blocks", "--json", path)
        sound = [block for block in found.json if block["type"] != "CORRUPT"]
        damaged = len(sound) < len(found.json)
        assert found.code == int(damaged)
        assert [block["offset"] for block in found.json][:1] in ([0], [])
        records = command("records", "--json", path)
        assert records.code == int(damaged)
        assert len(records.json) == sum(block["records"] for block in sound)
        assert command("verify", path).code == int(damaged)
        report = command("salvage", "--json", path, "-o", target).json[0]
        assert report["blocks"] == len(sound) + len(report["recovered"])
        target.unlink()


def test_there_are_golden_files_with_damage() -> None:
    assert zipfile.is_zipfile(ARCHIVES[0])
    assert sum("damaged" in path.stem for path in ARCHIVES) > 5


def test_without_a_command_there_is_help(command: Command) -> None:
    result = command()
    assert (result.code, result.err) == (0, "")
    assert result.out == command("--help").out


def test_every_command_is_imported_when_it_is_asked_for(command: Command) -> None:
    listed = command("--help").out.partition("Commands:\n")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
    assert names == sorted(names)
    assert len(names) >= 21
    for name in names:
        result = command(name, "--help")
        assert result.code == 0
        assert result.out.startswith(f"Usage: hudiformat {name} ")


def test_the_help_needs_no_arrow() -> None:
    code = "import sys; from hudiformat.cli import run; run(['--help']); sys.exit('pyarrow' in sys.modules)"
    process = start(code=code)
    assert "Commands:" in process.communicate(timeout=60)[0]
    assert process.returncode == 0


def test_a_shell_completes_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_HUDIFORMAT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "hudiformat re")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert run([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"plain,{name}" for name in ("read", "records", "repair", "report", "restore")
    ]


def test_an_argument_that_is_not_text_is_an_error_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, "x", 1)))
    assert run(["read", "--where", "p = '\udcff'", table.path]) == 2
    assert capsys.readouterr().err.endswith("a locale of UTF-8, or PYTHONUTF8=1, takes all names\n")
