"""Writing a base file from rows with meta fields, one row group after the other."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.basefile.bloom import BLOOM_FILTER, BloomFilter
from hudiformat.basefile.file_keys import MAX_KEY, MIN_KEY, FileKeys, beyond_utf16_unit
from hudiformat.basefile.meta_fields import FILE_NAME, RECORD_KEY
from hudiformat.blocks.content.parquet_data import AVRO_SCHEMA_KEY, MODEL_KEY, level_of
from hudiformat.storage import ArrowSink, OutputFile

_FIRST_ROWS = 20_000
"""The highest number of rows in the first row group; after it the size of a row is measured."""
_SAMPLE_ROWS = 10_000
_DISTINCT_SHARE = 0.98
"""If at least this share of a sample of values is distinct, all values of the column are taken to be distinct."""
_FILTER_BYTES_PER_ROW = 43.13 / 8 * 4 / 3
"""The bytes of a bloom filter with a false positive rate of 1e-9, in base64."""
_FOOTER_BYTES = 1_000
_GROUP_BYTES_PER_COLUMN = 130
"""The bytes in the footer for a column in a row group."""


class BaseFileWriter:
    """Writes a Parquet base file; it holds a row group and the record keys of the file in memory.

    The footer contains the Avro schema, the range of the record keys and, with *bloom_filter*, their bloom filter.
    *row_size* is the assumed size of a row in the file, in bytes, until it can be measured.  Row groups have about
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
        self._unwritten: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None
        self._written = 0
        self._groups = 0
        self._footers: list[pq.FileMetaData] = []
        self.rows = 0
        self.waiting_bytes = 0
        self.bloom_filter: str | None = None
        """The bloom filter of the closed file, as its footer has it; None if it has none."""

    def write(self, rows: pa.Table) -> None:
        """Add *rows*, which have the meta fields, and write the row groups that are full."""
        self._unwritten.append(rows)
        self.rows += rows.num_rows
        self.waiting_bytes += rows.nbytes
        if self.rows - self._written >= self._group_rows:
            self.flush()

    def flush(self) -> None:
        """Write the rows that have been added and not written yet."""
        if not self._unwritten:
            return
        table = pa.concat_tables(map(_with_file_name_dictionary, self._unwritten))
        self._unwritten, self.waiting_bytes = [], 0
        while table.num_rows:
            group = table.slice(0, self._group_rows)
            table = table.slice(group.num_rows)
            self._keys += group[RECORD_KEY].chunks
            self._writer = self._writer or self._parquet_writer(group)
            self._writer.write_table(group, row_group_size=group.num_rows)
            self._written += group.num_rows
            self._groups += 1
            self._row_size = max(self._sink.tell() / self._written, 1.0)

    def rows_before(self, size: int) -> int:
        """Return how many more rows fit until the file has about *size* bytes, at most one row group.

        The estimate improves with each row group that is written.
        """
        per_row = self._row_size + (_FILTER_BYTES_PER_ROW if self._bloom_filter else 0)
        groups = self._groups + 1
        room = size - len(self._avro_schema) - _FOOTER_BYTES - groups * _GROUP_BYTES_PER_COLUMN * len(self._schema)
        return min(int(room // per_row) - self.rows, self._group_rows)

    def close(self, *, same_keys: FileKeys | None = None) -> int:
        """Write the remaining rows and the footer; return the size of the file in bytes.

        *same_keys* is the footer of another file with exactly the same record keys: its bloom filter is used again.
        """
        self.flush()
        writer = self._writer or self._parquet_writer(self._schema.empty_table())
        footer = self._footer(same_keys)
        writer.add_key_value_metadata({AVRO_SCHEMA_KEY: self._avro_schema, MODEL_KEY: "avro", **footer})
        writer.close()
        size: int = self._sink.tell()
        self._sink.close()
        return size

    def abandon(self) -> None:
        """Release the file without writing anything more, not even rows that have been added."""
        self._target.is_open = False

    def _parquet_writer(self, first: pa.Table) -> pq.ParquetWriter:
        """Return the writer of the row groups; *first* is the first of them."""
        return pq.ParquetWriter(
            self._sink,
            _with_file_name_dictionary(first).schema,
            compression=self._compression,
            compression_level=level_of(self._compression),
            use_dictionary=_with_dictionaries(first),
            store_schema=False,
            metadata_collector=self._footers,
        )

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column of the closed file, by its path, and the same uncompressed."""
        sizes: dict[str, tuple[int, int]] = {}
        for footer in self._footers:
            for group, column in product(range(footer.num_row_groups), range(footer.num_columns)):
                chunk = footer.row_group(group).column(column)
                size, uncompressed = sizes.get(chunk.path_in_schema, (0, 0))
                total = size + chunk.total_compressed_size, uncompressed + chunk.total_uncompressed_size
                sizes[chunk.path_in_schema] = total
        return sizes

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
            self.bloom_filter = footer[BLOOM_FILTER]
        if self._written:
            footer |= dict(zip((MIN_KEY, MAX_KEY), _key_range(keys), strict=True))
        return footer


def _with_dictionaries(rows: pa.Table) -> list[str] | bool:
    """Return the paths of the Parquet columns to write with dictionaries, or True for all.

    Columns whose values in *rows* are almost all distinct have none: Arrow gives up a dictionary at one megabyte, so
    that it would cost time and space without any use.
    """
    distinct = [field.name for field in rows.schema if _is_distinct(rows[field.name])]
    return [path for path in _paths(rows.schema) if path not in distinct] if distinct else True


def _is_distinct(column: pa.ChunkedArray) -> bool:
    values = len(column) - column.null_count
    if values < _SAMPLE_ROWS or column.type.num_fields or pa.types.is_dictionary(column.type):
        return False
    return bool(pc.count_distinct(column).as_py() >= values * _DISTINCT_SHARE)


def _paths(schema: pa.Schema) -> list[str]:
    """Return the paths of the Parquet columns of *schema*, including those of nested fields."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [columns.column(number).path for number in range(len(columns))]


def _with_file_name_dictionary(rows: pa.Table) -> pa.Table:
    """Return *rows* with the file name column as a dictionary: the name is long and the same in all rows."""
    index = rows.schema.get_field_index(FILE_NAME)
    if pa.types.is_dictionary(rows.schema.field(index).type):
        return rows
    return rows.set_column(index, FILE_NAME, rows.column(index).dictionary_encode())


def _key_range(keys: pa.Array) -> tuple[str, str]:
    """Return the lowest and the highest key in Java's order of strings: by UTF-16 units, not by UTF-8 bytes.

    Hudi's bloom index compares keys with them: BloomIndexFileInfo.isKeyInRange.
    """
    if beyond_utf16_unit(keys):
        texts = keys.to_pylist()
        return min(texts, key=_utf16), max(texts, key=_utf16)
    limits = pc.min_max(keys)
    return limits["min"].as_py(), limits["max"].as_py()


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
