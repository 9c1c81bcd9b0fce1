"""Rows are gathered until there are enough of them for a piece of a file."""

from __future__ import annotations

import pyarrow as pa

from hudiformat.sink.gathering import BufferedRowWriter

BATCH = pa.record_batch({"n": pa.array([1, 2], pa.int64())})


class Pieces(BufferedRowWriter):
    """Keeps the pieces instead of writing them."""

    def __init__(self, enough: int) -> None:
        super().__init__(enough)
        self.pieces: list[list[int]] = []

    @property
    def written(self) -> int:
        return 8 * sum(map(len, self.pieces))

    def close(self) -> int:
        self.flush()
        return self.written

    def _write_piece(self, table: pa.Table) -> None:
        self.pieces.append(table["n"].to_pylist())


def test_a_piece_is_written_as_soon_as_there_are_enough_bytes() -> None:
    rows = Pieces(2 * BATCH.nbytes)
    rows.write(BATCH)
    assert (rows.pieces, rows.rows, rows.waiting, rows.flushed) == ([], 2, BATCH.nbytes, 0)
    rows.write(BATCH)
    assert (rows.pieces, rows.rows, rows.waiting, rows.flushed) == ([[1, 2, 1, 2]], 4, 0, 2 * BATCH.nbytes)


def test_the_remaining_rows_are_written_at_the_end_and_no_empty_piece() -> None:
    rows = Pieces(10**6)
    rows.flush()
    rows.write(BATCH)
    assert rows.close() == 16
    rows.flush()
    assert rows.pieces == [[1, 2]]
