"""File slices that statistics rule out are not opened, and the rows are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import HudiFormatWarning, SchemaError, Table, open_table
from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.file_group.base_file.filters import can_match
from hudiformat.metadata_table.column_stats import ColumnRange
from hudiformat.read.skipping import PartitionPruner, _of_column, drop_skipped
from hudiformat.storage.local import LocalStorage
from tests.effort import sample
from tests.tables import GoldenTable, content, multiset, new_table, rows

pytestmark = pytest.mark.unmeasured

GOLDEN = "v9-mor-metadata-table-h120"
K, V, P, TS, NAME = (pc.field(name) for name in ("k", "v", "p", "ts", "name"))
OFF = {"hoodie.enable.data.skipping": "false"}


class Noting(LocalStorage):
    """Notes the data files that are opened."""

    def open_input(self, path: str) -> pa.NativeFile:
        opened.append(path)
        return super().open_input(path)

    def map(self, path: str) -> memoryview:
        opened.append(path)
        return super().map(path)


opened: list[str] = []


def data_files_opened() -> list[str]:
    return [path for path in opened if not path.startswith(".hoodie")]


def left(table: Table, condition: pc.Expression, *, with_logs: bool = True) -> list[str]:
    """The file groups that are left."""
    reader = table.slice_reader()
    pruner = PartitionPruner(reader.partition_columns, reader.output_schema, condition)
    return [
        one.file_id for one in drop_skipped(table._context.state(), table.file_slices(), pruner, with_logs=with_logs)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    sample(
        [
            K == "key-0030",
            K.isin(["key-0028", "key-0030"]),
            (K > "key-003") & (TS < 1000),
            (V > 10**12) | (K < "a"),
            V.is_null(),
            ~(V < 10**12),
            TS == 60,
            (TS > 60) | (NAME == "ÅÄÖ"),
            (P == "north") & (K == "key-0028"),
            pc.field("_hoodie_record_key") >= "key-0033",
            pc.field("_hoodie_commit_time") > "20261121062446522",
            pc.if_else(V > 0, K, NAME) == "key-0030",
        ],
        of=6,
    ),
    ids=str,
)
def test_the_rows_are_those_without_skipping(condition: pc.Expression, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(GOLDEN)
    table, plain = open_table(case.table), open_table(case.table, options=OFF)
    expected = case.answer("expected/snapshot.parquet").filter(condition)
    assert multiset(plain.snapshot(filter=condition)) == multiset(expected)
    assert multiset(table.snapshot(filter=condition)) == multiset(expected)
    assert multiset(table.read_optimized(filter=condition)) == multiset(plain.read_optimized(filter=condition))
    assert multiset(table.incremental("000", filter=condition)) == multiset(plain.incremental("000", filter=condition))


def test_files_that_hold_nothing_are_not_opened(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(Noting(str(golden(GOLDEN).table)))
    opened.clear()
    assert table.snapshot(filter=K == "key-0030")["k"].to_pylist() == ["key-0030"]
    assert {path.partition("_")[0] for path in data_files_opened()} == {"north/29877d8d-1400-41ad-b937-8246a1ee2fb7-0"}
    opened.clear()
    assert table.snapshot(filter=K > "key-1").num_rows == 0
    assert table.incremental("000", filter=K > "key-1").num_rows == 0
    assert data_files_opened() == []


def test_without_logs_those_of_the_base_file_count(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden(GOLDEN).table)
    assert len(left(table, TS == 20)) == 3, "written by log files"
    assert left(table, TS == 20, with_logs=False) == []


def test_log_files_of_version_6_may_grow(golden: Callable[[str], GoldenTable], monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(golden(GOLDEN).table)
    monkeypatch.setattr("hudiformat.read.skipping.VERSION_WITH_COMPLETION_TIMES", 10)
    with_logs = [one.file_id for one in table.file_slices() if one.log_files]
    assert left(table, K > "key-1") == with_logs
    assert left(table, K > "key-1", with_logs=False) == []


def test_a_merger_of_the_users_may_make_any_value(golden: Callable[[str], GoldenTable]) -> None:
    class Merger:
        def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
            return newer.set_column(newer.schema.get_field_index("v"), "v", pa.array([7] * len(older), pa.int64()))

    table = open_table(golden(GOLDEN).table, merger=Merger())
    assert table.snapshot(filter=K > "key-1").num_rows == 0
    assert len(left(table, K > "key-1")) == len(table.file_slices())


def test_a_column_that_statistics_do_not_know(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden(GOLDEN).table)
    assert len(left(table, pc.field("_hoodie_file_name") == "x")) == len(table.file_slices())


def test_statistics_that_cannot_be_read(own_golden: Callable[[str], Path]) -> None:
    root = own_golden(GOLDEN)
    for name in ("column_stats", "partition_stats"):
        for path in (root / ".hoodie/metadata" / name).glob(".*.log.*"):
            path.write_bytes(b"nothing")
    table = open_table(root)
    with (
        pytest.warns(HudiFormatWarning, match="column_stats are not used, as they cannot be read"),
        pytest.warns(HudiFormatWarning, match="partition_stats are not used, as they cannot be read"),
    ):
        assert table.snapshot(filter=K > "key-1").num_rows == 0


def test_without_a_filter_that_fits_or_statistics_nothing_is_skipped(golden: Callable[[str], GoldenTable]) -> None:
    plain = open_table(golden("v9-mor-avro-h120").table)
    assert len(left(plain, K > "key-1")) == len(plain.file_slices())
    table = open_table(golden(GOLDEN).table, options=OFF)
    assert len(left(table, K > "key-1")) == len(table.file_slices())
    assert len(left(table, P == "nowhere")) == len(table.file_slices()), "only stored columns have statistics"


def test_base_files_whose_bloom_filter_has_none_of_the_keys_are_skipped(
    golden: Callable[[str], GoldenTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(golden("v9-mor-avro-h120").table)
    slices = table.file_slices()
    known = {str(one.base_file.name): (BloomFilter.of(pa.array(["key-1"])),) for one in slices[1:] if one.base_file}

    class Index:
        def get(self, _partition: str, name: str) -> tuple[BloomFilter, ...] | None:
            return known.get(name)

    there = "hudiformat.table.state.TableState.has_metadata_partition"
    monkeypatch.setattr(there, lambda _state, partition: partition == "bloom_filters")
    monkeypatch.setattr("hudiformat.read.skipping.bloom_filters", lambda *_: Index())
    every = [one.file_id for one in slices]
    unknown = [one.file_id for one in slices if str(one.base_file and one.base_file.name) not in known]
    assert left(table, K == "nothing", with_logs=False) == unknown
    assert left(table, K == "key-1", with_logs=False) == every
    assert left(table, K > "nothing", with_logs=False) == every, "it is not known which keys"
    with_logs = [one.file_id for one in slices if one.log_files]
    assert set(left(table, K == "nothing")) == {*unknown, *with_logs}, "log files may have it"


KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int64(), st.integers(-3, 3)),
    "x": (pa.float64(), st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0, math.nan])),
    "s": (pa.string(), st.sampled_from(["", "a", "ab", "b", "é", "\U0001f642", "\uff21"])),
    "b": (pa.bool_(), st.booleans()),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in KINDS.items()])
files = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, (_, values) in KINDS.items()}), min_size=1, max_size=4
)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> pc.Expression:
    if depth and draw(st.booleans()):
        one, other = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        return draw(
            st.sampled_from(
                [one & other, one | other, ~one, pc.coalesce(one, True), pc.if_else(one, False, other), one.is_null()]
            )
        )
    name = draw(st.sampled_from(sorted(KINDS)))
    column, value = pc.field(name), draw(KINDS[name][1])
    every = [column == value, column != value, column.isin([value]), column.is_null(), column.is_valid()]
    if name != "b":
        every += [column > value, column <= value]
    chosen: pc.Expression = draw(st.sampled_from(every))
    return chosen


def range_of(kind: pa.DataType, values: list[Any]) -> ColumnRange:
    known = [value for value in values if value is not None and value == value]  # noqa: PLR0124 - no NaN, as Parquet
    if not known:
        return ColumnRange(all_null=True) if all(value is None for value in values) else ColumnRange()
    return ColumnRange(kind, min(known), max(known), may_be_null=None in values)


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=st.lists(files, min_size=1, max_size=3), condition=conditions())
def test_what_is_true_of_a_row_is_possible(rows: list[list[dict[str, Any]]], condition: pc.Expression) -> None:
    table = pa.Table.from_pylist([row for file in rows for row in file], SCHEMA)
    for name in SCHEMA.names:
        ranges = [range_of(KINDS[name][0], [row[name] for row in file]) for file in rows]
        for may_be_null in (False, True):
            cases = _of_column(SCHEMA.field(name), ranges, may_be_null=may_be_null)
            if cases and table.filter(condition).num_rows:
                assert any(can_match(condition, SCHEMA, cases)), (cases, table.filter(condition))


@pytest.mark.slow
def test_a_query_by_key_opens_one_file_of_many(tmp_path: Path) -> None:
    options = {
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=options)
    table.bulk_insert(rows(*((f"k{number}", 1, f"p{number % 200}", number) for number in range(400))))
    asked = open_table(Noting(tmp_path / "t"))
    opened.clear()
    assert asked.snapshot(filter=K == "k123")["v"].to_pylist() == [123]
    assert len(set(data_files_opened())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "SIMPLE"])
def test_a_key_is_looked_up_in_the_record_index_where_it_is_in_one_place(tmp_path: Path, index: str) -> None:
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}
    table = new_table(tmp_path / "t", options={**options, "hoodie.index.type": index})
    table.upsert(rows(*((f"k{number}", 1, "uvwxyz"[number % 6], number) for number in range(12))))
    before = table.upsert(rows(("k1", 2, "v", 2))).instant
    table.delete(rows(("k2", 3, "w")))
    for key, count in (("k1", 1), ("k2", 0), ("k7", 1), ("no key", 0)):
        explained = table.scan(filter=pc.equal(K, key)).explain()
        if index == "SIMPLE":  # a key may be in several partitions, of which the index knows one
            assert "record_index" not in explained.left_out
            continue
        assert (len(explained.read), explained.left_out["record_index"]) == (count, 6 - count)
        assert table.snapshot(filter=pc.equal(K, key))["k"].to_pylist() == [key] * count
    assert "record_index" not in table.scan(filter=K == "k2", as_of=before).explain().left_out
    assert content(table, as_of=before, filter=K == "k2") == [("k2", 1, "w", 2)]
    many = table.scan(filter=K.isin([str(number) for number in range(2000)])).explain()
    assert "record_index" not in many.left_out


def test_bounds_that_arrow_cannot_compare_with_the_filter_skip_nothing(tmp_path: Path) -> None:
    """An integer beyond 2**53 and a number of floating point: rows that can be compared are found, others an error."""
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    table = new_table(tmp_path / "t", options=options, partition_by=[])
    table.upsert(rows(("a", 5, "x", 1), ("b", 2**60 + 1, "x", 2)))
    assert content(table, ("k",), filter=TS.isin([5.0])) == [("a",)]
    with pytest.raises(SchemaError, match="not in range"):
        table.snapshot(filter=TS == 5.0)
    assert content(table, ("k",), filter=[("ts", "=", 5.0)]) == [("a",)]  # tuples compare exactly
