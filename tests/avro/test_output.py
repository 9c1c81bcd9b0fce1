"""Bytes that grow, and the parts they are cut into."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from hudiformat.avro.output import Output, Parts, size_of


def test_bytes_are_appended_where_there_is_room_and_where_there_is_none() -> None:
    output = Output(4, b"ab")
    for part in (b"cd", b"", b"efghijkl", b"m"):
        output.append(np.frombuffer(part, np.uint8))
    output.room(3)[:] = 0x7A  # not used
    output.room(2)[:] = 0x6E
    output.used += 2
    assert output.used == 15
    assert bytes(output.written()) == b"abcdefghijklmnn"
    assert output.written().readonly


def test_parts_are_counted_from_the_rows_that_they_are_in() -> None:
    parts = Parts(np.array([0, 3, 5]), np.array([7, 8, 9], np.uint64))
    here = parts.within(3, 5)
    assert here.heads is not None
    assert (here.firsts.tolist(), here.heads.tolist()) == ([0], [8])
    assert Parts(parts.firsts).within(1, 6).firsts.tolist() == [2, 4]
    assert Parts(parts.firsts).within(1, 6).heads is None
    none = Parts()
    assert none.within(0, 5) is none


def test_a_batch_whose_bytes_arrow_does_not_know_has_the_size_of_its_buffers() -> None:
    class OfViews:
        @property
        def nbytes(self) -> int:
            raise pa.ArrowTypeError("as pyarrow 19 for string_view")

        def get_total_buffer_size(self) -> int:
            return 7

    assert size_of(cast("pa.RecordBatch", OfViews())) == 7
