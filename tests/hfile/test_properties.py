"""What holds for all HFiles: sound ones come back, and damaged ones cost an error of ours and no more."""

from __future__ import annotations

import contextlib
import tracemalloc

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudiformat.errors import DecodeError, UnsupportedFeatureError
from hudiformat.hfile import HFileReader
from tests.effort import examples
from tests.hfile.files import ARCHIVES, HBASE, Entry, golden_files, hfile, numbered, rows

KEYS = st.binary(max_size=6)
ENTRIES = st.lists(st.tuples(KEYS, st.binary(max_size=30)), max_size=30).map(sorted)
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
@given(entries=ENTRIES, block_size=st.integers(0, 300), codec=CODECS, info=NAMED, meta=NAMED)
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
@given(entries=ENTRIES, block_size=st.integers(0, 300), sought=st.lists(KEYS, max_size=5))
def test_a_look_up_gives_what_a_dict_gives(entries: list[Entry], block_size: int, sought: list[bytes]) -> None:
    reader = HFileReader(hfile(entries, block_size=block_size))
    first = dict(reversed(entries))
    for key in [*first, *sought]:
        assert reader.get(key) == first.get(key)


@settings(deadline=None)
@given(entries=ENTRIES, block_size=st.integers(0, 300), start=KEYS, stop=KEYS | st.none())
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


def test_every_byte_may_be_wrong() -> None:
    file = hfile(numbered(3), meta_blocks={"m": b"M"})
    for place in range(len(file) - 4096 + 100):
        for change in (1, 0xFF):
            use_all(file[:place] + bytes([file[place] ^ change]) + file[place + 1 :])


def test_lies_cost_no_memory() -> None:
    file = hfile(numbered(60), compression="gzip", meta_blocks={"m": b"M"})
    tracemalloc.start()
    for place in range(0, len(file) - 4096 + 100, 2):
        use_all(file[:place] + b"\x7f\xff\xff\xff" + file[place + 4 :])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
