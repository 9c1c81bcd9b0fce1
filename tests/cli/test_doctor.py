"""``hudiformat doctor``."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat
from hudiformat.cli import doctor
from hudiformat.kernels import VARIABLE
from hudiformat.kernels.ahead import Found
from tests.cli.support import Command
from tests.timeline.conftest import GOLDEN, unpacked_table


def test_the_installation_is_described(command: Command) -> None:
    (found,) = command("doctor", "--json").json
    assert (found["hudiformat"], found["byteorder"]) == (hudiformat.__version__, sys.byteorder)
    assert found["python"].startswith(f"CPython 3.{sys.version_info.minor}.")
    assert found["packages"]["pyarrow"] == pa.__version__
    assert {"fastavro", "numba", "sqlglot", "click"} <= set(found["packages"])
    assert "pytest" not in found["packages"]
    assert "table" not in found


def test_a_package_that_is_not_there_is_listed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor, "requires", lambda _: ["pyarrow>=1", "nowhere; extra == 'spark'", "not-ours; extra == 'dev'"]
    )
    (found,) = command("doctor", "--json").json
    assert found["packages"] == {"pyarrow": pa.__version__, "nowhere": None}
    assert "  nowhere: -" in command("doctor").lines


def test_whether_kernels_are_in_use(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    library = object()

    def kernels(setting: str | None, found: Found, *, numba: bool) -> str:
        monkeypatch.delenv(VARIABLE, raising=False)
        if setting is not None:
            monkeypatch.setenv(VARIABLE, setting)
        monkeypatch.setattr(doctor, "find_library", lambda: found)
        monkeypatch.setattr(doctor, "has_numba", lambda: numba)
        return str(command("doctor", "--json").json[0]["kernels"])

    ahead, none, other = Found(library), Found(None, "hudiformat-kernels is not installed"), Found(None, "built for")  # type: ignore[arg-type]  # no library is called
    assert kernels("0", ahead, numba=True) == "not used: HUDIFORMAT_JIT=0"
    assert kernels(None, ahead, numba=True) == "used at once, compiled ahead"
    assert kernels("1", none, numba=True) == "used at once, compiled by numba; hudiformat-kernels is not installed"
    assert kernels(None, other, numba=True) == "used after 128 MB of records, compiled by numba; built for"
    assert kernels("1", other, numba=False) == (
        "not used: numba is not installed, or not for this Python, numpy or machine; built for"
    )


def test_a_table_is_described_without_its_data(command: Command, tmp_path: Path) -> None:
    table = unpacked_table(GOLDEN / "v6-mor-compaction-pending-h120.zip", tmp_path)
    with (table / ".hoodie" / "hoodie.properties").open("a") as file:
        file.write("my.store.password=pepper\n")
    result = command("doctor", "--json", table)
    (found,) = result.json
    properties = found["table"]["properties"]
    assert (result.code, found["table"]["storage"]) == (0, "LocalStorage")
    assert "atomic_create" in found["table"]["can"]
    assert (properties["hoodie.table.version"], properties["my.store.password"]) == ("6", "***")
    assert '"fields"' not in result.out, "no schema"
    assert "pepper" not in result.out
    timeline = found["table"]["timeline"]
    assert timeline["instants"]["compaction REQUESTED"] == 1
    assert [one.endswith("compaction (requested)") for one in timeline["pending"]] == [True]
    lines = command("doctor", table).lines
    assert {"packages", "table", "  properties", "  timeline", "    layout: 1"} <= set(lines)


def test_a_schema_is_counted(command: Command, tmp_path: Path) -> None:
    assert command("create", tmp_path / "t", "--column", "secretly=string", "--record-key", "secretly").code == 0
    (found,) = command("doctor", "--json", tmp_path / "t").json
    assert found["table"]["properties"]["hoodie.table.create.schema"].endswith(" characters")
    assert (found["table"]["timeline"]["first"], found["table"]["timeline"]["last"]) == (None, None)


def test_what_cannot_be_read_is_said_with_the_rest(command: Command, tmp_path: Path) -> None:
    for path, error in ((tmp_path, "is not a Hudi table"), ("nowhere://x", "nowhere")):
        result = command("doctor", "--json", path)
        assert result.code == 1
        assert error in result.json[0]["table"]["error"]
        assert result.json[0]["hudiformat"]
