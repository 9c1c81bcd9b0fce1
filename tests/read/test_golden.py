"""Tables that real Hudi wrote, read as real Hudi reads them: all rows and all columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from hudiformat import HudiFormatError, Table, UnsupportedFeatureError, open_table
from tests.tables import NAMES, OF_AN_OLDER_HUDI, GoldenTable, multiset

pytestmark = pytest.mark.unmeasured

NOT_YET: dict[str, str] = {}
"""Tables some of whose slices need a way of merging that is not there yet, and its name in the error."""
HUDI_FAILS = ("hfilelog", "v9-mor-inflight", "v8-cow-cdc", "v9-mor-partial-update", "no-metafields")
"""Parts of names of tables to which Hudi gave some errors instead of answers."""
OF_THE_PATH = {"v9-mor-multilevel-hive-h120": ("incremental",), "v9-mor-timestamp-keygen-h120": ("",)}
"""Queries, by their first letters, in which Hudi shows texts of the path that are not the values of the columns."""
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
        if label.startswith(OF_THE_PATH.get(name, "-")):
            fields = list(open_table(case.table)._context.state().config.partition_fields)
            found, expected = found.drop_columns(fields), expected.drop_columns(fields)
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
