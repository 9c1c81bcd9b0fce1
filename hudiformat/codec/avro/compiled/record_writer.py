"""Hand Arrow rows to the kernels that encode them.  The buffers are passed by Arrow's C data interface."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from hudiformat.codec.avro.arrays import Longs, Output, Parts
from hudiformat.codec.avro.compiled import Function, kernel
from hudiformat.codec.avro.compiled.encoding import FRAMES, REFUSED, prepare, write
from hudiformat.codec.avro.compiled.node_table import table_of
from hudiformat.wire import INT32_MAX

_LENGTH_SIZE = 4
_NONE = np.zeros(0, np.int64)
_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype, _address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True, slots=True)
class RecordWriter:
    """Encodes the rows of one Avro schema."""

    schema: str
    prepare: Function
    write: Function

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
        table = nodes.ctypes.data
        size = (
            self.prepare(table, len(nodes), _address(array, b"arrow_array")) + _LENGTH_SIZE * len(rows) + heads.nbytes
        )
        if size > INT32_MAX:
            return None
        starts = np.empty(len(parts.firsts), np.int64)
        frames = np.empty(FRAMES, np.int64)
        written = self.write(
            table,
            frames.ctypes.data,
            output.reserve(size).ctypes.data,
            _LENGTH_SIZE * framed,
            len(starts),
            np.ascontiguousarray(parts.firsts).ctypes.data,
            heads.ctypes.data if len(heads) else 0,
            starts.ctypes.data,
        )
        if written == REFUSED:
            return None
        starts += output.used
        output.used += written
        return starts


@lru_cache(maxsize=256)
def record_writer(schema: str, asked: str | None, *, is_late: bool) -> RecordWriter | None:  # noqa: ARG001 - keys of the cache
    """Return the encoder of rows of *schema*; None if kernels are not used, or do not know one of its types.

    The arguments *asked* and *is_late* are keys of the cache: the encoder is looked up once for each value of the
    switch, and once before and once after enough bytes were handled.
    """
    preparing, writing = kernel(prepare, 0), kernel(write, 0)
    if preparing is None or writing is None or table_of(schema) is None:
        return None
    return RecordWriter(schema, preparing, writing)
