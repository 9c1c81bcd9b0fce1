"""Lance as the format of base files, which are read: ``pip install 'hudiformat[lance]'``.

Hudi 1.2.0 writes and reads such tables on Spark, with the jars of Lance beside its own.  A file on this machine is read
where it is, another one from a copy, because Lance opens no files but by its own means.

Source: HoodieSparkLanceWriter, HoodieBaseLanceWriter, HoodieSparkLanceReader, Hudi 1.2.0; spec/base-file.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat.codec.conversion import batch_of
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.no_statistics import NoStatistics
from hudiformat.file_group.base_file.parquet import convert_read_errors
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from hudiformat.storage.spill_folders import convert_spill_errors, spill_folder

_CHUNK = 1 << 24


class LanceFormat:
    """Base files in Lance; see ``hudiformat.file_group.base_file.format.BaseFileFormat``."""

    extension = "lance"
    schema_key = ""
    """Hudi writes no Avro schema into the file."""

    @contextmanager
    def open(self, storage: Storage, path: str) -> Iterator[LanceBaseFile]:
        """Open the base file at *path* for the body, in which damage raises the same errors.

        Raises:
            CorruptTableError: the file is not a Lance file, or the body found damage in it.
            StorageError: the file cannot be read.
            UnsupportedFeatureError: pylance is not installed.
        """
        lance = _lance_file()
        with _local_copy(storage, path) as local, convert_read_errors(path):
            yield LanceBaseFile(path, local, lance.LanceFileReader(str(local)), lance)


LANCE = LanceFormat()


def _lance_file() -> Any:
    try:
        import lance.file  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise UnsupportedFeatureError(
            "expected pylance, which reads Lance files, found that it is not installed; run "
            "pip install 'hudiformat[lance]'",
            feature="base files of format LANCE",
        ) from error
    return lance.file


@contextmanager
def _local_copy(storage: Storage, path: str) -> Iterator[Path]:
    """Yield the path of the file on this machine: itself, or a copy, which is deleted after the body.

    Raises:
        StorageError: the file cannot be read.
    """
    content = storage.map(path)
    if isinstance(storage, LocalStorage):
        yield Path(storage.root, path)
        return
    with spill_folder() as folder:
        local = Path(folder, "file.lance")
        with convert_spill_errors(), local.open("wb") as file:
            for start in range(0, len(content), _CHUNK):
                file.write(content[start : start + _CHUNK])
        yield local


@dataclass(frozen=True)
class LanceBaseFile(NoStatistics):
    """An open Lance file, all of whose rows are one row group; see ``...base_file.format.StoredFile``."""

    path: str
    local: Path
    file: Any
    lance: Any

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self.local.stat().st_size

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file."""
        return self._stored.remove_metadata()

    @cached_property
    def _stored(self) -> pa.Schema:
        found: pa.Schema = self.file.metadata().schema
        return found

    @property
    def footer(self) -> Mapping[bytes, bytes] | None:
        """The texts of the schema's metadata: the range of the record keys and their bloom filter."""
        return self._stored.metadata

    @property
    def group_rows(self) -> Sequence[int]:
        """The number of all rows."""
        return [int(self.file.num_rows())]

    def batches(
        self, names: Sequence[str], *, groups: Sequence[int] | None = None, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns *names* of all rows, at most *batch_rows* rows at a time, unless *groups* is empty."""
        count = self.group_rows[0]
        if groups is not None and not groups:
            return
        if not names:
            for start in range(0, count, batch_rows):
                yield batch_of([], pa.schema([]), min(batch_rows, count - start))
            return
        with convert_read_errors(self.path):  # the caller may read outside of the body
            reader = self.lance.LanceFileReader(str(self.local), columns=list(names))
            found = 0
            for batch in reader.read_all(batch_size=batch_rows).to_batches():
                rows = batch.select(list(names))
                found += rows.num_rows
                for start in range(0, rows.num_rows, batch_rows):
                    yield rows.slice(start, batch_rows)
            if found != count:
                raise ValueError(f"expected {count} rows, found {found}")
