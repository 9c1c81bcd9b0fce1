"""Clustering of a table with consistent hashing: split and merge buckets, and move their rows accordingly.

Source: SparkConsistentBucketClusteringPlanStrategy and ExecutionStrategy, Hudi 1.2.0; spec/bucket-index.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import numpy as np
import pyarrow as pa

from hudiformat.errors import CorruptTableError, StorageError
from hudiformat.file_group.merging.rule import RecordMerger
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import WriteToken, new_group_uuid
from hudiformat.schema.meta_fields import FILE_NAME, RECORD_KEY
from hudiformat.services.ordering import RowOrder
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.values import WriteOptions
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import WriteStat
from hudiformat.timeline.plans import ClusteringPlan
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.handles.clustered import ClusteredFiles
from hudiformat.write.index.hash_ring import (
    REPLACE,
    HashRing,
    Node,
    first_ring,
    format_nodes,
    mark_committed,
    parse_nodes,
    ring_of,
    save_ring,
)
from hudiformat.write.index.resizing import ResizeLimits, plan_resizes

EXECUTION = "org.apache.hudi.client.clustering.run.strategy.SparkConsistentBucketClusteringExecutionStrategy"
_GROUP = "clustering.group."
_PARTITION, _CHILDREN, _SEQUENCE = f"{_GROUP}partition", f"{_GROUP}child.node", f"{_GROUP}sequence.no"


def plan_resize_groups(
    state: TableState, path: str, slices: Sequence[FileSlice]
) -> Iterator[tuple[Sequence[FileSlice], int, dict[str, str]]]:
    """Yield file slices of a partition that are rewritten together, the number of new files, and the plan's entry."""
    options = state.options
    ring = ring_of(state.storage, path, state.visibility) or first_ring(state.storage, path, options.num_buckets)
    numbers, instant = count(), state.next_instant
    resizes = plan_resizes(
        ring,
        slices,
        resize_limits(options),
        lambda: str(new_group_uuid(instant, path, 0, next(numbers))),
        sorts=bool(options.clustering.sort_columns),
    )
    for one in resizes:
        buckets = {
            _PARTITION: path,
            _CHILDREN: json.dumps(format_nodes(one.nodes)),
            _SEQUENCE: str(ring.sequence),
        }
        yield one.slices, sum(node.tag == REPLACE for node in one.nodes), buckets


def resize_limits(options: WriteOptions) -> ResizeLimits:
    """Return the sizes from which on buckets are split or merged, and how many there may be."""
    bucketing, size = options.bucketing, options.sizing.max_file_size
    most, fewest = bucketing.most or options.num_buckets, bucketing.fewest or options.num_buckets
    return ResizeLimits(int(size * bucketing.split), int(size * bucketing.merge), most, fewest)


def rings_after(state: TableState, instant: str, plan: ClusteringPlan) -> dict[str, HashRing]:
    """Return, by partition path, the rings after a plan has been carried out; none if it resizes no buckets.

    Raises:
        CorruptTableError: the plan does not describe the new buckets, or a partition has no ring.
    """
    children: dict[str, list[Node]] = {}
    for group in plan.input_groups or ():
        text = (group.extra_metadata or {}).get(_CHILDREN)
        if text is not None:
            path = next(one.partition_path for one in group.slices or ()) or ""
            children.setdefault(path, []).extend(_parse_nodes(state, text))
    found = {}
    for path, nodes in children.items():
        ring = ring_of(state.storage, path, state.visibility)
        if ring is None:
            raise _corrupt(state, f"the partition {path!r} has no ring of buckets")
        found[path] = ring.after(nodes, instant)
    return found


def _parse_nodes(state: TableState, text: str) -> list[Node]:
    try:
        return parse_nodes(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise _corrupt(state, f"expected buckets in a clustering plan: {error}") from error


def _corrupt(state: TableState, what: str) -> CorruptTableError:
    return CorruptTableError(f"{state.storage.root}: {what}", path=state.storage.root)


def save_rings(storage: Storage, rings: Mapping[str, HashRing]) -> None:
    """Store the rings after a clustering; they take effect once the clustering is completed."""
    for ring in rings.values():
        save_ring(storage, ring)


def mark_rings(storage: Storage, rings: Mapping[str, HashRing]) -> None:
    """Mark the rings of a completed clustering as committed; if that fails, the next writer does it."""
    with suppress(StorageError):
        for path, ring in rings.items():
            mark_committed(storage, path, ring.instant)


@dataclass(frozen=True, slots=True)
class RewriteBuckets:
    """Writes the rows of *slices*, all of one partition, to the file groups of their buckets on *ring*."""

    slices: Sequence[FileSlice]
    ring: HashRing
    order: RowOrder | None
    merger: RecordMerger | None

    def __call__(self, plan: WritePlan, storage: Storage, token: WriteToken) -> list[WriteStat]:
        """Write the files, and return a statistic for each."""
        target = GroupTarget(storage, plan, token, self.slices[0].partition_path)
        fields = plan.options.hash_fields or plan.config.record_key_fields
        files: dict[int, ClusteredFiles] = {}
        try:
            for rows in rows_of(target, self.slices, order=self.order, merger=self.merger):
                numbers = self.ring.numbers(rows[RECORD_KEY].combine_chunks(), fields)
                for number in np.unique(numbers).tolist():
                    if number not in files:
                        files[number] = ClusteredFiles.of_group(target, self.ring.nodes[number].file_id)
                    files[number].write(rows.filter(pa.array(numbers == number)))
            return [stat for one in files.values() for stat in one.close()]
        except BaseException:
            for one in files.values():
                one.abandon()
            raise


def rows_of(
    target: GroupTarget, slices: Sequence[FileSlice], *, order: RowOrder | None, merger: RecordMerger | None
) -> Iterator[pa.Table]:
    """Return the rows of *slices* with all meta fields except the file's name, slice by slice or in *order*."""
    reader = target.plan.slice_reader(merger)
    every = (reader.scan_stored(target.storage, one) for one in slices)
    batches = (batch.drop_columns([FILE_NAME]) for found in every for batch in found)
    if order is not None:
        return iter(order.sort(batches))
    return (pa.Table.from_batches([batch]) for batch in batches)
