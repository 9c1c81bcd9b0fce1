"""Write a Parquet base file from rows with meta fields, one row group after the other."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.codec.avro.schema import has_vectors
from hudiformat.codec.custom_types import store_vectors, stored_schema
from hudiformat.codec.log.content.parquet_data import AVRO_SCHEMA_KEY, MODEL_KEY, compression_level, vector_columns
from hudiformat.codec.parquet.dates import GREGORIAN
from hudiformat.codec.parquet.few_rows import encode_files
from hudiformat.codec.parquet.incompressible import LEAST_BYTES, incompressible
from hudiformat.codec.parquet.rows import close_writer, columns_with_nan
from hudiformat.codec.parquet.source import ParquetSource
from hudiformat.errors import CorruptTableError, HudiFormatError
from hudiformat.file_group.base_file.assembled_groups import AssembledGroups, empty_file, pays_off
from hudiformat.file_group.base_file.file_indexes import FileKeys, footer_of
from hudiformat.file_group.base_file.row_groups import NEVER_FULL, NewFile, RowGroupWriter
from hudiformat.schema.meta_fields import COMMIT_SEQNO, RECORD_KEY
from hudiformat.storage.protocol import OutputFile

_SAMPLE_ROWS, _LEAST_SAMPLE, _SAMPLED_SHARE = 4_096, 1_024, 8
"""The most and the fewest rows of a sample of the first row group, which decides which columns have dictionaries."""
_LEAST_ROWS = 2_048
"""With fewer rows, all columns have dictionaries."""
_FEW_BYTES = 1 << 16
"""Up to so many bytes of few rows are written without dictionaries."""
_DISTINCT_SHARE = 0.98
"""If at least this share of the sampled values is distinct, the column is written without a dictionary."""
_FIRST_ROWS = 256
"""Rows that are looked at first: values that repeat soon need no sample."""
_ALWAYS_DISTINCT = frozenset({COMMIT_SEQNO, RECORD_KEY})


class ParquetBaseFileWriter(RowGroupWriter):
    """Write a Parquet base file; its footer has the Avro schema of the rows, too.

    Large row groups are assembled, if the first of the file is one; others go straight to the file.
    """

    def __init__(self, file: OutputFile, new: NewFile) -> None:
        super().__init__(file, new)
        self._file = file
        self._writer: pq.ParquetWriter | None = None
        self._assembled: AssembledGroups | None = None
        self._footers: list[pq.FileMetaData] = []
        self._with_nan: list[frozenset[str]] = []
        self._has_vectors = has_vectors(new.avro_schema)

    def _write_group(self, group: pa.Table, size: int, *, ahead: bool) -> None:
        group = store_vectors(group) if self._has_vectors else group
        if self._writer is None and self._assembled is None:
            rows, columns = group.num_rows, group.num_columns
            does = pays_off(rows=rows, columns=columns, size=size, compression=self._new.compression)
            self._assembled = self._assemble() if does else None
        if self._assembled is not None:
            self._assembled.write(group, size, ahead=ahead)
            return
        self._writer = self._writer or self._file_writer(group, size)
        self._writer.write_table(group, row_group_size=group.num_rows)
        self._with_nan.append(columns_with_nan(group))

    def _assemble(self) -> AssembledGroups:
        new = self._new
        return AssembledGroups(self._file, self._stored_schema, new.compression, self._writer_to, threads=new.threads)

    def _add_begun(self) -> None:
        if self._assembled is not None:
            self._assembled.add_begun()

    @property
    def _ahead(self) -> tuple[int, int]:
        return (0, 0) if self._assembled is None else self._assembled.ahead

    def _finish(self, footer: Mapping[str, str]) -> int:
        if self._assembled is not None:
            size = self._assembled.close(self._texts(footer))
            self._sink.close()
            return size
        writer = self._writer or self._file_writer(self._stored_schema.empty_table(), 0)
        writer.add_key_value_metadata(self._texts(footer))
        return close_writer(writer, self._target, self._sink, self._with_nan)

    @property
    def _stored_schema(self) -> pa.Schema:
        return stored_schema(self._new.schema) if self._has_vectors else self._new.schema

    @property
    def _stored_bytes(self) -> float:
        return super()._stored_bytes if self._assembled is None else float(self._file.size)

    def _texts(self, footer: Mapping[str, str]) -> dict[str, str]:
        """Return the texts of the file's footer, *footer* among them."""
        vectors = vector_columns(self._new.schema) if self._has_vectors else {}
        return {**_texts_of_schema(self._new), **vectors, **footer}

    def _file_writer(self, first: pa.Table, size: int) -> pq.ParquetWriter:
        """Return the writer of all row groups; *first* are the rows of the first one, which have *size* bytes.

        A compressed file of few rows has no dictionaries: a page more for each column takes a third of the time that
        writing takes, and makes the file larger.
        """
        compression = self._new.compression
        is_small = compression != "none" and first.num_rows < NEVER_FULL and size < _FEW_BYTES
        return self._writer_to(self._sink, first, compression, dictionaries=not is_small)

    def _writer_to(
        self, sink: pa.NativeFile, first: pa.Table, compression: str, *, dictionaries: bool = True
    ) -> pq.ParquetWriter:
        """Return a writer of row groups to *sink*; *first* are the rows of the first one."""
        codecs, levels = _compression(first, compression)
        return pq.ParquetWriter(
            sink,
            first.schema,
            compression=codecs,
            compression_level=levels,
            use_dictionary=dictionaries and _with_dictionaries(first),
            store_schema=False,
            metadata_collector=self._footers,
        )

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column of the closed file, by its path, and the same uncompressed."""
        if self._assembled is not None:
            return self._assembled.column_sizes
        sizes: dict[str, tuple[int, int]] = {}
        for footer in self._footers:
            for group, column in product(range(footer.num_row_groups), range(footer.num_columns)):
                chunk = footer.row_group(group).column(column)
                size, uncompressed = sizes.get(chunk.path_in_schema, (0, 0))
                total = size + chunk.total_compressed_size, uncompressed + chunk.total_uncompressed_size
                sizes[chunk.path_in_schema] = total
        return sizes


def encode_few_rows(
    new: NewFile, rows: pa.RecordBatch, counts: Sequence[int], keys: Sequence[FileKeys]
) -> list[pa.Buffer] | None:
    """Return the bytes of files *new*: one with the first ``counts[0]`` of *rows*, one with the next ``counts[1]``, ...

    *keys* are those of each.  Returns None if they have to be written one by one.
    """
    rows = _with_plain_texts(rows)
    if has_vectors(new.avro_schema) or not rows.schema.equals(new.schema):
        return None
    footers = [footer_of(one) for one in keys]
    texts = _texts_of_schema(new) | {key: [one[key] for one in footers] for key in footers[0]}
    return encode_files(rows, counts, empty_file(new.schema), texts)


def _with_plain_texts(rows: pa.RecordBatch) -> pa.RecordBatch:
    columns = [one.dictionary_decode() if isinstance(one, pa.DictionaryArray) else one for one in rows.columns]
    fields = [one.with_type(column.type) for one, column in zip(rows.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _texts_of_schema(new: NewFile) -> dict[str, str]:
    return {AVRO_SCHEMA_KEY: new.avro_schema, MODEL_KEY: "avro", **GREGORIAN}


class CopyingWriter(ParquetBaseFileWriter):
    """Write a Parquet base file some of whose row groups, or columns of them, are copied from *source*.

    The source has the schema of the new file, and is open.  *constants* are columns that get one value in all rows of
    copied row groups; *kept* are columns whose values a row group still has after other columns of its rows changed.
    """

    def __init__(
        self,
        file: OutputFile,
        new: NewFile,
        source: ParquetSource,
        *,
        constants: Mapping[str, str],
        kept: Collection[str] = (),
    ) -> None:
        super().__init__(file, replace(new, row_group_size=sys.maxsize) if kept else new)
        self._assembled: AssembledGroups = self._assemble()
        self._source = source
        self._constants = constants
        self._kept = kept

    def copy(self, group: int) -> None:
        """Copy a row group of the source as the next one of the file.

        Raises:
            DecodeError: the footer of the source points out of the file.
            CorruptTableError: the source cannot be read.
        """
        self.flush()
        with self._reading():
            count = self._assembled.copy(self._source, group, self._constants)
        self.rows += count
        self._written_rows += count

    def replace(self, group: int) -> None:
        """Write the rows since the last row group in place of a row group of the source, which has as many.

        Raises:
            DecodeError, CorruptTableError: as for :meth:`copy`.
        """
        with self._assembled.keeping(self._source.chunks_of(group, self._kept), self._reading()):
            self.flush()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        path = self._source.path
        try:
            yield
        except HudiFormatError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error

    @property
    def _encoded_bytes(self) -> float:
        return float(self._assembled.encoded_bytes)


def _compression(rows: pa.Table, codec: str) -> tuple[str | dict[str, str], int | dict[str, int] | None]:
    """Return the codec of all columns of *rows* and its level, None by default; or those of each that is compressed."""
    level = compression_level(codec)
    as_they_are = incompressible(rows, codec) if rows.nbytes >= LEAST_BYTES else ()
    if not as_they_are:
        return codec, level
    compressed = [path for path in _paths(rows.schema) if path not in as_they_are]
    return dict.fromkeys(compressed, codec), None if level is None else dict.fromkeys(compressed, level)


def _with_dictionaries(rows: pa.Table) -> list[str] | bool:
    """Return the paths of the Parquet columns to write with dictionaries, or True for all.

    Columns whose values in *rows* are almost all distinct get none: Arrow gives up a dictionary at one megabyte, so it
    would cost time and space without any use.
    """
    if rows.num_rows < _LEAST_ROWS:
        return True
    step = max(rows.num_rows // min(max(rows.num_rows // _SAMPLED_SHARE, _LEAST_SAMPLE), _SAMPLE_ROWS), 1)
    spread = pa.array(np.arange(0, rows.num_rows, step))
    distinct = [name for name in rows.column_names if name in _ALWAYS_DISTINCT or _is_distinct(rows[name], spread)]
    return [path for path in _paths(rows.schema) if path not in distinct] if distinct else True


def _is_distinct(column: pa.ChunkedArray, spread: pa.Array) -> bool:
    """Return whether almost all values are distinct, of the first ones and of those at the indices *spread*."""
    values = len(column) - column.null_count
    if values < _LEAST_ROWS or column.type.num_fields or pa.types.is_dictionary(column.type):
        return False
    first = column.slice(0, _FIRST_ROWS)
    return _has_distinct(first) and _has_distinct(column.take(spread))


def _has_distinct(values: pa.ChunkedArray) -> bool:
    nulls = values.null_count
    return len(values.unique()) - bool(nulls) >= (len(values) - nulls) * _DISTINCT_SHARE


def _paths(schema: pa.Schema) -> list[str]:
    """Return the paths of the Parquet columns of *schema*, including those of nested fields."""
    if not any(pa.types.is_nested(kind) for kind in schema.types):
        return list(schema.names)
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [columns.column(number).path for number in range(len(columns))]
