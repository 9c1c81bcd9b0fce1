"""When archived instants were completed.

A log file belongs to the slice that was the newest when its delta commit was completed.  Where a compaction was planned
while the delta commit was pending, that is the slice of the compaction; so its completion time matters for as long as
its log file is there, also after it was archived.

Source: CompletionTimeQueryViewV2, Hudi 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.history import history_files
from hudiformat.timeline.table_config import TableConfig


@dataclass(slots=True)
class ArchivedTimes:
    """The completion times of the archived writes of a table of layout 2, read when the first is asked for.

    Of the archived timeline, the files are read whose range contains an instant that is asked for.
    """

    storage: Storage
    config: TableConfig
    _times: dict[str, str] = field(default_factory=dict, repr=False)

    def of(self, instant: str) -> str:
        """The completion time of *instant*; its own time, which is earlier, where it is not archived.

        Raises:
            CorruptTableError: the archived timeline is damaged.
        """
        if instant not in self._times:
            for archived in history_files(self.storage, self.config, contents=False, around=instant):
                done = [one.instant for one in archived if one.instant.action.is_write]
                self._times |= {one.time: one.completion_time for one in done if one.completion_time is not None}
            self._times.setdefault(instant, instant)
        return self._times[instant]
