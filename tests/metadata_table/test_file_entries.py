"""Records of the files partition, decoded and merged."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import CorruptBlockError
from hudiformat.metadata_table.records import FileEntries, FileEntry, decode_file_entries, merge_file_entries
from tests.metadata_table.tables import GONE, SCHEMA, record

names = st.sampled_from(["a", "b", "c"])
entries = st.builds(lambda size: FileEntry(max(size, 0), size == GONE), st.integers(GONE, 3))
records = st.dictionaries(names, entries)


def live(size: int) -> FileEntry:
    return FileEntry(size, is_deleted=False)


dead = FileEntry(0, is_deleted=True)


def test_a_record_is_read() -> None:
    assert decode_file_entries(record({"a": 5, "b": GONE}), SCHEMA) == {"a": live(5), "b": dead}
    assert decode_file_entries(record({}), SCHEMA) == {}
    assert decode_file_entries(record(None), SCHEMA) == {}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (b"", SCHEMA),
        (record({"a": 5})[:-3], SCHEMA),
        (record({}), "{"),
        (record({}), '{"type":"record","name":"r","fields":[{"name":"key","type":"string"}]}'),
    ],
    ids=["empty", "cut off", "no schema", "another record"],
)
def test_other_bytes_are_corrupt(value: bytes, schema: str) -> None:
    with pytest.raises(CorruptBlockError, match="expected a HoodieMetadataRecord"):
        decode_file_entries(value, schema)


@pytest.mark.parametrize(
    ("older", "newer", "together"),
    [
        ({"a": live(1)}, {"b": live(2)}, {"a": live(1), "b": live(2)}),
        ({"a": live(5)}, {"a": live(3)}, {"a": live(5)}),
        ({"a": live(3)}, {"a": live(5)}, {"a": live(5)}),
        ({"a": live(3)}, {"a": dead}, {}),
        ({}, {"a": dead}, {"a": dead}),
        ({"a": dead}, {"a": dead}, {"a": dead}),
        ({"a": dead}, {"a": live(3)}, {"a": live(3)}),
    ],
    ids=["union", "smaller", "larger", "deleted", "deleted before", "deleted twice", "back again"],
)
def test_two_records_are_merged(older: FileEntries, newer: FileEntries, together: FileEntries) -> None:
    before = dict(older)
    assert merge_file_entries(older, newer) == together
    assert older == before


@given(st.lists(records))
def test_many_records_are_merged_name_by_name(history: list[dict[str, FileEntry]]) -> None:
    expected: FileEntries = {
        name: last
        for name in "abc"
        if (last := history_of([entries[name] for entries in history if name in entries])) is not None
    }
    nothing: FileEntries = {}
    assert reduce(merge_file_entries, history, nothing) == expected


def history_of(of_name: list[FileEntry]) -> FileEntry | None:
    """The model: a name is there since it was last named after a delete; sizes only grow."""
    now: FileEntry | None = None
    for entry in of_name:
        if not entry.is_deleted:
            now = live(max(entry.size, now.size if now else 0))
        elif now is None or now.is_deleted:
            now = entry
        else:
            now = None
    return now
