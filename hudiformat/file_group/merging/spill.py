"""Merging a file slice whose log records do not fit into memory: through files, one part of the keys at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.file_group.base_file.filters import KeyFilter
from hudiformat.file_group.base_file.read import BaseRows, to_base_rows
from hudiformat.file_group.merging.candidates import (
    Candidates,
    delete_schema,
    make_candidates,
    read_deletes,
    read_records,
)
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.naming.bucket_hash import string_hashes
from hudiformat.storage.spill_folders import convert_spill_errors, spill_folder

_MIX = np.uint32(2654435769)  # a bucket's keys have hashes that are alike in their low bits


@dataclass
class KeyParts:
    """Rows in files of *folder*, spread over *count* parts by the hash of their key, of several kinds."""

    folder: Path
    count: int
    writers: dict[str, pa.ipc.RecordBatchStreamWriter] = field(default_factory=dict)

    @convert_spill_errors()
    def add(self, kind: str, rows: pa.RecordBatch, keys: pa.Array) -> None:
        """Write *rows* to the files of the parts that their *keys* belong to, in their order."""
        numbers = self._numbers(keys)
        order = np.argsort(numbers, kind="stable")
        sorted_rows = rows.take(pa.array(order))
        ends = np.cumsum(np.bincount(numbers, minlength=self.count)).tolist()
        for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if end > start:
                self._writer(f"{kind}-{part}", rows.schema).write_batch(sorted_rows.slice(start, end - start))

    @convert_spill_errors()
    def read(self, kind: str, part: int, schema: pa.Schema) -> pa.Table:
        """Return the rows written to a part, and delete its file."""
        writer = self.writers.pop(f"{kind}-{part}", None)
        if writer is None:
            return schema.empty_table()
        writer.close()
        path = self.folder / f"{kind}-{part}"
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
            rows = reader.read_all()
        path.unlink()
        return rows

    @convert_spill_errors()
    def close(self) -> None:
        """Close the files that are open for writing."""
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


_AGE, _WRITTEN = "hudiformat.age", "hudiformat.written"
_MOST_PARTS = 128


def merge_on_disk(
    base: Iterable[BaseRows],
    blocks: Sequence[LogBlock],
    schema: pa.Schema,
    rule: MergeRule,
    *,
    size: int,
    memory: int,
    where: KeyFilter | None = None,
) -> Iterator[pa.RecordBatch]:
    """Merge as ``merge_slice`` does, with about *memory* bytes of log records in memory; positions are not used.

    The log records take about *size* bytes in memory.

    Base rows and log records are divided by their keys among Arrow files in a temporary folder, which is deleted at the
    end.

    Raises:
        DecodeError, SchemaError: as ``read_candidates``.
    """
    count = min(2 * size // memory + 2, _MOST_PARTS)
    with spill_folder() as folder:
        parts = KeyParts(Path(folder), count)
        try:
            layouts = _spread_log(parts, blocks, schema, rule, where)
            for part_of_base in base:
                for batch in part_of_base.read():
                    parts.add("base", batch, _keys(rule, batch))
            for part in range(count):
                rows = parts.read("base", part, schema)
                logs = merge_log_entries(_candidates(parts, part, schema, rule, layouts), rule)
                yield from merge_slice(to_base_rows(rows.combine_chunks().to_batches()), logs, rule)
        finally:
            parts.close()


_Layouts = list[frozenset[str] | None]


def _spread_log(
    parts: KeyParts, blocks: Sequence[LogBlock], schema: pa.Schema, rule: MergeRule, where: KeyFilter | None
) -> _Layouts:
    """Write the records and deletes of the log files to the parts; the layouts of the records."""
    layouts: _Layouts = [None]
    age = 0
    for block in blocks:
        if block.type is BlockType.DELETE:
            deletes = read_deletes(block, schema, rule)
            parts.add("deletes", _with(deletes, _AGE, np.arange(age, age + len(deletes))), deletes["record_key"])
            age += len(deletes)
            continue
        for batch, written in read_records([block], schema, where=where):
            if written not in layouts:
                layouts.append(written)
            aged = _with(batch, _AGE, np.arange(age, age + len(batch)))
            marked = _with(aged, _WRITTEN, np.full(len(batch), layouts.index(written)))
            parts.add("records", marked, _keys(rule, batch))
            age += len(batch)
    return layouts


def _candidates(parts: KeyParts, part: int, schema: pa.Schema, rule: MergeRule, layouts: _Layouts) -> Candidates:
    extra = [(_AGE, pa.int64()), (_WRITTEN, pa.int64())]
    records = parts.read("records", part, pa.schema([*schema, *map(pa.field, *zip(*extra, strict=True))]))
    deletes = parts.read("deletes", part, delete_schema(schema, rule).append(pa.field(_AGE, pa.int64())))
    ages = np.concatenate([np.asarray(records[_AGE]), np.asarray(deletes[_AGE])])
    age = np.empty(len(ages), np.int64)
    age[np.argsort(ages, kind="stable")] = np.arange(len(ages))
    batches = [batch for batch in records.to_batches() if batch.num_rows]
    return make_candidates(
        [batch.select(schema.names) for batch in batches],
        deletes.drop_columns([_AGE]).to_batches(),
        age,
        rule,
        schema,
        # The rows of a batch come from one block, and have one layout.
        written=[layouts[batch[_WRITTEN][0].as_py()] for batch in batches],
    )


def _with(batch: pa.RecordBatch, name: str, values: npt.NDArray[np.int64]) -> pa.RecordBatch:
    return batch.append_column(name, pa.array(values))


def _keys(rule: MergeRule, batch: pa.RecordBatch) -> pa.Array:
    return rule.keys(pa.Table.from_batches([batch])).combine_chunks()
