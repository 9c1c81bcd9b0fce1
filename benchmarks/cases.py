"""The rows that are measured: the same on every run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.schema.meta_fields import add_meta_columns, meta_schema

INSTANT = "20260101000000000"

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Case:
    """Rows of one shape; ``rows`` is how many a full run takes, ``block_rows`` how many a block holds."""

    name: str
    what: str
    rows: int
    make: Callable[[int], pa.RecordBatch]
    block_rows: int = 50_000
    format: str = "avro"


def _random(count: int) -> tuple[np.random.Generator, Numbers]:
    random = np.random.default_rng(7)
    return random, random.integers(0, 2**31, count)


def _text(before: str, numbers: npt.ArrayLike, after: str = "") -> pa.Array:
    digits = pa.array(numbers).cast(pa.string())
    return pc.binary_join_element_wise(before, pc.utf8_lpad(digits, 10, "0"), after, "")


def _one_of(words: list[str], numbers: Numbers) -> pa.Array:
    return pa.array(words).take(pa.array(numbers % len(words)))


def _with_meta(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    batch = pa.RecordBatch.from_pydict(columns)
    rows = add_meta_columns(
        batch,
        batch["id"],
        instant=INSTANT,
        partition_path="p",
        file_name="4f5ac1c5-a5c7-4931-baa5-62c516209743-0",
        task_partition=0,
        counters=0,
    )
    return rows.cast(meta_schema(batch.schema))


def _mixed(count: int) -> dict[str, pa.Array]:
    random, numbers = _random(count)
    nulls = random.random(count) < 0.1
    return {
        "id": _text("key-", np.arange(count)),
        "user": _text("user-", numbers, "@a.org"),
        "city": _one_of(["Oslo", "Lima", "Hanoi", "Quito"], numbers),
        "small": pa.array(numbers % 1000, pa.int32(), mask=nulls),
        "large": pa.array(numbers * 2**30, pa.int64(), mask=nulls),
        "ratio": pa.array(random.random(count)),
        "flag": pa.array(numbers % 2 == 0),
        "at": pa.array(numbers * 10**6, pa.timestamp("us", tz="UTC")),
        "on": pa.array((numbers % 20_000).astype(np.int32), pa.date32()),
        "note": _one_of(["", "a short note", "a note longer than the others"], numbers // 7),
    }


def mixed(count: int) -> pa.RecordBatch:
    """Five meta fields and ten mixed columns, about 206 bytes a row."""
    return _with_meta(_mixed(count))


def narrow(count: int) -> pa.RecordBatch:
    """Five meta fields, a key, a number and a time."""
    columns = _mixed(count)
    return _with_meta({name: columns[name] for name in ("id", "large", "at")})


def _with_columns(rows: int, columns: int) -> pa.RecordBatch:
    """Rows of *columns* in all, as many of each of the mixed kinds."""
    mixed_ones = _mixed(rows)
    key = mixed_ones.pop("id")
    repeated = {f"{name}_{i}": column for i in range(columns // 9) for name, column in mixed_ones.items()}
    return _with_meta({"id": key, **dict(list(repeated.items())[: columns - 6])})


def wide(count: int) -> pa.RecordBatch:
    """A hundred columns, ten of each kind."""
    return _with_columns(count, 100)


def very_wide(count: int) -> pa.RecordBatch:
    """Five thousand columns, 555 of each kind."""
    return _with_columns(count, 5_000)


def strings(count: int) -> pa.RecordBatch:
    """A key and eight texts of 5 to 200 bytes, some of them not ASCII."""
    random, numbers = _random(count)
    sentence = (
        "Der schnelle braune Fuchs springt über den faulen Hund; el veloz murciélago hindú comía feliz cardillo. "
    )
    words = [(sentence * 2)[: 5 + 13 * i] for i in range(16)]
    texts = {f"text_{i}": _one_of(words, random.integers(0, 2**31, count)) for i in range(6)}
    return _with_meta(
        {
            "id": _text("key-", np.arange(count)),
            "user": _text("user-", numbers, "@example.org"),
            "url": _text("https://www.example.org/articles/2026/01/", numbers, ".html"),
            **texts,
        }
    )


def nested(count: int) -> pa.RecordBatch:
    """Lists, a map, a struct, and a list of structs; two of three items on average."""
    random, numbers = _random(count)
    offsets = np.concatenate([[0], np.cumsum(random.integers(0, 5, count))]).astype(np.int32)
    _, items = _random(int(offsets[-1]))
    cells = pa.array(offsets)
    point = pa.StructArray.from_arrays(
        [pa.array(random.random(count)), pa.array(random.random(count)), _one_of(["north", "south"], numbers)],
        names=["x", "y", "side"],
    )
    line = pa.StructArray.from_arrays(
        [_text("sku-", items), pa.array(items % 9, pa.int32()), pa.array(items / 7)], names=["sku", "count", "price"]
    )
    return _with_meta(
        {
            "id": _text("key-", np.arange(count)),
            "tags": pa.ListArray.from_arrays(cells, _one_of(["red", "green", "bluish grey"], items)),
            "values": pa.ListArray.from_arrays(cells, pa.array(items)),
            "counts": pa.MapArray.from_arrays(cells, _text("k", items), pa.array(items % 100)),
            "point": point,
            "lines": pa.ListArray.from_arrays(cells, line),
        }
    )


def nullable(count: int) -> pa.RecordBatch:
    """The mixed columns, half of all cells null but for the key."""
    random, _ = _random(count)
    columns = _mixed(count)
    key = columns.pop("id")
    holes = {
        name: pc.if_else(pa.array(random.random(count) < 0.5), pa.scalar(None, column.type), column)
        for name, column in columns.items()
    }
    return _with_meta({"id": key, **holes})


def small(count: int) -> pa.RecordBatch:
    """A key, a number and a text, about 140 bytes a row."""
    _, numbers = _random(count)
    return pa.RecordBatch.from_pydict(
        {
            "id": _text("key-", np.arange(count)),
            "at": pa.array(numbers),
            "text": _text(
                "the rest of the row, which is about a hundred and forty bytes long with it, its number is: ", numbers
            ),
        }
    )


MIXED = Case("mixed", mixed.__doc__ or "", 1_000_000, mixed)
DATA_CASES = (
    MIXED,
    Case("narrow", narrow.__doc__ or "", 500_000, narrow),
    Case("wide", wide.__doc__ or "", 50_000, wide, block_rows=10_000),
    Case("very wide", very_wide.__doc__ or "", 2_000, very_wide, block_rows=500),
    Case("strings", strings.__doc__ or "", 200_000, strings),
    Case("nested", nested.__doc__ or "", 200_000, nested),
    Case("nullable", nullable.__doc__ or "", 500_000, nullable),
    Case("parquet", "The mixed rows in Parquet blocks.", 50_000, mixed, block_rows=25_000, format="parquet"),
)
TEN = Case("columns", "The ten mixed columns alone.", 500_000, lambda count: pa.RecordBatch.from_pydict(_mixed(count)))
SMALL = Case("small", "Blocks of about 1 KB with five rows each.", 1_000_000, small, block_rows=5)
DELETES = Case("deletes", "Delete blocks of a million keys with an ordering value.", 1_000_000, small, 1_000_000)
