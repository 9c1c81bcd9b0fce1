"""Tables that real Hudi wrote, read as real Hudi reads them: all rows and all columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import (
    HudiFormatError,
    Table,
    TableError,
    TableExistsError,
    UnsupportedFeatureError,
    create_table,
    open_table,
)
from tests.tables import NAMES, OF_AN_OLDER_HUDI, SCHEMA, GoldenTable, multiset

NOT_YET: dict[str, str] = {}
"""Tables some of whose slices need a way of merging that is not there yet, and its name in the error."""

HUDI_FAILS = ("hfilelog", "v9-mor-inflight", "v8-cow-cdc", "v9-mor-partial-update", "no-metafields")
"""Parts of names of tables to which Hudi gave some errors instead of answers."""

Query = tuple[str, dict[str, Any], Callable[[], pa.Table]]


def queries(table: Table, manifest: dict[str, Any]) -> Iterator[Query]:
    """Each query that Hudi was asked, what it answered, and ours."""
    yield "snapshot", manifest["snapshot"], table.snapshot
    yield "read optimized", manifest["read_optimized"], table.read_optimized
    for answer in manifest["as_of"]:
        yield f"as of {answer['instant']}", answer, partial(table.snapshot, as_of=answer["instant"])
    if manifest.get("incremental"):
        answer = manifest["incremental"]
        # Hudi 1.0.2 took the beginning in, 1.2.0 leaves it out
        begin = int(answer["begin"]) - (manifest["hudi_version"] == "1.0.2")
        yield "incremental", answer, partial(table.incremental, str(begin))
    if manifest.get("cdc"):
        yield "cdc", manifest["cdc"], partial(table.cdc, manifest["cdc"]["begin"])


def answer_or_error(ask: Callable[[], pa.Table]) -> pa.Table | HudiFormatError:
    try:
        return ask()
    except HudiFormatError as error:
        return error


def newest_answer(name: str, label: str, answer: dict[str, Any], manifest: dict[str, Any]) -> str | None:
    """The path of Hudi 1.2.0's answer where it is known, None where Hudi failed or 1.2.0's is not known."""
    by_newest = (manifest.get("also_read_by") or {}).get("1.2.0", {"same": True})
    if label == "snapshot" and not by_newest.get("same"):
        return str(by_newest["path"]) if by_newest.get("path") else None
    old = name in OF_AN_OLDER_HUDI and label.startswith(("as of", "incremental"))
    return None if old else answer.get("path")


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_hudis(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    manifest = case.manifest
    refused = set()
    for label, answer, ask in queries(open_table(case.table), manifest):
        found = answer_or_error(ask)
        if isinstance(found, UnsupportedFeatureError) and found.feature == NOT_YET.get(name):
            refused.add(label)
            continue
        path = newest_answer(name, label, answer, manifest)
        if path is None:
            assert any(part in name for part in (*HUDI_FAILS, *OF_AN_OLDER_HUDI)), label
            continue
        assert isinstance(found, pa.Table), f"{label}: {found}"
        expected = case.answer(path)
        assert set(found.column_names) == set(expected.column_names), label
        assert comparable(found) == comparable(expected), label
    assert ("snapshot" in refused) == (name in NOT_YET)


def comparable(answer: pa.Table) -> Counter[str]:
    """The rows of an answer; of change data what the JSON says, which Hudi 0.15.0 writes with its keys in any order."""
    if answer.column_names != ["op", "ts_ms", "before", "after"]:
        return multiset(answer)
    return Counter(
        repr([row["op"], row["ts_ms"], *(_record(row[image]) for image in ("before", "after"))])
        for row in answer.to_pylist()
    )


def _record(image: str | None) -> Any:
    record = json.loads(image or "null")
    return None if record is None else sorted(record.items())


def test_time_travel_past_a_write_in_flight_is_refused(golden: Callable[[str], GoldenTable]) -> None:
    case = golden("v9-mor-inflight-h120")
    table = open_table(case.table)
    for answer in case.manifest["as_of"]:
        if "error" in answer:
            with pytest.raises(TableError, match="20261121055558085 deltacommit .* is not complete"):
                table.snapshot(as_of=answer["instant"])
    assert table.snapshot(as_of="20261121055558084").num_rows == 40


def test_time_travel_to_what_was_cleaned_is_refused(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-archived-h120").table)
    with pytest.raises(TableError, match="has been cleaned away; the earliest that was kept is 2026112106012"):
        table.snapshot(as_of="20261121060122000")


def test_without_meta_fields_there_is_no_incremental_query(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v6-cow-no-metafields-h0150").table)
    with pytest.raises(UnsupportedFeatureError, match="incremental queries of a table without meta fields"):
        table.incremental("000")


@pytest.mark.parametrize("name", ["v8-mor-avro-h102", "v9-mor-avro-h120", "v9-mor-multilevel-hive-h120"])
def test_one_column_is_the_same_column(name: str, golden: Callable[[str], GoldenTable]) -> None:
    case = golden(name)
    table = open_table(case.table)
    expected = case.answer("expected/snapshot.parquet")
    for column in expected.column_names:
        found = table.snapshot(columns=[column])
        assert multiset(found) == multiset(expected.select([column])), column


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


@pytest.mark.parametrize("name", [name for name in NAMES if "hfilelog" in name])
def test_hfile_blocks_hold_the_rows_of_the_twin_with_avro_blocks(
    name: str, golden: Callable[[str], GoldenTable]
) -> None:
    case = golden(name)
    last = case.manifest["steps"][-1]["step"]
    expected = case.answer(f"expected/twin/{last:02d}.parquet")
    differing = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"}
    columns = [column for column in expected.column_names if column not in differing]
    assert multiset(open_table(case.table).snapshot(columns=columns)) == multiset(expected.select(columns))
