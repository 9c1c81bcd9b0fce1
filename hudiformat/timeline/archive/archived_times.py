"""Look up when archived instants were completed.

A log file belongs to the slice that was the newest one when its delta commit was completed.  If a compaction was
planned while the delta commit was pending, that is the slice of the compaction.  So its completion time is needed as
long as its log file exists, also after the delta commit was archived.

Source: CompletionTimeQueryViewV2, Hudi 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.history import history_files
from hudiformat.timeline.table_config import TableConfig


@dataclass(slots=True)
class ArchivedTimes:
    """The completion times of the archived writes of a table of layout 2, read when they are needed.

    Only those files of the archived timeline are read whose range contains an instant that is looked up.
    """

    storage: Storage
    config: TableConfig
    _times: dict[str, str] = field(default_factory=dict, repr=False)

    def of(self, instant: str) -> str:
        """Return the completion time of *instant*; if it is not archived, its own time, which is earlier.

        Raises:
            CorruptTableError: the archived timeline is damaged.
        """
        if instant not in self._times:
            for archived in history_files(self.storage, self.config, contents=False, around=instant):
                done = [one.instant for one in archived if one.instant.action.is_write]
                self._times |= {one.time: one.completion_time for one in done if one.completion_time is not None}
            self._times.setdefault(instant, instant)
        return self._times[instant]
