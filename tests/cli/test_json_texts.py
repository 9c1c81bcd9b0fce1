"""Dates and bytes in files of JSON lines."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.cli.files import opened_rows, write_rows
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
    with opened_rows(path, "jsonl", _KINDS) as found:
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
    with pytest.raises(DataError, match=message), opened_rows(str(path), "jsonl", schema) as found:
        found.read_all()
