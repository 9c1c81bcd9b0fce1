"""Which columns a codec makes hardly smaller, compared with the files that Arrow writes with it."""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat.codec.parquet.incompressible import incompressible

ROWS = 40_000
CHOSEN = np.random.default_rng(1)
RANDOM = CHOSEN.random(ROWS)
DIGESTS = [CHOSEN.bytes(16) for _ in range(ROWS)]
HEX = pa.array([one.hex() for one in DIGESTS])
LISTS = np.arange(ROWS + 1, dtype=np.int32) * 2
COLUMNS = {
    "double": pa.array(RANDOM),
    "float": pa.array(RANDOM.astype(np.float32)),
    "some nulls": pa.array(RANDOM, mask=np.arange(ROWS) % 5 == 0),
    "only nulls": pa.nulls(ROWS, pa.float64()),
    "long": pa.array(CHOSEN.integers(-(1 << 62), 1 << 62, ROWS)),
    "digest": pa.array(DIGESTS, pa.binary(16)),
    "bytes": pa.array([CHOSEN.bytes(40) for _ in range(ROWS)], pa.binary()),
    "large bytes": pa.array([CHOSEN.bytes(40) for _ in range(ROWS)], pa.large_binary()),
    "list": pa.ListArray.from_arrays(pa.array(LISTS), pa.array(CHOSEN.random(2 * ROWS))),
    "large list": pa.LargeListArray.from_arrays(pa.array(LISTS.astype(np.int64)), pa.array(CHOSEN.random(2 * ROWS))),
    "vector": pa.FixedSizeListArray.from_arrays(pa.array(CHOSEN.normal(size=4 * ROWS).astype(np.float32)), 4),
    "price": pa.array(np.round(RANDOM * 100, 2)),
    "number": pa.array(np.arange(ROWS)),
    "text": pa.array(np.arange(ROWS).astype(str)),
    "hex": HEX,
    "large hex": HEX.cast(pa.large_string()),
    "short": pa.array(CHOSEN.integers(0, 1 << 15, ROWS).astype(np.int16)),
    "time": pa.array(CHOSEN.integers(0, 1 << 30, ROWS)).cast(pa.timestamp("us", "UTC")),
    "decimal": pa.array([decimal.Decimal(n) for n in range(ROWS)], pa.decimal128(20, 2)),
    "flag": pa.array(RANDOM > 0.5),
    "dictionary": pa.array(np.arange(ROWS).astype(str)).dictionary_encode(),
    "struct": pa.StructArray.from_arrays([pa.array(RANDOM)], ["a"]),
    "texts": pa.ListArray.from_arrays(pa.array(LISTS), pa.concat_arrays([HEX, HEX])),
}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "zstd"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_stored_as_it_is_if_arrows_file_would_have_hardly_fewer_bytes(name: str, codec: str) -> None:
    rows = pa.table({"a.b": COLUMNS[name], "few": ["x"] * ROWS})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression=codec, use_dictionary=False)
    chunk = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0).column(0)
    share = chunk.total_compressed_size / chunk.total_uncompressed_size
    found = incompressible(rows, codec)
    if name in {"struct", "texts", "flag", "short", "only nulls"}:
        assert not found  # they are not looked at
    else:
        assert found == ({chunk.path_in_schema} if share > 7 / 8 else frozenset()), share


@pytest.mark.parametrize("name", ["double", "bytes", "list", "vector", "some nulls", "hex", "number"])
def test_chunks_and_slices_do_not_matter(name: str) -> None:
    whole = pa.table({"a": COLUMNS[name]})
    parts = pa.concat_tables([whole.slice(start, 1_000) for start in range(0, ROWS, 1_000)])
    assert incompressible(parts, "zstd") == incompressible(whole, "zstd")
    assert incompressible(whole.slice(7, 30_000), "zstd") == incompressible(whole, "zstd")


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_pictures_are_told_by_their_first_bytes(count: int) -> None:
    pictures = [None, b"", *(CHOSEN.bytes(1 << 18) for _ in range(count))]
    assert incompressible(pa.table({"a": pictures}), "zstd") == {"a"}
    assert incompressible(pa.table({"a": pictures[2:]}), "zstd") == {"a"}


def test_few_bytes_are_not_looked_at() -> None:
    rows = pa.table({"a": RANDOM}).slice(0, 16_000)
    assert incompressible(rows, "zstd") == frozenset()
    assert incompressible(pa.table({"a": RANDOM}), "none") == frozenset()
