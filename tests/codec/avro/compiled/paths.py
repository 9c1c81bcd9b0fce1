"""Records decoded by numpy, by kernels that Python runs, by numba's, and by those that were compiled ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from hudiformat.codec.avro.decode import decode_records, find_records
from hudiformat.errors import HudiFormatError
from tests.kernels.paths import EVERY_PATH


def outcome(data: bytes, count: int, schema: str, *, columns: Sequence[str] | None = None, views: bool = False) -> Any:
    """The batch of the records, or the error with its message and offset."""
    try:
        batch = find_records(data, count, schema).decode(columns, views=views)
    except HudiFormatError as error:
        return type(error), str(error), getattr(error, "offset", None)
    batch.validate(full=True)
    return batch


def outcomes(*arguments: Any, **options: Any) -> list[Any]:
    """What comes out on every path."""
    found = []
    for path in EVERY_PATH:
        with path():
            found.append(outcome(*arguments, **options))
    return found


def in_chunks_of(rows: int) -> Callable[[], Any]:
    """Let the kernel decode so many records first, so that its memory has to grow."""
    return patch("hudiformat.codec.avro.compiled.decoded._FIRST_ROWS", rows)  # type: ignore[return-value]  # a context manager of mock


def decoded_by(path: Callable[[], Any], data: bytes, count: int, schema: str) -> pa.RecordBatch:
    with path():
        return decode_records(data, count, schema)
