"""Rows with meta fields -> a base file, a row group after the other."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.basefile.bloom import BLOOM_FILTER, BloomFilter
from hudiformat.basefile.file_keys import MAX_KEY, MIN_KEY, FileKeys, beyond_utf16_unit
from hudiformat.basefile.meta_fields import FILE_NAME, RECORD_KEY
from hudiformat.blocks.content.parquet_data import AVRO_SCHEMA_KEY, MODEL_KEY, level_of
from hudiformat.storage import ArrowSink, OutputFile

_FIRST_ROWS = 20_000
"""Rows of the first row group at most: from there on the size of a row is known."""
_TELLING_ROWS = 10_000
_LEAST_DIFFERING = 0.98
"""When so many values of a column have so few that come twice, all of them are likely to differ."""
_FILTER_BYTES_PER_ROW = 43.13 / 8 * 4 / 3
"""Of a filter with a rate of false positives of 1e-9, in base64."""
_FOOTER_BYTES = 1_000
_GROUP_BYTES_PER_COLUMN = 130
"""What the footer says of a column in a row group."""


class BaseFileWriter:
    """Writes a Parquet base file; memory is bounded by a row group, and the record keys of the file.

    The footer carries the Avro schema, the range of the record keys and, with *bloom_filter*, their filter.
    *row_size* is what a row is taken to have in the file, in bytes, until that can be measured; row groups have about
    *row_group_size* bytes.
    """

    def __init__(
        self,
        file: OutputFile,
        schema: pa.Schema,
        avro_schema: str,
        *,
        compression: str = "gzip",
        bloom_filter: bool = True,
        row_size: int = 1024,
        row_group_size: int = 16 * 1024 * 1024,
    ) -> None:
        self._target = ArrowSink(file)
        self._sink = self._target.stream()
        self._compression = compression
        self._schema = schema
        self._avro_schema = avro_schema
        self._bloom_filter = bloom_filter
        self._row_size = float(row_size)
        self._row_group_size = row_group_size
        self._keys: list[pa.Array] = []
        self._waiting: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None
        self._written = 0
        self._groups = 0
        self.rows = 0
        self.waiting_bytes = 0

    def write(self, rows: pa.Table) -> None:
        """Add *rows*, which have the meta fields; the row groups that are full go to the file."""
        self._waiting.append(rows)
        self.rows += rows.num_rows
        self.waiting_bytes += rows.nbytes
        if self.rows - self._written >= self._group_rows:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are waiting."""
        if not self._waiting:
            return
        table = pa.concat_tables(map(_with_shared_name, self._waiting))
        self._waiting, self.waiting_bytes = [], 0
        while table.num_rows:
            group = table.slice(0, self._group_rows)
            table = table.slice(group.num_rows)
            self._keys += group[RECORD_KEY].chunks
            self._writer = self._writer or self._opened(group)
            self._writer.write_table(group, row_group_size=group.num_rows)
            self._written += group.num_rows
            self._groups += 1
            self._row_size = max(self._sink.tell() / self._written, 1.0)

    def rows_before(self, size: int) -> int:
        """How many more rows the file takes until it has about *size* bytes; at most a row group of them.

        Asked again after they have been written, it knows better.
        """
        per_row = self._row_size + (_FILTER_BYTES_PER_ROW if self._bloom_filter else 0)
        groups = self._groups + 1
        room = size - len(self._avro_schema) - _FOOTER_BYTES - groups * _GROUP_BYTES_PER_COLUMN * len(self._schema)
        return min(int(room // per_row) - self.rows, self._group_rows)

    def close(self, *, same_keys: FileKeys | None = None) -> int:
        """Write what is left and the footer; the size of the file in bytes.

        *same_keys* are those of another file that has the very same record keys: they are not hashed again.
        """
        self.flush()
        writer = self._writer or self._opened(self._schema.empty_table())
        footer = self._footer(same_keys)
        writer.add_key_value_metadata({AVRO_SCHEMA_KEY: self._avro_schema, MODEL_KEY: "avro", **footer})
        writer.close()
        size: int = self._sink.tell()
        self._sink.close()
        return size

    def abandon(self) -> None:
        """Let go of the file as it is: nothing more is written, whatever is still waiting."""
        self._target.is_open = False

    def _opened(self, first: pa.Table) -> pq.ParquetWriter:
        """What writes the row groups, of which *first* is the first."""
        return pq.ParquetWriter(
            self._sink,
            _with_shared_name(first).schema,
            compression=self._compression,
            compression_level=level_of(self._compression),
            use_dictionary=_with_dictionaries(first),
            store_schema=False,
        )

    @property
    def _group_rows(self) -> int:
        most = max(int(self._row_group_size // self._row_size), 1)
        return most if self._written else min(most, _FIRST_ROWS)

    def _footer(self, same_keys: FileKeys | None) -> dict[str, str]:
        keys = pa.chunked_array(self._keys, pa.string()).combine_chunks()
        footer = {}
        if self._bloom_filter:
            known = same_keys and same_keys.filter_of(len(keys))
            footer[BLOOM_FILTER] = known or BloomFilter.of(keys).serialize()
        if self._written:
            footer |= dict(zip((MIN_KEY, MAX_KEY), _key_range(keys), strict=True))
        return footer


def _with_dictionaries(rows: pa.Table) -> list[str] | bool:
    """The Parquet columns whose values may come again, as far as *rows* tell.

    Arrow gives a dictionary up when it has a megabyte: of values that all differ that takes time and space for nothing.
    """
    differing = [field.name for field in rows.schema if _all_differ(rows[field.name])]
    return [path for path in _paths(rows.schema) if path not in differing] if differing else True


def _all_differ(column: pa.ChunkedArray) -> bool:
    values = len(column) - column.null_count
    if values < _TELLING_ROWS or column.type.num_fields or pa.types.is_dictionary(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() >= values * _LEAST_DIFFERING)


def _paths(schema: pa.Schema) -> list[str]:
    """The paths of the columns that Parquet has for *schema*, those of nested ones within them."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [columns.column(number).path for number in range(len(columns))]


def _with_shared_name(rows: pa.Table) -> pa.Table:
    """*rows* with their file's name once, as a dictionary: it is long, and the same in all of them."""
    place = rows.schema.get_field_index(FILE_NAME)
    if pa.types.is_dictionary(rows.schema.field(place).type):
        return rows
    return rows.set_column(place, FILE_NAME, rows.column(place).dictionary_encode())


def _key_range(keys: pa.Array) -> tuple[str, str]:
    """The least and the greatest key as Java orders texts: by UTF-16 units, not by UTF-8 bytes or code points.

    Hudi's bloom index compares with them: BloomIndexFileInfo.isKeyInRange.
    """
    if beyond_utf16_unit(keys):
        texts = keys.to_pylist()
        return min(texts, key=_utf16), max(texts, key=_utf16)
    found = pc.min_max(keys)
    return found["min"].as_py(), found["max"].as_py()


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
