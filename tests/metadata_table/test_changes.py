"""What an action changes."""

from __future__ import annotations

from hudiformat.metadata_table.changes import Change, KeyedRecords


def test_a_change_of_nothing_knows_nothing() -> None:
    change = Change()
    assert (change.live("p"), change.known("p"), change.of_partition("p"), change.adds_only("p")) == ((), {}, {}, False)


def test_records_are_something_if_there_is_a_key() -> None:
    assert not KeyedRecords.of({})
    assert KeyedRecords.of({"a": b""})
    assert KeyedRecords.of({}, ["a"])
