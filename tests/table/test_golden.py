"""Tables that real Hudi wrote, read as real Hudi reads them: all rows and all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import Table, TableExistsError, UnsupportedFeatureError, create_table, open_table
from tests.table.golden import NAMES, GoldenTable
from tests.table.support import SCHEMA, multiset

READABLE = [name for name in NAMES if not name.startswith("v6")]

NOT_YET = {
    "v9-cow-dropped-partition-columns-h120": "dropped partition columns",
    "v9-mor-timestamp-keygen-h120": "timestamp-based partition paths",
}


def queries(table: Table, manifest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Callable[[], pa.Table]]]:
    """Each query that Hudi was asked, what it answered, and ours."""
    yield "snapshot", manifest["snapshot"], table.snapshot
    yield "read optimized", manifest["read_optimized"], table.read_optimized
    for answer in manifest["as_of"]:
        instant = answer["instant"]
        yield f"as of {instant}", answer, partial(table.snapshot, as_of=instant)


def answer_or_feature(ask: Callable[[], pa.Table]) -> pa.Table | str:
    """The rows, or the name of what is not supported."""
    try:
        return ask()
    except UnsupportedFeatureError as error:
        return error.feature or ""


@pytest.mark.parametrize("name", READABLE)
def test_every_answer_is_hudis(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    refused = set()
    for label, answer, ask in queries(open_table(case.table), case.manifest):
        found = answer_or_feature(ask)
        if isinstance(found, str):
            assert found == NOT_YET.get(name), label
            refused.add(label)
            continue
        if answer.get("path") is None:  # Hudi failed: on HFile blocks, and on time travel past an inflight commit
            continue
        expected = case.answer(answer["path"])
        assert set(found.column_names) == set(expected.column_names), label
        assert multiset(found) == multiset(expected), label
    assert ("snapshot" in refused) == (name in NOT_YET)


def test_time_travel_past_a_write_in_flight_gives_what_was_committed(golden: Callable[[str], GoldenTable]) -> None:
    """Hudi refuses it; nothing stands in the way."""
    case = golden("v9-mor-inflight-h120")
    newest = open_table(case.table).snapshot(as_of=case.manifest["completed_instants"][-1]["instant"])
    assert multiset(newest) == multiset(case.answer("expected/snapshot.parquet"))


@pytest.mark.parametrize("name", ["v8-mor-avro-h102", "v9-mor-avro-h120", "v9-mor-multilevel-hive-h120"])
def test_one_column_is_the_same_column(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    table = open_table(case.table)
    expected = case.answer("expected/snapshot.parquet")
    for column in expected.column_names:
        found = table.snapshot(columns=[column])
        assert multiset(found) == multiset(expected.select([column])), column


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("v6")])
def test_version_6_is_refused_by_name(name: str, golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden(name).table)
    for ask in (table.snapshot, table.read_optimized, table.file_slices):
        with pytest.raises(UnsupportedFeatureError, match="table version 6") as caught:
            ask()
        assert caught.value.feature == "table version 6"


def test_a_golden_table_is_a_table(golden: Callable[[str], GoldenTable]) -> None:
    with pytest.raises(TableExistsError):
        create_table(golden("v9-mor-avro-h120").table, name="t", schema=SCHEMA, record_key=["k"])


def test_slices_of_one_partition_and_of_all(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-multilevel-hive-h120").table)
    slices = table.file_slices()
    paths = sorted({item.partition_path for item in slices})
    assert len(paths) > 1
    assert [item for path in paths for item in table.file_slices(path)] == sorted(
        slices, key=lambda item: (item.partition_path, item.file_id)
    )
    assert table.file_slices("no/such/partition") == []


@pytest.mark.parametrize("name", [name for name in READABLE if "hfilelog" in name])
def test_hfile_blocks_hold_the_rows_of_the_twin_with_avro_blocks(
    name: str, golden: Callable[[str], GoldenTable]
) -> None:
    case = golden(name)
    last = case.manifest["steps"][-1]["step"]
    expected = case.answer(f"expected/twin/{last:02d}.parquet")
    differing = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"}
    columns = [column for column in expected.column_names if column not in differing]
    assert multiset(open_table(case.table).snapshot(columns=columns)) == multiset(expected.select(columns))
