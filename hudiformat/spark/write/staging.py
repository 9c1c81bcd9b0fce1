"""Stage rows: tasks store them as Arrow files in the marker folder, and the commit writes them.

The rows of a batch write are in the folder of its instant.  A stream has its own folder, for the instant of a batch is
chosen after its tasks have ended.  Write tokens repeat when a stream is restarted, so file names have a random part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

import pyarrow as pa

from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.naming.file_names import WriteToken
from hudiformat.storage.protocol import Storage
from hudiformat.storage.streams import arrow_stream
from hudiformat.timeline.config_files import MARKER_FOLDER


def stage(
    storage: Storage, folder: str, token: WriteToken, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> str:
    """Store *batches* in *folder*, an instant or a stream's name; return the path of the file relative to the table."""
    path = f"{MARKER_FOLDER}/{folder}/staged-{token}-{uuid4().hex}.arrow"
    with storage.open_new(path) as file:
        try:
            with arrow_stream(file) as sink, pa.ipc.new_file(sink, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        except BaseException:
            file.abandon()
            storage.delete(path)
            raise
    return path


def read_staged(storage: Storage, schema: pa.Schema, paths: Sequence[str]) -> pa.Table:
    """Return the rows that were stored in *paths*, as memory maps.

    Raises:
        CorruptTableError: a file does not hold rows of *schema*.
    """
    return pa.concat_tables([schema.empty_table(), *(_read(storage, schema, path) for path in paths)])


def _read(storage: Storage, schema: pa.Schema, path: str) -> pa.Table:
    try:
        table = pa.ipc.open_file(pa.py_buffer(storage.map(path))).read_all()
        table.validate(full=True)  # wrong offsets would read outside of the file
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, StorageError):
            raise
        named = f"{storage.root}/{path}"
        raise CorruptTableError(f"{named}: expected rows that a task has stored: {error}", path=named) from error
    if not table.schema.equals(schema):
        named = f"{storage.root}/{path}"
        raise CorruptTableError(f"{named}: expected rows of other columns, found {table.schema}", path=named)
    return table


def delete_staged(storage: Storage, folder: str) -> None:
    """Delete all rows that were stored in *folder*."""
    storage.delete_folder(f"{MARKER_FOLDER}/{folder}")
