"""What a filter says of record keys is asked before merging: the rows are the same, and less is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hudiformat import HudiFormatError, StorageError, open_table
from hudiformat.basefile import BLOOM_FILTER, BloomFilter, KeyFilter, scan_base_rows
from hudiformat.storage import LocalStorage
from tests.tables import GoldenTable, content, data_files, multiset, new_table, rows

KEY = pc.field("_hoodie_record_key")
TABLES = (
    "v6-cow-duplicates-h0150",
    "v6-mor-hfilelog-h120",
    "v6-mor-logcompaction-h0150",
    "v6-mor-parquetlog-h0150",
    "v6-mor-partial-payload-h0150",
    "v9-mor-commit-time-h120",
    "v9-mor-emptied-h120",
    "v9-mor-evolved-h120",
    "v9-mor-log-only-h120",
    "v9-mor-no-positions-h120",
    "v9-mor-partial-update-h120",
    "v9-mor-positions-h120",
)
"""Tables that are merged in many ways."""


@pytest.mark.parametrize("name", TABLES)
def test_the_rows_are_those_that_are_filtered_afterwards(name: str, golden: Callable[[str], GoldenTable]) -> None:
    root = golden(name).table
    table = open_table(root)
    everything = table.snapshot()
    keys = sorted(everything["_hoodie_record_key"].to_pylist())
    some = [*keys[:: max(len(keys) // 3, 1)], "not there"]
    for condition in (KEY.isin(some), some[len(some) // 2] < KEY):
        expected = multiset(everything.filter(condition))
        assert multiset(table.snapshot(filter=condition)) == expected, condition
    small = open_table(root, options={"hoodie.memory.merge.max.size": "64"})
    assert multiset(small.snapshot(filter=KEY.isin(some))) == multiset(everything.filter(KEY.isin(some))), "on disk"


def test_an_equality_of_the_key_and_another_condition(tmp_path: Path) -> None:
    table = new_table(tmp_path / "table", partition_by=[])
    table.insert(rows(*((f"k{i}", 1, None, i) for i in range(9))))
    table.upsert(rows(("k3", 2, None, 33), ("k4", 0, None, 44)))
    table.delete(rows(("k5", 0, None, 0)))
    k, v = pc.field("k"), pc.field("v")
    both = k.isin(["k3", "k4", "k5", "k6"])
    assert content(table, filter=both & (v > 4)) == [("k3", 2, None, 33), ("k6", 1, None, 6)]
    assert content(table, ("v",), filter=both & (v <= 4)) == [(4,)]
    assert content(table, ("v",), filter=(k == "k3") & (v == 3)) == []


def test_a_base_file_whose_bloom_filter_has_none_of_the_keys_is_left_alone(tmp_path: Path) -> None:
    """All but the footer can be gone."""
    table = new_table(tmp_path / "table", partition_by=[])
    table.insert(rows(*((f"k{i}", 1, None, i) for i in range(9))))
    [name] = [path for path in data_files(tmp_path / "table") if path.endswith(".parquet")]
    damaged = bytearray((tmp_path / "table" / name).read_bytes())
    damaged[4:600] = bytes(596)
    (tmp_path / "table" / name).write_bytes(damaged)
    assert content(table, filter=pc.field("k") == "k33") == []
    with pytest.raises(HudiFormatError):
        table.snapshot(filter=pc.field("k") == "k3")


SCHEMA = pa.schema([("_hoodie_record_key", pa.string()), ("n", pa.int64())])
ROWS = pa.table({"_hoodie_record_key": [f"k{i:02d}" for i in range(30)], "n": list(range(30))})


def found(folder: Path, where: KeyFilter, *, may_hold: pc.Expression | None = None) -> list[tuple[int, int]]:
    parts = scan_base_rows(
        LocalStorage(str(folder)), "f.parquet", SCHEMA, pa.schema([]), where=where, may_hold=may_hold, batch_rows=4
    )
    return [
        pair
        for part in parts
        for pair in zip(part.numbers.tolist(), pa.Table.from_batches(part.read())["n"].to_pylist(), strict=True)
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
    write(tmp_path, **{BLOOM_FILTER: text})
    assert found(tmp_path, KeyFilter(KEY == "k01", frozenset(["k01"]))) == expected
    assert found(tmp_path, KeyFilter(KEY == "k01")) == [(1, 1)], "it is not known which keys"


def test_a_file_without_keys_cannot_be_asked_for_any(tmp_path: Path) -> None:
    write(tmp_path, ROWS.drop_columns(["_hoodie_record_key"]).slice(0, 2))
    assert found(tmp_path, KeyFilter(KEY == "k01")) == [(0, 0), (1, 1)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        found(tmp_path, KeyFilter(KEY == "k01"))
