"""The buckets of a partition with consistent hashing: ranges of hashes around a ring.  Pure.

Each node of the ring is a bucket with one file group.  It takes the hashes after the node before it, up to its own
value.

Source: HoodieConsistentHashingMetadata, ConsistentBucketIdentifier, Hudi 1.2.0; spec/bucket-index.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import md5
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from hudiformat.errors import CorruptTableError
from hudiformat.naming.ring_hash import RING_END, ring_positions
from hudiformat.write.rows import Integers

FIRST_INSTANT = "00000000000000"
"""The instant of the ring with which a partition begins."""

NORMAL, REPLACE, DELETE = "NORMAL", "REPLACE", "DELETE"
"""The tags of a node: a bucket of the ring; in a plan, a bucket that is added, or one that is removed."""


@dataclass(frozen=True, slots=True)
class Node:
    """A bucket that ends at *value*; ``prefix`` is its file id without the ``-0``, None if the bucket is removed."""

    value: int
    prefix: str | None
    tag: str = NORMAL

    @property
    def file_id(self) -> str:
        """The file group of the bucket."""
        return f"{self.prefix}-0"


@dataclass(frozen=True)
class HashRing:
    """The nodes of a partition as they were after *instant*, sorted by their values."""

    partition_path: str
    nodes: tuple[Node, ...]
    first_buckets: int
    instant: str = FIRST_INSTANT
    sequence: int = 0

    @classmethod
    def first(cls, partition_path: str, buckets: int) -> HashRing:
        """Return the ring of a new partition: equal ranges; a file id is computed from the partition and the range."""
        step = (RING_END + buckets - 1) // buckets
        ends = [min(step * number, RING_END) for number in range(1, buckets + 1)]
        starts = [0, *ends[:-1]]
        nodes = (Node(end, _range_uuid(partition_path, start, end)) for start, end in zip(starts, ends, strict=True))
        return cls(partition_path, tuple(nodes), buckets)

    @classmethod
    def parse(cls, data: bytes, path: str) -> HashRing:
        """Parse a ring from a file of Hudi's; *path* is the file's name for errors.

        Raises:
            CorruptTableError: the file does not hold a ring.
        """
        try:
            found: dict[str, Any] = json.loads(data)
            nodes = sorted(parse_nodes(found["nodes"]), key=lambda node: node.value)
            ring = cls(
                str(found["partitionPath"]),
                tuple(nodes),
                int(found["numBuckets"]),
                str(found["instant"]),
                int(found["seqNo"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptTableError(f"{path}: expected the buckets of a partition: {error}", path=path) from error
        if not nodes:
            raise CorruptTableError(f"{path}: expected the buckets of a partition, found none", path=path)
        return ring

    def format(self) -> bytes:
        """Return the content of the ring's file."""
        return json.dumps(
            {
                "version": 0,
                "partitionPath": self.partition_path,
                "instant": self.instant,
                "numBuckets": self.first_buckets,
                "seqNo": self.sequence,
                "nodes": format_nodes(self.nodes),
            },
            indent=2,
        ).encode()

    def numbers(self, record_keys: pa.Array, hash_fields: Sequence[str]) -> Integers:
        """Return the number of each key's bucket: its place among the nodes.

        For example, with nodes that end at 10, 20 and 30, the hash 7 belongs to bucket 0 and the hash 10, too; 11 to
        bucket 1; and 31, which is after the last node, to bucket 0 again.
        """
        found = np.searchsorted(self._values, ring_positions(record_keys, hash_fields), side="left")
        return np.where(found < len(self.nodes), found, 0)

    def number_of(self, file_id: str) -> int | None:
        """Return the number of a file group's bucket."""
        return self._numbers.get(file_id)

    def after(self, children: Iterable[Node], instant: str) -> HashRing:
        """Return the ring after the *children*, the nodes of a clustering's plan, have replaced their predecessors."""
        nodes = {node.value: node for node in self.nodes}
        for child in children:
            if child.tag == DELETE:
                nodes.pop(child.value, None)
            else:
                nodes[child.value] = replace(child, tag=NORMAL)
        left = tuple(nodes[value] for value in sorted(nodes))
        return replace(self, nodes=left, instant=instant, sequence=self.sequence + 1)

    def split(self, number: int, prefixes: Sequence[str]) -> tuple[Node, Node] | None:
        """Return two nodes that replace one, each with half of its range; None if the range is too short.

        Source: ConsistentBucketIdentifier.splitBucket.
        """
        end, before = self.nodes[number].value, self.nodes[number - 1].value
        middle = (before + end + (0 if before < end else RING_END + 1)) >> 1 & RING_END
        if middle in (before, end):
            return None
        return Node(middle, prefixes[0], REPLACE), Node(end, prefixes[1], REPLACE)

    def merge(self, numbers: Sequence[int], prefix: str) -> tuple[Node, ...]:
        """Return the nodes of a plan that merges neighbours into one, which takes the place of the last.

        Source: ConsistentBucketIdentifier.mergeBucket.
        """
        *removed, last = (self.nodes[number].value for number in numbers)
        return *(Node(value, None, DELETE) for value in removed), Node(last, prefix, REPLACE)

    @cached_property
    def _values(self) -> Integers:
        return np.array([node.value for node in self.nodes], np.int64)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {node.file_id: number for number, node in enumerate(self.nodes)}


def parse_nodes(found: Iterable[Any]) -> list[Node]:
    """Parse nodes from JSON.

    Raises:
        KeyError, TypeError, ValueError: the values are not nodes.
    """
    return [
        Node(int(one["value"]), None if one["fileIdPrefix"] is None else str(one["fileIdPrefix"]), str(one["tag"]))
        for one in found
    ]


def format_nodes(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    """Return nodes as values for JSON."""
    return [{"value": node.value, "fileIdPrefix": node.prefix, "tag": node.tag} for node in nodes]


def _range_uuid(partition_path: str, start: int, end: int) -> str:
    """Return the UUID that Hudi computes for a range of hashes.

    Source: HoodieConsistentHashingMetadata.generateUUID; java.util.UUID.nameUUIDFromBytes.
    """
    named = start.to_bytes(8, "big") + end.to_bytes(8, "big") + partition_path.encode()
    return str(UUID(bytes=md5(named, usedforsecurity=False).digest(), version=3))
