"""A table is found by its name in Spark's catalog, which lists it also without Hudi's bundle."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hudiformat import NotATableError

pytest.importorskip("pyspark.sql")

from pyspark.errors import AnalysisException

import hudiformat.spark as hudi_spark
from hudiformat.spark.read.by_name import NamedTable, find_by_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HUDI = """Catalog: spark_catalog
Database: lake
Table: t
Provider: hudi
Location: {location}
InputFormat: org.apache.hudi.hadoop.HoodieParquetInputFormat
Storage Properties: [hoodie.query.as.ro.table={optimized}]
"""


@dataclass
class ListedTables:
    """As much of a session of Spark as lists tables."""

    tables: dict[str, str]
    asked: list[str] = field(default_factory=list)

    def sql(self, text: str) -> ListedTables:
        self.asked.append(text)
        if " IN none " in text:
            raise AnalysisException("[SCHEMA_NOT_FOUND]")
        return self

    def collect(self) -> list[dict[str, Any]]:
        texts = {name: text.format(location="file:/lake/t", optimized="false") for name, text in self.tables.items()}
        return [{"tableName": name, "isTemporary": False, "information": text} for name, text in texts.items()]


def found(name: str, **tables: str) -> NamedTable:
    return find_by_name(ListedTables(tables), name)  # type: ignore[arg-type]  # it has what is asked of a session


@pytest.mark.parametrize("name", ["lake.t", "t", "spark_catalog.lake.t", "lake.T"])
def test_a_name_is_looked_up(name: str) -> None:
    assert found(name, t=HUDI) == NamedTable("/lake/t")


def test_the_name_of_a_table_without_log_files_says_so() -> None:
    text = HUDI.replace("{optimized}", "true")
    assert found("lake.t_ro", t_ro=text) == NamedTable("/lake/t", read_optimized=True)


@pytest.mark.parametrize("location", ["s3a://bucket/t", "file:///lake/t", "file:/lake/t", "/lake/t", "hdfs://nn/t"])
def test_the_location_may_be_any_uri(location: str) -> None:
    expected = location.removeprefix("file://").removeprefix("file:")
    assert found("t", t=HUDI.replace("{location}", location)).path == expected


@pytest.mark.parametrize("path", ["/lake/t", "s3://bucket/t", "a/b", "t-1", "hive://host/db.t"])
def test_what_can_be_no_name_is_a_path(path: str) -> None:
    session = ListedTables({})
    assert find_by_name(session, path) == NamedTable(path)  # type: ignore[arg-type]  # it has what is asked of a session
    assert session.asked == []


def test_a_folder_comes_before_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t").mkdir()
    assert found("t", t=HUDI) == NamedTable("t")


@pytest.mark.parametrize("name", ["lake.u", "none.t"])
def test_a_name_that_nobody_has_is_an_error(name: str) -> None:
    with pytest.raises(NotATableError, match=f"{name} is not a Hudi table: there is no such folder, and"):
        found(name, t=HUDI)


@pytest.mark.parametrize("text", ["Provider: parquet\nLocation: file:/x\n", "InputFormat: text\nLocation: /x\n", ""])
def test_a_table_that_is_not_hudis_is_an_error(text: str) -> None:
    with pytest.raises(NotATableError, match="t in Spark's catalog: expected a table of Hudi's, found one of"):
        found("t", t=text)


def test_a_table_of_another_format_is_refused_by_spark_too(spark: SparkSession, tmp_path: Path) -> None:
    name = f"t{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {name} (a INT) USING parquet LOCATION '{tmp_path / 'x'}'")
    try:
        with pytest.raises(NotATableError, match="expected a table of Hudi's, found one of parquet"):
            hudi_spark.read(spark, name)
    finally:
        spark.sql(f"DROP TABLE {name}")
