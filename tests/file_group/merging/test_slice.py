"""The merge compared with Hudi's algorithm, which merges one entry after the other into a map of keys."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.reader import LogReader
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import blocks_to_merge, read_candidates
from hudiformat.file_group.merging.delete_markers import DeleteMarker
from hudiformat.file_group.merging.rule import MergeRule
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.timeline.table_config import MergeMode
from tests.effort import examples
from tests.file_group.merging.blocks import KEY, data, deletes, keys_of

SPEC = Path(__file__).parents[3] / "spec" / "merging.md"
FLAG = "_hoodie_is_deleted"
UTC = dt.timezone.utc
NONE = "\N{EN DASH}"  # an empty cell in the specification's tables
DEFAULT = "Hudi's int 0, which means no ordering value"


@dataclass(frozen=True)
class Entry:
    """A row, or with *row* -1 an entry of a delete block; *ordering* has a value per ordering field, or is None."""

    key: str
    ordering: tuple[Any, ...] | None
    deleted: bool = False
    row: int = -1


@dataclass(frozen=True)
class Kind:
    """The types of the ordering fields, and values for them, the first being Hudi's default where it is an int."""

    types: tuple[pa.DataType, ...]
    values: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"o{i}" for i in range(len(self.types)))

    @property
    def schema(self) -> pa.Schema:
        ordering = [pa.field(name, kind) for name, kind in zip(self.names, self.types, strict=True)]
        return pa.schema([KEY, *ordering, pa.field(FLAG, pa.bool_()), pa.field("row", pa.int64())])

    def array(self, orderings: list[tuple[Any, ...] | None]) -> pa.Array | None:
        if not self.types:
            return None
        if len(self.types) == 1:
            return pa.array([None if values is None else values[0] for values in orderings], self.types[0])
        fields = [pa.array([values and values[i] for values in orderings], kind) for i, kind in enumerate(self.types)]
        mask = pa.array([values is None for values in orderings])
        return pa.StructArray.from_arrays(fields, names=list(self.names), mask=mask)


INT32 = Kind((pa.int32(),), (0, 1, 2))
INT64 = Kind((pa.int64(),), (0, 1, 2))
KINDS = {
    "int32": INT32,
    "int64": INT64,
    "double": Kind((pa.float64(),), (0.0, -1.5, 2.5)),
    "string": Kind((pa.string(),), ("", "a", "b")),
    "date": Kind((pa.date32(),), (dt.date(1970, 1, 1), dt.date(1969, 1, 1), dt.date(2024, 2, 29))),
    "timestamp": Kind((pa.timestamp("us", "UTC"),), tuple(dt.datetime(2000, 1, day, tzinfo=UTC) for day in (1, 2, 3))),
    "decimal": Kind((pa.decimal128(5, 2),), (Decimal(0), Decimal("-1.25"), Decimal("999.99"))),
    "two fields": Kind((pa.int64(), pa.string()), (0, 1)),
    "none": Kind((), ()),
}  # fmt: skip


# Hudi's algorithm: BufferedRecordMergerFactory and KeyBasedFileGroupRecordBuffer, Hudi 1.2.0.


@dataclass(frozen=True)
class Hudi:
    mode: MergeMode
    kind: Kind

    def merge(self, base: list[Entry], log: list[Entry]) -> Counter[int]:
        records: dict[str, Entry] = {}
        for entry in log:
            existing = records.get(entry.key)
            if existing is None or self.delta_merge(entry, existing):
                records[entry.key] = entry
        result = []
        for row in base:
            newer = records.pop(row.key, None)  # KeyBasedFileGroupRecordBuffer.hasNextBaseRecord removes it
            result.append(row if newer is None or not self.keeps_newer(replace(row, deleted=False), newer) else newer)
        result += records.values()
        rows = {id(row) for row in base}
        return Counter(entry.row for entry in result if id(entry) in rows or not entry.deleted)

    def delta_merge(self, new: Entry, existing: Entry) -> bool:
        if self.mode is MergeMode.COMMIT_TIME_ORDERING:
            return True
        if new.row >= 0:
            return self.keeps_newer(existing, new)
        if self.is_commit_time_delete(existing):
            return False
        ordering = self.ordering(new)
        return ordering == DEFAULT or not self.comparable(existing) > self.comparable(new)

    def keeps_newer(self, old: Entry, new: Entry) -> bool:
        if self.mode is MergeMode.COMMIT_TIME_ORDERING:
            return True
        if self.is_commit_time_delete(new) or self.is_commit_time_delete(old):
            return True
        return self.comparable(new) >= self.comparable(old)

    def is_commit_time_delete(self, entry: Entry) -> bool:
        return entry.deleted and self.ordering(entry) == DEFAULT

    def ordering(self, entry: Entry) -> object:
        if entry.ordering is None or not self.kind.types:
            return DEFAULT
        if self.kind.types == (pa.int32(),) and entry.ordering == (0,):
            return DEFAULT
        if entry.ordering == (None,):
            return DEFAULT
        return entry.ordering

    def comparable(self, entry: Entry) -> tuple[Any, ...]:
        if entry.ordering is None:
            return (0,)
        return tuple(0 if value is None else value for value in entry.ordering)


def to_blocks(entries: list[Entry], kind: Kind, ends: list[bool]) -> list[LogBlock]:
    """Blocks of data rows and of deletes in turn, and a new one wherever *ends* says so."""
    numbers = []
    number = 0
    for i, entry in enumerate(entries):
        if i and ((entry.row < 0) != (entries[i - 1].row < 0) or ends[i % len(ends)]):
            number += 1
        numbers.append(number)
    blocks = []
    for _, group in groupby(range(len(entries)), key=lambda i: numbers[i]):
        part = [entries[i] for i in group]
        if part[0].row < 0:
            blocks.append(deletes([entry.key for entry in part], kind.array([entry.ordering for entry in part])))
        else:
            blocks.append(data([as_row(entry, kind) for entry in part], kind.schema))
    return blocks


def as_row(entry: Entry, kind: Kind) -> tuple[Any, ...]:
    return (entry.key, *(entry.ordering or (None,) * len(kind.types)), entry.deleted, entry.row)


def rule_for(kind: Kind, mode: MergeMode) -> MergeRule:
    fields = kind.names if mode is MergeMode.EVENT_TIME_ORDERING else ()
    return MergeRule(mode, keys_of, fields, delete_column=FLAG)


def merged(
    base: list[Entry] | None, blocks: list[LogBlock], kind: Kind, mode: MergeMode, *, batch_rows: int = 9
) -> pa.Table:
    rows = [dict(zip(kind.schema.names, as_row(entry, kind), strict=True)) for entry in base or ()]
    table = pa.Table.from_pylist(rows, kind.schema)
    return over(table, blocks, kind.schema, rule_for(kind, mode), batch_rows=batch_rows)


def over(
    base: pa.Table, blocks: list[LogBlock], schema: pa.Schema, rule: MergeRule, *, batch_rows: int = 9
) -> pa.Table:
    logs = merge_log_entries(read_candidates(blocks_to_merge(blocks), schema, rule), rule)
    return pa.Table.from_batches(merge_slice(to_base_rows(base.to_batches(batch_rows)), logs, rule), schema)


def orderings(kind: Kind, *, for_rows: bool) -> st.SearchStrategy[tuple[Any, ...] | None]:
    if not kind.types:
        return st.none() if not for_rows else st.just(())
    if len(kind.types) > 1:
        return (st.none() if not for_rows else st.nothing()) | st.tuples(st.integers(0, 1), st.sampled_from("ab"))
    values = st.sampled_from(kind.values).map(lambda value: (value,))
    if for_rows:  # Hudi cannot compare its int 0 with a text or a date
        return values | st.just((None,)) if kind in (INT32, INT64) else values
    return st.none() | values


@st.composite
def histories(draw: st.DrawFn) -> tuple[Kind, list[Entry], list[Entry]]:
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    keys = st.sampled_from("abc")
    count = 0

    def row(*, deleted: bool) -> Entry:
        nonlocal count
        count += 1
        return Entry(draw(keys), draw(orderings(kind, for_rows=True)), deleted, count)

    base = [row(deleted=False) for _ in range(draw(st.integers(0, 4)))]
    log = []
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            log.append(row(deleted=draw(st.integers(0, 3)) == 0))
        else:
            log.append(Entry(draw(keys), draw(orderings(kind, for_rows=False)), deleted=True))
    return kind, base, log


@settings(deadline=None, max_examples=examples(120))
@given(
    histories(),
    st.sampled_from(list(MergeMode)[:2]),
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_merging_columns_is_merging_row_by_row(
    history: tuple[Kind, list[Entry], list[Entry]], mode: MergeMode, ends: list[bool], batch_rows: int
) -> None:
    kind, base, log = history
    if not kind.types:
        mode = MergeMode.COMMIT_TIME_ORDERING
    result = merged(base, to_blocks(log, kind, ends), kind, mode, batch_rows=batch_rows)
    assert Counter(result["row"].to_pylist()) == Hudi(mode, kind).merge(base, log)
    assert result.schema == kind.schema


@settings(deadline=None, max_examples=examples(40))
@given(histories(), st.lists(st.booleans(), min_size=1, max_size=8), st.lists(st.booleans(), min_size=1, max_size=8))
def test_it_does_not_matter_how_blocks_are_spread_over_log_files(
    history: tuple[Kind, list[Entry], list[Entry]], ends: list[bool], file_ends: list[bool]
) -> None:
    kind, base, log = history
    mode = MergeMode.EVENT_TIME_ORDERING if kind.types else MergeMode.COMMIT_TIME_ORDERING
    files = [b""]
    for i, block in enumerate(to_blocks(log, kind, ends)):
        if file_ends[i % len(file_ends)]:
            files.append(b"")
        files[-1] += encode_block(block)
    spread = [block for content in files for block in LogReader(content)]
    assert merged(base, spread, kind, mode).equals(merged(base, to_blocks(log, kind, [False]), kind, mode))


EVENT = MergeMode.EVENT_TIME_ORDERING


def surviving(base: list[Entry] | None, log: list[Entry], kind: Kind = INT64, mode: MergeMode = EVENT) -> list[int]:
    rows: list[int] = merged(base, to_blocks(log, kind, [False]), kind, mode)["row"].to_pylist()
    return rows


def row(number: int, ordering: int | None, *, key: str = "a", deleted: bool = False) -> Entry:
    return Entry(key, (ordering,), deleted, number)


def delete(ordering: int | None, *, key: str = "a") -> Entry:
    return Entry(key, None if ordering is None else (ordering,), deleted=True)


def test_without_logs_the_base_rows_are_returned() -> None:
    assert surviving([row(1, 5), row(2, 1)], []) == [1, 2]
    assert surviving(None, []) == []


def test_without_a_base_file_the_log_rows_are_returned() -> None:
    assert surviving(None, [row(1, 1, key="b"), row(2, 1)]) == [1, 2]
    assert surviving([], [row(1, 1)]) == [1]


def test_the_higher_ordering_value_wins_and_on_a_tie_the_newer() -> None:
    assert surviving([row(1, 5)], [row(2, 4)]) == [1]
    assert surviving([row(1, 5)], [row(2, 5)]) == [2]
    assert surviving(None, [row(1, 5), row(2, 4), row(3, 5), row(4, 3)]) == [3]


def test_by_commit_time_the_newest_wins() -> None:
    mode = MergeMode.COMMIT_TIME_ORDERING
    assert surviving([row(1, 5)], [row(2, 4), row(3, 3)], mode=mode) == [3]
    assert surviving([row(1, 5)], [row(2, 4), delete(1)], mode=mode) == []
    assert surviving([row(1, 5)], [delete(9), row(2, 1)], mode=mode) == [2]


def test_a_delete_wins_unless_its_ordering_value_is_lower() -> None:
    assert surviving([row(1, 5)], [delete(4)]) == [1]
    assert surviving([row(1, 5)], [delete(5)]) == []
    assert surviving([row(1, 5)], [delete(6)]) == []
    assert surviving(None, [row(1, 5), delete(4)]) == [1]


def test_a_delete_without_ordering_value_wins_over_older_entries_and_loses_to_newer_ones() -> None:
    assert surviving([row(1, 9)], [delete(None)]) == []
    assert surviving([row(1, 9)], [row(2, 9), delete(None), row(3, 1)]) == [1]  # Hudi: 3 is lower than the base row
    assert surviving(None, [row(2, 9), delete(None), row(3, 1)]) == [3]
    assert surviving(None, [delete(None), delete(9), row(3, 1)]) == [3]


def test_the_int_0_is_no_ordering_value_and_the_long_0_is_one() -> None:
    assert surviving([row(1, 5)], [delete(0)], INT32) == []
    assert surviving([row(1, 5)], [row(2, 0, deleted=True)], INT32) == []
    assert surviving([row(1, 5)], [delete(0)], INT64) == [1]
    assert surviving([row(1, 5)], [row(2, 0, deleted=True)], INT64) == [1]


def test_a_row_that_is_marked_as_deleted_is_a_delete() -> None:
    assert surviving([row(1, 5)], [row(2, 4, deleted=True)]) == [1]
    assert surviving([row(1, 5)], [row(2, 5, deleted=True)]) == []
    assert surviving([row(1, 5)], [row(2, None, deleted=True)]) == []
    assert surviving(None, [row(2, 5, deleted=True)]) == []


def test_a_base_row_is_never_a_delete() -> None:
    assert surviving([row(1, 5, deleted=True)], [row(2, 4)]) == [1]
    assert surviving([row(1, 5, deleted=True)], [row(2, 4, key="b")]) == [1, 2]


def test_of_several_base_rows_with_one_key_the_first_is_merged_with_the_log() -> None:
    assert surviving([row(1, 1), row(2, 1)], [delete(None)]) == [2]
    assert surviving([row(1, 9), row(2, 1)], [row(3, 5)]) == [1, 2]
    assert surviving([row(1, 1), row(2, 1)], [row(3, 5)]) == [2, 3]


def test_a_delete_without_value_among_deletes_of_two_ordering_fields() -> None:
    kind = KINDS["two fields"]
    base = [Entry("a", (1, "b"), row=1), Entry("b", (1, "b"), row=2)]
    log = [Entry("a", (1, "a"), deleted=True), Entry("b", None, deleted=True)]
    assert surviving(base, log, kind) == [1]


def test_deletes_of_mixed_types_are_merged() -> None:
    """A block with int 0 beside longs, as a delete by operation among deletes by column gives."""
    block = deletes(["a", "b"], pa.array([None, 7], pa.int64()))
    result = merged([row(1, 9), row(2, 9, key="b")], [block], INT64, EVENT)
    assert result["row"].to_pylist() == [2]


def test_a_custom_marker_makes_a_row_a_delete() -> None:
    schema = pa.schema([KEY, pa.field("op", pa.string()), pa.field("row", pa.int64())])
    rule = MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of, delete_marker=DeleteMarker("op", "D"))
    log = data([("a", "D", 3), ("b", "I", 4), ("c", None, 5)], schema)
    base = pa.table({"k": ["a", "b"], "op": ["I", "D"], "row": [1, 2]}, schema=schema)
    result = over(base, [log], schema, rule)
    assert result["row"].to_pylist() == [4, 5]


def test_the_operation_column_marks_deletes_and_states_before_updates() -> None:
    schema = pa.schema([KEY, pa.field("_hoodie_operation", pa.string()), pa.field("row", pa.int64())])
    rule = MergeRule(MergeMode.COMMIT_TIME_ORDERING, keys_of, operation_column="_hoodie_operation")
    log = data([("a", "D", 1), ("b", "-U", 2), ("c", "U", 3), ("d", "I", 4), ("e", None, 5)], schema)
    base = pa.table({"k": ["a", "b"], "_hoodie_operation": ["I", "D"], "row": [8, 9]}, schema=schema)
    assert over(base, [log], schema, rule)["row"].to_pylist() == [3, 4, 5]


def test_base_rows_keep_their_order_and_new_rows_follow() -> None:
    base = [row(1, 1, key="c"), row(2, 1, key="b"), row(3, 1, key="a")]
    assert surviving(base, [row(4, 2, key="b"), row(5, 2, key="d"), row(6, 2, key="0")]) == [1, 3, 4, 5, 6]


def test_the_example_of_the_specification() -> None:
    text = SPEC.read_text(encoding="utf-8").split("## Example", 1)[1].split("\n## ", 1)[0]
    tables = [re.findall(r"^\| (.+) \|$", part, re.MULTILINE)[1:] for part in re.split(r"\n\n(?=\|)", text)[1:]]
    base, log, expected = ([line.split(" | ") for line in lines] for lines in tables)
    blocks = []
    for kind, rows in groupby(log, key=lambda line: line[0]):
        part = list(rows)
        if kind.startswith("delete"):
            values = [None if line[2] == NONE else int(line[2]) for line in part]
            blocks.append(deletes([line[1] for line in part], pa.array(values, pa.int64())))
        else:
            blocks.append(data([(line[1], int(line[2]), False, int(line[3])) for line in part], INT64.schema))
    rows_of_base = [row(int(line[2]), int(line[1]), key=line[0]) for line in base]
    result = merged(rows_of_base, blocks, INT64, EVENT)
    assert len(expected) == 3
    assert Counter(zip(result["k"].to_pylist(), result["row"].to_pylist(), strict=True)) == Counter(
        (line[0], int(line[1])) for line in expected
    )
