"""The objects of a catalog, as Hive's metastore has them; AWS Glue has the same under other names.

Source: hive_metastore.thrift; spec/catalogs.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EXTERNAL, MANAGED = "EXTERNAL_TABLE", "MANAGED_TABLE"
LAST_COMMIT = "last_commit_time_sync"
LAST_COMPLETION = "last_commit_completion_time_sync"
WRITER = "hudi_writer_version"
PROVIDER = "spark.sql.sources.provider"
PATH = "path"
AS_READ_OPTIMIZED = "hoodie.query.as.ro.table"


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column; the catalog keeps names in lower case.  *type* is Hive's word."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class StorageDescriptor:
    """Where the files of a catalog table are, with which columns, and by which classes Hive reads them."""

    columns: tuple[CatalogColumn, ...]
    location: str
    input_format: str
    output_format: str
    serde: str
    serde_parameters: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a catalog.  *table_type* is ``EXTERNAL_TABLE`` or ``MANAGED_TABLE``."""

    database: str
    name: str
    storage: StorageDescriptor
    partition_keys: tuple[CatalogColumn, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    table_type: str = EXTERNAL
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def is_hudi(self) -> bool:
        """Whether it is a table of Hudi's, by its provider for Spark or by its class for Hive."""
        is_hoodie = ".hoodie." in self.storage.input_format  # com.uber.hoodie, Hudi's first package
        return (
            self.parameters.get(PROVIDER, "").lower() == "hudi"
            or self.storage.input_format.startswith("org.apache.hudi.")
            or is_hoodie
        )

    @property
    def path(self) -> str:
        """The table's base path."""
        path = self.storage.serde_parameters.get(PATH) or self.storage.location
        return path.removeprefix("file://").removeprefix("file:")

    @property
    def last_commit(self) -> str | None:
        """The requested time of the newest commit that the catalog has been told of."""
        return self.parameters.get(LAST_COMMIT)

    @property
    def last_completion(self) -> str | None:
        """The newest completion time of the commits that the catalog has been told of."""
        return self.parameters.get(LAST_COMPLETION)


@dataclass(frozen=True, slots=True)
class CatalogPartition:
    """A partition of a catalog table: a value for each partition key, and the folder of its files.

    Its columns and classes are those of the table.
    """

    values: tuple[str, ...]
    location: str
