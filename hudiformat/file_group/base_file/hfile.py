"""HFile as the format of base files, which are read: rows sorted by record key, each an Avro record.

Hudi 1.2.0 writes such tables on Spark, and cannot read them there; tables of the metadata table's kind have such files.
Where a table has a text column ``key``, Hudi writes an empty text for each of its values: it is refused by name.

Source: HoodieAvroHFileWriter, HoodieAvroHFileReaderImplBase, Hudi 1.2.0; spec/base-file.md, spec/hfile.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.conversion import batch_of
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.records import SCHEMA_KEY, locate_values
from hudiformat.errors import CorruptTableError, DecodeError, SchemaError, UnsupportedFeatureError
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER, BLOOM_FILTER_TYPE
from hudiformat.file_group.base_file.file_indexes import MAX_KEY, MIN_KEY
from hudiformat.file_group.base_file.no_statistics import NoStatistics
from hudiformat.file_group.base_file.parquet import convert_read_errors
from hudiformat.storage.protocol import Storage

_FILTER_BLOCK = "bloomFilter"
_TEXTS = {"bloomFilterTypeCode": BLOOM_FILTER_TYPE, "minRecordKey": MIN_KEY, "maxRecordKey": MAX_KEY}
"""Texts of the file info, and their names in the footer of other formats."""
_EMPTIED = "key"
"""The column whose texts Hudi leaves out.  Source: HoodieAvroHFileReaderImplBase.KEY_FIELD_NAME."""


class HFileFormat:
    """Base files in HFile; see ``hudiformat.file_group.base_file.format.BaseFileFormat``."""

    extension = "hfile"
    schema_key = SCHEMA_KEY

    @contextmanager
    def open(self, storage: Storage, path: str) -> Iterator[HFileBaseFile]:
        """Open the base file at *path* for the body, in which damage raises the same errors.

        Raises:
            CorruptTableError: the file is not an HFile, has no Avro schema, or the body found damage in it.
            StorageError: the file cannot be read.
        """
        with storage.open_input(path) as source, _convert_errors(path):
            file = HFileReader(_Ranges(source, source.size()))
            if SCHEMA_KEY not in file.file_info:
                raise CorruptTableError(f"{path}: not a readable base file: its file info has no schema", path=path)
            yield HFileBaseFile(path, source.size(), file)


HFILE = HFileFormat()


@dataclass(frozen=True)
class _Ranges:
    """The bytes of a file, which are read in ranges."""

    source: pa.NativeFile
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, key: slice, /) -> bytes:
        start, stop, _ = key.indices(self.size)
        return bytes(self.source.read_at(max(stop - start, 0), start))


@dataclass(frozen=True)
class HFileBaseFile(NoStatistics):
    """An open HFile, all of whose rows are one row group; see ``hudiformat.file_group.base_file.format.StoredFile``."""

    path: str
    size: int
    file: HFileReader

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        return avro_to_arrow(self._avro)

    @property
    def _avro(self) -> str:
        return self.file.file_info[SCHEMA_KEY].decode()

    @cached_property
    def footer(self) -> Mapping[bytes, bytes]:
        """The texts of the file info, those about keys by their names in other formats, with the bloom filter."""
        info = {_TEXTS.get(name, name).encode(): value for name, value in self.file.file_info.items()}
        text = self.file.meta_block(_FILTER_BLOCK)
        return info if text is None else {**info, BLOOM_FILTER.encode(): text}

    @property
    def group_rows(self) -> Sequence[int]:
        """The number of all rows."""
        return [self.file.num_entries]

    def batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None = None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of all rows, at most *batch_rows* rows at a time, unless *groups* is empty."""
        if groups is not None and not groups:
            return
        with _convert_errors(self.path):  # the caller may read outside of the body
            for values in self._values(batch_rows):
                if names:
                    yield self._with_known_keys(locate_values(values, self._avro).decode(list(names)))
                else:
                    yield batch_of([], pa.schema([]), len(values))

    def _values(self, batch_rows: int) -> Iterator[pa.Array]:
        """Yield the values of all entries, of several blocks together, at most *batch_rows* at a time."""
        waiting: list[pa.Array] = []
        for block in self.file.blocks():
            waiting.append(block["value"])
            if sum(map(len, waiting)) >= batch_rows:
                yield from _split(waiting, batch_rows)
                waiting = []
        if waiting:
            yield from _split(waiting, batch_rows)

    def _with_known_keys(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        position = rows.schema.get_field_index(_EMPTIED)
        if position < 0 or not pa.types.is_string(rows.schema.field(position).type):
            return rows
        if pc.any(pc.equal(rows[_EMPTIED], "")).as_py():
            raise UnsupportedFeatureError(
                f"{self.path}: expected the values of the column {_EMPTIED}, found empty texts: Hudi writes these for "
                "any column of this name in an HFile, and they cannot be told; read the other columns alone "
                "(columns=...)",
                feature=f"a column {_EMPTIED} in HFiles",
            )
        return rows


def _split(arrays: Sequence[pa.Array], rows: int) -> Iterator[pa.Array]:
    values = pa.chunked_array(arrays).combine_chunks()
    for start in range(0, len(values), rows):
        yield values.slice(start, rows)


@contextmanager
def _convert_errors(path: str) -> Iterator[None]:
    """Convert what the reader of HFiles and of Avro raises for damage in the file at *path* to a CorruptTableError."""
    try:
        with convert_read_errors(path):
            yield
    except (DecodeError, SchemaError) as error:
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error
