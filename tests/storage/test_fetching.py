"""Files fetched in ranges."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hudiformat.storage import mapping
from hudiformat.storage.opening import open_storage


def test_a_large_file_is_written_in_parts_and_mapped_in_ranges(bucket: str) -> None:
    storage = open_storage(f"{bucket}/table")
    pieces = [bytes([number]) * (3 << 20) for number in range(9)]
    with storage.open_new("large") as file:
        for piece in pieces:
            file.write(piece)
        file.sync()
    data = storage.map("large")
    assert mapping._map_of(data) is not None
    assert data == b"".join(pieces)
    with storage.open_input("large") as opened:
        assert opened.read_at(2, (3 << 20) - 1) == b"\0\1"


def test_a_range_that_ends_too_early_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shrinking:
        def size(self) -> int:
            return 20

        def read_at(self, count: int, start: int) -> bytes:
            return b"x" * max(min(count, 15 - start), 0)

    monkeypatch.setattr(mapping, "RANGE", 10)
    with pytest.raises(OSError, match="expected 10 bytes at byte 10, found 5"):
        mapping.fetch(cast("Any", Shrinking()))
