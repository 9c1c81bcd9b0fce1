"""Read the bytes of blobs: those of a row, and parts of other files, which only this module opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from hudiformat.codec.custom_types import BLOB_TYPE, INLINE, OUT_OF_LINE
from hudiformat.errors import DataError, SchemaError
from hudiformat.storage.opening import Location, open_storage
from hudiformat.storage.protocol import Storage
from hudiformat.storage.streams import open_ranges

_ROWS = 1024
"""Blobs that are converted to Python at once; their bytes are read one by one."""


def read_blobs(
    blobs: pa.Array | pa.ChunkedArray, *, within: Location, storage_options: Mapping[str, str] | None = None
) -> Iterator[bytes | None]:
    """Yield the bytes of each of *blobs*, a column of a query, in order; None for a null.

    The file of a reference is opened when its blob is asked for, and stays open while the following references name it.
    *within* is a folder, a local path or a URI: files outside of it are not opened, whatever the table says.  A
    reference without a scheme and without a leading slash is taken from this folder.  *storage_options* are as for
    ``open_table``.

    Raises:
        SchemaError: the column is not of blobs.
        DataError: from the iterator, a reference leaves the folder, or names bytes that the file does not have.
        StorageError: from the iterator, a file cannot be read.

    Source: ReadBlobExpression, Hudi 1.2.0; spec/custom-types.md.
    """
    names = [field.name for field in BLOB_TYPE]
    if not pa.types.is_struct(blobs.type) or [field.name for field in blobs.type] != names:
        raise SchemaError(f"expected a column of blobs, structs of {', '.join(names)}, found {blobs.type}")
    return _contents(blobs, open_storage(within, storage_options=storage_options))


def _contents(blobs: pa.Array | pa.ChunkedArray, storage: Storage) -> Iterator[bytes | None]:
    with ExitStack() as stack:
        path, file = "", None
        for first in range(0, len(blobs), _ROWS):
            for blob in blobs.slice(first, _ROWS).to_pylist():
                if blob is None or blob["type"] == INLINE:
                    yield None if blob is None else blob["data"]
                    continue
                reference = _reference(blob)
                wanted = _path_within(storage.root, reference["external_path"])
                if file is None or wanted != path:
                    stack.close()
                    path, file = wanted, stack.enter_context(open_ranges(storage, wanted))
                yield _part(file, f"{storage.root}/{path}", reference["offset"] or 0, reference["length"])


def _reference(blob: dict[str, Any]) -> dict[str, Any]:
    if blob["type"] != OUT_OF_LINE or blob["reference"] is None:
        raise DataError(f"expected a blob that is {INLINE} or {OUT_OF_LINE} with a reference, found {blob['type']!r}")
    reference: dict[str, Any] = blob["reference"]
    return reference


def _path_within(root: str, path: str) -> str:
    """Return the path below *root* of the file that a reference names.

    Raises:
        DataError: the file is elsewhere.
    """
    plain = path
    for prefix in ("file://", "file:"):
        plain = plain.removeprefix(prefix)
    if plain.startswith(("s3a://", "s3n://")):
        plain = f"s3://{plain[6:]}"
    if plain.startswith(f"{root.rstrip('/')}/"):
        plain = plain[len(root.rstrip("/")) + 1 :]
    if "://" in plain or plain.startswith("/") or ".." in plain.split("/") or not plain:
        raise DataError(f"expected a reference into the folder {root}, found {path!r}; name its folder by within=")
    return plain


def _part(file: pa.NativeFile, name: str, offset: int, length: int | None) -> bytes:
    size = file.size()
    count = size - offset if length is None else length
    if not 0 <= offset <= size or not 0 <= count <= size - offset:
        raise DataError(f"{name}: expected {count} bytes from byte {offset} on, found a file of {size} bytes")
    file.seek(offset)
    return bytes(file.read(count))
