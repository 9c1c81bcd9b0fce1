"""Tables whose records have the meta field of the operation, as those of Flink's changelog have."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import DataError, LogReader, SchemaError, Table, create_table, open_table
from hudiformat.table.operations import keeps_operations
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from tests.effort import sample
from tests.tables import Clock, content, create, data_files, new_table, rows

pytestmark = pytest.mark.unmeasured

CHANGELOG = Path(__file__).parents[1] / "golden" / "flink" / "f-v9-mor-changelog-stream.zip"
OPERATION = "_hoodie_operation"
KEEP = "hoodie.allow.operation.metadata.field"
KINDS = ("MERGE_ON_READ", "COPY_ON_WRITE")
VERSIONS = (6, 8, 9)


def flinks(path: Path, **options: str) -> Table:
    with zipfile.ZipFile(CHANGELOG) as archive:
        archive.extractall(path)
    return open_table(path / "table", options={"hudiformat.sync": "false", **options})


def things(*values: tuple[str, int, str], **more: Any) -> pa.Table:
    ids, ts, p = (list(column) for column in zip(*values, strict=True))
    return pa.table(
        {"id": ids, "ts": ts, "v": pa.array(ts, pa.int32()), "name": ids, "amount": [0.5] * len(ids), "p": p}
    )


def operations(table: Table) -> dict[str, str]:
    found = table.snapshot(columns=["_hoodie_record_key", OPERATION])
    return dict(zip(*(found[name].to_pylist() for name in found.column_names), strict=True))


def stored_operations(table: Table, path: str) -> list[Any] | None:
    """The operations in a data file, None where it has no column for them."""
    where = Path(table.path) / path
    if path.endswith(".parquet"):
        found = pq.ParquetFile(where).read()
        return found[OPERATION].to_pylist() if OPERATION in found.column_names else None
    blocks = [block.to_arrow() for block in LogReader(where) if block.type.name.endswith("_DATA")]
    if any(OPERATION not in block.schema.names for block in blocks):
        return None
    return [value for block in blocks for value in block[OPERATION].to_pylist()]


@pytest.mark.slow
@pytest.mark.parametrize("index", sample(["SIMPLE", "INMEMORY", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"], of=2))
def test_writes_and_services_go_on_with_flinks_changelog(tmp_path: Path, index: str) -> None:
    table = flinks(tmp_path, **{"hoodie.index.type": index, "hoodie.log.compaction.blocks.threshold": "2"})
    before = operations(table)
    assert len(before) == 31
    assert "k044" in before
    made = [table.upsert(things(("k002", 9, "p2"), ("new", 1, "p2"))), table.insert(things(("newer", 1, "p0")))]
    table.delete(pa.table({"id": ["k044", "newer"], "p": ["p2", "p0"]}))
    table.rollback(table.upsert(things(("k044", 9, "p2"))).instant)
    for commit in made:
        for stat in commit.stats:
            assert set(stored_operations(table, stat.path or "") or [None]) <= {"I", "U"}, stat.path
    expected = operations(table)
    assert expected.keys() == before.keys() - {"k044"} | {"new"}
    assert None not in expected.values()
    for service in (table.log_compact, table.compact):
        service()
        assert operations(table) == expected
    compacted = [path for path in data_files(Path(table.path)) if path.endswith(".parquet")]
    assert all(stored_operations(table, path) is not None for path in compacted)
    table.clean()
    assert operations(open_table(table.path)) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_a_table_that_is_made_with_operations_keeps_them(tmp_path: Path, kind: str, version: int, index: str) -> None:
    options = {KEEP: "true", "hoodie.index.type": index, "hudiformat.sync": "false"}
    create(tmp_path / "t", table_type=kind, version=version, options=options)
    table = open_table(tmp_path / "t", clock=Clock())
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "x", 1), ("c", 1, "x", 1)))
    assert operations(table) == dict.fromkeys("abc", "I")
    table.upsert(rows(("a", 2, "x", 2), ("b", 2, "x", 2)))
    table.delete(rows(("b", 9, "x")).select(["k", "p"]))
    assert operations(table) == {"a": "U", "c": "I"}
    if kind == "MERGE_ON_READ":
        table.compact()
        assert operations(table) == {"a": "U", "c": "I"}
    assert content(table) == [("a", 2, "x", 2), ("c", 1, "x", 1)]


def test_a_changelog_that_another_engine_began_is_kept_by_writes(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    begun = open_table(table.path, options={KEEP: "true"}, clock=table._context.clock)
    begun.insert(rows(("a", 1, "x", 1)))
    assert OPERATION not in table.snapshot().column_names  # no file is opened to find out
    commit = table.upsert(rows(("a", 2, "x", 2)))
    assert [stored_operations(table, stat.path or "") for stat in commit.stats] == [["U"]]
    table.compact()
    assert operations(open_table(table.path, options={KEEP: "true"})) == {"a": "U"}


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["1", "1000000"])
def test_deletes_count_where_newer_files_have_no_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    table = flinks(tmp_path, **{"hoodie.memory.merge.max.size": memory})
    expected = set(operations(table)) | {"new"}
    with monkeypatch.context() as patch:
        patch.setattr(TableState, "keeps_operations", False)
        patch.setattr(TableState, "_newest_keeps_operations", lambda _self: False)
        commit = table.upsert(things(("new", 1, "p0"), ("k002", 9, "p2")))
    assert all(stored_operations(table, stat.path or "") is None for stat in commit.stats)
    again = open_table(table.path, options={"hoodie.memory.merge.max.size": memory})
    found = again.snapshot()
    assert OPERATION not in found.column_names
    assert set(found["_hoodie_record_key"].to_pylist()) == expected
    assert again.snapshot(columns=["name"]).column_names == ["name"]
    again.compact()
    assert set(again.snapshot()["_hoodie_record_key"].to_pylist()) == expected


@pytest.mark.parametrize("operation", ["D", "-U"])
def test_rows_of_a_change_stream_that_are_deletes_are_refused(tmp_path: Path, operation: str) -> None:
    table = new_table(tmp_path / "t")
    change = rows(("a", 1, "x", 1)).append_column(OPERATION, pa.array([operation]))
    with pytest.raises(DataError, match=r"a row whose _hoodie_operation is D or -U cannot be written: pass the keys"):
        table.upsert(change)
    table.upsert(rows(("a", 1, "x", 1)).append_column(OPERATION, pa.array(["I"])))
    table.delete(change)
    assert content(table) == []


def test_operations_are_texts_of_any_type(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for texts in (pa.array(["D"], pa.large_string()), pa.array(["D"]).dictionary_encode()):
        with pytest.raises(DataError, match="a row whose _hoodie_operation is D"):
            table.upsert(rows(("a", 1, "x", 1)).append_column(OPERATION, texts))
    with pytest.raises(SchemaError, match="column _hoodie_operation of type int64: Hudi takes it for a text"):
        table.upsert(rows(("a", 1, "x", 1)).append_column(OPERATION, pa.array([1])))
    assert content(table) == []


def test_files_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    table = create_table(
        tmp_path / "t", name="t", schema=rows().schema, record_key=["k"], options={KEEP: "true"}, table_type=KINDS[1]
    )
    commit = table.insert(rows(("a", 1, "x", 1)))
    (stat,) = commit.stats
    storage = table._context.storage

    def said(*stats: WriteStat) -> bool:
        metadata = CommitMetadata(operation_type="UPSERT", partition_to_write_stats={"": stats}, extra_metadata={})
        return keeps_operations(storage, [CommitMetadata("UPSERT", {}, {}), metadata])

    assert said(stat)
    gone = [WriteStat(file_id="f", path=path, num_inserts=1) for path in ("gone.parquet", ".f_1.log.1_0-0-0")]
    assert not said(*gone)
    assert said(*gone, stat)
    assert not said(WriteStat(file_id="f", path=stat.path, num_deletes=1))
    assert not keeps_operations(storage, [])
