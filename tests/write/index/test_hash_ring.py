"""Rings of buckets: Hudi's first ring, its files, splits and merges."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat import CorruptTableError
from hudiformat.naming.ring_hash import RING_END
from hudiformat.write.index.hash_ring import REPLACE, HashRing, Node

OF_HUDI = (
    b'{"version": 0, "partitionPath": "x", "instant": "00000000000000", "numBuckets": 2, "seqNo": 0, "nodes": [ '
    b'{"value": 1073741824, "fileIdPrefix": "6123c98f-4f8e-35ee-85da-5b94264ba60d", "tag": "NORMAL"}, '
    b'{"value": 2147483647, "fileIdPrefix": "e9e80339-4421-3890-a424-dcefe3f38b72", "tag": "NORMAL"}]}'
)
"""What Hudi 1.2.0 made of a partition x with two buckets."""


def test_a_partition_begins_with_hudis_ring() -> None:
    ring = HashRing.first("x", 2)
    assert ring == HashRing.parse(OF_HUDI, "file")
    assert json.loads(ring.format()) == json.loads(OF_HUDI)
    assert ring.number_of("e9e80339-4421-3890-a424-dcefe3f38b72-0") == 1
    assert ring.number_of("e9e80339-4421-3890-a424-dcefe3f38b72-1") is None


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", OF_HUDI.replace(b"1073741824", b'"x"'), OF_HUDI[:120] + b'"nodes": []}']
)
def test_damaged_rings_are_named(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match="t/file: expected the buckets of a partition") as caught:
        HashRing.parse(data, "t/file")
    assert caught.value.path == "t/file"


def test_a_key_belongs_to_the_first_bucket_that_ends_behind_it() -> None:
    ring = HashRing("p", (Node(0x10000000, "a"), Node(0x40000000, "b")), 2)
    # abc: 0x32d153ff; a: 0x550d7456, beyond the last, so the first has it
    assert ring.numbers(pa.array(["abc", "a", ""]), ["k"]).tolist() == [1, 0, 0]


KEYS = pa.array([f"k{number}" for number in range(2000)])


@given(st.integers(1, 12), st.data())
def test_a_split_halves_a_bucket_and_a_merge_takes_it_back(buckets: int, data: st.DataObject) -> None:
    """No key of another bucket moves."""
    ring = HashRing.first("p", buckets)
    number = data.draw(st.integers(0, buckets - 1))
    nodes = ring.split(number, ("new-1", "new-2"))
    assert nodes is not None
    split = ring.after(nodes, "1")
    assert (len(split.nodes), split.sequence, split.instant) == (buckets + 1, 1, "1")
    before = [ring.nodes[at].prefix for at in ring.numbers(KEYS, ["k"])]
    after = [split.nodes[at].prefix for at in split.numbers(KEYS, ["k"])]
    old = ring.nodes[number].prefix
    assert [one for one in before if one != old] == [two for two in after if two not in ("new-1", "new-2")]
    assert {two for one, two in zip(before, after, strict=True) if one == old} <= {"new-1", "new-2"}
    ends = {node.prefix: at for at, node in enumerate(split.nodes)}
    merged = split.after(split.merge([ends["new-1"], ends["new-2"]], old or ""), "2")
    assert {(node.value, node.prefix) for node in merged.nodes} == {(node.value, node.prefix) for node in ring.nodes}


def test_the_first_bucket_reaches_back_around_the_ring() -> None:
    """Source: ConsistentBucketIdentifier.splitBucket."""
    ring = HashRing("p", (Node(100, "a"), Node(RING_END - 99, "b")), 2)
    assert ring.split(0, ("c", "d")) == (Node(0, "c", REPLACE), Node(100, "d", REPLACE))


def test_a_bucket_of_one_place_is_not_split() -> None:
    ring = HashRing("p", (Node(5, "a"), Node(6, "b")), 2)
    assert ring.split(1, ("c", "d")) is None
