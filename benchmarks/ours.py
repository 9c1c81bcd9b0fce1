"""What hudiformat does with a case."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

import hudiformat as hf
from benchmarks.cases import INSTANT, Case
from hudiformat.codec.avro.schema import arrow_to_avro

NAME = ".f-0_001.log.1_1-2-3"
ENDLESS = 1 << 40

Blocks = Callable[[], Iterable[hf.LogBlock]]
"""Makes blocks, one after the other, as often as it is called."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a case, cut into what becomes blocks, and their Avro schema."""

    case: Case
    parts: list[pa.RecordBatch]
    schema: str

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(len(part) for part in self.parts)

    @property
    def table(self) -> pa.Table:
        """All of them."""
        return pa.Table.from_batches(self.parts)

    def blocks(self) -> Iterator[hf.LogBlock]:
        """The rows, encoded one block at a time."""
        for part in self.parts:
            yield hf.data_block(part, instant=INSTANT, schema=self.schema, format=self.case.format)

    def cuts(self) -> Blocks:
        """The same blocks, encoded in one batch and cut from its bytes."""
        batch, bounds = self.case.make(self.count), range(self.case.block_rows, self.count, self.case.block_rows)
        return partial(hf.data_blocks, batch, bounds, instant=INSTANT, schema=self.schema, format=self.case.format)


def prepare(case: Case, count: int) -> Rows:
    """*count* rows of *case*."""
    batch = case.make(count)
    parts = [batch.slice(start, case.block_rows) for start in range(0, count, case.block_rows)]
    return Rows(case, parts, arrow_to_avro(batch.schema, name="row", namespace="hoodie"))


def delete_blocks(rows: Rows) -> Iterator[hf.LogBlock]:
    """The keys of *rows* with their ordering values, encoded one block at a time."""
    for part in rows.parts:
        yield hf.delete_block(part["id"], instant=INSTANT, partition_path="p", ordering=part["at"], schema=rows.schema)


def encode(blocks: Blocks) -> int:
    """Bytes of the contents of *blocks*; each is made and let go of."""
    return sum(len(block.content) for block in blocks())


def write(blocks: Blocks, folder: Path) -> Path:
    """A log file in *folder* with *blocks*, one an append; without fsync, as Java writes local files.  Its path."""
    with hf.LogWriter(folder, NAME, max_size=ENDLESS, sync=False) as writer:
        for block in blocks():
            writer.append(block)
    return folder / NAME


def empty(folder: Path) -> None:
    """Make *folder*, without anything in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def written(blocks: Blocks, folder: Path) -> Path:
    """The same in a folder that is made anew."""
    empty(folder)
    return write(blocks, folder)


def decode(path: Path, columns: list[str] | None = None, *, views: bool = False) -> int:
    """How many records and deletes the file has; every cell of *columns* (of all) has become Arrow."""
    count = 0
    with hf.LogReader(path) as reader:
        for block in reader:
            is_delete = block.type is hf.BlockType.DELETE
            count += len(block.deletes() if is_delete else block.to_arrow(columns=columns, views=views))
    return count


def decode_together(path: Path) -> int:
    """How many records the file has; the blocks are decoded side by side, into one table."""
    with hf.LogReader(path) as reader:
        return len(reader.to_arrow())


def scan(path: Path) -> int:
    """How many blocks the file has; contents are not touched."""
    with hf.LogReader(path) as reader:
        return sum(1 for _ in reader)


def same_rows(rows: Rows, path: Path) -> bool:
    """Whether the file's records are the rows of the case: what is fast has to be right, too."""
    with hf.LogReader(path) as reader:
        found = reader.to_arrow()
    if found.column_names != rows.table.column_names:
        return False
    return bool(found.cast(rows.table.schema).equals(rows.table))
