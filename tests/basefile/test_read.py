"""Rows of base files: some columns first, the others for whoever asks, in any pieces."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.basefile import as_base_rows, scan_base_rows
from hudiformat.basefile.read import _Later
from hudiformat.errors import CorruptTableError
from hudiformat.storage import LocalStorage

ROWS = pa.table(
    {"k": [f"k{i}" for i in range(25)], "n": pa.array(range(25), pa.int32()), "t": ["x" * i for i in range(25)]}
)
SCHEMA = pa.schema([("n", pa.int64()), ("new", pa.string()), ("k", pa.string()), ("t", pa.string())])
EXPECTED = pa.table(
    {"n": pa.array(range(25), pa.int64()), "new": pa.nulls(25, pa.string()), "k": ROWS["k"], "t": ROWS["t"]},
    schema=SCHEMA,
)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> LocalStorage:
    root = tmp_path_factory.mktemp("rows")
    pq.write_table(ROWS, root / "f.parquet", row_group_size=10)
    return LocalStorage(str(root))


heads = st.sampled_from([["k"], ["k", "n"], ["new"], ["t", "k"], ["n", "new", "k", "t"], []])


@settings(max_examples=40)
@given(head=heads, wanted=st.sets(st.integers(0, 12)), batch_rows=st.integers(1, 12), columns=heads)
def test_whoever_asks_gets_the_columns_of_the_rows_asked_for(
    storage: LocalStorage, head: list[str], wanted: set[int], batch_rows: int, columns: list[str]
) -> None:
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    first = pa.schema([SCHEMA.field(name) for name in head])
    for number, part in enumerate(scan_base_rows(storage, "f.parquet", schema, first, batch_rows=batch_rows)):
        start, count = int(part.numbers[0]), len(part.numbers)
        assert part.numbers.tolist() == list(range(start, start + count))
        assert part.head.to_pylist() == EXPECTED.select(head).slice(start, count).to_pylist()
        if number in wanted:
            found = pa.Table.from_batches(part.read(), schema)
            assert found.num_rows == count
            assert found.to_pylist() == EXPECTED.select(columns).slice(start, count).to_pylist()


def test_columns_of_rows_that_nobody_wants_are_not_read(storage: LocalStorage, tmp_path: Path) -> None:
    file = pq.ParquetFile(Path(storage.root) / "f.parquet")
    column = file.metadata.row_group(1).column(2)
    damaged = bytearray((Path(storage.root) / "f.parquet").read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    damaged[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    (tmp_path / "f.parquet").write_bytes(damaged)
    parts = scan_base_rows(LocalStorage(str(tmp_path)), "f.parquet", SCHEMA, pa.schema([SCHEMA.field("k")]))
    found = [next(iter(part.read())).num_rows for part in parts if 10 not in part.numbers]
    assert found == [10, 5]
    parts = scan_base_rows(LocalStorage(str(tmp_path)), "f.parquet", SCHEMA, pa.schema([SCHEMA.field("k")]))
    with pytest.raises(CorruptTableError, match="not a readable base file"):
        [list(part.read()) for part in parts]


def test_batches_are_numbered() -> None:
    parts = list(as_base_rows(ROWS.to_batches(10)))
    assert [part.numbers.tolist() for part in parts] == [list(range(10)), list(range(10, 20)), list(range(20, 25))]
    assert [list(part.read()) for part in parts] == [[batch] for batch in ROWS.to_batches(10)]


def test_a_column_that_ends_before_the_others() -> None:
    later = _Later("f.parquet", iter(ROWS.to_batches(20)), ROWS.schema)
    assert [batch.num_rows for batch in later.of(24)()] == [20, 4]
    with pytest.raises(CorruptTableError, match="a column ends before the others do, at row 25"):
        list(later.of(2)())
