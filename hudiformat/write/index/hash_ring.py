"""The buckets of a partition with consistent hashing: ranges of hashes around a ring.

Each node of the ring is a bucket with one file group.  It takes the hashes after the node before it, up to its own
value.

Source: HoodieConsistentHashingMetadata, ConsistentBucketIdentifier, Hudi 1.2.0; spec/bucket-index.md.

Files store the rings: one for each change, and an empty file once the change is committed.

Source: ConsistentBucketIndexUtils, Hudi 1.2.0; spec/bucket-index.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import md5
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.file_group.slices import Visibility
from hudiformat.naming.file_names import join_path, parse_data_file
from hudiformat.naming.ring_hash import RING_END, ring_positions
from hudiformat.storage.protocol import Storage
from hudiformat.write.commit.files import RINGS_FOLDER
from hudiformat.write.rows import Integers

_RING, _COMMITTED = ".hashing_meta", ".commit"


def ring_of(storage: Storage, path: str, visibility: Visibility) -> HashRing | None:
    """Return the buckets of a partition after all visible changes; None if the partition has none yet.

    A change is committed if its clustering is completed.  If the clustering has been archived, the empty file shows
    that it was committed; or, if nobody has created that file, the file groups that the change has opened.

    Raises:
        CorruptTableError: a file is damaged.
    """
    names = _names(storage, path)
    rings = sorted((name.removesuffix(_RING) for name in names if name.endswith(_RING)), reverse=True)
    for instant in rings:
        if instant == FIRST_INSTANT or instant in visibility.completion:
            _mark(storage, path, instant, names)
            return _read(storage, path, instant)
        is_archived = instant < (visibility.first_active or "") and instant not in visibility.pending
        if is_archived and f"{instant}{_COMMITTED}" in names:
            return _read(storage, path, instant)
        if is_archived and _is_in_use(storage, path, [_read(storage, path, one) for one in rings if one <= instant]):
            _mark(storage, path, instant, names)
            return _read(storage, path, instant)
    return None


def first_ring(storage: Storage, path: str, buckets: int) -> HashRing:
    """Store the ring with which a partition begins, and return it, or that of another writer that was faster."""
    ring = HashRing.first(path, buckets)
    if save_ring(storage, ring):
        return ring
    return _read(storage, path, FIRST_INSTANT)


def save_ring(storage: Storage, ring: HashRing) -> bool:
    """Store a ring; return False if there is one of its instant already."""
    try:
        storage.create(_file(ring.partition_path, ring.instant, _RING), ring.format())
    except StorageError:
        if not storage.exists(_file(ring.partition_path, ring.instant, _RING)):
            raise
        return False
    return True


def mark_committed(storage: Storage, path: str, instant: str) -> None:
    """Record that a change of a partition's buckets is committed."""
    _mark(storage, path, instant, _names(storage, path))


def _mark(storage: Storage, path: str, instant: str, names: Sequence[str]) -> None:
    if f"{instant}{_COMMITTED}" not in names and (instant != FIRST_INSTANT or len(names) > 1):
        storage.create(_file(path, instant, _COMMITTED), b"", overwrite=True)


def _is_in_use(storage: Storage, path: str, rings: Sequence[HashRing]) -> bool:
    """Return whether a file group exists that the newest ring, the first of *rings*, has opened."""
    known = {node.prefix for ring in rings[1:] for node in ring.nodes}
    opened = {node.file_id for node in rings[0].nodes if node.prefix not in known}
    found = (parse_data_file(one.name) for one in storage.list(path) if not one.is_dir)
    return any(name is not None and name.file_id in opened for name in found)


def _names(storage: Storage, path: str) -> list[str]:
    return [one.name for one in storage.list(_folder(path)) if not one.is_dir]


def _read(storage: Storage, path: str, instant: str) -> HashRing:
    file = _file(path, instant, _RING)
    return HashRing.parse(storage.read(file), f"{storage.root}/{file}")


def _file(path: str, instant: str, suffix: str) -> str:
    return join_path(_folder(path), f"{instant}{suffix}")


def _folder(path: str) -> str:
    """Return the folder of a partition's rings; without partitions it is the folder of all rings."""
    return join_path(RINGS_FOLDER, path) if path else RINGS_FOLDER


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

    @property
    def shares(self) -> list[float]:
        """Which share of all hashes each bucket has; the first has those after the last node, too.

        Nodes that end at a quarter, a half and all of the hashes have the shares 1/4, 1/4 and 1/2.
        """
        ends = [node.value / RING_END for node in self.nodes]
        return [ends[0] + 1 - ends[-1], *(later - earlier for earlier, later in pairwise(ends))]

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
