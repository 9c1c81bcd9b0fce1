"""The methods of a table that change its properties and its plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hudiformat.api.reading import ReadableTable
from hudiformat.arguments import as_name_list, check_arguments
from hudiformat.read.time_travel import Written, instant_text
from hudiformat.services.properties import change_properties
from hudiformat.services.service_result import ServiceResult
from hudiformat.services.unscheduling import unschedule_compaction
from hudiformat.timeline.timeline import Instant


class OperableTable(ReadableTable):
    """The methods of a table that change what it says of itself, and no rows.

    Source: hudi-cli's commands ``table`` and ``compaction``.
    """

    @check_arguments
    def set_properties(self, changes: Mapping[str, str]) -> ServiceResult[Instant]:
        """Set properties of the table, which all of its writers and readers go by.

        Those of Hudi's that files do not depend on can change: the names of table and database, the table's type, and
        whether there is change data.  Other properties, which do not begin with ``hoodie.``, are free.  A table becomes
        copy-on-write only without log files.

        Raises:
            OptionError: a property does not exist or cannot change, or a value is not one of its.
            CommitError: the table cannot have the other type now.
            UnsupportedFeatureError: the table could not be written any more.
            LockError: another writer keeps the table's lock.

        Source: HoodieTableConfig.update; ``table update-configs`` of hudi-cli.
        """
        self._context = replace(self._context, config=change_properties(self._context, changes))
        return ServiceResult("properties", f"{', '.join(changes)} set" if changes else "")

    @check_arguments
    def unset_properties(self, keys: str | Sequence[str]) -> ServiceResult[Instant]:
        """Take properties out of the table's properties, so that their defaults count.

        Raises:
            OptionError: the table has no such property, or needs it.
            LockError: another writer keeps the table's lock.

        Source: HoodieTableConfig.delete; ``table delete-configs`` of hudi-cli.
        """
        names = as_name_list(keys)
        self._context = replace(self._context, config=change_properties(self._context, {}, names))
        return ServiceResult("properties", f"{', '.join(names)} taken out" if names else "")

    @check_arguments
    def unschedule_compaction(
        self, instant: str | Instant | Written, *, file_id: str | None = None, partition: str | None = None
    ) -> ServiceResult[Instant]:
        """Take a planned compaction off the timeline, or only one file group out of its plan.

        *partition* is the path of the partition of *file_id*, if two file groups have that id.

        Raises:
            CommitError: there is no such plan or file group; the compaction is running, or has begun.
            LockError: another writer keeps the table's lock.

        Source: CompactionAdminClient; ``compaction unschedule`` and ``unscheduleFileId`` of hudi-cli.
        """
        return unschedule_compaction(self._context, instant_text(instant), file_id=file_id, partition=partition)
