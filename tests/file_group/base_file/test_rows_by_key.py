"""Rows of a base file that have certain keys."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudiformat import StorageError
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER, BloomFilter
from hudiformat.file_group.base_file.filters import FileFilter, KeyFilter
from hudiformat.file_group.base_file.read import scan_base_rows
from hudiformat.storage.local import LocalStorage

KEY = pc.field("_hoodie_record_key")
SCHEMA = pa.schema([("_hoodie_record_key", pa.string()), ("n", pa.int64())])
ROWS = pa.table({"_hoodie_record_key": [f"k{i:02d}" for i in range(30)], "n": list(range(30))})


def found(folder: Path, where: KeyFilter, *, may_hold: pc.Expression | None = None) -> list[tuple[int, int]]:
    pushed = None if may_hold is None else FileFilter.of(may_hold, SCHEMA)
    parts = scan_base_rows(
        LocalStorage(str(folder)), "f.parquet", SCHEMA, pa.schema([]), where=where, may_hold=pushed, batch_rows=4
    )
    return [
        pair
        for part in parts
        for pair in zip(list(part.numbers), pa.Table.from_batches(part.read())["n"].to_pylist(), strict=True)
    ]


def write(folder: Path, table: pa.Table = ROWS, **metadata: str) -> None:
    table = table.replace_schema_metadata(metadata)
    pq.write_table(table, folder / "f.parquet", row_group_size=10)


def test_rows_come_with_their_numbers(tmp_path: Path) -> None:
    write(tmp_path)
    assert found(tmp_path, KeyFilter(KEY.isin(["k05", "k27", "k29"]))) == [(5, 5), (27, 27), (29, 29)]
    assert found(tmp_path, KeyFilter(KEY > "k27"), may_hold=pc.field("n") < 10) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [(BloomFilter.of(pa.array(["k02"])).serialize(), []), ("no filter", [(1, 1)]), ("AAAA", [(1, 1)])],
)
def test_a_bloom_filter_that_can_be_read_decides(tmp_path: Path, text: str, expected: list[tuple[int, int]]) -> None:
    write(tmp_path, ROWS, **{BLOOM_FILTER: text})
    assert found(tmp_path, KeyFilter(KEY == "k01", frozenset(["k01"]))) == expected
    assert found(tmp_path, KeyFilter(KEY == "k01")) == [(1, 1)], "it is not known which keys"


def test_a_file_without_keys_cannot_be_asked_for_any(tmp_path: Path) -> None:
    write(tmp_path, ROWS.drop_columns(["_hoodie_record_key"]).slice(0, 2))
    assert found(tmp_path, KeyFilter(KEY == "k01")) == [(0, 0), (1, 1)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        found(tmp_path, KeyFilter(KEY == "k01"))
