"""Decide which values a query shows in partition columns: those in the partition path, not those in the files.

Some values cannot be recovered from a path.  If the key generator formats times into paths, queries show the values in
the files, as texts.

Source: HoodieBaseHadoopFsRelationFactory.partitionColumnsToRead, SparkParsePartitionUtil, Hudi 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.java_text import java_float
from hudiformat.naming.keys import DEFAULT_PARTITION, unescape_path_name
from hudiformat.timeline.table_config import KeyGenerator, TableConfig


@dataclass(frozen=True, slots=True)
class PartitionColumns:
    """How the partition columns ``fields`` are shown.

    Columns in ``stored`` show the values in the files, all others those in the path.  Columns in ``as_text`` are shown
    as texts.  With ``whole_path`` every field shows the whole partition path.  ``escaped`` means that values in paths
    contain no ``/``.  Without ``unescapes``, as in Hudi's incremental queries, ``%XX`` in a path is shown unchanged.
    """

    fields: tuple[str, ...]
    stored: frozenset[str]
    as_text: frozenset[str]
    whole_path: bool
    escaped: bool
    unescapes: bool

    @classmethod
    def of(cls, config: TableConfig, *, unescapes: bool = True) -> PartitionColumns:
        """Return how the partition columns of a table are shown."""
        fields = config.partition_fields
        timed = _timed_fields(config)
        by_files = frozenset() if config.drop_partition_columns else timed | (set(fields) & set(config.ordering_fields))
        formats_times = config.key_generator is KeyGenerator.TIMESTAMP
        return cls(
            fields=fields,
            stored=frozenset(by_files),
            as_text=timed if formats_times else frozenset(),
            whole_path=formats_times and config.extra.get("hoodie.keygen.timebased.timestamp.type") != "DATE_STRING",
            escaped=config.url_encode_partitioning and not timed,
            unescapes=unescapes,
        )

    def _value(self, folder: str) -> str | None:
        text = folder.partition("=")[2] if "=" in folder else folder
        text = unescape_path_name(text) if self.unescapes and "%" in text else text
        return None if text == DEFAULT_PARTITION else text

    @property
    def from_path(self) -> tuple[str, ...]:
        """The columns that show the values in the path."""
        return tuple(name for name in self.fields if name not in self.stored)

    def query_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema that a query shows for the files' *schema*."""
        for name in self.as_text & set(schema.names):
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
        return schema

    def to_query_rows(self, rows: pa.RecordBatch, path: str, schema: pa.Schema, *, merged: bool) -> pa.RecordBatch:
        """Return *rows* of the partition at *path* as a query shows them, with the columns of *schema*.

        *schema* is a part of what :meth:`query_schema` returned.  *merged* says whether log files were merged into
        *rows*, which changes the text of timestamps, as in Hudi.
        """
        if not self.fields or not len(schema):  # without columns, the row count is kept only by the batch itself
            return rows.select(schema.names)
        texts = dict(zip(self.fields, self.texts(path), strict=True))
        columns = []
        for field in schema:
            if field.name in self.from_path:
                columns.append(pa.repeat(cast_text(texts[field.name], field.type), rows.num_rows))
            elif field.name in self.as_text:
                columns.append(_as_text(rows[field.name], merged=merged))
            else:
                columns.append(rows[field.name])
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def texts(self, path: str) -> list[str | None]:
        """Return the value of each field in *path*, unescaped; None for the default partition.

        A single field gets a path of several folders as a whole.  Several fields all get None if the path has more or
        fewer folders than there are fields.

        Source: HoodieSparkUtils.parsePartitionColumnValues, Hudi 1.2.0.
        """
        folders = path.split("/") if path else []
        if self.whole_path:
            return [path] * len(self.fields)
        if len(folders) == len(self.fields):
            return [self._value(folder) for folder in folders]
        if len(self.fields) == 1:
            return [path.removeprefix(f"{self.fields[0]}=")]
        return [None] * len(self.fields)


def cast_text(text: str | None, kind: pa.DataType) -> pa.Scalar:
    """Convert the text of a path to the column's type; return null if it cannot be converted, as Spark's casts do."""
    try:
        return pa.scalar(text, pa.string()).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.scalar(None, kind)


def _timed_fields(config: TableConfig) -> frozenset[str]:
    """Return the fields whose values are times that the key generator formats into the path."""
    if config.key_generator is KeyGenerator.TIMESTAMP:
        return frozenset(config.partition_fields)
    if config.key_generator is not KeyGenerator.CUSTOM:
        return frozenset()
    pairs = zip(config.partition_fields, config.partition_types, strict=True)
    return frozenset(name for name, kind in pairs if kind == "timestamp")


def _as_text(values: pa.Array, *, merged: bool) -> pa.Array:
    """Format values as Spark does; timestamps of *merged* rows as microseconds, as Spark's internal rows hold them."""
    kind = values.type
    if pa.types.is_floating(kind):
        return pa.array([java_float(value) for value in values.to_pylist()], pa.string())
    if not pa.types.is_timestamp(kind):
        return values.cast(pa.string())
    if merged:
        return values.cast(pa.int64()).cast(pa.string())
    text = pc.strftime(values.cast(pa.timestamp("us", kind.tz)), "%Y-%m-%d %H:%M:%S")
    return pc.replace_substring_regex(text, r"\.?0*$", "")
