"""The tables that the two take turns on, and the options with which each opens them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from hudiformat.naming.timed_partitions import OUTPUT, TYPE
from hudiformat.table.options.timed_paths import SLASHES
from tools.environments import HUDI

MOR, COW = "MERGE_ON_READ", "COPY_ON_WRITE"
ALWAYS = frozenset({"files", "column_stats", "partition_stats"})
SECONDARY, EXPRESSION = "secondary_index_by_s", "expr_index_by_upper"
RECORDS = ALWAYS | {"bloom_filters", "record_index", SECONDARY}
TABLES = {"default": ALWAYS, "records": RECORDS, "all": RECORDS | {EXPRESSION}}
"""The indexes of a table with Hudi's default options, of one with all but an expression index, and of one with all."""

_TABLE = {
    "hoodie.table.name": "turns",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.write.set.null.for.missing.columns": "true",
}
_INDEXES = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.record.index.update.partition.path": "true",
    # Without the lock, Hudi refuses to create an index by SQL.
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}
_NO_CLEANS = {"hoodie.clean.automatic": "false", "hoodie.metadata.index.expression.enable": "true"}
"""Hudi 1.2.0 writes the expression index's records of files that it cleans into the folder of ``column_stats``.

The next write of Hudi's fails there.  Source: HoodieTableMetadataUtil.convertMetadataToExpressionIndexRecords, whose
records have that partition.
"""
OLD = "0.15.0"
_OLD = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
"""The last Hudi before 1.0, whose default merges by the order of commits; its rows are to merge as those of 1.2.0."""
OFTEN = {
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
"""Cleaning, archiving, and the services of the metadata table after a few writes, not after Hudi's ten to thirty."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table keeps its keys, partitions and rows.

    Both sides write with *options*, Hudi with *hudis* and hudiformat with *ours*, too.  *places* are, of the partitions
    x, y and z: the value of the column p, which is of the type *type*, and the partition path.  Without
    *has_hudis_values* Hudi shows something else in the column p.  Without *has_dates* no column is a date.  Without
    *has_statistics* Hudi's filters lose rows by its indexes.  The steps *hudi_cannot* are always ours.  Where files
    *are_registered*, the metadata table alone lists them, and the newest record wins.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    hudis: Mapping[str, str] = field(default_factory=dict)
    ours: Mapping[str, str] = field(default_factory=dict)
    type: pa.DataType = field(default_factory=pa.string)
    places: Mapping[str, tuple[Any, str]] = field(default_factory=lambda: {one: (one, one) for one in "xyz"})
    has_hudis_values: bool = True
    table_types: tuple[str, ...] = (MOR, COW)
    versions: tuple[int, ...] = (6, 8, 9)
    has_structs: bool = False
    has_dates: bool = True
    has_statistics: bool = True
    has_meta: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    hudi_cannot: frozenset[str] = frozenset()
    are_registered: bool = False


_DAY = 86_400_000
_FIRST = 1_704_067_200_000
_DAYS = {one: f"2024-01-{number:02d}" for number, one in enumerate("xyz", 1)}
_TIMES = {one: (_FIRST + number * _DAY, _DAYS[one].replace("-", "")) for number, one in enumerate("xyz")}
LAYOUTS = {
    "plain": Layout(),
    "no meta fields": Layout(
        {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"},
        has_meta=False,
    ),
    "dropped columns": Layout(
        hudis={"hoodie.datasource.write.drop.partition.columns": "true"},
        table_types=(COW,),
    ),
    "times": Layout(
        {TYPE: "EPOCHMILLISECONDS", OUTPUT: "yyyyMMdd"},
        hudis={"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"},
        type=pa.int64(),
        places=_TIMES,
        has_hudis_values=False,
    ),
    "custom times": Layout(
        {  # below version 8 no property says the type of the partition column
            TYPE: "EPOCHMILLISECONDS",
            OUTPUT: "yyyyMMdd",
            "hoodie.datasource.write.partitionpath.field": "p:TIMESTAMP",
        },
        hudis={"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator"},
        type=pa.int64(),
        places=_TIMES,
        has_hudis_values=False,
    ),
    "slashes": Layout(
        {SLASHES: "true"},
        places={one: (day, day.replace("-", "/")) for one, day in _DAYS.items()},
        has_hudis_values=False,
    ),
    "structs": Layout(
        hudis={
            "hoodie.datasource.write.recordkey.field": "st.k",
            "hoodie.datasource.write.partitionpath.field": "st.p",
        },
        has_structs=True,
        # These procedures take the name of a table in the catalog alone, which cannot have such a table.
        hudi_cannot=frozenset({"clean", "roll_back", "savepoint", "delete_savepoint", "restore"}),
    ),
    "metadata files": Layout(
        hudis={"hoodie.partition.metafile.use.base.format": "true"},
    ),
    "one complex key": Layout(
        # Below version 9 releases of Hudi write the keys of such tables in two forms: here as k:a.
        {"hoodie.write.complex.keygen.new.encoding": "false"},
        hudis={
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
            "hoodie.write.complex.keygen.validation.enable": "false",
        },
    ),
    "orc": Layout(
        # Hudi 1.2.0 on Spark fails in a compaction, "Not support write to Orc file", and in a clustering, ".orc format
        # not supported yet".
        hudis={"hoodie.table.base.file.format": "ORC", "hoodie.compact.inline": "false"},
        hudi_cannot=frozenset({"compact", "cluster"}),
        settings={"spark.sql.orc.enableVectorizedReader": "false"},
        has_dates=False,
        has_statistics=False,
    ),
    "registered": Layout(
        {
            "hoodie.populate.meta.fields": "false",
            "hoodie.index.type": "SIMPLE",
            "hoodie.metadata.index.column.stats.enable": "false",
            "hoodie.clean.automatic": "false",
        },
        hudis={
            "hoodie.datasource.write.precombine.field": "",
            "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.HoodieAvroPayload",
        },
        table_types=(COW,),
        has_statistics=False,
        has_meta=False,
        # Hudi 1.2.0 deletes registered files that it cleans, and goes on listing them; and after its restore nothing
        # lists them.
        hudi_cannot=frozenset({"clean", "restore"}),
        are_registered=True,
    ),
}
"""The layouts that a table may have."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A table that Hudi makes: its type, which of ``TABLES`` it is, its layout, its version, and that of Hudi."""

    table_type: str
    table: str
    layout_name: str = "plain"
    version: int = 9
    hudi: str = HUDI

    def __str__(self) -> str:
        by = "" if self.hudi == HUDI else f"-{self.hudi}"
        return f"{self.layout_name}-{self.table_type}-{self.version}-{self.table}{by}"

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.layout_name]

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of Hudi's Spark session."""
        return self.layout.settings

    @property
    def in_catalog(self) -> bool:
        """Whether Spark's catalog can have it: a partition column has to be a column."""
        return not self.layout.has_structs

    @property
    def has_all_in_folders(self) -> bool:
        """Whether the folders list the files, too."""
        return not self.layout.are_registered

    @property
    def is_mor(self) -> bool:
        return self.table_type == MOR

    @property
    def indexes(self) -> frozenset[str] | None:
        """The partitions of the metadata table, which no step may lose; None for those that Hudi begins with."""
        return TABLES[self.table] if (self.layout_name, self.version) == ("plain", 9) else None

    @property
    def has_records(self) -> bool:
        """Whether it has a record index, with which keys are unique in the table, and a secondary index."""
        return SECONDARY in TABLES[self.table]

    @property
    def has_expression(self) -> bool:
        return EXPRESSION in TABLES[self.table]

    @property
    def hudis(self) -> dict[str, str]:
        """What Hudi writes with."""
        return {
            **_TABLE,
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
            **(_INDEXES if self.has_records else {}),
            **(_NO_CLEANS if self.has_expression else {}),
            **(_OLD if self.hudi == OLD else {}),
            **self.layout.options,
            **self.layout.hudis,
        }

    @property
    def ours(self) -> dict[str, str]:
        """What hudiformat opens the table with."""
        indexed = {
            "hoodie.index.type": "RECORD_INDEX",
            "hoodie.record.index.update.partition.path": "true",
        }
        return {
            "hoodie.write.set.null.for.missing.columns": "true",
            "hudiformat.sync": "false",
            **(indexed if self.has_records else {}),
            **self.layout.options,
            **self.layout.ours,
        }


def kinds_of_layouts() -> list[Kind]:
    """Tables of each layout, of each type that it may have, and of each version."""
    return [
        Kind(table_type, "default", name, version)
        for name, layout in LAYOUTS.items()
        for version in layout.versions
        for table_type in layout.table_types
    ]
