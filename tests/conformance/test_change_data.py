"""Tables with partial updates and delete markers: Hudi and hudiformat write them in turn, and see the same rows."""

from __future__ import annotations

import contextlib
import io
import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hudiformat as hf
from tests.change_data import KINDS, Model, Row, random_batch, schema_of, shown, table_of
from tests.conformance.hudi import RealHudi
from tests.documents import PAGES, blocks
from tests.effort import sample

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
REFUSED = {("postgres", MOR, 6), ("postgres", MOR, 8)}
SETS = [one for one in product(KINDS, (COW, MOR), (6, 8, 9), ("ours", "theirs")) if one[:3] not in REFUSED]
COMPACT_NOW = "hoodie.compact.inline.max.delta.commits=1"


def options(kind: str, table_type: str, version: int) -> dict[str, Any]:
    ordering = KINDS[kind].ordering_in(version)
    return {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.name": "t",
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.write.table.version": version,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.table.ordering.fields": ordering,
        "hoodie.datasource.write.precombine.field": ordering,
        "hoodie.datasource.write.operation": "upsert",
        **KINDS[kind].options,
    }


def first_rows(kind: str, choose: Any) -> list[Row]:
    rows = {row["id"]: row for row in random_batch(kind, choose, 14)}
    return [row for row in rows.values() if not is_delete(kind, row)]


def is_delete(kind: str, row: Row) -> bool:
    marker = KINDS[kind].marker
    return marker is not None and row[marker[0]] == marker[1]


@pytest.mark.parametrize("shape", sample(SETS, of=8), ids=lambda shape: "-".join(map(str, shape)))
def test_hudi_and_hudiformat_write_in_turn(hudi: RealHudi, tmp_path: Path, shape: tuple[str, str, int, str]) -> None:
    """The keys are all in the first base file, so that both find them; late rows and deletes are among the others."""
    kind, table_type, version, first = shape
    ours_first = first == "ours"
    path, chance = tmp_path / "t", random.Random(str(shape))
    model = Model(kind, version, table_type == COW)
    theirs = options(kind, table_type, version)
    rows = first_rows(kind, chance.randrange)
    if ours_first:
        ordering = [] if kind in ("mysql", "postgres") else ["ts"]
        own = {**KINDS[kind].options, "hoodie.index.type": "SIMPLE"}
        hf.create_table(
            path,
            name="t",
            schema=schema_of(kind),
            record_key="id",
            ordering=ordering,
            table_type=table_type,
            version=version,
            options=own,
        ).bulk_insert(table_of(kind, rows))
    else:
        hudi.write(table_of(kind, rows), path, theirs)
    model.upsert(rows)
    keys = {row["id"] for row in rows}
    for turn in range(4):
        batch = [row for row in random_batch(kind, chance.randrange, 12) if row["id"] in keys]
        table = hf.open_table(path)
        by_us = (turn % 2 == 0) != ours_first
        if turn == 2:
            gone = batch[:1]
            if by_us:
                table.delete(table_of(kind, gone))
            else:
                hudi.write(table_of(kind, gone), path, {**theirs, "hoodie.datasource.write.operation": "delete"})
            model.delete([row["id"] for row in gone])
        elif by_us:
            table.upsert(table_of(kind, batch))
            model.upsert(batch)
        else:
            hudi.write(table_of(kind, batch), path, theirs)
            model.upsert(batch)
        assert shown(kind, hf.open_table(path).snapshot()) == model.rows
        assert shown(kind, hudi.read(path)) == model.rows
    if table_type == MOR:
        if ours_first:
            hf.open_table(path).compact()
        else:
            hudi.sql(f"call run_compaction(op => 'scheduleAndExecute', path => '{path}', options => '{COMPACT_NOW}')")
        optimized = {"hoodie.datasource.query.type": "read_optimized"}
        assert shown(kind, hudi.read(path, optimized)) == model.rows
        assert shown(kind, hf.open_table(path).read_optimized()) == model.rows


CHANGES = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.query.incremental.format": "cdc",
    "hoodie.datasource.read.begin.instanttime": "0",
}


_NOT_HUDIS = {("postgres", MOR, 9), *((kind, MOR, 6) for kind in KINDS)}
"""Hudi shows placeholders in images from log files, and fails on those of version 6: "Not an Avro data file"."""
CDC_SETS = [one for one in product(KINDS, (COW, MOR), (6, 8, 9)) if one not in REFUSED | _NOT_HUDIS]


@pytest.mark.parametrize("shape", sample(CDC_SETS, of=23), ids=lambda shape: "-".join(map(str, shape)))
def test_change_data_says_what_hudi_says(hudi: RealHudi, tmp_path: Path, shape: tuple[str, str, int]) -> None:
    """Of two tables with change data, one by each, that get the same rows; each reads both.

    Of a late delete in a log file Hudi shows that it deletes the row, which stays: merge-on-read tables get none.
    """
    kind, table_type, version = shape
    logged = {**KINDS[kind].options, "hoodie.table.cdc.enabled": "true", "hoodie.index.type": "SIMPLE"}
    ours = hf.create_table(
        tmp_path / "ours",
        name="t",
        schema=schema_of(kind),
        record_key="id",
        ordering=[] if kind in ("mysql", "postgres") else "ts",
        table_type=table_type,
        version=version,
        options=logged,
    )
    theirs = {**options(kind, table_type, version), "hoodie.table.cdc.enabled": "true"}
    chance = random.Random(kind)
    keys: set[str] = set()
    for turn in range(4):
        rows = random_batch(kind, chance.randrange, 10) if turn else first_rows(kind, chance.randrange)
        keys = keys or {row["id"] for row in rows}
        if table_type == MOR:
            may_delete = not KINDS[kind].by_event_time
            rows = [row for row in rows if row["id"] in keys and (may_delete or not is_delete(kind, row))]
        given = table_of(kind, rows)
        hudi.write(given, tmp_path / "theirs", theirs)
        ours.upsert(given)
    assert shown(kind, ours.snapshot()) == shown(kind, hudi.read(tmp_path / "theirs"))
    by_theirs = changes_in(kind, hudi.read(tmp_path / "theirs", CHANGES))
    assert changes_in(kind, ours.cdc("0")) == by_theirs
    assert changes_in(kind, hudi.read(ours.path, CHANGES)) == by_theirs
    assert changes_in(kind, hf.open_table(tmp_path / "theirs").cdc("0")) == by_theirs


def changes_in(kind: str, rows: pa.Table) -> list[tuple[str, ...]]:
    """The operation and both images of each change, in the order of the writes; those of one write in order of keys."""
    names = schema_of(kind).names
    writes = sorted(set(rows["ts_ms"].to_pylist()))
    found = []
    for row in rows.to_pylist():
        images = [json.loads(row[side] or "null") or {} for side in ("before", "after")]
        plain = [str({name: image.get(name) for name in names if image.get(name) is not None}) for image in images]
        found.append((str(writes.index(row["ts_ms"])), *plain, row["op"]))
    return sorted(found)


def test_hudi_reads_the_table_of_the_tutorial_as_the_source_has_it(hudi: RealHudi) -> None:
    """Before its compaction and after it."""
    names: dict[str, Any] = {}
    page = [block.code for block in blocks(PAGES["docs/tutorials/change-data.md"]) if block.language == "python"]
    with contextlib.redirect_stdout(io.StringIO()):
        for code in page:
            if "table.compact()" in code:
                found = hudi.read(names["table"].path)
            exec(code, names)  # noqa: S102 - the page's own code
    source = names["target"]()  # which the page has compared with its database, and closed that
    for rows in (found, hudi.read(names["table"].path)):
        assert [tuple(row.values()) for row in rows.select(list(names["columns"])).sort_by("id").to_pylist()] == source
