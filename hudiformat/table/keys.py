"""Record keys and partition paths of rows, as the table's key generator makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hudiformat.basefile.meta_fields import RECORD_KEY
from hudiformat.errors import DataError, SchemaError, UnsupportedFeatureError
from hudiformat.naming import partition_paths, record_keys
from hudiformat.timeline import KeyGenerator, TableConfig

_SUPPORTED_GENERATORS = (KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION, None)


@dataclass(frozen=True, slots=True)
class RowKeys:
    """How a table's rows get their record key and partition path.

    Source: KeyGenUtils, SimpleKeyGenerator, ComplexKeyGenerator, NonpartitionedKeyGenerator.
    """

    key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    complex_form: bool
    hive_style: bool
    url_encode: bool

    @classmethod
    def of(cls, config: TableConfig) -> RowKeys:
        """The key generator of a table.

        Raises:
            UnsupportedFeatureError: the table has another key generator than those supported, or no record key.
        """
        if config.key_generator not in _SUPPORTED_GENERATORS:
            name = config.key_generator_class or config.key_generator.name
            supported = ", ".join(generator.name for generator in _SUPPORTED_GENERATORS if generator)
            raise UnsupportedFeatureError(
                f"keys made by {name}; supported are {supported}", feature=f"key generator {name}"
            )
        if not config.record_key_fields:
            raise UnsupportedFeatureError("writing to a table without a record key", feature="no record key")
        return cls(
            key_fields=config.record_key_fields,
            partition_fields=config.partition_fields,
            complex_form=config.uses_complex_keys,
            hive_style=config.hive_style_partitioning,
            url_encode=config.url_encode_partitioning,
        )

    def record_keys(self, rows: pa.RecordBatch | pa.Table) -> pa.Array:
        """The record key of each row.

        Raises:
            DataError: a key column is missing, or a key is null or empty.
        """
        return record_keys(self._columns(rows, self.key_fields), list(self.key_fields), complex_form=self.complex_form)

    def partition_paths(self, rows: pa.RecordBatch | pa.Table) -> pa.Array:
        """The partition path of each row, ``""`` in a table without partitions.

        Raises:
            DataError: a partition column is missing.
            SchemaError: a partition column of a type whose text Hudi does not define.
        """
        if not self.partition_fields:
            offsets = np.zeros(rows.num_rows + 1, np.int32)  # of which the system makes no memory
            return pa.StringArray.from_buffers(rows.num_rows, pa.py_buffer(offsets), pa.py_buffer(b""))
        return partition_paths(
            self._columns(rows, self.partition_fields),
            list(self.partition_fields),
            hive_style=self.hive_style,
            url_encode=self.url_encode,
        )

    def check(self, schema: pa.Schema) -> None:
        """Raise when rows of *schema* can have no keys.

        Raises:
            DataError: a column that keys are made of is missing.
            SchemaError: it is there twice, or has a type whose text Hudi does not define.
        """
        empty = schema.empty_table()
        self.record_keys(empty)
        self.partition_paths(empty)

    @staticmethod
    def _columns(rows: pa.RecordBatch | pa.Table, names: tuple[str, ...]) -> list[pa.Array]:
        columns = []
        for name in names:
            if name not in rows.schema.names:
                raise DataError(
                    f"the column {name!r}, which the table's keys are made of, is missing; the columns are "
                    f"{', '.join(rows.schema.names)}",
                    column=name,
                )
            if rows.schema.names.count(name) > 1:
                raise SchemaError(f"column {name} is there twice: rename or drop one", column=name)
            column = rows.column(name)
            columns.append(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
        return columns


def stored_keys(rows: pa.Table) -> pa.ChunkedArray:
    """The record keys of rows that have the meta fields."""
    return rows[RECORD_KEY]
