"""A table's schema: Avro on disk, Arrow in memory, with and without the meta fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from hudiformat.avro import arrow_to_avro, avro_to_arrow, resolve
from hudiformat.basefile import META_FIELDS, meta_schema, without_meta_fields
from hudiformat.errors import SchemaError

DELETED_FIELD = "_hoodie_is_deleted"
"""The column, where a table has it as a boolean, that is true in a row that is a delete.  Source: HoodieRecord."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The schema of a table's own columns; ``avro`` is JSON as it stands in the commit metadata."""

    avro: str

    @classmethod
    def from_arrow(cls, schema: pa.Schema, table_name: str) -> TableSchema:
        """The schema of *schema*, named as Hudi's Spark writer names it; meta fields are left out.

        Raises:
            SchemaError: a column whose type or name Avro cannot hold.
        """
        name = table_name.replace("-", "_").replace(".", "_")
        return cls(arrow_to_avro(without_meta_fields(schema), name=f"{name}_record", namespace=f"hoodie.{name}"))

    @property
    def arrow(self) -> pa.Schema:
        """The table's own columns."""
        return without_meta_fields(avro_to_arrow(self.avro))

    @property
    def arrow_with_meta(self) -> pa.Schema:
        """The meta fields and the table's own columns."""
        return meta_schema(self.arrow)

    @property
    def avro_with_meta(self) -> str:
        """The Avro schema of log records and base files, as JSON.

        Source: HoodieAvroUtils.addMetadataFields.
        """
        return _avro_with_meta(self.avro)

    @property
    def delete_column(self) -> str | None:
        """The column that tells deletes, where the table has it."""
        schema = self.arrow
        has_it = DELETED_FIELD in schema.names and pa.types.is_boolean(schema.field(DELETED_FIELD).type)
        return DELETED_FIELD if has_it else None

    def with_texts(self, names: Sequence[str]) -> TableSchema:
        """The schema with those of *names* that it lacks as strings at the end.

        Source: TableSchemaResolver.appendPartitionColumns, Hudi 1.2.0.
        """
        missing = [name for name in names if name not in self.arrow.names]
        schema = json.loads(self.avro)
        schema["fields"] += [{"name": name, "type": ["null", "string"], "default": None} for name in missing]
        return TableSchema(json.dumps(schema, separators=(",", ":"), ensure_ascii=False)) if missing else self

    def only(self, names: list[str]) -> TableSchema:
        """The schema of some of the columns, in the order of *names*."""
        schema = json.loads(self.avro)
        fields = {field["name"]: field for field in schema["fields"]}
        return TableSchema(json.dumps(schema | {"fields": [fields[name] for name in names]}, separators=(",", ":")))

    def fit(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """*batch* with the table's own columns, in the table's order and types; meta fields are dropped.

        Columns that are missing become null where they may be.

        Raises:
            SchemaError: a column that the table does not have, that cannot be brought to the table's type, or that is
                missing and may not be null.
        """
        own = batch.select([name for name in batch.schema.names if name not in META_FIELDS])
        self.check(own.schema)
        return resolve(own, self.arrow)

    def check(self, schema: pa.Schema) -> None:
        """Raise a SchemaError when rows of *schema* cannot be written to the table; looks at no row."""
        incoming, table = without_meta_fields(schema), self.arrow
        arrow_to_avro(incoming, name="incoming", namespace="hoodie")  # refuses what Avro cannot hold
        for name in incoming.names:
            if name not in table.names:
                raise SchemaError(
                    f"the column {name!r} is not in the table; its columns are {', '.join(table.names)}", column=name
                )
        empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in incoming], schema=incoming)
        resolve(empty, table)


@lru_cache(maxsize=64)
def _avro_with_meta(avro: str) -> str:
    schema = json.loads(avro)
    meta = [{"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS]
    schema["fields"] = meta + [field for field in schema["fields"] if field["name"] not in META_FIELDS]
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
