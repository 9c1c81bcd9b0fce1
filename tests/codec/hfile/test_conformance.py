"""Hudi's HFile classes and these: each reads what the other wrote, and both write the same bytes."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hudiformat.codec.hfile.file_info import hash_order
from hudiformat.codec.hfile.reader import HFileReader
from hudiformat.codec.hfile.writer import encode_hfile
from tests.codec.hfile.files import Entry, hfile, numbered
from tests.codec.hfile.java import JavaHFiles
from tests.conformance.hudi import RealHudi, RealHudiError

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_/ äßλ\U0001f600"


@pytest.fixture(scope="session")
def hfiles(hudi: RealHudi) -> JavaHFiles:
    """Hudi's HFile reader and writer."""
    return JavaHFiles(hudi)


def some_entries(rng: random.Random, count: int, longest: int) -> list[Entry]:
    keys = sorted("".join(rng.choices(LETTERS, k=rng.randint(1, 12))).encode() for _ in range(count))
    return [(key, "".join(rng.choices(LETTERS, k=rng.randrange(longest))).encode()) for key in keys]


CASES = [(0, 1 << 20, 10), (1, 1 << 20, 10), (300, 100, 30), (300, 4000, 30), (300, 1, 30), (2000, 1 << 20, 400)]


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(("count", "block_size", "longest"), CASES)
def test_both_write_the_same_bytes_and_read_them(
    hfiles: JavaHFiles, codec: str, count: int, block_size: int, longest: int
) -> None:
    rng = random.Random(count + block_size)
    entries = some_entries(rng, count, longest)
    extras = [{f"name {n}ü": rng.randbytes(n * 20) for n in range(rng.choice([1, 8, 40]))} for _ in range(2)]
    keys, values = (pa.array([entry[at] for entry in entries], pa.binary()) for at in (0, 1))
    ours = encode_hfile(
        keys,
        values,
        compression=codec,
        block_size=block_size,
        file_info=extras[0],
        meta_blocks=extras[1],
        creation_time=1700000000000,
    )
    theirs = hfiles.write(
        entries,
        codec=codec,
        block_size=block_size,
        file_info=extras[0],
        meta_blocks=extras[1],
        creation_time=1700000000000,
    )
    assert ours == theirs
    assert list(HFileReader(theirs)) == entries
    assert hfiles.entries(ours) == entries
    count, infos, metas = hfiles.extras(ours, [*extras[0], "no"], [*extras[1], "no"])
    assert (count, infos, metas) == (len(entries), [*extras[0].values(), None], [*extras[1].values(), None])


def test_the_order_of_names_is_javas(hudi: RealHudi) -> None:
    rng = random.Random(5)
    for count in (1, 12, 13, 24, 25, 200):
        names = list(dict.fromkeys("".join(rng.choices(LETTERS, k=rng.randrange(9))) for _ in range(count)))
        code = f"names = jvm.java.util.HashMap()\nfor name in {names!r}: names.put(name, 1)\nresult = list(names)"
        assert hash_order(names) == hudi.eval_(code)


@pytest.mark.all_sets
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_hudi_finds_every_key_of_ours(hfiles: JavaHFiles, codec: str) -> None:
    entries = numbered(300)
    data = hfile(entries, compression=codec, block_size=2000)
    sought = [key.decode() for entry in entries for key in (entry[0], entry[0] + b"!")]
    found = hfiles.seek(data, sought)
    assert [value for code, value in found if code == 0] == [value.decode() for _, value in entries]
    assert {code for code, _ in found[1::2]} == {1, 2}
    reader = HFileReader(data)
    assert [reader.get(key) for key in sought] == [value.encode() if value else None for _, value in found]


def test_hudi_gets_the_first_of_equal_keys_too(hfiles: JavaHFiles) -> None:
    data = hfile([(b"a", b"1"), (b"b", b"2"), (b"b", b"3")])
    assert hfiles.seek(data, ["b"]) == [(0, "2")]
    assert HFileReader(data).get("b") == b"2"


def test_hudi_leaves_out_the_last_entries_of_its_own_blocks_but_not_of_ours(hfiles: JavaHFiles) -> None:
    entries = [(b"%04d" % number, b"") for number in range(5000)]
    theirs = hfiles.write(entries, codec="none")
    assert hfiles.entries(theirs) == entries[:-1]
    assert hfiles.seek(theirs, ["4998", "4999"]) == [(0, ""), (1, None)]
    assert list(HFileReader(theirs)) == entries
    ours = hfile(entries)
    assert hfiles.entries(ours) == entries
    assert hfiles.seek(ours, ["4998", "4999"]) == [(0, ""), (0, "")]


def test_hudi_writes_keys_out_of_order_and_keys_that_it_cannot_read(hfiles: JavaHFiles) -> None:
    entries = [(b"b", b"1"), (b"a", b"2"), (b"a", b"3")]
    reader = HFileReader(hfiles.write(entries, codec="none"))
    assert list(reader) == entries
    longest = hfiles.write([(b"k" * 32767, b"v")], codec="none")
    assert hfiles.entries(longest) == list(HFileReader(longest))
    with pytest.raises(RealHudiError, match="StringIndexOutOfBounds"):
        hfiles.entries(hfiles.write([(b"k" * 32768, b"v")], codec="none"))


def test_hudi_does_not_look_at_the_version(hfiles: JavaHFiles) -> None:
    assert hfiles.entries(hfile([(b"a", b"1")])[:-1] + b"\2") == [(b"a", b"1")]
