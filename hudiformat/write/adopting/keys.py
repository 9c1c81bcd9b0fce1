"""Check that no two rows of a partition have the same record key, in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import DataError
from hudiformat.file_group.merging.keys import all_differ
from hudiformat.file_group.merging.spill import KeyParts
from hudiformat.storage.spill_folders import spill_folder

_ROWS_TOGETHER = 4_000_000
"""The number of keys that are compared at once."""
_MOST_PARTS = 128
_SHOWN = 3
_KEYS = "keys"
_SCHEMA = pa.schema([("partition", pa.int32()), ("key", pa.string())])


class UniqueKeys:
    """The record keys of the rows that have been added, from any thread; *rows* is about how many there will be.

    If they are many, they wait in files of a temporary folder, divided by their hashes.  A context manager.
    """

    def __init__(self, rows: int) -> None:
        self._count = min(-(-rows // _ROWS_TOGETHER), _MOST_PARTS)
        self._held: list[pa.RecordBatch] = []
        self._parts: KeyParts | None = None
        self._stack = ExitStack()
        self._change = threading.Lock()

    def __enter__(self) -> UniqueKeys:
        if self._count > 1:
            folder = self._stack.enter_context(spill_folder())
            self._parts = KeyParts(Path(folder), self._count)
            self._stack.callback(self._parts.close)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, partition: int, keys: pa.Array) -> None:
        """Add the *keys* of rows of the partition with a number."""
        numbers = pa.array(np.full(len(keys), partition, np.int32))
        batch = pa.RecordBatch.from_arrays([numbers, keys.cast(pa.string())], schema=_SCHEMA)
        with self._change:
            if self._parts is None:
                self._held.append(batch)
            else:
                self._parts.add(_KEYS, batch, batch["key"])

    def check(self, partitions: Sequence[str], fields: Sequence[str]) -> None:
        """Raise a DataError if a key was added twice; *partitions* are the paths by their numbers, *fields* for it.

        Raises:
            DataError: a key was.
        """
        repeated, shown = 0, list[str]()
        for part in range(max(self._count, 1)):
            rows = pa.Table.from_batches(self._held, _SCHEMA)
            if self._parts is not None:
                rows = self._parts.read(_KEYS, part, _SCHEMA)
            if all_differ(rows["key"]):
                continue
            counted = rows.group_by(["partition", "key"]).aggregate([([], "count_all")])
            found = counted.filter(pc.field("count_all") > 1)
            repeated += found.num_rows
            for row in found.slice(0, _SHOWN - len(shown)).to_pylist():
                shown.append(f"{row['key']!r} in {partitions[row['partition']] or 'the folder itself'!r}")
        if repeated:
            raise DataError(
                f"record key {', '.join(fields)}: expected each key once in a partition, found {repeated} keys in "
                f"several rows, such as {', '.join(shown)}; name more columns in record_key=, or remove the rows"
            )
