"""The Avro bytes of a list of deletes, as delete blocks of version 3 hold them.  Layout: spec/avro-records.md."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hudiformat.avro.arrays import Bytes, Longs, encode_varints, zigzag
from hudiformat.avro.cursors import PADDING, Cursors, Guesses
from hudiformat.avro.decode import read
from hudiformat.avro.encode import encode_records
from hudiformat.avro.items import locate, skip
from hudiformat.avro.nodes import parse_schema
from hudiformat.avro.wrappers import FLAT, RECORD, WRAPPED, ordering_columns, ordering_values
from hudiformat.errors import DataError, DecodeError

_NAMES = ("record_key", "partition_path", "ordering")
_KEY, _PATH, _ORDERING = (node for _, node in FLAT.fields)
_CHUNK = 16384
_FEW = 2048  # below, a plain loop is as fast


def encode_delete_list(
    record_keys: pa.Array, partition_paths: pa.Array | str, ordering: pa.Array | None = None
) -> memoryview:
    """The Avro bytes of a list of deletes, as Hudi writes them.

    Without *ordering*, and where it is null, int 0 is stored, which Hudi reads as "by commit time".  A struct stands
    for several ordering fields.  Decimals are stored with 15 digits after the point.

    Raises:
        SchemaError: Hudi has no wrapper for the type of *ordering*.
        DataError: a key is null, lengths differ, or a decimal has more digits than fit.
    """
    rows = len(record_keys)
    if isinstance(partition_paths, str):
        partition_paths = pa.repeat(partition_paths, rows)
    ordering = pa.nulls(rows, pa.int32()) if ordering is None else ordering
    if not len(partition_paths) == len(ordering) == rows:
        raise DataError(f"{rows} keys, {len(partition_paths)} partition paths and {len(ordering)} ordering values")
    if record_keys.null_count:
        raise DataError("a delete without a record key", column="record_key")
    schema, columns = ordering_columns(ordering)
    if not rows:
        return memoryview(b"\x00")
    names = [name for name, _ in parse_schema(schema).fields]
    batch = pa.RecordBatch.from_arrays([record_keys, partition_paths, *columns], names=names)
    [(count, size, _)] = encode_varints(zigzag(np.array([rows])))
    return encode_records(batch, schema, framed=False, head=count.tobytes()[:size], tail=b"\x00")


def decode_delete_list(data: memoryview | bytes) -> pa.RecordBatch:
    """The deletes of a list, in order: ``record_key``, ``partition_path`` and ``ordering``.

    The type of ``ordering`` is that of the values found, several ordering fields being a struct (``field0`` and on).
    Where types are mixed, int 0 becomes null, and ints become longs; what is mixed then is a dense union.

    Raises:
        DecodeError: the bytes are no such list.
    """
    window = np.zeros(len(data) + PADDING, np.uint8)
    window[: len(data)] = np.frombuffer(data, np.uint8)
    one = Cursors(window, np.zeros(1, np.int64), np.full(1, len(data), np.int64))
    arrays = _by_guessing(one.copy())
    return pa.RecordBatch.from_arrays(arrays or _one_by_one(one), names=_NAMES)


def _one_by_one(one: Cursors) -> list[pa.Array]:
    rows, starts = locate(RECORD, one, None)
    one.refuse(one.pos != one.end, None, "bytes follow the list of deletes")
    if not len(rows):
        return [pa.array([], pa.string()), pa.array([], pa.string()), pa.array([], pa.int32())]
    return _read(one.at(starts, one.end[rows]), exact=False)


def _by_guessing(one: Cursors) -> list[pa.Array] | None:
    """The same of a long list, each delete read between two guessed places; None where they turn out to be wrong."""
    try:
        count = int(one.varint(None)[0])
        start, end = int(one.pos[0]), int(one.end[0]) - 1
        if not _FEW <= count <= end - start or one.data[end]:
            return None
        places = _guess(one.at(one.pos, one.end - 1))
        return _read(one.at(places[:-1], places[1:]), exact=True) if len(places) == count + 1 else None
    except DecodeError:
        return None


def _guess(one: Cursors) -> Longs:
    """Where each delete begins, and the last ends, if all have the partition path of the first, as in Hudi's blocks.

    It stands between the key and the ordering value, so where it is found a delete is; if it is by chance, then no
    other delete leads there.
    """
    first, end = int(one.pos[0]), int(one.end[0])
    skip(_KEY, one, None)
    key_end = int(one.pos[0])
    skip(_PATH, one, None)
    path = one.data[key_end : int(one.pos[0])]
    found = _occurrences(one.data, path, key_end, end)
    ends, paths = _leads(one.data, found + len(path), end)
    led_to = np.ones(len(found), np.bool_)
    if (paths[:-1] != found[1:]).any():
        places = np.minimum(np.searchsorted(found, paths), len(found) - 1)
        led_to[1:] = False
        led_to[places[found[places] == paths]] = True
    return np.append(first, ends[led_to])


def _leads(data: Bytes, places: Longs, end: int) -> tuple[Longs, Longs]:
    """Where the ordering values end that begin at *places*, and the keys behind them."""
    ends, keys = np.empty((2, len(places)), np.int64)
    for first in range(0, len(places), _CHUNK):
        part = slice(first, first + _CHUNK)
        behind = Guesses(data, places[part], np.full(len(places[part]), end))
        skip(_ORDERING, behind, None)
        ends[part] = behind.pos
        skip(_KEY, behind, None)
        keys[part] = behind.pos
    return ends, keys


def _occurrences(data: Bytes, pattern: Bytes, start: int, end: int) -> Longs:
    """Every place from *start* to *end* at which *pattern* stands."""
    last = end - len(pattern) + 1
    found = np.flatnonzero((data[start:last] == pattern[0]) & (data[start + 1 : last + 1] == pattern[1])) + start
    every = np.ndarray(len(data) - len(pattern) + 1, f"V{len(pattern)}", data, strides=(1,))
    places: Longs = found[every[found] == every[start]]
    return places


def _read(cursors: Cursors, *, exact: bool) -> list[pa.Array]:
    """The deletes at the cursors; *exact* says that each has to end where its cursor does."""
    chunks: list[list[pa.Array]] = []
    kinds = set()
    for first in range(0, len(cursors), _CHUNK):
        part = cursors.at(cursors.pos[first : first + _CHUNK], cursors.end[first : first + _CHUNK])
        keys = [read(_KEY, part, None), read(_PATH, part, None)]
        kinds.add(kind := part.uniform())
        if kind not in WRAPPED or len(kinds) > 1:
            return _read_mixed(cursors, exact=exact)
        chunks.append([*keys, read(WRAPPED[kind], part, None)])
        _check_end(part, exact=exact)
    return [pa.concat_arrays(column) for column in zip(*chunks, strict=True)]


def _read_mixed(cursors: Cursors, *, exact: bool) -> list[pa.Array]:
    cursors = cursors.copy()
    deletes = read(RECORD, cursors, None)
    _check_end(cursors, exact=exact)
    return [deletes.field(0), deletes.field(1), ordering_values(deletes.field(2))]


def _check_end(cursors: Cursors, *, exact: bool) -> None:
    if exact:
        cursors.refuse(cursors.pos != cursors.end, None, "a delete ends elsewhere than was thought")
