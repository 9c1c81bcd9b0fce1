"""Replaying all changes of a table, from the first on, gives its rows: a property of change data."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat import Table, open_table
from hudiformat.read.changes import row_images
from tests.effort import examples, sample
from tests.tables import new_table, rows

pytestmark = pytest.mark.unmeasured

TESTS = Path(__file__).parents[1]
ARCHIVES = [
    *sorted(Path(__file__).with_name("hudi").glob("*-cdc-*.zip")),
    *sorted((TESTS / "golden").glob("*-cdc-*.zip")),
    *sorted((TESTS / "golden" / "flink").glob("*-cdc-*.zip")),
]
Row = dict[str, Any]


def record(table: Table, image: str | None) -> tuple[tuple[Any, ...], Row] | None:
    """The key of an image's record, its partition included, and the table's own columns that are not null."""
    values = json.loads(image or "null")
    if values is None:
        return None
    names = (*table.config.record_key_fields, *table.config.partition_fields)
    own = {name: value for name, value in values.items() if not name.startswith("_hoodie_") and value is not None}
    return tuple(values.get(name) for name in names), own


def replayed(table: Table) -> Mapping[tuple[Any, ...], Row]:
    """The rows that the changes lead to; each change begins with what the ones before it have left."""
    found: dict[tuple[Any, ...], Row] = {}
    for change in table.cdc("000").to_pylist():
        before, after = (record(table, change[image]) for image in ("before", "after"))
        assert (before is None, after is None) == (change["op"] == "i", change["op"] == "d"), change
        if before is not None:
            assert found.pop(before[0]) == before[1], change
        if after is not None:
            assert after[0] not in found, change
            found[after[0]] = after[1]
    return found


def shown(table: Table) -> Mapping[tuple[Any, ...], Row]:
    images = row_images(table.snapshot())
    return dict(found for image in images if (found := record(table, image)) is not None)


@pytest.mark.slow
@pytest.mark.parametrize("archive", sample(ARCHIVES, of=2), ids=lambda archive: archive.stem)
def test_the_changes_of_tables_of_hudis_lead_to_their_rows(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
    table = open_table(tmp_path / "table")
    assert replayed(table) == shown(table)


def test_flinks_changes_beside_a_compaction(tmp_path: Path) -> None:
    """Its compactions are planned before a write and completed after it."""
    (archive,) = (TESTS / "golden" / "flink").glob("f-v9-mor-cdc-stream.zip")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
    operations = open_table(tmp_path / "table").cdc("000")["op"].to_pylist()
    # Of the 19 updates one wrote a row again as it was, which Hudi shows of a copy-on-write table, too.
    assert {op: operations.count(op) for op in "iud"} == {"i": 42, "u": 19, "d": 9}


STEPS = ("insert", "upsert", "late", "delete", "schedule", "compact", "overwrite", "log compact")
keys = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)
steps = st.lists(st.tuples(st.sampled_from(STEPS), keys, st.sampled_from("xy")), min_size=2, max_size=8)


def carry_out(table: Table, step: str, names: list[str], partition: str, moment: int) -> None:
    data = rows(*((name, moment if step != "late" else 1, partition, moment) for name in names))
    if step in ("upsert", "late"):
        table.upsert(data)
    elif step == "insert":
        present = set(zip(*(table.snapshot(columns=["k", "p"])[name].to_pylist() for name in ("k", "p")), strict=True))
        if new := [name for name in names if (name, partition) not in present]:
            table.insert(rows(*((name, moment, partition, moment) for name in new)))
    elif step == "delete":
        table.delete(data.select(["k", "p"]))
    elif step == "overwrite":
        table.insert_overwrite(data)
    elif table.config.table_type.value == "MERGE_ON_READ":
        {"schedule": table.schedule_compaction, "compact": table.compact, "log compact": table.log_compact}[step]()


def kinds() -> Iterator[tuple[str, int, str, str]]:
    for version in (6, 8, 9):
        yield "MERGE_ON_READ", version, "op_key_only", "BUCKET"
        yield "MERGE_ON_READ", version, "data_before_after", "INMEMORY"
        yield "MERGE_ON_READ", version, "data_before", "SIMPLE"
        yield "COPY_ON_WRITE", version, "op_key_only", "SIMPLE"
        yield "COPY_ON_WRITE", version, "data_before_after", "BUCKET"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "version", "mode", "index"), sample(list(kinds()), of=3))
@settings(max_examples=examples(6))
@given(plan=steps)
def test_the_changes_of_a_table_of_ours_lead_to_its_rows(
    kind: str, version: int, mode: str, index: str, plan: list[tuple[str, list[str], str]]
) -> None:
    options = {
        "hoodie.table.cdc.enabled": "true",
        "hoodie.table.cdc.supplemental.logging.mode": mode,
        "hoodie.index.type": index,
        "hoodie.bucket.index.num.buckets": "2",
        "hoodie.log.compaction.blocks.threshold": "2",
        "hoodie.clean.automatic": "false",
    }
    with TemporaryDirectory() as folder:
        table = new_table(Path(folder) / "t", table_type=kind, version=version, options=options)
        for moment, (step, names, partition) in enumerate(plan, start=2):
            carry_out(table, step, names, partition, moment)
        assert replayed(table) == shown(table)
