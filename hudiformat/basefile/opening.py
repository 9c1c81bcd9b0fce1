"""Base files: opened, and which of their row groups are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat.basefile.file_keys import FileKeys
from hudiformat.basefile.key_filter import KeyFilter
from hudiformat.basefile.possible import true_of_nan
from hudiformat.errors import CorruptTableError, HudiFormatError, SchemaError
from hudiformat.storage import Storage


@contextmanager
def opened(storage: Storage, path: str) -> Iterator[tuple[pa.NativeFile, pq.ParquetFile]]:
    """A Parquet file to read."""
    source = storage.open_input(path)
    # pre_buffer: what is wanted is fetched in a few requests, neighbours together
    with refusing_damage(path), source, pq.ParquetFile(source, pre_buffer=True) as file:
        yield source, file


def read_file_keys(storage: Storage, path: str) -> FileKeys:
    """What the footer of the base file at *path* says of its record keys.

    Raises:
        CorruptTableError: it is no Parquet file.
        StorageError: it cannot be read.
    """
    with opened(storage, path) as (_, file):
        return FileKeys.of(file.metadata.metadata)


@contextmanager
def refusing_damage(path: str) -> Iterator[None]:
    """What pyarrow raises for damage in the file at *path* becomes a CorruptTableError."""
    try:
        yield
    except HudiFormatError:  # of whoever reads: also a ValueError
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # pyarrow raises all of them for damage
        raise CorruptTableError(f"{path}: not a readable base file: {error}", path=path) from error


def row_groups(
    source: pa.NativeFile,
    file: pq.ParquetFile,
    *,
    may_hold: pc.Expression | None = None,
    where: KeyFilter | None = None,
) -> list[int]:
    """The row groups that may have rows for *may_hold* and keys for *where*, by statistics and the bloom filter."""
    conditions = (may_hold, None if where is None else where.condition)
    lefts = [_left(source, file, condition) for condition in conditions if condition is not None]
    groups = [group for group in range(file.num_row_groups) if all(left is None or group in left for left in lefts)]
    if not groups or where is None or where.keys is None:
        return groups
    return (
        groups if FileKeys.of(file.metadata.metadata).might_contain(pa.array(sorted(where.keys), pa.string())) else []
    )


def _left(source: pa.NativeFile, file: pq.ParquetFile, may_hold: pc.Expression) -> list[int] | None:
    """The row groups that may hold rows for *may_hold*; None for all, also where the file's columns do not fit it."""
    import pyarrow.dataset as ds  # noqa: PLC0415 - it imports pandas where there is one: half a second

    try:
        if true_of_nan(may_hold, file.schema_arrow):
            return None
        fragment = ds.ParquetFileFormat().make_fragment(source)
        return [group.id for group in fragment.subset(may_hold, schema=file.schema_arrow).row_groups]
    except (SchemaError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None  # a column that is newer than the file, or had another type
