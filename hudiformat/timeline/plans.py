"""Plans: what a pending action is going to do."""

from __future__ import annotations

from dataclasses import dataclass

from hudiformat.errors import CorruptTableError
from hudiformat.timeline.avro_file import decode_avro_file


@dataclass(frozen=True, slots=True)
class CompactionOperation:
    """One file slice that a compaction will merge.  File names carry no folder.

    Log files of the group that are written after the compaction was scheduled belong to its next slice.
    """

    partition: str
    file_id: str
    base_instant: str | None
    base_file: str | None
    log_files: tuple[str, ...]


def decode_compaction_plan(data: bytes, *, path: str) -> tuple[CompactionOperation, ...]:
    """The operations of a compaction's or log compaction's plan.  Plans before version 2 name files with their folder.

    Raises:
        CorruptTableError: not an Avro file, or not a plan; *path* is named.

    Source: CompactionUtils.getCompactionPlan, CompactionOperation, CompactionV2MigrationHandler, Hudi 1.2.0.
    """
    record = decode_avro_file(data, path=path)
    try:
        return tuple(
            CompactionOperation(
                partition=operation["partitionPath"] or "",
                file_id=operation["fileId"],
                base_instant=operation["baseInstantTime"],
                base_file=_file_name(operation["dataFilePath"]),
                log_files=tuple(_file_name(name) or "" for name in operation["deltaFilePaths"] or ()),
            )
            for operation in record["operations"] or ()
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"{path}: expected a compaction plan: {error!r}", path=path) from error


def _file_name(path: str | None) -> str | None:
    return path.rsplit("/", 1)[-1] if path else None
