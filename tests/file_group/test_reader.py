"""File slices are read, damaged ones as asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudiformat import CorruptBlockError, CorruptTableError, DecodeError, HudiFormatWarning, StorageError, open_table
from tests.tables import NAMES, SCHEMA, GoldenTable, Row, content, data_files, multiset, new_table, rows

DAMAGED = [name for name in NAMES if name.startswith(("v6-mor-damaged-h0150-", "v9-mor-damaged-h120-"))]
SKIP, FAIL = {"hudiformat.damage": "skip"}, {"hudiformat.damage": "fail"}


@pytest.mark.parametrize("name", DAMAGED)
def test_corrupt_blocks_are_passed_over_as_by_hudi_or_fail(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    expected = multiset(case.answer("expected/snapshot.parquet"))
    assert multiset(open_table(case.table).snapshot()) == expected
    if "empty-file" in name:  # nothing is left that could be damaged
        assert multiset(open_table(case.table, options=FAIL).snapshot()) == expected
        return
    with pytest.raises(CorruptBlockError, match=r"bytes are no block: .*; Hudi passes over them"):
        open_table(case.table, options=FAIL).snapshot()
    with pytest.warns(HudiFormatWarning, match=r"lost to damage: \d+ bytes at byte \d+, which are no block"):
        found = open_table(case.table, options=SKIP).snapshot()
    assert multiset(found) == expected


@pytest.mark.parametrize("options", [FAIL, SKIP])
def test_a_sound_table_is_read_alike(golden: Callable[[str], GoldenTable], options: dict[str, str]) -> None:
    case = golden("v9-mor-damaged-h120")
    found = open_table(case.table, options=options).snapshot()  # and a warning would be an error
    assert multiset(found) == multiset(case.answer("expected/snapshot.parquet"))


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """A base file with a and b, and log files for a, for b and c, and a delete of b."""
    table = new_table(tmp_path / "table", partition_by=[], options={"hoodie.index.type": "INMEMORY"})
    table.bulk_insert(rows(("a", 1, None, 1), ("b", 1, None, 1)))
    table.upsert(rows(("a", 2, None, 2)))
    table.upsert(rows(("b", 3, None, 3), ("c", 3, None, 3)))
    return tmp_path / "table"


def files(root: Path, suffix: str) -> list[Path]:
    return sorted(root / path for path in data_files(root) if suffix in path)


def read(root: Path, lost: str) -> list[Row]:
    """The rows with SKIP, which warns of what is *lost*."""
    with pytest.warns(HudiFormatWarning, match=f"lost to damage: {lost}"):
        return content(open_table(root, options=SKIP), ("k", "v"))


def test_a_block_that_is_damaged_inside(merged: Path) -> None:
    newest = files(merged, ".log.")[-1]
    newest.write_bytes(newest.read_bytes().replace(b"\x02b", b"\x02\xff"))
    with pytest.raises(DecodeError):
        open_table(merged).snapshot()
    assert read(merged, "the AVRO_DATA block of the instant .*, damaged inside") == [("a", 2), ("b", 1)]


def test_a_base_file_that_is_damaged(merged: Path) -> None:
    [base] = files(merged, ".parquet")
    base.write_bytes(base.read_bytes()[:-9])
    with pytest.raises(CorruptTableError):
        open_table(merged).snapshot()
    assert read(merged, "all rows from row 0 on") == [("a", 2), ("b", 3), ("c", 3)]
    with pytest.warns(HudiFormatWarning, match="all rows from row 0 on"):
        assert open_table(merged, options=SKIP).read_optimized().num_rows == 0


def test_files_that_are_not_there(merged: Path) -> None:
    """They are found missing where a plan or a metadata table names them."""
    table = open_table(merged, options=SKIP)
    [found] = table.file_slices()
    files(merged, ".log.")[-1].unlink()
    with pytest.warns(HudiFormatWarning, match="all of its records, as it cannot be opened"):
        left = table.slice_reader().read(table._context.storage, found, columns=["k", "v"])
    assert sorted(left.to_pydict()["k"]) == ["a", "b"]
    with pytest.raises(StorageError):
        open_table(merged).slice_reader().read(table._context.storage, found)


def test_a_compaction_never_goes_on_past_damage(merged: Path) -> None:
    newest = files(merged, ".log.")[-1]
    newest.write_bytes(newest.read_bytes().replace(b"\x02b", b"\x02\xff"))
    with pytest.raises(DecodeError):
        open_table(merged, options=SKIP).compact()


def test_what_is_damaged_may_be_filtered(merged: Path) -> None:
    [base] = files(merged, ".parquet")
    base.write_bytes(b"PAR1")
    with pytest.warns(HudiFormatWarning, match="lost to damage"):
        found = open_table(merged, options=SKIP).snapshot(filter=pc.field("k") == "c", columns=["v"])
    assert found == pa.table({"v": pa.array([3], pa.int32())})


def test_a_table_without_meta_fields_makes_its_keys_from_the_columns(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    table.upsert(rows(("a", 2, "x", 3)))
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    key = "hoodie.populate.meta.fields"
    properties.write_text(properties.read_text().replace(f"{key}=true", f"{key}=false"))
    table = open_table(tmp_path / "t")
    assert table.snapshot().column_names == SCHEMA.names
    assert content(table) == [("a", 2, "x", 3), ("b", 1, "x", 2)]
