from __future__ import annotations

import contextlib
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat.codec.hfile.block import BlockType, Compression, encode_block
from hudiformat.codec.hfile.entries import MAX_SEARCHED_KEYS
from hudiformat.codec.hfile.index import IndexEntry
from hudiformat.codec.hfile.reader import ByteSource, HFileReader
from hudiformat.codec.hfile.trailer import HFileTrailer, encode_trailer
from hudiformat.codec.protobuf import encode_delimited, encode_field
from hudiformat.errors import (
    CorruptBlockError,
    DecodeError,
    EncodeError,
    TruncatedBlockError,
    UnsupportedFeatureError,
    UnsupportedVersionError,
)
from tests.codec.hfile.files import (
    ARCHIVES,
    HBASE,
    NONE,
    Entry,
    Watched,
    data_block,
    golden_files,
    hfile,
    inner_index,
    numbered,
    put_together,
    rows,
)
from tests.effort import every, examples

PAGE = Path(__file__).parents[3] / "spec" / "hfile.md"


ENTRIES = [(b"a1", b"x"), (b"b2", b"yz")]


FILE = hfile(ENTRIES, file_info={"n": b"v"}, meta_blocks={"m": b"M"}, creation_time=1)


TRAILER = len(FILE) - 4096


MANY = numbered(500)


BLOCKS = hfile(MANY, block_size=1000)


def patched(place: int, data: bytes, file: bytes = FILE) -> bytes:
    return file[:place] + data + file[place + len(data) :]


def worked_example() -> bytes:
    text = PAGE.read_text().split("\n## Worked example\n")[1].split("```")[1]
    found = b""
    for line in text.strip().splitlines():
        for quoted, byte, times in re.findall(r'"([^"]*)"|\b([0-9a-f]{2})\b(?: \u00d7 (\d+))?', line.split("   ")[0]):
            found += quoted.encode() or bytes.fromhex(byte) * int(times or 1)
    return found


def test_the_worked_example_of_the_spec_page_is_written_and_read() -> None:
    example = worked_example()
    assert len(example) == 4549
    assert example == FILE
    reader = HFileReader(example)
    assert list(reader) == ENTRIES
    assert (reader.num_entries, reader.get("b2"), reader.get(b"b3")) == (2, b"yz", None)
    assert (reader.meta_block_names, reader.meta_block("m"), reader.meta_block("x")) == (["m"], b"M", None)
    assert dict(reader.file_info) == {
        "hfile.LASTKEY": b"\0\2b2",
        "hfile.AVG_VALUE_LEN": b"\0\0\0\1",
        "hfile.AVG_KEY_LEN": b"\0\0\0\2",
        "KEY_VALUE_VERSION": b"\0\0\0\1",
        "MAX_MEMSTORE_TS_KEY": bytes(8),
        "n": b"v",
        "hfile.CREATE_TIME_TS": bytes(7) + b"\1",
    }
    assert reader.trailer == HFileTrailer(
        file_info_offset=229,
        load_on_open_offset=124,
        uncompressed_data_index_size=49,
        data_index_count=1,
        meta_index_count=1,
        entry_count=2,
        data_index_levels=1,
        comparator="org.apache.hudi.io.storage.HoodieHBaseKVComparator",
        compression=Compression.NONE,
    )


def test_opening_reads_the_trailer_and_the_section_that_it_points_to() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source)
    end = len(BLOCKS) - 4096
    assert source.ranges == [(end, len(BLOCKS)), (reader.trailer.load_on_open_offset, end)]


def test_a_look_up_reads_one_data_block() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source)
    source.ranges.clear()
    assert reader.get("key 00250") == b"value 250"
    assert reader.get(b"key 00251") == b"value 251"  # from the block that is there
    ((start, end),) = source.ranges
    assert BLOCKS[start : start + 8] == b"DATABLK*"
    assert end - start < 1100


def test_look_ups_in_any_order_read_a_block_once_while_it_is_kept() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source)
    source.ranges.clear()
    for key in ("key 00250", "key 00010", "key 00251", "key 00011"):
        assert reader.get(key) == f"value {int(key[4:])}".encode()
    assert len(source.ranges) == 2


def test_a_reader_keeps_as_many_blocks_as_it_may() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source, max_cached_bytes=1)
    source.ranges.clear()
    for key in ("key 00400", "key 00401", "key 00250", "key 00400"):  # the last block stays, whatever its size
        assert reader.get(key) == f"value {int(key[4:])}".encode()
    assert len(source.ranges) == 3


def test_a_key_before_the_first_costs_nothing() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source)
    source.ranges.clear()
    assert reader.get("a") is None
    assert source.ranges == []


def test_a_scan_reads_the_blocks_that_it_passes_through() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source)
    source.ranges.clear()
    assert rows(reader.prefix_scan("key 0010")) == MANY[100:110]
    assert len(source.ranges) <= 2
    assert rows(reader.scan()) == MANY
    assert rows(reader.scan("key 00490")) == MANY[490:]
    assert rows(reader.scan(stop="key 00003")) == MANY[:3]
    assert rows(reader.scan("key 00003", "key 00003")) == []
    assert rows(reader.scan("key 00003", "key 00003\0")) == MANY[3:4]
    assert rows(reader.scan("z")) == []


def test_a_scan_has_no_empty_batches() -> None:
    batches = list(HFileReader(BLOCKS).scan("key 00100", "key 00300"))
    assert min(batch.num_rows for batch in batches) > 0
    assert [field.name for field in batches[0].schema] == ["key", "value"]


def test_a_prefix_of_the_highest_bytes_has_no_end() -> None:
    entries = [(b"\xfe", b"1"), (b"\xff\xff", b"2"), (b"\xff\xffa", b"3")]
    reader = HFileReader(hfile(entries))
    assert rows(reader.prefix_scan(b"\xff\xff")) == entries[1:]
    assert rows(reader.prefix_scan(b"\xfe")) == entries[:1]
    assert rows(reader.prefix_scan(b"")) == entries


def found(reader: HFileReader, keys: list[bytes], few: int = MAX_SEARCHED_KEYS) -> list[tuple[bytes, bytes]]:
    """What :meth:`HFileReader.find` gives for *keys*, with their keys."""
    at, values = reader.find(pa.array(keys, pa.binary()), max_searched_keys=few)
    return [(keys[row], value) for row, value in zip(at, values.to_pylist(), strict=True)]


@pytest.mark.parametrize("few", [0, 3, 1000])
def test_many_keys_are_found_whether_their_blocks_are_searched_or_decoded(few: int) -> None:
    reader = HFileReader(BLOCKS)
    assert found(reader, [key for key, _ in MANY], few) == MANY
    assert found(reader, [b"a", b"key 00007", b"key 00007x", b"key 00123", b"key 00499", b"z"], few) == [
        MANY[7],
        MANY[123],
        MANY[499],
    ]
    assert found(reader, [], few) == found(reader, [b"", b"a"], few) == []
    assert found(HFileReader(hfile([])), [b"a"], few) == []


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_all_keys_of_golden_files_are_found(archive: Path) -> None:
    for data in golden_files(archive).values():
        reader = HFileReader(data)
        entries = sorted(dict(reversed(list(reader))).items())
        assert found(reader, [key for key, _ in entries]) == entries


def test_only_blocks_that_may_hold_a_key_are_read() -> None:
    source = Watched(BLOCKS)
    reader = HFileReader(source)
    source.ranges.clear()
    assert len(found(reader, [b"key 00001", b"key 00002", b"key 00300"])) == 3
    assert len(source.ranges) == 2


def test_keys_out_of_order_over_blocks_are_looked_for_to_the_end() -> None:
    parts = [data_block([(key, b"v")]) for key in (b"\xf0\x90\x80\x80", b"\xee\x80\x80")]
    starts = (0, len(parts[0]))
    root = [IndexEntry(b"a", starts[0], len(parts[0])), IndexEntry(b"\xee\x80\x80", starts[1], len(parts[1]))]
    reader = HFileReader(put_together(parts, root, entry_count=2))
    assert found(reader, [b"\xee\x80\x80", b"\xf0\x90\x80\x80"]) == [(b"\xee\x80\x80", b"v")]
    reader = HFileReader(put_together(parts, [replace(root[0], key=b"z"), root[1]], entry_count=2))
    assert found(reader, [b"z", b"zz"]) == []


def test_of_equal_keys_the_first_is_got_and_all_are_scanned() -> None:
    entries = [(b"a", b"1"), (b"b", b"2"), (b"b", b"3"), (b"c", b"4")]
    reader = HFileReader(hfile(entries, block_size=30))
    assert reader.get("b") == b"2"
    assert rows(reader.prefix_scan("b")) == entries[1:3]


def test_keys_out_of_order_in_a_block_are_found() -> None:
    entries = [(b"\xf0\x90\x80\x80", b"1"), (b"\xee\x80\x80", b"2"), (b"\xf0\x90\x80\x81", b"3")]
    block = data_block(entries)
    reader = HFileReader(put_together([block], [IndexEntry(b"\xee\x80\x80", 0, len(block))], entry_count=3))
    assert [reader.get(key) for key, _ in entries] == [b"1", b"2", b"3"]


def test_a_file_without_entries() -> None:
    reader = HFileReader(hfile([], meta_blocks={"m": b"M"}))
    assert (reader.num_entries, list(reader), list(reader.scan()), reader.get("a")) == (0, [], [], None)
    assert reader.meta_block("m") == b"M"
    trailer = reader.trailer
    assert (trailer.first_data_block_offset, trailer.last_data_block_offset) == (-1, 0)


def test_a_file_without_entries_may_have_no_level() -> None:
    assert list(HFileReader(put_together([], [], data_index_levels=0))) == []


def test_a_data_block_may_be_empty() -> None:
    block = encode_block(BlockType.DATA, b"", NONE)
    reader = HFileReader(put_together([block], [IndexEntry(b"a", 0, len(block))]))
    assert list(reader) == []
    assert reader.get("a") is None


def test_a_key_without_utf8_is_refused() -> None:
    with pytest.raises(EncodeError, match="no UTF-8"):
        HFileReader(FILE).get("\ud800")


@pytest.mark.parametrize(
    "source", [FILE, memoryview(FILE), bytearray(FILE), Watched(FILE)], ids=lambda s: type(s).__name__
)
def test_whatever_can_be_sliced_can_be_read(source: ByteSource) -> None:
    assert list(HFileReader(source)) == ENTRIES


@pytest.mark.parametrize("size", [0, 1, 4095])
def test_less_than_a_trailer_is_truncated(size: int) -> None:
    with pytest.raises(TruncatedBlockError, match=f"at byte 0: .*4096 bytes of trailer, here are {size}"):
        HFileReader(FILE[:size])


def test_a_file_that_breaks_off_is_truncated() -> None:
    with pytest.raises(TruncatedBlockError, match="at byte 453: an HFile that breaks off") as caught:
        HFileReader(FILE[:TRAILER] + bytes(4096))
    assert caught.value.offset == TRAILER


def test_what_is_no_hfile_is_corrupt() -> None:
    with pytest.raises(CorruptBlockError, match=r"no HFile: expected the trailer's magic .*, found b'\\x00"):
        HFileReader(bytes(5000))


@pytest.mark.parametrize("version", [1, 2, 4, 0x30000])
def test_another_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=f"HFile version {version}; Hudi's is 3"):
        HFileReader(patched(len(FILE) - 3, version.to_bytes(3, "big")))


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_version_is_named_though_its_trailer_is_elsewhere(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match=f"HFile version {version}"):
        HFileReader(bytes(4999) + bytes([version]))


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec.name not in ("NONE", "GZIP")])
def test_another_compression_is_refused_by_name(codec: Compression) -> None:
    trailer = replace(HFileReader(FILE).trailer, compression=codec)
    with pytest.raises(UnsupportedFeatureError, match=f"found '{codec.name.lower()}'") as caught:
        HFileReader(FILE[:TRAILER] + encode_trailer(trailer))
    assert caught.value.feature == codec.name.lower()


def test_an_empty_encryption_key_is_none() -> None:
    message = FILE[TRAILER + 9 : TRAILER + 9 + 73] + encode_field(13, b"")
    trailer = FILE[TRAILER : TRAILER + 8] + encode_delimited(message)
    assert list(HFileReader(patched(TRAILER, trailer))) == list(HFileReader(FILE))


def test_encryption_is_refused_by_name() -> None:
    key = encode_field(13, b"secret")
    message = FILE[TRAILER + 9 : TRAILER + 9 + 73] + key
    trailer = FILE[TRAILER : TRAILER + 8] + encode_delimited(message)
    with pytest.raises(UnsupportedFeatureError, match="expected no encryption") as caught:
        HFileReader(patched(TRAILER, trailer))
    assert caught.value.feature == "encryption"


@pytest.mark.parametrize("offset", [-1, TRAILER + 1, 2**62])
def test_a_section_outside_the_file(offset: int) -> None:
    trailer = replace(HFileReader(FILE).trailer, load_on_open_offset=offset)
    with pytest.raises(CorruptBlockError, match=f"section to load on opening at byte {offset}"):
        HFileReader(FILE[:TRAILER] + encode_trailer(trailer))


def test_a_damaged_block_leaves_the_others_readable() -> None:
    damaged = patched(0, b"DATABLK+", BLOCKS)
    reader = HFileReader(damaged)
    with pytest.raises(CorruptBlockError, match=r"at byte 0: expected the magic b'DATABLK\*', found b'DATABLK\+'"):
        reader.get("key 00000")
    assert reader.get("key 00499") == b"value 499"
    with pytest.raises(CorruptBlockError):
        list(reader)


@pytest.mark.parametrize(("offset", "size"), [(-1, 86), (0, -1), (0, 200), (2**62, 86), (124, 1)])
def test_an_index_entry_that_leads_out_of_the_data(offset: int, size: int) -> None:
    block = data_block(ENTRIES)
    reader = HFileReader(put_together([block], [IndexEntry(b"a", offset, size)], entry_count=2))
    with pytest.raises(CorruptBlockError, match="an index"):
        list(reader)


@pytest.mark.parametrize(("size", "message"), [(85, "86 bytes expected, 85 left"), (87, "a block of 86 bytes, in the")])
def test_a_size_in_the_index_that_is_not_the_blocks(size: int, message: str) -> None:
    block = data_block(ENTRIES)
    reader = HFileReader(put_together([block, b"\0"], [IndexEntry(b"a", 0, size)], entry_count=2))
    with pytest.raises(CorruptBlockError, match=message) as caught:
        list(reader)
    assert caught.value.offset == 0


def test_an_index_that_leads_back_is_corrupt() -> None:
    block = data_block(ENTRIES)
    entry = IndexEntry(b"a", 0, len(block))
    reader = HFileReader(put_together([block], [entry, entry], entry_count=4))
    with pytest.raises(CorruptBlockError, match=f"an index leads to byte 0 after byte {len(block)}"):
        list(reader)


@pytest.mark.parametrize("count", [1, 3, -1])
def test_another_number_of_entries_than_declared(count: int) -> None:
    trailer = replace(HFileReader(FILE).trailer, entry_count=count)
    reader = HFileReader(FILE[:TRAILER] + encode_trailer(trailer))
    batches = reader.blocks()
    assert rows(iter([next(batches)])) == ENTRIES
    with pytest.raises(CorruptBlockError, match=f"{count} entries are declared, 2 were found"):
        next(batches)


@pytest.mark.parametrize("levels", [0, -1, 17, 2**31 - 1])
def test_levels_that_cannot_be(levels: int) -> None:
    block = data_block(ENTRIES)
    with pytest.raises(CorruptBlockError, match=f"a data index of {levels} levels"):
        HFileReader(put_together([block], [IndexEntry(b"a", 0, len(block))], data_index_levels=levels))


def test_an_index_block_that_leads_to_itself_ends() -> None:
    block = inner_index(BlockType.INTERMEDIATE_INDEX, [IndexEntry(b"a", 0, 64)])
    assert len(block) == 64
    reader = HFileReader(put_together([block], [IndexEntry(b"a", 0, 64)], data_index_levels=16))
    with pytest.raises(CorruptBlockError, match="expected the magic b'IDXLEAF2'"):
        list(reader)


def test_an_encoded_data_block_is_refused_by_name() -> None:
    block = data_block(ENTRIES)[8:]
    reader = HFileReader(put_together([b"DATABLKE" + block], [IndexEntry(b"a", 0, len(block) + 8)]))
    with pytest.raises(UnsupportedFeatureError, match="expected data blocks with the encoding NONE"):
        list(reader)


KEYS = st.binary(max_size=6)


ENTRY_LISTS = st.lists(st.tuples(KEYS, st.binary(max_size=30)), max_size=30).map(sorted)


CODECS = st.sampled_from(["none", "gzip"])


NAMED = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.binary(max_size=20))


def sound_files() -> list[bytes]:
    golden = [data for archive in ARCHIVES if "plain-h120" in archive.stem for data in golden_files(archive).values()]
    metadata = next(archive for archive in ARCHIVES if archive.stem == "v9-mor-metadata-table-h120")
    base = next(data for name, data in golden_files(metadata).items() if name.endswith(".hfile"))
    made = [hfile(numbered(60), block_size=300, meta_blocks={"m": b"M"}), hfile([])]
    return [*golden[:1], base, *made, *(path.read_bytes() for path in HBASE)]


FILES = sound_files()


def use_all(data: bytes) -> None:
    with contextlib.suppress(DecodeError, UnsupportedFeatureError):
        reader = HFileReader(data)
        for use in (
            lambda: list(reader),
            lambda: rows(reader.prefix_scan(b"key-0001")),
            lambda: [reader.get(key) for key in (b"", b"key 00007", b"key-00177-of-200", b"\xff")],
            lambda: [reader.meta_block(name) for name in reader.meta_block_names],
        ):
            with contextlib.suppress(DecodeError, UnsupportedFeatureError):
                use()


@settings(deadline=None)
@given(entries=ENTRY_LISTS, block_size=st.integers(0, 300), codec=CODECS, info=NAMED, meta=NAMED)
def test_what_is_written_is_read_again(
    entries: list[Entry], block_size: int, codec: str, info: dict[str, bytes], meta: dict[str, bytes]
) -> None:
    data = hfile(entries, block_size=block_size, compression=codec, file_info=info, meta_blocks=meta)
    reader = HFileReader(data)
    assert list(reader) == entries
    assert reader.num_entries == len(entries)
    assert {name: reader.file_info[name] for name in info} == info
    assert {name: reader.meta_block(name) for name in reader.meta_block_names} == meta


@settings(deadline=None)
@given(entries=ENTRY_LISTS, block_size=st.integers(0, 300), sought=st.lists(KEYS, max_size=5))
def test_a_look_up_gives_what_a_dict_gives(entries: list[Entry], block_size: int, sought: list[bytes]) -> None:
    reader = HFileReader(hfile(entries, block_size=block_size))
    first = dict(reversed(entries))
    for key in [*first, *sought]:
        assert reader.get(key) == first.get(key)


@settings(deadline=None)
@given(entries=ENTRY_LISTS, block_size=st.integers(0, 300), start=KEYS, stop=KEYS | st.none())
def test_a_scan_gives_what_a_filter_gives(
    entries: list[Entry], block_size: int, start: bytes, stop: bytes | None
) -> None:
    reader = HFileReader(hfile(entries, block_size=block_size))
    assert rows(reader.scan(start, stop)) == [
        entry for entry in entries if start <= entry[0] and (stop is None or entry[0] < stop)
    ]
    assert rows(reader.prefix_scan(start)) == [entry for entry in entries if entry[0].startswith(start)]


@settings(deadline=None, max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), file=st.sampled_from(FILES))
def test_damage_raises_only_our_errors(data: st.DataObject, file: bytes) -> None:
    damaged = bytearray(file)
    places = st.integers(0, len(file) - 4096 + 150) | st.integers(len(file) - 4, len(file) - 1)
    for place in data.draw(st.lists(places, min_size=1, max_size=4)):
        junk = data.draw(
            st.binary(min_size=1, max_size=8) | st.sampled_from([b"\0" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff"])
        )
        if data.draw(st.booleans()):
            damaged[place : place + len(junk)] = junk
        else:
            damaged[place:place] = junk
    use_all(bytes(damaged))


@settings(deadline=None)
@given(data=st.data(), file=st.sampled_from(FILES), junk=st.binary(max_size=100))
def test_cuts_and_junk_raise_only_our_errors(data: st.DataObject, file: bytes, junk: bytes) -> None:
    cut = data.draw(st.integers(0, len(file)))
    use_all(file[:cut])
    use_all(file[cut:])
    use_all(junk + file[cut:])
    use_all(junk)


@pytest.mark.slow
def test_every_byte_may_be_wrong() -> None:
    file = hfile(numbered(3), meta_blocks={"m": b"M"})
    for place in range(0, len(file) - 4096 + 100, every(4)):
        for change in (1, 0xFF):
            use_all(file[:place] + bytes([file[place] ^ change]) + file[place + 1 :])


@pytest.mark.slow
def test_lies_cost_no_memory() -> None:
    file = hfile(numbered(60), compression="gzip", meta_blocks={"m": b"M"})
    tracemalloc.start()
    for place in range(0, len(file) - 4096 + 100, every(8, long=2)):
        use_all(file[:place] + b"\x7f\xff\xff\xff" + file[place + 4 :])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
