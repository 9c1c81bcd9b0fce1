"""The keys of a slice, as log files come."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName
from hudiformat.write.index.known_keys import SliceKeys
from hudiformat.write.index.tagging import merge_locations
from hudiformat.write.rows import NEW, NOT_IN_BASE_FILE

_BASE = BaseFile(BaseFileName("f-0", "0-0-0", "001"), 10)


def log(instant: str, size: int = 10) -> LogFile:
    return LogFile(LogFileName("f-0", instant, 1, "0-0-0"), size)


def file_slice(*logs: LogFile, base: BaseFile | None = _BASE) -> FileSlice:
    return FileSlice("p", "f-0", "001", base, logs)


def texts(keys: Sequence[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(list(keys), pa.string())])


def found(known: SliceKeys, keys: Sequence[str]) -> list[int | None]:
    """The position of each key, None of a key that is not there."""
    tags = merge_locations(known.look_up(pa.array(list(keys), pa.string())), len(keys))
    assert tags.positions is not None
    assert tags.rows.tolist() == list(range(len(keys)))
    codes = zip(tags.codes.tolist(), tags.positions.tolist(), strict=True)
    return [None if code == NEW else position for code, position in codes]


def test_keys_of_further_log_files_are_found_beside_those_of_the_base_file() -> None:
    known = SliceKeys.of_base(file_slice(), [pa.array(["a", "b"]), pa.array(["c"])])
    later = known.with_logs([log("002")], texts(["c", "x"]), texts(["a"]))
    assert found(known, "acx") == [0, 2, None]
    assert found(later, "acx") == [0, 2, NOT_IN_BASE_FILE]
    assert later.deleted.to_pylist() == ["a"]
    assert later.with_logs([log("003")], texts(["a", "y"]), texts([])).added.to_pylist() == ["x", "y"]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=5))
def test_keys_that_come_one_log_file_after_the_other_are_those_of_all(parts: list[list[str]]) -> None:
    known = SliceKeys.of_base(file_slice(), [pa.array(["a", "b", "a"])])
    for number, keys in enumerate(parts):
        known = known.with_logs([log(f"{number:03}")], texts(keys), texts(keys[:1]))
    every = {key for keys in parts for key in keys}
    expected = [{"a": 0, "b": 1}.get(key, NOT_IN_BASE_FILE if key in every else None) for key in "abcdefgh"]
    assert found(known, "abcdefgh") == expected
    assert sorted(known.deleted.to_pylist()) == sorted({keys[0] for keys in parts if keys})
    assert known.size > 0


def test_a_slice_is_before_itself_and_before_one_with_further_log_files() -> None:
    known = SliceKeys.of_base(file_slice(), []).with_logs([log("002"), log("003")], texts([]), texts([]))

    def is_before(*logs: LogFile, base: BaseFile | None = _BASE) -> bool:
        return known.is_before(file_slice(*logs, base=base))

    assert is_before(log("002"), log("003"))
    assert is_before(log("002"), log("003"), log("004"))
    assert is_before(log("001"), log("002"), log("003"))
    assert not is_before(log("002"))
    assert not is_before(log("002"), log("003", size=11))
    assert not is_before(log("002"), log("003"), base=None)
    assert not is_before(log("002"), log("003"), base=BaseFile(_BASE.name, 11))


def test_log_files_after_those_that_are_known_are_found_wherever_they_are_merged() -> None:
    known = SliceKeys.of_base(file_slice(), []).with_logs([log("002"), log("004")], texts([]), texts([]))
    logs = log("002"), log("003"), log("004"), log("005")
    assert [*known.logs_after(file_slice(*logs))] == [log("003"), log("005")]
    assert [*known.with_logs(logs, texts([]), texts([])).logs_after(file_slice(*logs, log("006")))] == [log("006")]
