"""Row groups of a Parquet file put together from chunks: only columns that have to be are encoded.

In a base file several columns repeat what is known: the name of the file, the partition path and, after an insert, the
commit time are one value in all rows, the meta field with the record key often has the values of the key's own column,
and an update changes no key.  Encoding them takes a third of the time of writing narrow rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from hudiformat.codec.parquet.constants import CODECS, constant_chunk, same_chunk
from hudiformat.codec.parquet.copying import RowGroupCopier
from hudiformat.codec.parquet.gzip_pages import gzip_chunk, isal
from hudiformat.codec.parquet.incompressible import incompressible
from hudiformat.codec.parquet.rows import columns_with_nan, set_infinite_bounds
from hudiformat.codec.parquet.source import Chunk, GroupField, ParquetSource, column_path, struct_list_field
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.storage.protocol import OutputFile
from hudiformat.storage.threads import WorkThreads

_ROWS_FOR_A_COLUMN = 1_000
"""From so many rows for each column on, a row group is worth putting together: Python handles the footer of what is
encoded, a tenth of a millisecond for a column, and ten to fifty nanoseconds for a row are saved."""
_BYTES_FOR_A_COLUMN = 1 << 18
"""So many bytes for each column take a millisecond or more to encode, which another thread may do."""
_BYTES_TO_GZIP = 1 << 14
"""So many bytes for each column take zlib a fifth of a millisecond or more to compress, and ISA-L a tenth of that."""
_SHARED_BYTES = 1 << 20
"""From so many bytes on, the columns of a row group are encoded by two threads, if one is free."""
_LONGEST = 1024
"""A longer text would be too long for the bounds in a footer."""
_SCHEMAS = 16


class AssembledGroups:
    """Writes a Parquet file with *schema* into *file*, whose owner closes it.

    *writer_of* returns a writer of a table to a stream, which compresses by the codec that it is given.  A row group is
    in memory twice: as rows, and encoded; with gzip by ISA-L, its columns are for a while also without compression.
    *threads* that are free encode half of the columns, or every second row group while the next one is encoded; the
    file does not depend on them.
    """

    def __init__(
        self,
        file: OutputFile,
        schema: pa.Schema,
        compression: str,
        writer_of: Callable[[pa.NativeFile, pa.Table, str], pq.ParquetWriter],
        *,
        threads: WorkThreads,
    ) -> None:
        self._copier = RowGroupCopier(file)
        self._schema = schema
        self._empty = empty_file(schema)
        self._compression = compression
        self._writer_of = writer_of
        self._kept: Mapping[str, Chunk] = {}
        self._reading: AbstractContextManager[None] = nullcontext()
        self._threads = threads
        self._begun: Callable[[], list[Chunk]] | None = None
        self.ahead = 0, 0
        """The rows of the row group that is not in the file yet, and their bytes in memory."""
        self.encoded_bytes = 0
        """The bytes of the row groups that were not copied as a whole."""

    @property
    def column_sizes(self) -> dict[str, tuple[int, int]]:
        """The bytes of each column so far, by its path, and its bytes uncompressed."""
        return self._copier.column_sizes

    def copy(self, source: ParquetSource, group: int, constants: Mapping[str, str]) -> int:
        """Copy a row group of *source*, with one value in the columns *constants*; return its number of rows.

        Raises:
            SchemaError: *source* has another schema.
            DecodeError: the footer of *source* points out of the file.
        """
        self.add_begun()
        before = self._copier.rows
        self._copier.append(source, [group], constants=constants)
        return self._copier.rows - before

    @contextmanager
    def keeping(self, kept: Mapping[str, Chunk], reading: AbstractContextManager[None]) -> Iterator[None]:
        """Within the body, a row group has the chunks *kept*, by their columns, whose values are those of its rows.

        They are copied within *reading*, which converts errors.
        """
        self.add_begun()
        self._kept, self._reading = kept, reading
        try:
            yield
        finally:
            self._kept, self._reading = {}, nullcontext()

    def write(self, group: pa.Table, size: int, *, ahead: bool = False) -> None:
        """Add the rows *group*, of *size* bytes, as a row group.

        If *ahead*, and the last one is in the file, it is begun, and another thread may encode it: it is in the file
        after the next one, or after :meth:`add_begun`.  The size of the file is the same without such a thread.

        Raises:
            DecodeError: a chunk that is kept points out of its file.
        """
        if ahead and self._begun is None:
            self._begun = self._threads.share(partial(self._chunks_of, group))
            self.ahead = group.num_rows, size
        else:
            chunks = self._chunks_of(group)
            self.add_begun()
            self._append(group.num_rows, chunks)

    def add_begun(self) -> None:
        """Wait until all row groups so far are in the file."""
        if self._begun is not None:
            begun, self._begun, (rows, _), self.ahead = self._begun, None, self.ahead, (0, 0)
            self._append(rows, begun())

    def _append(self, rows: int, chunks: Sequence[Chunk]) -> None:
        with self._reading:
            self._copier.assemble(self._empty, rows, chunks)
        ranges = (one.source.chunk_range(one.struct) for one in chunks)
        self.encoded_bytes += sum(stop - start for start, stop in ranges)

    def _chunks_of(self, group: pa.Table) -> list[Chunk]:
        """Return the chunks of the columns of *group*, in their order."""
        chunks = dict(self._kept)
        assert all(one.values == group.num_rows for one in chunks.values())  # noqa: S101 - else rows would shift
        for name in group.column_names:
            if name not in chunks and (text := _only_text(group[name])) is not None:
                codec = CODECS[self._compression]
                chunks[name] = constant_chunk(self._empty, name, text, group.num_rows, codec=codec)
        doubles = [name for name in group.column_names if name not in chunks and _has_keys(group, name)]
        encoded = self._encode(group.drop_columns([*chunks, *doubles]))
        if doubles:
            keys = chunks.get(RECORD_KEY) or encoded[RECORD_KEY][0]
            same = {name: same_chunk(keys, name, schema=self._empty) for name in doubles}
            chunks |= {name: chunk for name, chunk in same.items() if chunk is not None}
            encoded |= self._encode(group.select([name for name, chunk in same.items() if chunk is None]))
        encoded |= {name: [chunk] for name, chunk in chunks.items()}
        return [chunk for name in group.column_names for chunk in encoded[name]]

    def close(self, texts: Mapping[str, str]) -> int:
        """Write the footer, with *texts*; return the size of the file in bytes."""
        return self._copier.close({key.encode(): text.encode() for key, text in texts.items()})

    def _encode(self, rows: pa.Table) -> dict[str, list[Chunk]]:
        """Return the chunks of columns, by the names of these."""
        shares = _shares(rows)
        begun = [self._threads.share(partial(self._encode_share, rows.select(share))) for share in shares[1:]]
        encoded = {} if not shares else self._encode_share(rows.select(shares[0]))
        for one in begun:
            encoded |= one()
        return encoded

    def _encode_share(self, rows: pa.Table) -> dict[str, list[Chunk]]:
        fields = [self._schema.field(one.name).with_type(one.type) for one in rows.schema]
        rows = pa.Table.from_arrays(rows.columns, schema=pa.schema(fields))
        sink = pa.BufferOutputStream()
        by_isal = _is_by_isal(self._compression)
        as_they_are = incompressible(rows, self._compression) if by_isal else ()
        with self._writer_of(sink, rows, "none" if by_isal else self._compression) as writer:
            writer.write_table(rows, row_group_size=rows.num_rows)
        data, with_nan = sink.getvalue(), columns_with_nan(rows)
        if with_nan:
            data = pa.py_buffer(set_infinite_bounds(data.to_pybytes(), [with_nan]))
        source = ParquetSource.open(pa.BufferReader(data), "rows in memory")
        found: dict[str, list[Chunk]] = {name: [] for name in rows.column_names}
        for chunk in struct_list_field(source.groups[0], GroupField.COLUMNS):
            path, encoded = column_path(chunk), Chunk(source, chunk)
            is_to_gzip = by_isal and ".".join(path) not in as_they_are
            found[path[0]].append(gzip_chunk(encoded) if is_to_gzip else encoded)
        return found


def pays_off(*, rows: int, columns: int, size: int, compression: str = "none") -> bool:
    """Return whether a row group of so many rows, columns and bytes is put together faster than it is encoded."""
    enough = _BYTES_TO_GZIP if _is_by_isal(compression) else _BYTES_FOR_A_COLUMN
    return rows >= _ROWS_FOR_A_COLUMN * columns or size >= enough * columns


def _is_by_isal(compression: str) -> bool:
    return compression == "gzip" and isal() is not None


def _shares(rows: pa.Table) -> list[list[str]]:
    """Return the names of the columns that one thread encodes, and if there are many bytes, those for another one."""
    sizes = {name: column.nbytes for name, column in zip(rows.column_names, rows.columns, strict=True)}
    if len(sizes) <= 1 or sum(sizes.values()) < _SHARED_BYTES:
        return [rows.column_names] if sizes else []
    shares: tuple[list[str], list[str]] = [], []
    totals = [0, 0]
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        less = int(totals[1] < totals[0])
        shares[less].append(name)
        totals[less] += sizes[name]
    return [*shares]


@lru_cache(_SCHEMAS)
def empty_file(schema: pa.Schema) -> ParquetSource:
    """Return a file of no rows with *schema*, as it is stored."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    return ParquetSource.open(pa.BufferReader(sink.getvalue()), "a new file")


def _only_text(column: pa.ChunkedArray) -> str | None:
    """Return the text that all rows of a column have; None if there are several, or a null, or it is a long one."""
    if column.null_count or not _is_text(column.type):
        return None
    if pat.is_dictionary(column.type):
        parts: list[Any] = [part for part in column.chunks if len(part)]
        texts = {text for part in parts for text in part.dictionary.slice(0, 2).to_pylist()}
        text: str | None = texts.pop() if len(texts) == 1 else None
    else:
        first, last = column[0], column[-1]
        is_only = first.equals(last) and pc.all(pc.equal(column, first)).as_py()
        text = first.as_py() if is_only else None
    return text if text is not None and len(text.encode()) < _LONGEST else None


def _is_text(kind: pa.DataType) -> bool:
    return pat.is_string(kind.value_type if isinstance(kind, pa.DictionaryType) else kind)


def _has_keys(group: pa.Table, name: str) -> bool:
    """Return whether a column other than that of the record keys has their values."""
    if name == RECORD_KEY or not pat.is_string(group[name].type) or RECORD_KEY not in group.column_names:
        return False
    column, keys = group[name], group[RECORD_KEY]
    return bool(column[0].equals(keys[0]) and column.equals(keys))
