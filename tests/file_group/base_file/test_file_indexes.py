"""What a write collects of each file."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.file_group.base_file.file_indexes import FileIndexer, Indexes

SCHEMA = pa.schema([("a", pa.int64())])
ROWS = pa.table({"a": [1, 2]}, schema=SCHEMA)


def test_only_what_is_indexed_is_collected() -> None:
    for indexes in (Indexes(("a",)), Indexes(filters=True), Indexes(keys=True)):
        indexer = FileIndexer(indexes, SCHEMA)
        indexer.add(ROWS)
        indexer.add_keys(pa.chunked_array([["k"]]))
        indexer.drop_keys(pa.array(["l"]))
        found = indexer.finish(bloom_filter="bits")
        assert list(found.columns) == list(indexes.columns)
        assert found.bloom_filter == ("bits" if indexes.filters else None)
        keys = (
            None if found.keys is None or found.dropped is None else (found.keys.to_pylist(), found.dropped.to_pylist())
        )
        assert keys == ((["k"], ["l"]) if indexes.keys else None)


def test_what_is_collected_is_added_up() -> None:
    one, other = (FileIndexer(Indexes(("a",), keys=True), SCHEMA) for _ in range(2))
    for number, indexer in enumerate((one, other)):
        indexer.add(ROWS)
        indexer.add_keys(pa.array([f"k{number}"]))
        indexer.drop_keys(pa.array([f"l{number}"]))
    found = (one + other).finish()
    assert found.columns["a"].values == 4
    assert found.keys is not None
    assert found.dropped is not None
    assert (found.keys.to_pylist(), found.dropped.to_pylist()) == (["k0", "k1"], ["l0", "l1"])
