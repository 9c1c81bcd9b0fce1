"""Changes of a table's schema with real Hudi: its answers are still those that are kept, and it reads our tables.

A long run asks about some changes on every kind of table; ``python -m tests.conformance.schema_oracle`` about all.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.conformance.schema_oracle import Asking, hudi_options
from tests.effort import LONG, only_long
from tests.schema_answers import compact, key_of, known_answers, our_answer, our_table
from tests.schema_changes import CHANGES, VARIANTS, Change, first_rows

ASKED = {
    "i: int32 to int64",
    "a new field of a struct",
    "a missing column",
    "nulls for missing columns: a missing column",
}
NEWEST = VARIANTS[2::3]


@pytest.fixture(scope="module")
def asking(hudi: RealHudi, tmp_path_factory: pytest.TempPathFactory) -> Asking:
    return Asking(hudi, tmp_path_factory.mktemp("changes"))


def more(kind: str, version: int) -> Sequence[Change]:
    """One of eight changes, of each kind of table others, which a long run tries besides."""
    return CHANGES[VARIANTS.index((kind, version)) % 8 :: 8] if LONG else ()


@only_long
@pytest.mark.parametrize(("kind", "version"), VARIANTS if LONG else NEWEST[:1])
def test_hudi_answers_as_it_did(asking: Asking, kind: str, version: int) -> None:
    known, key = known_answers(), key_of(kind, version)
    for change in CHANGES:
        if change.name in ASKED or change in more(kind, version):
            [found] = compact({change.name: {key: asking.answer(change, kind, version)}})[change.name]
            assert {**found, "kinds": None} == known[change.name][key], change.name


@pytest.mark.parametrize(("kind", "version"), VARIANTS if LONG else NEWEST[:1])
def test_hudi_reads_what_we_have_changed(asking: Asking, tmp_path: Path, kind: str, version: int) -> None:
    our_table(tmp_path / "before", kind, version)
    for change in CHANGES:
        if not (change.short or change in more(kind, version)):
            continue
        path = tmp_path / "changed"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(tmp_path / "before", path)
        ours = our_answer(path, change)
        if ours.refused is None:
            theirs = asking.read(path, change, ours.columns or [])
            assert theirs == ours, change.name


@pytest.mark.parametrize(("kind", "version"), VARIANTS if LONG else [NEWEST[0], VARIANTS[0]])
def test_hudi_reads_and_writes_columns_that_we_have_renamed(
    hudi: RealHudi, tmp_path: Path, kind: str, version: int
) -> None:
    path, options = tmp_path / "table", {"hoodie.schema.on.read.enable": "true"}
    our_table(path, kind, version)
    table = hf.open_table(path, options={**options, "hoodie.parquet.small.file.limit": "0"})
    table.upsert(first_rows().slice(1))
    table.evolve(
        rename={"i": "j", "n.a": "aa", "r.element.x": "z"},
        widen={"f": pa.float64(), "q": pa.int64()},
        drop=["s"],
        add={"new": pa.string()},
    )
    hudi.sql("set spark.sql.parquet.enableVectorizedReader=false")  # which does not know renamed fields of structs
    try:
        assert own_rows(hudi.read(path, options)) == own_rows(table.snapshot())
        table.upsert(table.snapshot(columns=table.schema.names).slice(0, 1).cast(table.schema))
        if kind == "MERGE_ON_READ":
            table.compact()
        assert own_rows(hudi.read(path, options)) == own_rows(table.snapshot())
        source = tmp_path / "rows.parquet"
        pq.write_table(table.snapshot(columns=table.schema.names), source, store_schema=False)
        writing = {**hudi_options(kind, version), **options, "hoodie.datasource.write.reconcile.schema": "true"}
        rows = f"spark.read.parquet({str(source)!r})"
        hudi.eval_(f"{rows}.write.format('hudi').mode('append').options(**{writing!r}).save({str(path)!r})")
        assert own_rows(hudi.read(path, options)) == own_rows(hf.open_table(path).snapshot())
    finally:
        hudi.sql("reset spark.sql.parquet.enableVectorizedReader")


def own_rows(table: pa.Table) -> list[str]:
    """The rows without the meta fields, by key."""
    names = [name for name in table.column_names if not name.startswith("_hoodie")]
    return sorted(repr(row) for row in table.select(sorted(names)).to_pylist())
