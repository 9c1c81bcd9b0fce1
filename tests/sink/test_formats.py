"""Both formats are written and merged through one interface."""

from __future__ import annotations

import pytest

from hudiformat.sink.formats import merge_files, rows_writer
from hudiformat.sink.options import Codec, Format, SinkOptions
from tests.sink.support import SCHEMA, memory, read, rows


@pytest.mark.parametrize("kind", list(Format))
def test_files_are_merged_in_their_order(kind: Format) -> None:
    storage = memory()
    begin = rows_writer(SCHEMA, SinkOptions(format=kind, avro_codec=Codec.NULL))
    sources = [f"{number}.{kind.value}" for number in range(2)]
    for number, source in enumerate(sources):
        with storage.open_new(source) as file:
            writer = begin(file, source)
            writer.write(rows([2 * number, 2 * number + 1]))
            writer.close()
    merge_files(storage, sources[::-1], f"merged.{kind.value}", kind)
    assert read(storage, f"merged.{kind.value}")["id"].to_pylist() == [2, 3, 0, 1]
