"""Every HFile of every golden table, and those that HBase wrote."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.codec.hfile.file_info import RESERVED
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from tests.codec.hfile.files import ARCHIVES, HBASE, golden_files, rows

pytestmark = pytest.mark.unmeasured

TABLES = [archive for archive in ARCHIVES if "hfilelog" in archive.stem or "metadata-table" in archive.stem]
tables = pytest.mark.parametrize("archive", TABLES, ids=lambda path: path.stem)


@tables
def test_every_entry_is_read_and_found_by_its_key(archive: Path) -> None:
    files = golden_files(archive)
    assert len(files) >= 3
    for name, data in files.items():
        reader = HFileReader(data)
        entries = list(reader)
        assert len(entries) == reader.num_entries > 0, name
        assert [key for key, _ in entries] == sorted({key for key, _ in entries}), name
        for key, value in entries:
            assert reader.get(key) == value
        assert reader.get(entries[-1][0] + b"\0") is None


@tables
def test_a_prefix_finds_what_a_filter_finds(archive: Path) -> None:
    for data in golden_files(archive).values():
        reader = HFileReader(data)
        entries = list(reader)
        for prefix in {key[:size] for key, _ in entries for size in (0, 1, len(key) // 2, len(key))}:
            assert rows(reader.prefix_scan(prefix)) == [entry for entry in entries if entry[0].startswith(prefix)]


@tables
def test_file_info_and_meta_blocks_are_those_of_a_base_file(archive: Path) -> None:
    for name, data in golden_files(archive).items():
        reader = HFileReader(data)
        keys = [key for key, _ in reader]
        assert reader.file_info["schema"].startswith(b'{"type":"record"')
        assert reader.file_info["hfile.LASTKEY"][2:].startswith(keys[-1])
        if name.endswith(".hfile"):
            assert reader.meta_block_names == ["bloomFilter"]
            assert len(reader.meta_block("bloomFilter") or b"") > 70_000
            assert reader.file_info["minRecordKey"] == keys[0]
            assert reader.file_info["maxRecordKey"] == keys[-1]
        else:
            assert reader.meta_block_names == []


@pytest.mark.parametrize("archive", [path for path in TABLES if path.stem.endswith("h120")], ids=lambda path: path.stem)
def test_what_hudis_own_writer_wrote_is_written_again_byte_for_byte(archive: Path) -> None:
    for name, data in golden_files(archive).items():
        reader = HFileReader(data)
        batch = pa.Table.from_batches(reader.blocks()).combine_chunks()
        again = encode_hfile(
            batch["key"],
            batch["value"],
            file_info={name: value for name, value in reader.file_info.items() if name not in RESERVED},
            meta_blocks={name: reader.meta_block(name) or b"" for name in reader.meta_block_names},
            creation_time=int.from_bytes(reader.file_info["hfile.CREATE_TIME_TS"], "big"),
        )
        assert again == data, name


@pytest.mark.parametrize("path", HBASE, ids=lambda path: path.stem)
def test_what_hbase_wrote_is_read_and_found(path: Path) -> None:
    reader = HFileReader(path.read_bytes())
    repeat = 20 if path.stem == "repeated" else 1
    expected = [(b"key-%05d-of-200" % (number // repeat), b"value %d" % number) for number in range(200)]
    assert list(reader) == expected
    assert reader.num_entries == 200
    assert reader.trailer.data_index_levels == (2 if path.stem == "repeated" else 3)
    for key, value in expected[::repeat]:
        assert reader.get(key) == value
        assert rows(reader.prefix_scan(key)) == [entry for entry in expected if entry[0] == key]
        assert reader.get(key[:9]) is None
        assert reader.get(key + b"x") is None
    assert rows(reader.scan(b"key-00003-", b"key-00007")) == [
        entry for entry in expected if b"key-00003-" <= entry[0] < b"key-00007"
    ]
