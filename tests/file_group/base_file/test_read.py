"""Base files read whole, in batches, or as rows of which some columns are read first."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat.errors import CorruptTableError, HudiFormatError, SchemaError, StorageError
from hudiformat.file_group.base_file.filters import FileFilter, KeyFilter
from hudiformat.file_group.base_file.parquet import PARQUET, ParquetBaseFile
from hudiformat.file_group.base_file.read import (
    _LaterColumns,
    read_base_file,
    read_file_keys,
    scan_base_file,
    scan_base_rows,
    to_base_rows,
)
from hudiformat.schema.meta_fields import meta_schema
from hudiformat.storage.local import LocalStorage
from tests.codec.parquet.support import with_fewer_values
from tests.effort import BUSY, examples
from tests.file_group.base_file.support import AVRO, SCHEMA, encode_base_file, table

ROWS = pa.table(
    {"k": [f"k{i}" for i in range(25)], "n": pa.array(range(25), pa.int32()), "t": ["x" * i for i in range(25)]}
)
ALL_COLUMNS = pa.schema([("n", pa.int64()), ("new", pa.string()), ("k", pa.string()), ("t", pa.string())])
EXPECTED = pa.table(
    {"n": pa.array(range(25), pa.int64()), "new": pa.nulls(25, pa.string()), "k": ROWS["k"], "t": ROWS["t"]},
    schema=ALL_COLUMNS,
)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> LocalStorage:
    root = tmp_path_factory.mktemp("rows")
    pq.write_table(ROWS, root / "f.parquet", row_group_size=10)
    return LocalStorage(str(root))


heads = st.sampled_from([["k"], ["k", "n"], ["new"], ["t", "k"], ["n", "new", "k", "t"], []])


@settings(max_examples=40)
@given(head=heads, wanted=st.sets(st.integers(0, 12)), batch_rows=st.integers(1, 12), columns=heads)
def test_the_other_columns_of_any_rows_are_read_on_request(
    scanned: LocalStorage, head: list[str], wanted: set[int], batch_rows: int, columns: list[str]
) -> None:
    schema = pa.schema([ALL_COLUMNS.field(name) for name in columns])
    first = pa.schema([ALL_COLUMNS.field(name) for name in head])
    for number, part in enumerate(scan_base_rows(scanned, "f.parquet", schema, first, batch_rows=batch_rows)):
        start, count = int(part.numbers[0]), len(part.numbers)
        assert list(part.numbers) == list(range(start, start + count))
        assert part.head.to_pylist() == EXPECTED.select(head).slice(start, count).to_pylist()
        if number in wanted:
            found = pa.Table.from_batches(part.read(), schema)
            assert found.num_rows == count
            assert found.to_pylist() == EXPECTED.select(columns).slice(start, count).to_pylist()


def test_columns_of_row_groups_that_are_not_requested_are_not_read(scanned: LocalStorage, tmp_path: Path) -> None:
    file = pq.ParquetFile(Path(scanned.root) / "f.parquet")
    column = file.metadata.row_group(1).column(2)
    damaged = bytearray((Path(scanned.root) / "f.parquet").read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    damaged[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    (tmp_path / "f.parquet").write_bytes(damaged)
    parts = scan_base_rows(LocalStorage(str(tmp_path)), "f.parquet", ALL_COLUMNS, pa.schema([ALL_COLUMNS.field("k")]))
    found = [next(iter(part.read())).num_rows for part in parts if 10 not in part.numbers]
    assert found == [10, 5]
    parts = scan_base_rows(LocalStorage(str(tmp_path)), "f.parquet", ALL_COLUMNS, pa.schema([ALL_COLUMNS.field("k")]))
    with pytest.raises(CorruptTableError, match="not a readable base file"):
        [list(part.read()) for part in parts]


def test_batches_are_numbered() -> None:
    parts = list(to_base_rows(ROWS.to_batches(10)))
    assert [list(part.numbers) for part in parts] == [list(range(10)), list(range(10, 20)), list(range(20, 25))]
    assert [list(part.read()) for part in parts] == [[batch] for batch in ROWS.to_batches(10)]


def test_a_column_that_ends_before_the_others() -> None:
    later = _LaterColumns("f.parquet", iter(ROWS.to_batches(20)), ROWS.schema)
    assert [batch.num_rows for batch in later.next_rows(24)()] == [20, 4]
    with pytest.raises(CorruptTableError, match="a column ends before the others do, at row 25"):
        list(later.next_rows(2)())


def test_rows_are_read_as_they_were_written(storage: LocalStorage) -> None:
    rows = table(["a", "b"])
    storage.create("p/f.parquet", encode_base_file(rows, AVRO).to_pybytes())
    assert read_base_file(storage, "p/f.parquet", rows.schema).equals(rows)


def test_some_columns_in_the_requested_order(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b"]), AVRO).to_pybytes())
    read = read_base_file(storage, "f.parquet", meta_schema(SCHEMA), columns=["n", "k"])
    assert read.to_pydict() == {"n": [0, 1], "k": ["a", "b"]}
    assert list(read.to_pydict()) == ["n", "k"]


def test_no_column_at_all_keeps_the_number_of_rows(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b"]), AVRO).to_pybytes())
    assert read_base_file(storage, "f.parquet", meta_schema(SCHEMA), columns=[]).num_rows == 2


def test_batches_without_columns_have_no_more_rows_than_others(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b", "c"]), AVRO).to_pybytes())
    with PARQUET.open(storage, "f.parquet") as file:
        assert [batch.num_rows for batch in file.batches([], batch_rows=2)] == [2, 1]


def test_a_column_that_the_file_does_not_have_yet_is_null(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b"]), AVRO).to_pybytes())
    newer = SCHEMA.append(pa.field("new", pa.decimal128(5, 2)))
    assert read_base_file(storage, "f.parquet", newer)["new"].to_pylist() == [None, None]
    assert read_base_file(storage, "f.parquet", newer, columns=["new"]).to_pydict() == {"new": [None, None]}


def test_types_are_promoted_to_the_tables(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a"]), AVRO).to_pybytes())
    wider = pa.schema([pa.field("n", pa.float64()), pa.field("t", pa.binary())])
    assert read_base_file(storage, "f.parquet", wider).to_pydict() == {"n": [0.0], "t": [b"x"]}


def test_a_type_that_cannot_be_promoted_is_refused(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a"]), AVRO).to_pybytes())
    with pytest.raises(SchemaError, match="column t"):
        read_base_file(storage, "f.parquet", pa.schema([pa.field("t", pa.int64())]))


def test_decimals_and_lists_survive(storage: LocalStorage) -> None:
    schema = pa.schema([*table([]).schema, pa.field("d", pa.decimal128(12, 3)), pa.field("l", pa.list_(pa.string()))])
    rows = table(["a", "b"])
    rows = rows.append_column(schema.field("d"), pa.array([Decimal("1.5"), None], pa.decimal128(12, 3)))
    rows = rows.append_column(schema.field("l"), pa.array([["x", None], []], pa.list_(pa.string())))
    storage.create("f.parquet", encode_base_file(rows, AVRO).to_pybytes())
    assert read_base_file(storage, "f.parquet", schema).equals(rows)


def test_a_missing_file_is_a_storage_error(storage: LocalStorage) -> None:
    with pytest.raises(StorageError, match="f.parquet"):
        read_base_file(storage, "f.parquet", SCHEMA)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 20, b"no Parquet at all, but long enough"])
def test_a_file_that_is_no_parquet_is_named(storage: LocalStorage, data: bytes) -> None:
    storage.create("p/f.parquet", data)
    with pytest.raises(CorruptTableError, match="p/f.parquet: not a readable base file") as caught:
        read_base_file(storage, "p/f.parquet", SCHEMA)
    assert caught.value.path == "p/f.parquet"


@settings(suppress_health_check=[*BUSY, HealthCheck.function_scoped_fixture], max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_damage_raises_only_our_errors(storage: LocalStorage, data: st.DataObject) -> None:
    content = bytearray(encode_base_file(table(["a", "b", "c"]), AVRO).to_pybytes())
    content = content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))]
    for _ in range(data.draw(st.integers(0, 3)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    storage.create("f.parquet", bytes(content), overwrite=True, sync=False)
    with contextlib.suppress(HudiFormatError):
        assert read_base_file(storage, "f.parquet", meta_schema(SCHEMA)).num_rows == 3


def test_rows_are_not_lost_where_a_column_says_that_it_has_fewer(storage: LocalStorage) -> None:
    sound = encode_base_file(table(["a", "b", "c"]), AVRO).to_pybytes()
    for column in range(len(meta_schema(SCHEMA))):
        storage.create("f.parquet", with_fewer_values(sound, column), overwrite=True)
        with pytest.raises(CorruptTableError, match="f.parquet: .*expected 3 rows, .*, found 0") as caught:
            read_base_file(storage, "f.parquet", meta_schema(SCHEMA))
        assert caught.value.path == "f.parquet"


def test_a_damaged_file_is_found_while_it_is_scanned(storage: LocalStorage) -> None:
    storage.create("f.parquet", b"PAR1 and no more")
    with pytest.raises(CorruptTableError, match=r"f\.parquet: not a readable base file"):
        list(scan_base_file(storage, "f.parquet", SCHEMA))


def test_a_scan_refuses_a_type_that_cannot_be_promoted(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a"]), AVRO).to_pybytes())
    with pytest.raises(SchemaError, match="column t"):
        list(scan_base_file(storage, "f.parquet", pa.schema([pa.field("t", pa.int64())])))


def test_junk_is_no_base_file(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"junk")
    with pytest.raises(CorruptTableError, match="not a readable base file"):
        read_file_keys(LocalStorage(tmp_path), "f.parquet")


def test_a_bloom_filter_rules_out_all_row_groups(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "c"]), AVRO).to_pybytes())
    schema = meta_schema(SCHEMA)
    for key, expected in (("a", ["a"]), ("b", [])):
        where = KeyFilter(pc.field("_hoodie_record_key") == key, frozenset([key]))
        parts = scan_base_rows(storage, "f.parquet", schema, pa.schema([]), where=where)
        assert [name for part in parts for name in part.head["_hoodie_record_key"].to_pylist()] == expected


def test_rows_that_match_keep_their_numbers(storage: LocalStorage) -> None:
    storage.create("f.parquet", encode_base_file(table(["a", "b", "c"]), AVRO).to_pybytes())
    where = KeyFilter(pc.field("_hoodie_record_key") != "a")
    parts = scan_base_rows(storage, "f.parquet", SCHEMA, pa.schema([]), where=where, batch_rows=2)
    found = [(list(part.numbers), [row["k"] for batch in part.read() for row in batch.to_pylist()]) for part in parts]
    assert found == [([1], ["b"]), ([2], ["c"])]


def test_more_rows_than_can_have_keys_of_their_own_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": pa.nulls(10**6, pa.string())}), tmp_path / "f.parquet")
    with pytest.raises(
        CorruptTableError, match="1000000 rows in .* bytes: rows with different record keys take more space"
    ):
        read_base_file(LocalStorage(tmp_path), "f.parquet", SCHEMA)


@pytest.mark.parametrize(
    ("condition", "rows", "read"),
    [
        (pc.field("n") == 7000, [7000], {"n": 1, "t": 1}),
        (pc.field("n") < 0, [], {}),
        (pc.field("m") == 8, [4, 5004, 10_004], {"m": 3, "n": 3, "t": 3}),
        (pc.field("m") == 7, [], {"m": 3}),
        ((pc.field("m") == 8) & (pc.field("n") > 8000), [10_004], {"m": 2, "n": 2, "t": 1}),
    ],
    ids=str,
)
def test_the_columns_of_a_filter_are_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: pc.Expression, rows: list[int], read: dict[str, int]
) -> None:
    numbers = list(range(15_000))
    content = pa.table({"n": numbers, "m": [one % 5000 * 2 for one in numbers], "t": [str(one) for one in numbers]})
    pq.write_table(content, tmp_path / "f.parquet", row_group_size=5000)
    seen: Counter[str] = Counter()

    def batches(self: ParquetBaseFile, names: list[str], **options: Any) -> Iterator[pa.RecordBatch]:
        seen.update(names)
        return stored(self, names, **options)

    stored = ParquetBaseFile.batches
    monkeypatch.setattr(ParquetBaseFile, "batches", batches)
    filter_ = FileFilter.of(condition, content.schema)
    schema = content.schema.remove(content.schema.get_field_index("m"))
    found = read_base_file(LocalStorage(str(tmp_path)), "f.parquet", schema, may_hold=filter_)
    assert found["n"].to_pylist() == rows
    assert found["t"].to_pylist() == [str(one) for one in rows]
    assert seen == read


def test_a_value_that_cannot_be_tested_is_left_to_whoever_filters_the_rows(tmp_path: Path) -> None:
    content = pa.table({"n": list(range(5000)), "t": [str(one) for one in range(4999)] + ["x"]})
    pq.write_table(content, tmp_path / "f.parquet")
    filter_ = FileFilter.of(pc.field("t").cast(pa.int64()) == 3, content.schema)
    assert read_base_file(LocalStorage(str(tmp_path)), "f.parquet", content.schema, may_hold=filter_).num_rows == 5000


def test_all_columns_are_read_at_once_of_row_groups_with_few_rows_to_replace(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "f.parquet", row_group_size=20)
    storage, head = LocalStorage(str(tmp_path)), ALL_COLUMNS.empty_table().select(["n"]).schema
    parts = scan_base_rows(storage, "f.parquet", ALL_COLUMNS, head, replaced=10)
    found = [(part.head.schema.names, [*part.read()]) for part in parts]
    assert [names for names, _ in found] == [ALL_COLUMNS.names, ["n"]]
    assert pa.Table.from_batches([batch for _, batches in found for batch in batches]) == EXPECTED
