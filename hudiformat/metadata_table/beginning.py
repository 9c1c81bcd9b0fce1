"""Find out whether the list of files of the metadata table has lost its beginning, the files of all earlier writes.

It begins with a base file, or, as Flink makes it, with log files from the instant that initializes it on.  If the base
file is lost, the log files after it are a sound list of fewer files.
"""

from __future__ import annotations

from collections.abc import Iterable

from hudiformat.errors import CorruptTableError, HudiFormatError
from hudiformat.file_group.slices import FileSlice
from hudiformat.metadata_table.partition import INITIAL
from hudiformat.naming.file_names import BaseFileName, base_name, parse_data_file
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Timeline


def refuse_lost_beginning(
    storage: Storage, config: TableConfig, timeline: Timeline, slices: Iterable[FileSlice]
) -> None:
    """Refuse the *slices* of the list of files if one has lost its base file.

    The other arguments are those of the metadata table itself.

    Raises:
        CorruptTableError: a slice has lost its base file.
    """
    for one in slices:
        if one.base_file is None and _has_lost_base_file(storage, config, timeline, one):
            raise CorruptTableError(
                f"{storage.root}/{one.partition_path}: expected a base file with the files of the writes before "
                f"{one.base_instant}, found {', '.join(one.log_names)} alone",
                path=storage.root,
            )


def _has_lost_base_file(storage: Storage, config: TableConfig, timeline: Timeline, one: FileSlice) -> bool:
    """Ask the first write of a slice without base file, which has made that file if it is on the timeline.

    From table version 8 on, log files without a base file begin with the instant that initializes the table.
    """
    if config.version >= VERSION_WITH_COMPLETION_TIMES and not one.base_instant.startswith(INITIAL):
        return True
    for done in timeline.completed:
        if done.time == one.base_instant:
            try:
                content = read_content(storage, config, done)
            except HudiFormatError:  # other writers may have archived it
                return False
            stats = content.write_stats if isinstance(content, CommitMetadata) else ()
            names = (parse_data_file(base_name(stat.path)) for stat in stats if stat.path)
            return any(isinstance(name, BaseFileName) and name.file_id == one.file_id for name in names)
    return False
