"""Bootstrapped tables pass between hudiformat and real Hudi: made by Hudi's bootstrap, and by ``adopt``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from tests.conformance.hudi import RealHudi
from tests.effort import LONG
from tests.tables import multiset

pytestmark = pytest.mark.hudi

BASE_PATH = "hoodie.bootstrap.base.path"
SELECTORS = "org.apache.hudi.client.bootstrap.selector"
MIXED = {
    "hoodie.bootstrap.mode.selector": f"{SELECTORS}.BootstrapRegexModeSelector",
    "hoodie.bootstrap.mode.selector.regex": "p=x",
    "hoodie.bootstrap.mode.selector.regex.mode": "METADATA_ONLY",
}
FULL = {"hoodie.bootstrap.mode.selector": f"{SELECTORS}.FullRecordBootstrapModeSelector"}
ONLY_METADATA = {"hoodie.bootstrap.mode.selector": f"{SELECTORS}.MetadataOnlyBootstrapModeSelector"}
COPY, MERGE = "COPY_ON_WRITE", "MERGE_ON_READ"


def some_rows(prefix: str) -> pa.Table:
    numbers = range(5)
    return pa.table(
        {
            "id": [f"{prefix}{number}" for number in numbers],
            "v": pa.array(numbers, pa.int64()),
            "ts": pa.array([1] * 5, pa.int64()),
            "nest": [{"x": number, "tags": [str(number)]} for number in numbers],
        }
    )


def write_source(root: Path, *, hive_style: bool) -> None:
    for value in ("x", "y"):
        for number in range(2):
            folder = root / (f"p={value}" if hive_style else value)
            folder.mkdir(parents=True, exist_ok=True)
            rows = some_rows(f"{value}{number}-")
            rows = rows if hive_style else rows.append_column("p", pa.array([value] * 5))
            pq.write_table(rows, folder / f"part-{number}.parquet", row_group_size=2)


def write_options(table_type: str, *, hive_style: bool, version: int = 9) -> dict[str, str]:
    return {
        "hoodie.table.name": "t",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower(),
        "hoodie.metadata.index.column.stats.enable": "false",
    }


def bootstrap(hudi: RealHudi, source: Path, table: Path, options: dict[str, str]) -> None:
    given = {**options, "hoodie.datasource.write.operation": "bootstrap", BASE_PATH: str(source)}
    hudi.eval_(
        "from pyspark.sql.types import StructType\n"
        f"frame = spark.createDataFrame([], StructType([])).write.format('hudi').options(**{given!r})\n"
        f"frame.mode('overwrite').save({str(table)!r})"
    )


def changed(table: hf.Table, keys: list[str], v: int) -> pa.Table:
    names = ["id", "v", "ts", "nest", "p"]
    rows = [row for row in table.snapshot(columns=names).to_pylist() if row["id"] in keys]
    schema = pa.schema([table.schema.field(name) for name in names])
    return pa.Table.from_pylist([{**row, "v": v, "ts": v} for row in rows], schema)


def take_turns(hudi: RealHudi, path: Path, source: Path, options: dict[str, str]) -> None:
    """Both write on the table in turn, and see the same rows after each step."""
    ours = {BASE_PATH: str(source), "hoodie.clean.automatic": "false"}

    def same() -> hf.Table:
        table = hf.open_table(path, options=ours)
        assert multiset(table.snapshot()) == multiset(hudi.read(path))
        return table

    table = same()
    first = table.upsert(changed(table, ["x0-1", "y1-2"], 7))
    same()
    table.delete(pa.table({"id": ["x0-3", "y0-3"], "p": ["x", "y"]}))
    table = same()
    upsert = {**options, "hoodie.datasource.write.operation": "upsert"}
    hudi.write(changed(table, ["x0-1", "x1-4", "y0-0"], 9), path, upsert)
    table = same()
    assert table.incremental(first).num_rows == 3
    assert multiset(table.incremental("00000000000002")) == multiset(
        hudi.read(
            path,
            {
                "hoodie.datasource.query.type": "incremental",
                "hoodie.datasource.read.begin.instanttime": "00000000000002",
            },
        )
    )
    if table.config.table_type.value == MERGE:
        assert table.schedule_compaction() is not None
        stays = f"hoodie.write.table.version={options['hoodie.write.table.version']},hoodie.write.auto.upgrade=false"
        hudi.sql(f"call run_compaction(op => 'run', path => '{path}', options => '{stays}')")
        table = same()
        table.upsert(changed(table, ["x0-2"], 11))
        table.compact()
        table = same()
    table.cluster()
    table = same()
    table.clean()
    table = same()
    assert table.verify() == []
    assert (table.count(), len(list(source.rglob("part-*.parquet")))) == (18, 4)


@pytest.mark.parametrize("table_type", [COPY, MERGE])
@pytest.mark.parametrize("mode", [ONLY_METADATA, MIXED, FULL], ids=["metadata", "mixed", "full"])
@pytest.mark.parametrize("hive_style", [True, False])
@pytest.mark.parametrize("version", [6, 8, 9] if LONG else [9])
def test_tables_that_hudi_bootstraps(
    hudi: RealHudi, tmp_path: Path, *, table_type: str, mode: dict[str, str], hive_style: bool, version: int
) -> None:
    source, path = tmp_path / "source", tmp_path / "t"
    write_source(source, hive_style=hive_style)
    options = write_options(table_type, hive_style=hive_style, version=version)
    bootstrap(hudi, source, path, {**options, **mode})
    assert hf.open_table(path, options={BASE_PATH: str(source)}).config.version == version
    take_turns(hudi, path, source, options)


@pytest.mark.parametrize("table_type", [COPY, MERGE])
@pytest.mark.parametrize("hive_style", [True, False])
@pytest.mark.parametrize("metadata_table", ["true", "false"])
def test_files_that_are_adopted(
    hudi: RealHudi, tmp_path: Path, table_type: str, hive_style: bool, metadata_table: str
) -> None:
    source = tmp_path / "source"
    write_source(source, hive_style=hive_style)
    table = hf.adopt(
        source,
        record_key="id",
        partition_by="p",
        ordering="ts",
        name="t",
        table_type=table_type,
        copy=False,
        options={"hoodie.metadata.enable": metadata_table},
    )
    options = {**write_options(table_type, hive_style=hive_style), "hoodie.metadata.enable": metadata_table}
    take_turns(hudi, Path(table.path), source, options)


def test_rows_that_are_copied_are_a_table_like_any_other(hudi: RealHudi, tmp_path: Path) -> None:
    write_source(tmp_path / "source", hive_style=True)
    table = hf.adopt(tmp_path / "source", record_key="id", partition_by="p", ordering="ts", name="t", copy=True)
    assert multiset(table.snapshot()) == multiset(hudi.read(table.path))


@pytest.mark.parametrize("indexed_by_us", [True, False])
def test_statistics_lose_no_rows_of_source_files(hudi: RealHudi, tmp_path: Path, indexed_by_us: bool) -> None:
    """Hudi 1.2.0 makes statistics of the log files that it writes alone, and its own filters then lose rows."""
    source = tmp_path / "source"
    write_source(source, hive_style=True)
    index = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    table = hf.adopt(
        source,
        record_key="id",
        partition_by="p",
        ordering="ts",
        name="t",
        table_type=MERGE,
        options=index if indexed_by_us else {},
    )
    if indexed_by_us:
        table.upsert(changed(table, ["x0-1"], 7))
        found = hudi.eval_(f"result = spark.read.format('hudi').load({table.path!r}).where('v = 3').count()")
        assert found == 4
    given = {**write_options(MERGE, hive_style=True), "hoodie.datasource.write.operation": "upsert"}
    del given["hoodie.metadata.index.column.stats.enable"]
    hudi.write(changed(table, ["x0-1", "y0-1"], 9), table.path, given)
    table = hf.open_table(table.path, options={BASE_PATH: str(source)})
    assert "partition_stats" in table.config.metadata_partitions
    whole = table.snapshot(columns=["id", "v"])
    for condition, rows in (("v = 3", 4), ("v = 9", 2), ("id = 'y1-4'", 1), ("v < 2", 6)):
        assert table.snapshot(columns=["id"], filter=condition).num_rows == rows, condition
    assert whole.num_rows == 20
