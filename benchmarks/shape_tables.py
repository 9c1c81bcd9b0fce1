"""The tables of the shapes, by each contender; every call opens the table anew, as a process does that comes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
from hudi import HudiReadOptions, HudiTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import AlwaysTrue, EqualTo, In
from pyiceberg.table import Table as IcebergTable

import hudiformat as hf
from benchmarks.shape_cases import Condition, Shape


@dataclass(frozen=True, slots=True)
class Ours:
    """A table of hudiformat at *path*, with the table type *kind*."""

    path: Path
    shape: Shape
    kind: str
    options: Mapping[str, str] = field(default_factory=dict)
    writes: ClassVar[bool] = True

    def create(self) -> None:
        """Create the table without rows."""
        hf.create_table(
            self.path,
            name="shape",
            schema=self.shape.schema,
            record_key=["id"],
            ordering=["ts"],
            partition_by=self.shape.partition_by,
            table_type=self.kind,
            options=self.options,
        )

    def _open(self) -> hf.Table:
        return hf.open_table(self.path, options=self.options)

    def insert(self, rows: pa.Table) -> None:
        """Write rows whose keys are new."""
        self._open().insert(rows)

    def upsert(self, rows: pa.Table) -> None:
        """Write rows whose keys may be there."""
        self._open().upsert(rows)

    def delete(self, rows: pa.Table) -> None:
        """Delete the keys of *rows*."""
        self._open().delete(rows)

    def count(self) -> int:
        """Count all rows."""
        return self._open().count()

    def files(self) -> int:
        """Plan a read of all rows; return how many base files and log files it has."""
        return sum(len(one.file_names) for one in self._open().file_slices())

    def read(self, columns: Sequence[str] | None = None, condition: Condition | None = None) -> pa.Table:
        """Read the rows for which *condition* is true."""
        names = self.shape.schema.names if columns is None else columns
        return self._open().snapshot(columns=names, filter=None if condition is None else [condition])


@dataclass(frozen=True, slots=True)
class Delta:
    """A table of deltalake at *path*, read by the Arrow dataset that it makes of a table."""

    path: Path
    shape: Shape
    writes: ClassVar[bool] = True

    def create(self) -> None:
        """Create the table without rows."""
        schema = deltalake.Schema.from_arrow(self.shape.schema)
        deltalake.DeltaTable.create(self.path, schema, partition_by=list(self.shape.partition_by))

    def _open(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.path)

    def insert(self, rows: pa.Table) -> None:
        """Write rows whose keys are new."""
        deltalake.write_deltalake(self.path, rows, mode="append")

    def _merge(self, rows: pa.Table) -> deltalake.table.TableMerger:
        same = " AND ".join(f"t.{name} = s.{name}" for name in ("id", *self.shape.partition_by))
        return self._open().merge(rows, same, source_alias="s", target_alias="t")

    def upsert(self, rows: pa.Table) -> None:
        """Write rows whose keys may be there."""
        self._merge(rows).when_matched_update_all().when_not_matched_insert_all().execute()

    def delete(self, rows: pa.Table) -> None:
        """Delete the keys of *rows*."""
        self._merge(rows).when_matched_delete().execute()

    def count(self) -> int:
        """Count all rows."""
        return int(self._open().to_pyarrow_dataset().count_rows())

    def files(self) -> int:
        """Plan a read of all rows; return how many data files it has."""
        return len(self._open().file_uris())

    def read(self, columns: Sequence[str] | None = None, condition: Condition | None = None) -> pa.Table:
        """Read the rows for which *condition* is true."""
        where = None if condition is None else pc.field(condition[0]) == condition[2]
        names = None if columns is None else list(columns)
        return self._open().to_pyarrow_dataset().to_table(columns=names, filter=where)


@dataclass(frozen=True, slots=True)
class Iceberg:
    """A table of pyiceberg at *path*, in a catalog of its own in SQLite."""

    path: Path
    shape: Shape
    writes: ClassVar[bool] = True

    def create(self) -> None:
        """Create the table without rows."""
        self.path.mkdir()
        catalog = self._catalog()
        catalog.create_namespace("shapes")
        table = catalog.create_table("shapes.t", schema=self.shape.schema)
        with table.update_spec() as spec:
            for name in self.shape.partition_by:
                spec.add_identity(name)

    def _catalog(self) -> SqlCatalog:
        return SqlCatalog("shapes", uri=f"sqlite:///{self.path}/catalog.db", warehouse=f"file://{self.path}")

    def _open(self) -> IcebergTable:
        return self._catalog().load_table("shapes.t")

    def insert(self, rows: pa.Table) -> None:
        """Write rows whose keys are new."""
        self._open().append(rows)

    def upsert(self, rows: pa.Table) -> None:
        """Write rows whose keys may be there."""
        self._open().upsert(rows, join_cols=["id"])

    def delete(self, rows: pa.Table) -> None:
        """Delete the keys of *rows*."""
        self._open().delete(In("id", rows["id"].to_pylist()))  # type: ignore[arg-type, call-arg]

    def count(self) -> int:
        """Count all rows."""
        return int(self._open().scan().count())

    def files(self) -> int:
        """Plan a read of all rows; return how many data files it has."""
        return len(list(self._open().scan().plan_files()))

    def read(self, columns: Sequence[str] | None = None, condition: Condition | None = None) -> pa.Table:
        """Read the rows for which *condition* is true."""
        where = AlwaysTrue() if condition is None else EqualTo(condition[0], condition[2])  # type: ignore[arg-type, call-arg]
        names = ("*",) if columns is None else tuple(columns)
        return self._open().scan(row_filter=where, selected_fields=names).to_arrow()


@dataclass(frozen=True, slots=True)
class HudiRs:
    """A copy-on-write table that hudi-rs reads; hudiformat writes it, because hudi-rs cannot."""

    path: Path
    shape: Shape
    options: Mapping[str, str] = field(default_factory=dict)
    writes: ClassVar[bool] = False

    def _ours(self) -> Ours:
        return Ours(self.path, self.shape, "COPY_ON_WRITE", self.options)

    def create(self) -> None:
        """Create the table without rows."""
        self._ours().create()

    def insert(self, rows: pa.Table) -> None:
        """Write rows whose keys are new."""
        self._ours().insert(rows)

    def upsert(self, rows: pa.Table) -> None:
        """Write rows whose keys may be there."""
        self._ours().upsert(rows)

    def delete(self, rows: pa.Table) -> None:
        """Delete the keys of *rows*."""
        self._ours().delete(rows)

    def count(self) -> int:
        """Count all rows, as many as a column has."""
        return self.read(columns=["id"]).num_rows

    def files(self) -> int:
        """Plan a read of all rows; return how many base files it has."""
        return len(HudiTable(str(self.path)).get_file_slices())

    def read(self, columns: Sequence[str] | None = None, condition: Condition | None = None) -> pa.Table:
        """Read the rows for which *condition* is true."""
        names = self.shape.schema.names if columns is None else columns
        options = HudiReadOptions().with_projection(list(names))
        if condition is not None:
            options = options.with_filters([(condition[0], condition[1], str(condition[2]))])
        table = HudiTable(str(self.path))
        batches = table.read(options)
        return pa.Table.from_batches(batches, schema=None if batches else self._empty(names))

    def _empty(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([self.shape.schema.field(name) for name in names])
