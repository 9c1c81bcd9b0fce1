"""Make the tables with registered files, as XTable makes them of others': ``python -m tests.foreign.make_registered``.

XTable registers Parquet files of Delta Lake and Iceberg by a replace commit of Hudi's Java client, which names them,
and writes the metadata table; tests/foreign/registering.java does the same with Hudi 1.2.0.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conformance.hudi import RealHudi
from tests.conformance.java import JavaClass
from tests.foreign.foreign_tables import pack

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
AVRO = json.dumps(
    {
        "type": "record",
        "name": "t",
        "fields": [
            {"name": name, "type": ["null", kind], "default": None}
            for name, kind in (("k", "string"), ("ts", "long"), ("p", "string"), ("v", "int"))
        ],
    }
)
VERSIONS = (6, 8, 9)
Row = tuple[str, int, str, int]


def rows(*values: Row) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, one, strict=True)) for one in values], SCHEMA)


class Registering:
    """Registers files with a table at *path*, which it makes: without meta fields, with the key k, in partitions p."""

    def __init__(
        self, hudi: RealHudi, path: Path, version: int, table_type: str = "COPY_ON_WRITE", *, name: str = "t"
    ) -> None:
        self._java = JavaClass(hudi, "Registering", Path(__file__).with_name("registering.java"))
        self.path, self._version = path, version
        self._java.call("create", str(path), name, "k", "p", str(version), table_type)

    def register(self, avro: str, added: Mapping[str, pa.Table], removed: str = "") -> None:
        """Write the files *added*, and register them in place of *removed*; *avro* is the schema of the table then."""
        named = []
        for name, values in added.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(values, file)
            named.append(f"{name},{values.num_rows},{file.stat().st_size}")
        self._java.call("register", str(self.path), avro, ";".join(named), removed, str(self._version))


class Registered:
    """A table at *path* with files that are registered with it."""

    def __init__(self, hudi: RealHudi, path: Path, version: int, table_type: str = "COPY_ON_WRITE") -> None:
        self._hudi, self.path, self.version, self._type = hudi, path, version, table_type
        self._registering = Registering(hudi, path, version, table_type)

    def register(
        self, added: dict[str, tuple[Row, ...]], removed: str = "", *, columns: Sequence[str] = SCHEMA.names
    ) -> None:
        """Write files *added* of some *columns*, and register them in place of *removed*."""
        files = {name: rows(*values).select(columns) for name, values in added.items()}
        self._registering.register(AVRO, files, removed)

    def write(self, operation: str, *values: Row, **more: str) -> None:
        """Have Hudi write rows.

        Its statistics of columns do not know registered files: with them it fails in partition statistics.
        """
        self._hudi.write(
            rows(*values), self.path, {**self.options, "hoodie.datasource.write.operation": operation, **more}
        )

    @property
    def options(self) -> dict[str, str]:
        """What Hudi writes with."""
        return {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.recordkey.field": "k",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.table.type": self._type,
            "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.HoodieAvroPayload",
            "hoodie.populate.meta.fields": "false",
            "hoodie.write.table.version": str(self.version),
            "hoodie.write.auto.upgrade": "false",
            "hoodie.metadata.index.column.stats.enable": "false",
            "hoodie.metadata.index.partition.stats.enable": "false",
            "hoodie.index.type": "SIMPLE",
            "hoodie.clean.automatic": "false",
        }


def make(hudi: RealHudi, path: Path, version: int) -> Registered:
    """Two files, of which one is replaced; then Hudi writes to the group of the other, and new rows."""
    table = Registered(hudi, path, version)
    names = ("x/part-00000-a1b2.c000.snappy.parquet", "y/00000-0-d4e5.parquet", "y/data_2.parquet")
    table.register(
        {names[0]: (("a", 1, "x", 1), ("b", 1, "x", 2)), names[1]: (("c", 1, "y", 3),)},
    )
    table.register({names[2]: (("c", 2, "y", 30), ("d", 1, "y", 4))}, removed=names[1])
    table.write("upsert", ("a", 2, "x", 10), ("e", 1, "x", 5))
    return table


def main() -> None:
    """Make all."""
    with tempfile.TemporaryDirectory() as folder, RealHudi() as hudi:
        for version in VERSIONS:
            made = make(hudi, Path(folder, "t"), version)
            pack(hudi, made.path, f"registered-cow{version}-h120", {"snapshot": {}})


if __name__ == "__main__":
    main()
