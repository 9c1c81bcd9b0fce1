"""Both formats are written and merged through one interface."""

from __future__ import annotations

import pytest

from hudiformat.sink.formats import file_kind, merge_files, rows_writer
from hudiformat.sink.options import Codec, Format, SinkOptions
from tests.memory_files import memory_files
from tests.sink.support import SCHEMA, read, rows


def test_files_of_one_kind_have_the_same_format_codec_and_schema() -> None:
    options = [SinkOptions(), *(SinkOptions(format=Format.AVRO, avro_codec=codec) for codec in Codec)]
    kinds = {file_kind(schema, one) for schema in (SCHEMA, SCHEMA.remove(0)) for one in options}
    assert len(kinds) == 2 * len(options)
    assert file_kind(SCHEMA, SinkOptions()) == file_kind(SCHEMA, SinkOptions(auto_compaction=True))


@pytest.mark.parametrize("kind", list(Format))
def test_files_are_merged_in_their_order(kind: Format) -> None:
    storage = memory_files()
    begin = rows_writer(SCHEMA, SinkOptions(format=kind, avro_codec=Codec.NULL))
    sources = [f"{number}.{kind.value}" for number in range(2)]
    for number, source in enumerate(sources):
        with storage.open_new(source) as file:
            writer = begin(file, source)
            writer.write(rows([2 * number, 2 * number + 1]))
            writer.close()
    merge_files(storage, sources[::-1], f"merged.{kind.value}", kind)
    assert read(storage, f"merged.{kind.value}")["id"].to_pylist() == [2, 3, 0, 1]
