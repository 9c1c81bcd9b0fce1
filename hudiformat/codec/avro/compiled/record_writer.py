"""Hand Arrow rows to the kernel that encodes them.  The buffers are passed by Arrow's C data interface."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import Longs, Output, Parts
from hudiformat.codec.avro.compiled.encoding import FRAMES, OUT, REFUSED, ROOM, write
from hudiformat.codec.avro.compiled.node_table import table_of
from hudiformat.kernels import Function, kernel
from hudiformat.wire import INT32_MAX

_LENGTH_SIZE = 4
_NONE = np.zeros(0, np.int64)
_ROOM = 1 << 14  # bytes for the records of few rows
_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_ARRAY = b"arrow_array"  # the name of the capsule


class _Scratch:
    """The memory that a kernel works with and writes few rows to, and the job with its addresses."""

    def __init__(self, table: Longs) -> None:
        self._nodes = np.array(table)
        self._frames = np.empty(FRAMES, np.int64)
        self.out = ctypes.create_string_buffer(_ROOM)
        places = (self._nodes.ctypes.data, len(table), self._frames.ctypes.data, ctypes.addressof(self.out), _ROOM)
        self._job = np.array([*places, 0, 0, 0, 0], np.int64)
        self.job = self._job.ctypes.data


@dataclass(frozen=True, slots=True)
class RecordWriter:
    """Encodes the rows of one Avro schema."""

    schema: str
    write: Function
    _free: list[_Scratch] = field(default_factory=list, compare=False)  # what no thread uses now

    def append(
        self, rows: pa.RecordBatch, output: Output, parts: Parts, *, framed: bool, may_share: bool = True
    ) -> Longs | None:
        """Append the records of *rows*, which have the schema's types, to *output*; return where the parts begin.

        With *may_share* a column of texts may be a dictionary with one text.  If the result is None, nothing was
        appended, and the numpy path has to encode the rows.
        """
        shared: tuple[int, ...] = ()
        if may_share:
            shared = tuple(index for index, kind in enumerate(rows.schema.types) if pat.is_dictionary(kind))
        nodes = np.array(table_of(self.schema, shared))
        _, array = rows.__arrow_c_array__()  # keeps the buffers
        heads = _NONE if parts.heads is None else parts.heads.view(np.int64)
        firsts, starts = np.ascontiguousarray(parts.firsts), np.empty(len(parts.firsts), np.int64)
        frames = np.empty(FRAMES, np.int64)
        addresses = [one.ctypes.data for one in (nodes, frames, firsts, heads, starts)]
        how = (len(starts), addresses[2], addresses[3] if len(heads) else 0, addresses[4])
        job = np.array([addresses[0], len(nodes), addresses[1], 0, 0, *how], np.int64)
        call = (job.ctypes.data, _address(array, _ARRAY), _LENGTH_SIZE * framed)
        size = -self.write(*call)
        if size > INT32_MAX:
            return None
        job[OUT], job[ROOM] = output.reserve(size).ctypes.data, size
        written = self.write(*call)
        if written == REFUSED:
            return None
        starts += output.used
        output.used += written
        return starts

    def encode_few(self, rows: pa.RecordBatch, *, framed: bool) -> bytes | None:
        """Return the records of few *rows*, which have the schema's types; None if they are refused, or are long."""
        try:
            scratch = self._free.pop()
        except IndexError:
            table = table_of(self.schema)
            assert table is not None  # noqa: S101 - else there is no writer
            scratch = _Scratch(table)
        _, array = rows.__arrow_c_array__()  # keeps the buffers
        written = self.write(scratch.job, _address(array, _ARRAY), _LENGTH_SIZE if framed else 0)
        records = scratch.out[:written] if written >= 0 else None
        self._free.append(scratch)
        return records  # type: ignore[return-value]  # a slice of characters is bytes


@lru_cache(maxsize=256)
def record_writer(schema: str, asked: str | None, *, is_late: bool) -> RecordWriter | None:  # noqa: ARG001 - keys of the cache
    """Return the encoder of rows of *schema*; None if kernels are not used, or do not know one of its types.

    The arguments *asked* and *is_late* are keys of the cache: the encoder is looked up once for each value of the
    switch, and once before and once after enough bytes were handled.
    """
    writing = kernel(write, 0)
    return None if writing is None or table_of(schema) is None else RecordWriter(schema, writing)
