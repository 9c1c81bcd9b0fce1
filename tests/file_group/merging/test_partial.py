"""Partial updates, against Hudi's way: one record after the other, value by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockHeader, HeaderKey
from hudiformat.file_group.base_file.read import to_base_rows
from hudiformat.file_group.merging.candidates import read_candidates
from hudiformat.file_group.merging.rule import MergeRule, PartialUpdate
from hudiformat.file_group.merging.slice import merge_log_entries, merge_slice
from hudiformat.timeline.table_config import MergeMode
from tests.effort import examples
from tests.file_group.merging.blocks import KEY, data, deletes, keys_of

pytestmark = pytest.mark.unmeasured

EVENT, COMMIT = MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING
SCHEMA = pa.schema([KEY, ("o", pa.int64()), ("a", pa.string()), ("b", pa.list_(pa.int64()))])
MARKER = "__unavailable"


@dataclass(frozen=True)
class Record:
    """A record with all values, or with *held* those of some columns; a delete without *values*."""

    key: str
    ordering: int | None
    values: tuple[Any, ...] | None = None
    held: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Hudi:
    """PartialUpdateHandler, and SparkRecordMergingUtils.mergePartialRecords for partial records."""

    mode: MergeMode
    marker: str | None
    by_held: bool = False

    def merge(self, base: list[Record], log: list[Record]) -> Counter[str]:
        records: dict[str, Record] = {}
        for record in log:
            existing = records.get(record.key)
            records[record.key] = record if existing is None else self.delta(existing, record)
        result = []
        for row in base:
            newer = records.pop(row.key, None)
            result.append(row if newer is None else self.delta(row, newer))
        result += records.values()
        return Counter(repr((item.key, item.ordering, item.values)) for item in result if item.values is not None)

    def delta(self, old: Record, new: Record) -> Record:
        if self.mode is COMMIT:
            return self.fill(new, old)
        if is_reset(old) and new.values is None:
            return old
        if is_reset(old) or is_reset(new) or (new.ordering or 0) >= (old.ordering or 0):
            return self.fill(new, old)
        return self.fill(old, new)

    def fill(self, high: Record, low: Record) -> Record:
        if high.values is None or low.values is None:
            return high
        pairs = zip("ab", high.values, low.values, strict=True)
        values = tuple(above if self.is_set(high, name, above) else below for name, above, below in pairs)
        held = None if high.held is None or low.held is None else tuple({*high.held, *low.held})
        return replace(high, values=values, held=held)

    def is_set(self, record: Record, name: str, value: Any) -> bool:
        if self.by_held:
            return record.held is None or name in record.held
        return value is not None if self.marker is None else value != self.marker


def is_reset(record: Record) -> bool:
    return record.values is None and record.ordering is None


def to_block(record: Record) -> LogBlock:
    if record.values is None:
        return deletes([record.key], pa.array([record.ordering], pa.int64()))
    names = [name for name in "ab" if record.held is None or name in record.held]
    schema = pa.schema([field for field in SCHEMA if field.name in ("k", "o", *names)])
    values = [value for name, value in zip("ab", record.values, strict=True) if name in names]
    block = data([(record.key, record.ordering, *values)], schema)
    if record.held is None:
        return block
    return block._replace(header=BlockHeader({**block.header, HeaderKey.IS_PARTIAL: "true"}))


def merged(base: Sequence[Record], log: Sequence[Record], rule: MergeRule) -> Counter[str]:
    rows = [{"k": r.key, "o": r.ordering, "a": (r.values or "")[0], "b": (r.values or "")[1]} for r in base]
    logs = merge_log_entries(read_candidates([to_block(record) for record in log], SCHEMA, rule), rule)
    table = pa.Table.from_batches(
        merge_slice(to_base_rows(pa.Table.from_pylist(rows, SCHEMA).to_batches(2)), logs, rule), SCHEMA
    )
    return Counter(repr((row["k"], row["o"], (row["a"], row["b"]))) for row in table.to_pylist())


def rule_for(mode: MergeMode, partial: PartialUpdate | None) -> MergeRule:
    return MergeRule(mode, keys_of, ("o",) if mode is EVENT else (), partial=partial)


def records(*, held: bool = False) -> st.SearchStrategy[Record]:
    values = st.tuples(st.none() | st.sampled_from(["x", "y", MARKER]), st.none() | st.sampled_from([[], [1]]))
    some = st.sampled_from([None, ("a",), ("b",), ("a", "b")]) if held else st.none()
    rows = st.builds(Record, st.sampled_from("kl"), st.integers(1, 4), values, some)
    return rows.map(without_what_it_does_not_hold)


def without_what_it_does_not_hold(record: Record) -> Record:
    assert record.values is not None
    pairs = zip("ab", record.values, strict=True)
    return replace(record, values=tuple(v if record.held is None or n in record.held else None for n, v in pairs))


def gone(*, ordered: bool) -> st.SearchStrategy[Record]:
    return st.builds(Record, st.sampled_from("kl"), st.none() | st.integers(1, 4) if ordered else st.none())


BASES = st.lists(records(), max_size=2, unique_by=lambda record: record.key)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(BASES, st.lists(records() | gone(ordered=True), max_size=7), st.sampled_from([EVENT, COMMIT]))
def test_nulls_leave_values_as_they_were(base: list[Record], log: list[Record], mode: MergeMode) -> None:
    rule = rule_for(mode, PartialUpdate(frozenset("ab")))
    assert merged(base, log, rule) == Hudi(mode, None).merge(base, log)


@settings(deadline=None)
@given(BASES, st.lists(records() | gone(ordered=True), max_size=7), st.sampled_from([EVENT, COMMIT]))
def test_a_marker_leaves_values_as_they_were(base: list[Record], log: list[Record], mode: MergeMode) -> None:
    rule = rule_for(mode, PartialUpdate(frozenset("a"), MARKER))
    assert merged(base, log, rule) == Hudi(mode, MARKER).merge(base, log)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(BASES, st.lists(records(held=True) | gone(ordered=False), max_size=7), st.sampled_from([EVENT, COMMIT]))
def test_partial_records_change_the_columns_that_they_hold(
    base: list[Record], log: list[Record], mode: MergeMode
) -> None:
    assert merged(base, log, rule_for(mode, None)) == Hudi(mode, None, by_held=True).merge(base, log)


def test_a_partial_record_after_a_delete_brings_the_row_back() -> None:
    base = [Record("k", 1, ("x", [1]))]
    log = [Record("k", None), Record("k", 2, (None, [2]), ("b",))]
    assert merged(base, log, rule_for(EVENT, None)) == Counter([repr(("k", 2, ("x", [2])))])


def test_a_column_of_another_type_than_text_has_no_marker() -> None:
    partial = PartialUpdate(frozenset("a"), MARKER)
    assert partial.is_set("b", pa.chunked_array([[1, None]])).all()
    texts = pa.chunked_array([[MARKER.encode(), b"x", None]])
    np.testing.assert_array_equal(partial.is_set("a", texts), [False, True, True])


@pytest.mark.parametrize("mode", [EVENT, COMMIT])
def test_deletes_alone_leave_nothing(mode: MergeMode) -> None:
    rule = rule_for(mode, PartialUpdate(frozenset("ab")))
    assert merged([Record("k", 1, ("x", None))], [Record("k", None)], rule) == Counter()


def payload_rows(base: list[Record], log: list[Record]) -> Counter[str]:
    partial = PartialUpdate(frozenset("ab"), as_payload=True, newest=frozenset("b"))
    return merged(base, log, rule_for(EVENT, partial))


def rows_of(*found: tuple[str, int, tuple[Any, Any]]) -> Counter[str]:
    return Counter(repr(row) for row in found)


def test_a_payloads_delete_wins_whatever_its_ordering_value() -> None:
    assert payload_rows([Record("k", 9, ("x", [1]))], [Record("k", 2)]) == Counter()
    assert payload_rows([], [Record("k", 9, ("x", [1])), Record("k", 2)]) == Counter()


def test_after_a_payloads_delete_any_record_counts() -> None:
    log = [Record("k", 9, ("x", [1])), Record("k", 5), Record("k", 1, ("y", [2]))]
    assert payload_rows([], log) == rows_of(("k", 1, ("y", [2])))


def test_some_columns_come_from_the_newer_record_of_a_payload_though_the_older_one_wins() -> None:
    base = [Record("k", 9, (None, [1]))]
    assert payload_rows(base, [Record("k", 5, ("y", [2]))]) == rows_of(("k", 9, ("y", [2])))
    log = [Record("k", 9, ("x", [1])), Record("k", 5, ("y", [2])), Record("k", 6, ("z", [3]))]
    assert payload_rows([], log) == rows_of(("k", 9, ("x", [3])))


def test_the_values_of_a_payloads_deleted_row_count_below_those_that_follow() -> None:
    flagged = SCHEMA.append(pa.field("gone", pa.bool_()))
    partial = PartialUpdate(frozenset("ab"), as_payload=True)
    rule = MergeRule(EVENT, keys_of, ("o",), delete_column="gone", partial=partial)

    def left(*log: tuple[Any, ...]) -> list[dict[str, Any]]:
        logs = merge_log_entries(read_candidates([data(list(log), flagged)], flagged, rule), rule)
        found: list[dict[str, Any]] = pa.Table.from_batches(merge_slice([], logs, rule), flagged).to_pylist()
        return found

    deleted = ("k", 5, "x", [1], True)
    assert left(deleted, ("k", 6, None, [2], False)) == [{"k": "k", "o": 6, "a": "x", "b": [2], "gone": False}]
    assert left(deleted, ("k", 4, None, [2], False)) == []
    assert left(("k", 9, "w", [0], False), deleted) == []
