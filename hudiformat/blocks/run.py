"""Blocks that begin alike and stand behind each other, as most of a log's do: known by where they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from hudiformat.avro.buffers import Longs
from hudiformat.blocks.block import LogBlock
from hudiformat.blocks.frame import TAIL_SIZE
from hudiformat.blocks.types import BlockHeader, BlockType

_NO_MORE = (None, None)  # neither reason nor quirks
_make = partial(tuple.__new__, LogBlock)  # in two thirds of the time of a call of the class


@dataclass(frozen=True, slots=True)
class BlockRun:
    """Sound blocks in *data* of the type and header of *model*, and without quirks like it.

    ``places`` are the offsets of their first bytes and of the end of the last one; ``before`` is how many bytes of each
    stand before its content.
    """

    data: memoryview
    model: LogBlock
    places: Longs
    before: int

    @property
    def type(self) -> BlockType:
        """That of all of them."""
        return self.model.type

    @property
    def header(self) -> BlockHeader:
        """That of all of them."""
        return self.model.header

    @property
    def schema(self) -> str:
        """That of :attr:`LogBlock.schema`."""
        return self.model.schema

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return int(self.places[-1] - self.places[0])

    @property
    def largest(self) -> int:
        """Bytes of the longest content."""
        starts, ends = self.contents()
        return int((ends - starts).max())

    def contents(self) -> tuple[Longs, Longs]:
        """Where the contents begin and end."""
        return self.places[:-1] + self.before, self.places[1:] - TAIL_SIZE

    def blocks(self) -> list[LogBlock]:
        """The blocks themselves."""
        kind, header, _, footer, version, *_ = self.model
        data, before = self.data, self.before
        return [
            _make((kind, header, data[at + before : end - TAIL_SIZE], footer, version, at, end - at, *_NO_MORE))
            for at, end in pairwise(self.places.tolist())
        ]
