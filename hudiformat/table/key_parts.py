"""Rows put aside on disk in parts by their keys, for what looks at all rows of a key and does not fit into memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.naming.bucket_hash import string_hashes

_MIX = np.uint32(2654435769)  # a bucket's keys have hashes that are alike in their low bits


@dataclass
class KeyParts:
    """Rows in files of *folder*, spread over *count* parts by the hash of their key, of several kinds."""

    folder: Path
    count: int
    writers: dict[str, pa.ipc.RecordBatchStreamWriter] = field(default_factory=dict)

    def add(self, kind: str, rows: pa.RecordBatch, keys: pa.Array) -> None:
        """Write *rows* to the files of the parts that their *keys* belong to, in their order."""
        numbers = self._numbers(keys)
        order = np.argsort(numbers, kind="stable")
        sorted_rows = rows.take(pa.array(order))
        ends = np.cumsum(np.bincount(numbers, minlength=self.count)).tolist()
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if end > start:
                self._writer(f"{kind}-{part}", rows.schema).write_batch(sorted_rows.slice(start, end - start))

    def read(self, kind: str, part: int, schema: pa.Schema) -> pa.Table:
        """What has been written of a part."""
        writer = self.writers.pop(f"{kind}-{part}", None)
        if writer is None:
            return schema.empty_table()
        writer.close()
        path = self.folder / f"{kind}-{part}"
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
            rows = reader.read_all()
        path.unlink()
        return rows

    def close(self) -> None:
        """Let go of the files."""
        for writer in self.writers.values():
            writer.close()

    def _numbers(self, keys: pa.Array) -> npt.NDArray[np.int64]:
        mixed = (string_hashes(keys) * _MIX) >> np.uint32(16)
        numbers: npt.NDArray[np.int64] = (mixed % np.uint32(self.count)).astype(np.int64)
        return numbers

    def _writer(self, name: str, schema: pa.Schema) -> pa.ipc.RecordBatchStreamWriter:
        if name not in self.writers:
            self.writers[name] = pa.ipc.new_stream(str(self.folder / name), schema)
        return self.writers[name]
