"""Dates and bytes in files of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.cli.files import open_rows, write_rows
from hudiformat.errors import DataError

_KINDS = pa.schema(
    [
        ("day", pa.date32()),
        ("raw", pa.binary()),
        ("two", pa.binary(2)),
        ("nested", pa.struct([("raws", pa.list_(pa.binary())), ("day", pa.date32())])),
        ("price", pa.decimal128(10, 2)),
        ("v", pa.float64()),
    ]
)


def test_json_lines_have_dates_and_bytes_as_they_are_printed(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    texts = {"day": ["0001-01-01", None], "price": ["99999999.99", None], "v": [0.1, None]}
    columns = [pa.array(texts[name]).cast(_KINDS.field(name).type) for name in ("day", "price", "v")]
    nested = [{"raws": [b"\xff", None, b"ab"], "day": None}, None]
    raw, two = pa.array([b"\x00\xff", None]), pa.array([b"ab", None], pa.binary(2))
    table = pa.table([columns[0], raw, two, pa.array(nested, _KINDS.field("nested").type), *columns[1:]], schema=_KINDS)
    write_rows(path, "jsonl", _KINDS, iter(table.to_batches()))
    with open_rows(path, "jsonl", _KINDS) as found:
        assert found.read_all().equals(table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"null", "expected an object in each line of JSON, found null"),  # pyarrow would end the process
        (b'{"k": "a"}\n' * 9 + b" null\n", "expected an object in each line of JSON, found null"),
        (b'{"k": "\xff"}', "expected JSON in UTF-8"),
        (b'{"k": "a"}\n\xc3', "expected JSON in UTF-8"),
        (b'{"raw": "zz"}', "column raw: expected bytes as hex digits"),
        (b'{"day": "2026-02-30"}', "cannot be read as .jsonl"),
    ],
)
def test_json_lines_that_are_refused(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(text)
    schema = pa.schema([("k", pa.string()), *_KINDS])
    with pytest.raises(DataError, match=message), open_rows(str(path), "jsonl", schema) as found:
        found.read_all()


_MAPS = pa.schema(
    [
        ("k", pa.string()),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("f", pa.float64()),
        ("g", pa.float32()),
        ("s", pa.struct([("x", pa.float64()), ("n", pa.map_(pa.string(), pa.binary()))])),
        ("l", pa.list_(pa.float64())),
        ("deep", pa.map_(pa.string(), pa.list_(pa.map_(pa.string(), pa.float64())))),
    ]
)


def test_maps_and_numbers_that_json_does_not_have_are_read_as_they_are_printed(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    nan, inf = float("nan"), float("inf")
    nested = {"x": -inf, "n": [("q", b"\xff"), ("r", None)]}
    found: list[dict[str, Any]] = [
        {"k": "NaN", "m": [("x", 2**62), ("y", None)], "f": nan, "g": inf, "s": nested, "l": [1.0, nan, -inf, None]},
        {"k": "é", "m": [], "f": 0.1, "deep": [("a", [[("b", nan)], None]), ("c", None)]},
        {"k": None},
    ]
    table = pa.Table.from_pylist(found, _MAPS)
    write_rows(path, "jsonl", _MAPS, iter(table.to_batches()))
    with open_rows(path, "jsonl", _MAPS) as rows:
        assert repr(rows.read_all().to_pylist()) == repr(table.to_pylist())


def test_a_line_may_lack_columns_beside_one_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"k": "a", "f": 1.5}\n\n{"k": "b", "f": "NaN"}\n{"f": -Infinity}')
    with open_rows(str(path), "jsonl", _MAPS) as rows:
        assert rows.schema.names == ["k", "f"]
        assert repr(rows.read_all()["f"].to_pylist()) == "[1.5, nan, -inf]"


@pytest.mark.parametrize(
    "text",
    [b'{"f": "nan"}', b'{"f": 1e999}', b'{"m": {"x": "NaN"}}', b'{"m": 1}', b'{"m": {"x": 1}', b'{"k": 1, "f": "NaN"}'],
)
def test_lines_that_do_not_fit_stay_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(text + b"\n")
    with pytest.raises(DataError, match="cannot be read as .jsonl"), open_rows(str(path), "jsonl", _MAPS) as rows:
        rows.read_all()
