"""Judge by their numbers what the times of a file count, whatever the label of their column says.

A time between 1990 and 2100 is a number of some 10^12 milliseconds or 10^15 microseconds: no number is such a time in
both units.  Zeros, times before 1990, and the far future, which stands for "no end", tell nothing.

A column of microseconds with the numbers 1,720,631,224,939 (10 July 2024 in milliseconds, 20 January 1970 in
microseconds), 0 and 1,720,631,224,939,000 (10 July 2024 in microseconds)::

    other = 1   the first number, in milliseconds
    own   = 1   the third number
    count = 3

Source: TimestampLogicalTypeClassifier, Hudi 1.2.1; spec/schema-evolution.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import offsets
from hudiformat.codec.log.batches import record_batches
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.file_group.damage import DamageMode, log_blocks
from hudiformat.file_group.renamed_columns import rename_block_columns, scan_batches
from hudiformat.schema.internal_schema import SchemaHistory
from hudiformat.storage.protocol import Storage

_FROM, _TO = 631_152_000, 4_102_444_800
"""Seconds from 1970 to 1990 and to 2100."""
_PER_SECOND = {"ms": 1_000, "us": 1_000_000}
_OTHER = {"ms": "us", "us": "ms"}
_OF_ROWS = (BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.HFILE_DATA)


@dataclass(frozen=True, slots=True)
class JudgedTimes:
    """The times of a column, a dotted path, in a base file, or in the block of a log file at the byte ``offset``.

    ``unit`` is that of the table's column.  Of ``count`` times that are not null, ``own`` lie between 1990 and 2100 in
    this unit, ``other`` would in the other of milliseconds and microseconds; ``example`` is one of these numbers.
    """

    column: str
    unit: str
    count: int
    own: int
    other: int
    example: int | None = None
    offset: int | None = None

    def with_more(self, more: JudgedTimes) -> JudgedTimes:
        """Return the judgement of these times and of *more* of the same column."""
        return replace(
            self,
            count=self.count + more.count,
            own=self.own + more.own,
            other=self.other + more.other,
            example=more.example if self.example is None else self.example,
        )

    @property
    def contradicts(self) -> bool:
        """Whether there are times whose numbers count the other unit."""
        return self.other > 0

    @property
    def is_mixed(self) -> bool:
        """Whether some times count the unit of the column, and some the other one."""
        return self.other > 0 and self.own > 0

    @property
    def tells_nothing(self) -> bool:
        """Whether there are times, and none of them tells what it counts."""
        return self.count > 0 and not self.own and not self.other

    @property
    def other_unit(self) -> str:
        """The unit that the numbers in ``other`` count."""
        return _OTHER[self.unit]


def time_columns(schema: pa.Schema) -> pa.Schema:
    """Return those columns of *schema* that are, or contain, timestamps in milliseconds or microseconds."""
    return pa.schema([field for field in schema if _has_times(field.type)])


def judge_base_file(
    storage: Storage, path: str, schema: pa.Schema, *, history: SchemaHistory | None = None
) -> list[JudgedTimes]:
    """Read the base file at *path* with the columns *schema* of the table, and judge each column of times.

    Raises:
        CorruptTableError, SchemaError, StorageError: the file cannot be read.
    """
    return _judge(scan_batches(storage, path, schema, history=history), None)


def judge_log_file(
    storage: Storage, path: str, schema: pa.Schema, *, history: SchemaHistory | None = None
) -> Iterator[JudgedTimes]:
    """Judge each column of times in each data block of the log file at *path*; *schema* has columns of the table.

    Raises:
        DecodeError: a block is damaged.
        SchemaError, StorageError: the file cannot be read.
    """
    times = time_columns(schema)
    nullable = pa.schema([field.with_nullable(True) for field in times])  # a partial record lacks columns
    if not times.names:
        return
    for block in log_blocks(storage, path, damage=DamageMode.HUDI):
        if block.type in _OF_ROWS:
            yield from judge_block(rename_block_columns(block, history), nullable)


def judge_block(block: LogBlock, schema: pa.Schema) -> list[JudgedTimes]:
    """Judge each column of times in a data block, with the columns *schema* of the table.

    Raises:
        DecodeError, SchemaError: the block is damaged, or has columns that do not fit.
    """
    return _judge(record_batches([block], schema=schema, relabel=True), block.offset)


def _judge(batches: Iterable[pa.RecordBatch], offset: int | None) -> list[JudgedTimes]:
    found: dict[str, JudgedTimes] = {}
    for batch in batches:
        for field, column in zip(batch.schema, batch.columns, strict=True):
            for path, times in _times(field.name, column):
                judged = _judge_array(path, times, offset)
                known = found.get(path, judged)
                found[path] = judged if known is judged else known.with_more(judged)
    return list(found.values())


def _judge_array(path: str, times: pa.Array, offset: int | None) -> JudgedTimes:
    unit = _unit_of(times.type)
    numbers = np.asarray(times.drop_null().view(pa.int64()))
    is_other = _is_plausible(numbers, _OTHER[unit])
    other = int(np.count_nonzero(is_other))
    return JudgedTimes(
        path,
        unit,
        len(numbers),
        int(np.count_nonzero(_is_plausible(numbers, unit))),
        other,
        int(numbers[np.argmax(is_other)]) if other else None,
        offset,
    )


def _is_plausible(numbers: np.typing.NDArray[np.int64], unit: str) -> np.typing.NDArray[np.bool_]:
    per_second = _PER_SECOND[unit]
    found: np.typing.NDArray[np.bool_] = (numbers >= _FROM * per_second) & (numbers < _TO * per_second)
    return found


def _has_times(kind: pa.DataType) -> bool:
    if pat.is_nested(kind):
        return any(_has_times(kind.field(number).type) for number in range(kind.num_fields))
    return pat.is_timestamp(kind) and _unit_of(kind) in _OTHER


def _unit_of(kind: pa.DataType) -> str:
    return str(kind.unit) if isinstance(kind, pa.TimestampType) else ""


def _times(path: str, column: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield the timestamps in a column, at every depth, with their dotted paths."""
    if not _has_times(column.type):
        return
    if isinstance(column, pa.StructArray):
        for field, inner in zip(column.type, column.flatten(), strict=True):
            yield from _times(f"{path}.{field.name}", inner)
    elif isinstance(column, pa.MapArray):
        ends = offsets(column)
        yield from _times(f"{path}.value", column.items.slice(int(ends[0]), int(ends[-1] - ends[0])))
    elif isinstance(column, pa.ListArray):
        yield from _times(f"{path}.element", column.flatten())
    else:
        yield path, column
