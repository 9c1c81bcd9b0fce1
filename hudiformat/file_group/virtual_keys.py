"""Record keys of rows in tables without meta fields, where each key is made of the key columns of its row.

The files of such a table have the meta fields, and nulls in them.  Whoever asks for ``_hoodie_record_key`` is given the
keys that are made of the columns; what is written has nulls again.

Source: HoodieReaderContext.getRecordKey, HoodieAppendHandle.populateMetadataFields, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from hudiformat.file_group.base_file.read import BaseRows
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.schema.table_schema import RowKeys, TableSchema
from hudiformat.timeline.table_config import TableConfig


@dataclass(frozen=True, slots=True)
class VirtualKeys:
    """Makes the record keys of rows from their ``key_columns``."""

    keys: RowKeys
    key_columns: pa.Schema

    @classmethod
    def of(cls, config: TableConfig, schema: TableSchema) -> VirtualKeys:
        """Return what makes the keys of a table without meta fields."""
        keys = RowKeys.of(config)
        return cls(keys, pa.schema([schema.arrow.field(name) for name in keys.key_columns]))

    def stored(self, wanted: pa.Schema) -> pa.Schema:
        """Return the columns to read for *wanted*: the key columns in place of the record key."""
        if RECORD_KEY not in wanted.names:
            return wanted
        own = [field for field in wanted if field.name != RECORD_KEY]
        return pa.schema([*own, *(field for field in self.key_columns if wanted.get_field_index(field.name) < 0)])

    def of_rows(self, rows: pa.RecordBatch) -> pa.Array:
        """Return the record key of each row.

        Raises:
            DataError: a key is null or empty.
        """
        return self.keys.record_keys(rows)

    def fill(self, rows: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
        """Return *rows*, which have the columns of :meth:`stored`, with the columns *wanted*."""
        if RECORD_KEY not in wanted.names:
            return rows
        made = self.of_rows(rows)
        return pa.RecordBatch.from_arrays(
            [made if field.name == RECORD_KEY else rows[field.name] for field in wanted], schema=wanted
        )

    def fill_all(self, batches: Iterable[pa.RecordBatch], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield each of *batches* by :meth:`fill`."""
        return (self.fill(batch, wanted) for batch in batches)

    def fill_base(self, rows: Iterable[BaseRows], head: pa.Schema, wanted: pa.Schema) -> Iterator[BaseRows]:
        """Yield base rows with the columns *wanted*, and those of *head* in their heads."""
        for one in rows:
            yield BaseRows(self.fill(one.head, head), partial(self._read, one, wanted), one.numbers)

    def _read(self, rows: BaseRows, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        return self.fill_all(rows.read(), wanted)
