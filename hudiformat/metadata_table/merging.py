"""Merge the base file and the log blocks of a file group into the records of its next base file.  Pure.

Most keys have one record; these records are copied, a column at a time.  The records of keys with several are merged
one by one.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.values import parse_value_schema
from hudiformat.errors import CorruptBlockError
from hudiformat.metadata_table.changes import IndexKind, Stored
from hudiformat.metadata_table.partition import Deletes, Part

_DROPPED = -1


def merge_records(parts: Iterable[Part], kind: IndexKind, schema: str) -> tuple[pa.Array, pa.Array]:
    """Return the keys that are not dropped, in ascending order, and their records in the Avro schema *schema* (JSON).

    The entries of all parts are in memory.

    Raises:
        DecodeError: a file of the metadata table is damaged.
    """
    table, schemas = _entries(parts, schema)
    order = pc.sort_indices(table, sort_keys=[("key", "ascending"), ("row", "ascending")])
    table = table.take(order).combine_chunks()
    if not table.num_rows:
        return pa.array([], pa.string()), pa.array([], pa.binary())
    keys = table["key"].combine_chunks()
    another = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    first = np.flatnonzero(np.append(True, another))
    if kind.is_plain and all(_parse_schema(one) == _parse_schema(schema) for one in schemas):
        return _newest(table, np.append(first[1:], len(keys)) - 1)
    counts = np.diff(np.append(first, len(keys)))
    merged = {
        int(start): value
        for start, count in zip(first[counts > 1], counts[counts > 1], strict=True)
        if (value := _merge(table.slice(start, count), schemas, kind, schema)) is not None
    }
    alone = first[(counts == 1) & (table["schema"].to_numpy()[first] != _DROPPED)]
    kept = np.sort(np.concatenate([alone, np.fromiter(merged, np.int64, len(merged))]))
    single = set(alone.tolist())
    texts = keys.take(pa.array(kept)).cast(pa.string())
    numbers = table["schema"].to_numpy()
    values = table["value"]
    written = [
        _encode_base_record(kind, key, Stored(values[row].as_py(), schemas[numbers[row]]), schema)
        if row in single
        else merged[row]
        for key, row in zip(texts.to_pylist(), kept.tolist(), strict=True)
    ]
    return texts, pa.array(written, pa.binary())


def _entries(parts: Iterable[Part], schema: str) -> tuple[pa.Table, list[str]]:
    """Return keys and values of all parts in merge order, and the schemas by which the values were written.

    The column ``schema`` is the index of a value's schema, or ``_DROPPED`` for a key that is dropped.
    """
    empty = pa.table(
        {"key": pa.array([], pa.binary()), "value": pa.array([], pa.binary()), "schema": pa.array([], pa.int64())}
    )
    tables, schemas = [empty], [schema]
    for part in parts:
        if isinstance(part, Deletes):
            keys = pa.array([key.encode() for key in part.keys], pa.binary())
            columns = [keys, pa.nulls(len(keys), pa.binary()), pa.array(np.full(len(keys), _DROPPED))]
            tables.append(pa.Table.from_arrays(columns, schema=empty.schema))
            continue
        if part.schema not in schemas:
            schemas.append(part.schema)
        number = schemas.index(part.schema)
        for batch in part.file.blocks():
            columns = [batch["key"], batch["value"], pa.array(np.full(batch.num_rows, number))]
            tables.append(pa.Table.from_arrays(columns, schema=empty.schema))
    table = pa.concat_tables(tables)
    return table.append_column("row", pa.array(np.arange(table.num_rows))), schemas


def _newest(table: pa.Table, last: npt.NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    """Return the last entry of each key, unless it drops the key."""
    kept = table.take(pa.array(last[table["schema"].to_numpy()[last] != _DROPPED]))
    return kept["key"].combine_chunks().cast(pa.string()), kept["value"].combine_chunks()


def _merge(rows: pa.Table, schemas: list[str], kind: IndexKind, schema: str) -> bytes | None:
    """Return the merged record of *rows*, which have the same key; None if the last of them drops the key."""
    found: Stored | None = None
    key = ""
    for row in _stored_records(rows, schemas):
        if row is None:
            found = None
        else:
            key, record = row
            found = record if found is None else kind.merge(key, found, record)
    return None if found is None else _encode_base_record(kind, key, found, schema)


def _stored_records(rows: pa.Table, schemas: list[str]) -> Iterator[tuple[str, Stored] | None]:
    for row in rows.to_pylist():
        number = row["schema"]
        yield (
            None if number == _DROPPED else (row["key"].decode(errors="replace"), Stored(row["value"], schemas[number]))
        )


def _encode_base_record(kind: IndexKind, key: str, record: Stored, schema: str) -> bytes:
    if record.schema == schema or _parse_schema(record.schema) == _parse_schema(schema):
        return kind.encode_base_record(key, record)
    return kind.encode_base_record(key, Stored(_convert(record, schema), schema))


@lru_cache(maxsize=16)
def _parse_schema(schema: str) -> object:
    return json.loads(schema)


def _convert(record: Stored, schema: str) -> bytes:
    """Return the record in the schema *schema*, which a newer release of Hudi uses."""
    buffer = io.BytesIO()
    try:
        value = fastavro.schemaless_reader(
            io.BytesIO(record.value), parse_value_schema(record.schema), None, return_record_name=True
        )
        fastavro.schemaless_writer(buffer, parse_value_schema(schema), value)
    except Exception as error:  # fastavro raises errors of any type on damaged data
        raise CorruptBlockError(f"expected a HoodieMetadataRecord: {error!r}") from error
    return buffer.getvalue()
