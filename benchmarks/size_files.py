"""Log files and blocks of large sizes, see :mod:`benchmarks.size_cases`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pyarrow as pa

import hudiformat as hf
from benchmarks import ours
from benchmarks.cases import INSTANT, SMALL
from benchmarks.size_work import Outcome, Work, expect
from hudiformat.codec.log.batches import record_batches
from hudiformat.codec.log.block import encode_block_parts
from hudiformat.codec.log.reader import map_source, scan_runs

_SPARSE_CONTENT = 4 << 20
_BLOCKS_PER_GB = (1 << 30) // _SPARSE_CONTENT
_DISTINCT = 1_000
_CELLS = 2_000_000
_MEGABYTE = 1 << 20


def nothing(_folder: Path, _size: int) -> None:
    """The work makes what it needs by itself."""


def _path(folder: Path) -> Path:
    return folder / ours.NAME


def build_sparse(folder: Path, gigabytes: int) -> None:
    """A file whose blocks have holes of 4 MiB for contents."""
    rows = pa.record_batch({"id": ["a"]})
    block = hf.data_block(rows, instant=INSTANT)
    head, content, tail = encode_block_parts(block._replace(content=bytes(_SPARSE_CONTENT)))
    with _path(folder).open("wb") as file:
        for _ in range(gigabytes * _BLOCKS_PER_GB):
            file.write(head)
            file.seek(len(content), 1)
            file.write(tail)


def sparse(folder: Path, gigabytes: int) -> Mapping[str, Work]:
    """Iterate over the blocks, in both directions; no content is read."""

    def scan(_outcome: Outcome) -> None:
        expect(ours.scan(_path(folder)), gigabytes * _BLOCKS_PER_GB)

    def scan_in_reverse(_outcome: Outcome) -> None:
        with hf.LogReader(_path(folder)) as reader:
            expect(sum(1 for _ in reversed(reader)), gigabytes * _BLOCKS_PER_GB)

    return {"scan": scan, "scan in reverse": scan_in_reverse}


def build_blocks(folder: Path, count: int) -> None:
    """Blocks of five rows, of which a thousand are distinct."""
    distinct = list(ours.prepare(SMALL, _DISTINCT * SMALL.block_rows).blocks())
    ours.write(lambda: chain.from_iterable(repeat(distinct, count // _DISTINCT)), folder)


def blocks(folder: Path, count: int) -> Mapping[str, Work]:
    """Iterate over the blocks, and decode the records of all, some at a time."""

    def scan(_outcome: Outcome) -> None:
        expect(ours.scan(_path(folder)), count)

    def decode(_outcome: Outcome) -> None:
        _, data = map_source(_path(folder))
        decoded = record_batches(scan_runs(data))
        expect(sum(len(batch) for batch in decoded), count * SMALL.block_rows)

    return {"scan": scan, "decode": decode}


def records(_folder: Path, megabytes: int) -> Mapping[str, Work]:
    """A block of one row with a text of that many MB, encoded and decoded."""
    rows = pa.record_batch({"id": ["a"], "text": ["x" * (megabytes * _MEGABYTE)]})

    def both(_outcome: Outcome) -> None:
        expect(hf.data_block(rows, instant=INSTANT).to_arrow().equals(rows), True)

    return {"encode and decode": both}


def columns(_folder: Path, count: int) -> Mapping[str, Work]:
    """Two million numbers in that many columns, encoded, and decoded."""
    values = np.random.default_rng(7).integers(0, 1_000, (count, _CELLS // count))
    rows = pa.record_batch({f"column_{n}": pa.array(values[n]) for n in range(count)})
    block = hf.data_block(rows, instant=INSTANT)

    def encode(_outcome: Outcome) -> None:
        expect(hf.data_block(rows, instant=INSTANT) == block, True)

    def decode(_outcome: Outcome) -> None:
        expect(block.to_arrow().equals(rows), True)

    return {"encode": encode, "decode": decode}
