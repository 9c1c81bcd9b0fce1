"""Which instants' files can be seen, and when they were completed.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hudiformat.timeline import Action, Timeline


@dataclass(frozen=True, slots=True)
class Visibility:
    """The instants of a timeline as a view needs them.

    ``completion`` maps each completed instant to its completion time.  Instants before ``first_active`` have been
    archived, and count as completed unless they are ``pending``.  ``replaced`` maps file groups, as (partition path,
    file id), to the instant that took them out of the table.  Where ``logs_name_slices``, as in table version 6, a log
    file's name carries the instant of its slice, which may be one of ``pending_compactions``, and its blocks those of
    the delta commits.

    Source: BaseHoodieTimeline.containsOrBeforeTimelineStarts.
    """

    completion: Mapping[str, str]
    first_active: str | None = None
    pending: frozenset[str] = field(default_factory=frozenset)
    replaced: Mapping[tuple[str, str], str] = field(default_factory=dict)
    pending_compactions: frozenset[str] = field(default_factory=frozenset)
    logs_name_slices: bool = False

    @classmethod
    def of(
        cls,
        timeline: Timeline,
        replaced: Mapping[tuple[str, str], str] | None = None,
        *,
        logs_name_slices: bool = False,
    ) -> Visibility:
        """What can be seen by a timeline; where an instant has no completion time, its own time counts."""
        return cls(
            completion={done.time: done.completion_time or done.time for done in timeline.completed},
            first_active=timeline.first_active,
            pending=frozenset(pending.time for pending in timeline.pending),
            replaced=replaced or {},
            pending_compactions=frozenset(
                pending.time for pending in timeline.pending if pending.action is Action.COMPACTION
            ),
            logs_name_slices=logs_name_slices,
        )

    def with_replaced(self, replaced: Mapping[tuple[str, str], str]) -> Visibility:
        """The same instants, with other file groups taken out of the table."""
        return replace(self, replaced=replaced)

    def is_committed(self, instant: str) -> bool:
        """Whether files of *instant* can be seen."""
        if instant in self.completion:
            return True
        return self.first_active is not None and instant < self.first_active and instant not in self.pending

    def shows_log(self, instant: str) -> bool:
        """Whether a log file with *instant* in its name can be seen.

        Source: AbstractTableFileSystemView.fetchMergedFileSlice, HoodieFileGroup.isFileSliceCommitted.
        """
        named = self.logs_name_slices and instant in self.pending_compactions
        return named or self.is_committed(instant)

    def counts_block(self, instant: str) -> bool:
        """Whether a block of *instant* counts in a log file that can be seen; from version 8 on the file has said it.

        Source: BaseHoodieLogRecordReader.scanInternalV1.
        """
        return not self.logs_name_slices or self.is_committed(instant)

    def is_replaced(self, partition_path: str, file_id: str, as_of: str | None) -> bool:
        """Whether a file group has been taken out of the table, by *as_of* where that is given."""
        instant = self.replaced.get((partition_path, file_id))
        return instant is not None and (as_of is None or instant <= as_of)

    def completion_time(self, instant: str) -> str:
        """When a committed *instant* was completed; for an archived one its own time, the earliest it can be."""
        return self.completion.get(instant, instant)
