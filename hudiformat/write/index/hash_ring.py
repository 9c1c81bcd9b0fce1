"""The buckets of a partition with consistent hashing: ranges of hashes around a ring.  Pure.

Each node of the ring is a bucket: it has the hashes after the node before it, up to its own value, and one file group.
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
from hudiformat.naming.ring_hash import RING_END, ring_places
from hudiformat.write.index.rows import Integers

FIRST_INSTANT = "00000000000000"
"""The instant of the ring with which a partition begins."""

NORMAL, REPLACE, DELETE = "NORMAL", "REPLACE", "DELETE"
"""The tags of a node: a bucket of the ring; in a plan one that is new, or one that goes."""


@dataclass(frozen=True, slots=True)
class Node:
    """A bucket that ends at *value*; ``prefix`` is its file id without the ``-0``, None for one that goes."""

    value: int
    prefix: str | None
    tag: str = NORMAL

    @property
    def file_id(self) -> str:
        """The bucket's file group."""
        return f"{self.prefix}-0"


@dataclass(frozen=True)
class HashRing:
    """The nodes of a partition, as they were after *instant*, by their values."""

    partition_path: str
    nodes: tuple[Node, ...]
    first_buckets: int
    instant: str = FIRST_INSTANT
    sequence: int = 0

    @classmethod
    def first(cls, partition_path: str, buckets: int) -> HashRing:
        """The ring of a new partition: equal ranges, whose file ids follow from the partition and the range."""
        step = (RING_END + buckets - 1) // buckets
        ends = [min(step * number, RING_END) for number in range(1, buckets + 1)]
        starts = [0, *ends[:-1]]
        nodes = (Node(end, _range_uuid(partition_path, start, end)) for start, end in zip(starts, ends, strict=True))
        return cls(partition_path, tuple(nodes), buckets)

    @classmethod
    def parse(cls, data: bytes, path: str) -> HashRing:
        """A ring out of a file of Hudi's, whose name *path* is for errors.

        Raises:
            CorruptTableError: it is none.
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
        """The content of its file."""
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
        """The place of each key's bucket among the nodes."""
        found = np.searchsorted(self._values, ring_places(record_keys, hash_fields), side="left")
        return np.where(found < len(self.nodes), found, 0)

    def number_of(self, file_id: str) -> int | None:
        """The place of a file group's bucket among the nodes."""
        return self._numbers.get(file_id)

    def after(self, children: Iterable[Node], instant: str) -> HashRing:
        """The ring once the nodes of a clustering's plan have taken the places of those that they replace."""
        nodes = {node.value: node for node in self.nodes}
        for child in children:
            if child.tag == DELETE:
                nodes.pop(child.value, None)
            else:
                nodes[child.value] = replace(child, tag=NORMAL)
        left = tuple(nodes[value] for value in sorted(nodes))
        return replace(self, nodes=left, instant=instant, sequence=self.sequence + 1)

    def split(self, number: int, prefixes: Sequence[str]) -> tuple[Node, Node] | None:
        """Two nodes in place of one, each with half of its range; None where that is too short.

        Source: ConsistentBucketIdentifier.splitBucket.
        """
        end, before = self.nodes[number].value, self.nodes[number - 1].value
        middle = (before + end + (0 if before < end else RING_END + 1)) >> 1 & RING_END
        if middle in (before, end):
            return None
        return Node(middle, prefixes[0], REPLACE), Node(end, prefixes[1], REPLACE)

    def merge(self, numbers: Sequence[int], prefix: str) -> tuple[Node, ...]:
        """One node, the last of neighbours, in place of all of them.

        Source: ConsistentBucketIdentifier.mergeBucket.
        """
        *gone, last = (self.nodes[number].value for number in numbers)
        return *(Node(value, None, DELETE) for value in gone), Node(last, prefix, REPLACE)

    @cached_property
    def _values(self) -> Integers:
        return np.array([node.value for node in self.nodes], np.int64)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {node.file_id: number for number, node in enumerate(self.nodes)}


def parse_nodes(found: Iterable[Any]) -> list[Node]:
    """Nodes out of JSON.

    Raises:
        KeyError, TypeError, ValueError: they are none.
    """
    return [
        Node(int(one["value"]), None if one["fileIdPrefix"] is None else str(one["fileIdPrefix"]), str(one["tag"]))
        for one in found
    ]


def format_nodes(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    """Nodes for JSON."""
    return [{"value": node.value, "fileIdPrefix": node.prefix, "tag": node.tag} for node in nodes]


def _range_uuid(partition_path: str, start: int, end: int) -> str:
    """Source: HoodieConsistentHashingMetadata.generateUUID; java.util.UUID.nameUUIDFromBytes."""
    named = start.to_bytes(8, "big") + end.to_bytes(8, "big") + partition_path.encode()
    return str(UUID(bytes=md5(named, usedforsecurity=False).digest(), version=3))
