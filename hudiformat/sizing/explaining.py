"""Say for each file group why it takes new records or not, and what would have to change for it to be taken.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hudiformat.sizing.small_files import GroupVerdict, Verdict


@dataclass(frozen=True, slots=True)
class GroupReason:
    """Why a file group takes records of a plan, or none.

    ``file_id`` is None for a new file group.  ``records`` is how many it takes, ``why`` the reason, and ``to_change``
    what would have to be different for it to take records; empty if it takes some.

    Source: spec/sizing.md.
    """

    file_id: str | None
    records: int
    why: str
    to_change: str = ""

    def __str__(self) -> str:
        name = self.file_id or "a new file group"
        takes = f"takes {self.records:,} records" if self.records else "takes none"
        change = f"; {self.to_change}" if self.to_change else ""
        return f"{name} {takes}: {self.why}{change}"


_TO_CHANGE: Mapping[Verdict, str] = {
    Verdict.SMALL: "more records in one commit would reach it",
    Verdict.FULL: "hoodie.parquet.max.file.size would have to be at least {needed:,}",
    Verdict.DISABLED: "hoodie.parquet.small.file.limit would have to be above 0",
    Verdict.TOO_LARGE: "hoodie.parquet.small.file.limit would have to be above {size:,}",
    Verdict.FILLED: "hoodie.parquet.max.file.size would have to be above {size:,}",
    Verdict.EMPTY: "Flink's rules never fill it; a clustering rewrites it",
    Verdict.HAS_LOGS: "a compaction would have to merge its log files, or the index would have to find records in them",
    Verdict.OVER_LIMIT: "hoodie.merge.small.file.group.candidates.limit would have to be higher",
    Verdict.IN_COMPACTION: "the pending compaction would have to be run",
    Verdict.IN_CLUSTERING: "the pending clustering would have to be run or rolled back",
    Verdict.OTHER_TASK: "only the records of its own task go to it",
}


def reasons_of(
    groups: tuple[GroupVerdict, ...], opened: tuple[int, ...], *, record_size: int, per_group: int
) -> Iterator[GroupReason]:
    """Yield the reason of each of the *groups*, and of each new group, which takes *opened* records.

    *record_size* is the estimated bytes of a record, *per_group* the most records of a new file group.
    """
    for group in groups:
        room = "" if group.room is None else f", room for {group.room:,} records of {record_size:,} bytes"
        change = _TO_CHANGE.get(group.verdict, "").format(size=group.size, needed=group.size + record_size)
        yield GroupReason(group.file_id, group.records, f"{group.verdict.value} ({group.size:,} bytes{room})", change)
    for records in opened:
        yield GroupReason(None, records, f"no small file group has room for them; a new one takes {per_group:,}")
