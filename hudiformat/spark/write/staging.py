"""Rows that tasks store for the commit to write, as Arrow files among the markers.

A batch write's are in the folder of its instant.  A stream's have a folder of their own, as the instant of a batch is
chosen when its tasks are done.  Write tokens come again when a stream is started again, so names have a random part.
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
    """Store *batches*, as they come, in *folder*, an instant or a stream's name; where they are, below the table."""
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
    """The rows that were stored in *paths*, mapped and not loaded.

    Raises:
        CorruptTableError: a file holds something else.
    """
    return pa.concat_tables([schema.empty_table(), *(_read(storage, schema, path) for path in paths)])


def _read(storage: Storage, schema: pa.Schema, path: str) -> pa.Table:
    try:
        table = pa.ipc.open_file(pa.py_buffer(storage.map(path))).read_all()
        table.validate(full=True)  # wrong offsets would lead out of the file
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
    """Delete what was stored in *folder*."""
    storage.delete_folder(f"{MARKER_FOLDER}/{folder}")
