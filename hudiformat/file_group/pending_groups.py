"""Find the file groups that pending compactions and clusterings are going to rewrite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hudiformat.naming.file_names import base_name
from hudiformat.timeline.contents import Content
from hudiformat.timeline.plans import CompactionPlan, RequestedReplaceMetadata
from hudiformat.timeline.timeline import Instant


@dataclass(frozen=True, slots=True)
class PendingGroup:
    """A file group that the plan of the pending *instant* names.

    ``files`` are the names of the files that the plan reads.

    ``base_instant`` is the instant of the slice that a compaction reads.  The plan of a clustering does not name it.
    """

    instant: Instant
    partition_path: str
    file_id: str
    base_instant: str = ""
    files: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The partition path and the file id."""
        return self.partition_path, self.file_id


def pending_groups(planned: Iterable[Instant], read: Callable[[Instant], Content | None]) -> Iterator[PendingGroup]:
    """Yield the file groups that the plans of pending instants name.

    *read* returns the plan of an instant, or None if it has none.

    A replace commit that is no clustering, an insert overwrite for example, has no plan.

    Source: CompactionUtils.getAllPendingCompactionOperations, ClusteringUtils.getAllFileGroupsInPendingClusteringPlans.
    """
    for pending in planned:
        plan = read(pending)
        if isinstance(plan, CompactionPlan):
            for one in plan.operations or ():
                files = (*(one.delta_file_paths or ()), *([one.data_file_path] if one.data_file_path else []))
                yield PendingGroup(
                    pending, one.partition_path or "", one.file_id or "", one.base_instant_time or "", files
                )
        elif isinstance(plan, RequestedReplaceMetadata) and plan.clustering_plan is not None:
            for group in plan.clustering_plan.input_groups or ():
                for part in group.slices or ():
                    paths = [part.data_file_path, *(part.delta_file_paths or ())]
                    files = tuple(base_name(path) for path in paths if path)
                    yield PendingGroup(pending, part.partition_path or "", part.file_id or "", files=files)
