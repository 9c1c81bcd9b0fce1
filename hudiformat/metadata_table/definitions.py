"""The definitions of a table's indexes: a JSON file that says which columns each index of the metadata table covers.

Source: HoodieIndexMetadata, HoodieIndexDefinition, Hudi 1.2.0; spec/metadata-table.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.metadata_table.value_types import is_indexable
from hudiformat.schema.meta_fields import COMMIT_TIME, META_FIELDS, PARTITION_PATH, RECORD_KEY
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.table_config import TableConfig

DEFINITIONS_FILE = ".hoodie/.index_defs/index.json"
DEFINITIONS_KEY = "hoodie.table.index.defs.path"
ALWAYS_INDEXED = (COMMIT_TIME, PARTITION_PATH, RECORD_KEY)
MOST_COLUMNS = 32
"""The default number of columns with statistics, besides the meta fields.

Source: hoodie.metadata.index.column.stats.max.columns….
"""

_VERSION_WITH_TYPES = 9


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """The definition of one index: ``fields`` are the columns that it covers, ``version`` is V1 or V2, or empty."""

    name: str
    kind: str
    function: str = ""
    fields: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    version: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The definition as a JSON object."""
        return {
            "indexName": self.name,
            "indexType": self.kind,
            "indexFunction": self.function,
            "sourceFields": list(self.fields),
            "indexOptions": dict(self.options),
            **({"version": self.version} if self.version else {}),
        }


Definitions = Mapping[str, IndexDefinition]
"""Definitions by the name of the index, which is also the name of its partition."""


def load_definitions(storage: Storage, config: TableConfig) -> Definitions:
    """Read the definitions of a table's indexes; none if it has no such file.

    Raises:
        CorruptTableError: the file holds something else.
        StorageError: it is there and cannot be read.
    """
    path = config.properties.get(DEFINITIONS_KEY, "")
    if not path:
        return {}
    named = f"{storage.root}/{path}"
    try:
        content = json.loads(storage.read(path))["indexDefinitions"]
        return {str(name): _definition(record) for name, record in content.items()}
    except StorageError:
        if storage.exists(path):  # it would be written anew without its indexes
            raise
        return {}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"{named}: expected definitions of indexes: {error!r}", path=named) from error


def encode_definitions(definitions: Definitions) -> bytes:
    """Return the content of a file with *definitions*.  Source: HoodieIndexMetadata.toJson."""
    records = {name: definition.record for name, definition in definitions.items()}
    return json.dumps({"indexDefinitions": records}, indent=2).encode()


def statistics_columns(definition: IndexDefinition | None, avro_schema: str) -> tuple[str, ...]:
    """Return the columns whose statistics are stored, for a table with the columns of *avro_schema* (JSON).

    They are the columns of the *definition*, by which readers go.  Without one they are the default: the meta fields
    and the first 32 other columns whose type has statistics.

    Source: HoodieTableMetadataUtil.getColumnsToIndex, HoodieColumnStatsIndexUtils.updateColsToIndex, Hudi 1.2.0.
    """
    return definition.fields if definition is not None and definition.fields else default_columns(avro_schema)


def default_columns(
    avro_schema: str, most: int = MOST_COLUMNS, *, has_types: bool = True, binary: bool = False
) -> tuple[str, ...]:
    """Return the meta fields and the first *most* columns of *avro_schema* (JSON) whose type has statistics.

    Without *binary*, columns of bytes are left out: a query with a condition on one fails in Hudi, or loses rows, if a
    partitioned table has statistics of it.  Hudi takes a column for one without statistics if no definition names it.
    """
    arrow = avro_to_arrow(avro_schema)
    enums = {field["name"] for field in json.loads(avro_schema)["fields"] if _is_enum(field["type"])}
    found = [
        column.name
        for column in arrow
        if column.name not in META_FIELDS
        and column.name not in enums
        and is_indexable(column.type, has_types=has_types)
        and (binary or not (pa.types.is_binary(column.type) or pa.types.is_fixed_size_binary(column.type)))
    ]
    return (*ALWAYS_INDEXED, *found[:most])


def has_value_types(definition: IndexDefinition | None, config: TableConfig) -> bool:
    """Return whether statistics record the type of their values, as in version 2 of the index.

    Source: HoodieTableMetadataUtil.existingIndexVersionOrDefault.
    """
    if definition is not None and definition.version:
        return definition.version != "V1"
    return config.version >= _VERSION_WITH_TYPES


def hashes_values(definition: IndexDefinition, config: TableConfig) -> bool:
    """Return whether only the value determines the file group of a secondary key, as in version 2 of the index.

    Source: HoodieTableMetadataUtil.getSecondaryKeyToFileGroupMappingFunction, existingIndexVersionOrDefault.
    """
    return has_value_types(definition, config)


def _is_enum(kind: Any) -> bool:
    if isinstance(kind, list):
        return any(_is_enum(branch) for branch in kind)
    return isinstance(kind, dict) and kind.get("type") == "enum"


def _definition(record: Mapping[str, Any]) -> IndexDefinition:
    return IndexDefinition(
        name=str(record["indexName"]),
        kind=str(record.get("indexType") or ""),
        function=str(record.get("indexFunction") or ""),
        fields=tuple(map(str, record.get("sourceFields") or ())),
        options={str(key): str(value) for key, value in (record.get("indexOptions") or {}).items()},
        version=str(record.get("version") or ""),
    )
