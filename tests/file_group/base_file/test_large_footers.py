"""Large bloom filters in the footer of a Parquet file are read when they are asked for, and not before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudiformat import CorruptTableError
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER
from hudiformat.file_group.base_file.parquet import ParquetBaseFile
from hudiformat.file_group.base_file.read import count_rows, open_base_file, read_base_file
from hudiformat.storage.local import LocalStorage

NAME = "f-0_0-0-0_001.parquet"
ROWS = pa.table({"k": [f"k{number}" for number in range(1000)], "v": np.arange(1000)})
LARGE = "QUJD" * 50_000


def write(folder: Path, texts: dict[str, str]) -> LocalStorage:
    with pq.ParquetWriter(folder / NAME, ROWS.schema, store_schema=False) as writer:
        writer.write_table(ROWS, row_group_size=300)
        writer.add_key_value_metadata(texts)
    return LocalStorage(folder)


def opened(storage: LocalStorage) -> tuple[bool, list[int], dict[bytes, bytes]]:
    """Whether the filter was left out at first, the rows of row groups, and all texts of the footer."""
    with open_base_file(storage, NAME) as file:
        assert isinstance(file, ParquetBaseFile)
        return file.is_lean, file.group_rows, dict(file.footer or {})


TEXTS = [
    {"a": "x", BLOOM_FILTER: LARGE, "z": "y"},
    {BLOOM_FILTER: LARGE},
    {"a": "x" * 40_000, BLOOM_FILTER: LARGE, "z": "y" * 60_000},
]


@pytest.mark.parametrize("texts", TEXTS, ids=["between others", "alone", "between long ones"])
def test_a_large_filter_is_left_out_until_the_texts_are_asked_for(tmp_path: Path, texts: dict[str, str]) -> None:
    storage = write(tmp_path, texts)
    is_lean, groups, found = opened(storage)
    assert is_lean
    assert groups == [300, 300, 300, 100]
    assert {key.decode(): value.decode() for key, value in found.items()} == texts
    assert count_rows(storage, NAME) == 1000
    assert read_base_file(storage, NAME, ROWS.schema).equals(ROWS)


@pytest.mark.parametrize(
    "texts",
    [
        {BLOOM_FILTER: "QUJD"},
        {"a": LARGE},
        {"a": LARGE, BLOOM_FILTER: LARGE},
        {BLOOM_FILTER: LARGE, "z": LARGE},
        {"a": f"\x18\x1b{BLOOM_FILTER}\x18\x05 is no key here", "b": LARGE},
        {"a": f"\x18\x1b{BLOOM_FILTER}\x18", BLOOM_FILTER: LARGE},
    ],
    ids=["small", "none", "behind a long text", "before a long text", "in a text", "in a text before"],
)
def test_footers_without_a_large_filter_in_its_usual_place_are_read_as_they_are(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    is_lean, groups, found = opened(write(tmp_path, texts))
    assert not is_lean
    assert groups == [300, 300, 300, 100]
    assert {key.decode(): value.decode() for key, value in found.items()} == texts


@pytest.mark.parametrize("at", [8, 7, 4])
def test_a_file_that_is_cut_or_damaged_at_its_end_is_no_parquet_file(tmp_path: Path, at: int) -> None:
    storage = write(tmp_path, TEXTS[0])
    data = bytearray((tmp_path / NAME).read_bytes())
    data[-at] ^= 0xFF
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(CorruptTableError, match="not a readable base file"):
        count_rows(storage, NAME)
