"""Tables that real Hudi bootstrapped: one partition by meta fields only, the other in whole rows."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, open_table
from hudiformat.api.reading import context_of
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.read.plan import slice_reader
from hudiformat.storage.opening import open_storage
from tests.tables import Clock, GoldenTable, multiset, unpack

NAMES = [f"bootstrapped-{kind}" for kind in ("v6-cow-h0150", "v6-mor-h0150", "v9-cow-h120", "v9-mor-h120")]


def opened(golden: GoldenTable) -> Table:
    options = {"hoodie.bootstrap.base.path": str(golden.root / "source"), "hudiformat.sync": "false"}
    return open_table(golden.table, options=options, clock=Clock())


@pytest.fixture(params=NAMES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> GoldenTable:
    return unpack(request.param, tmp_path)


def answer(golden: GoldenTable, name: str) -> pa.Table:
    return golden.answer(f"expected/{name}.parquet")


def test_every_query_answers_as_hudi_does(golden: GoldenTable) -> None:
    table = opened(golden)
    assert multiset(table.snapshot()) == multiset(answer(golden, "deleted"))
    assert multiset(table.snapshot(as_of="00000000000002")) == multiset(answer(golden, "bootstrapped"))
    upserted = table.timeline.completed_writes[2]
    assert multiset(table.snapshot(as_of=upserted)) == multiset(answer(golden, "upserted"))
    assert multiset(table.incremental("00000000000002")) == multiset(answer(golden, "incremental"))
    if table.config.table_type.value == "MERGE_ON_READ":
        assert multiset(table.read_optimized()) == multiset(answer(golden, "read_optimized"))
    assert table.count() == 15
    assert table.verify() == []
    assert table.history()["operation"].to_pylist()[-2:] == ["bulk_insert", "bootstrap"]


def test_columns_and_filters_of_both_files_of_a_slice(golden: GoldenTable) -> None:
    table, whole = opened(golden), answer(golden, "deleted")
    for columns, condition in [
        (["v"], "id = '2024-01-01-0-3'"),
        (["_hoodie_record_key"], "v >= 2"),
        (["day", "v"], "day = '2024-01-01' and v < 3"),
        (["nest", "_hoodie_file_name"], "_hoodie_commit_time = '00000000000001'"),
        ([], "ts = 1"),
    ]:
        found = table.snapshot(columns=columns, filter=condition)
        expected = pa.Table.from_pylist([row for row in whole.to_pylist() if holds(row, condition)], whole.schema)
        assert multiset(found) == multiset(expected.select(columns)), condition
        assert found.num_rows == expected.num_rows


def holds(row: dict[str, Any], condition: str) -> bool:
    return bool(eval(condition.replace(" = ", " == "), {}, row))  # noqa: S307 - a condition above


def test_a_bootstrapped_table_is_written_on(golden: GoldenTable) -> None:
    table = opened(golden)
    rows = {row["id"]: row for row in table.snapshot().to_pylist()}
    names = ["id", "v", "ts", "nest", "day"]
    changed = [{name: rows[key][name] for name in names} for key in ("2024-01-01-0-2", "2024-01-02-0-0")]
    changed = [{**row, "v": 7, "ts": 3} for row in changed] + [{**changed[0], "id": "new", "ts": 3}]
    schema = pa.schema([table.schema.field(name) for name in names])
    table.upsert(pa.Table.from_pylist(changed, schema))
    table.delete(pa.table({"id": ["2024-01-01-1-2"], "day": ["2024-01-01"]}))
    expected = {key: row["v"] for key, row in rows.items() if key != "2024-01-01-1-2"}
    expected |= {"2024-01-01-0-2": 7, "2024-01-02-0-0": 7, "new": 2}

    def found() -> dict[str, int]:
        columns = table.snapshot(columns=["id", "v"])
        return dict(zip(columns["id"].to_pylist(), columns["v"].to_pylist(), strict=True))

    assert found() == expected
    if table.config.table_type.value == "MERGE_ON_READ":
        plan = table.schedule_compaction()
        assert plan is not None
        table.compact()
    table.cluster()
    table.clean()
    assert found() == expected
    assert table.verify() == []
    assert set(table.snapshot(columns=["day"])["day"].to_pylist()) == {"2024-01-01", "2024-01-02"}


def test_only_the_partition_without_whole_rows_needs_the_source_files(golden: GoldenTable) -> None:
    table = open_table(golden.table)
    assert table.snapshot(filter="day = '2024-01-02'").num_rows == 8
    with pytest.raises(UnsupportedFeatureError, match=r"which is read only if you name it"):
        table.snapshot(as_of="00000000000001")
    assert table.verify() == []


def test_a_task_opens_the_table_with_its_source_files_by_the_root_that_it_is_sent(golden: GoldenTable) -> None:
    storage = context_of(opened(golden)).storage
    for sent in (storage.root, storage):
        copy = pickle.loads(pickle.dumps(sent))
        reader, slices = slice_reader(context_of(opened(golden)).state(), "00000000000001"), 0
        for one in opened(golden).file_slices(as_of="00000000000001"):
            slices += reader.read(open_storage(copy), one).num_rows
        assert slices == 8
    assert type(opened(golden).path) is str
