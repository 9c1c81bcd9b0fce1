"""Read and write the archived timeline of layout 1: log files of Avro blocks, with a record per state of an instant.

The files are ``.commits_.archive.<N>_1-0-1`` with ascending N.  A state may be in two files, if a writer crashed
between archiving and deleting, or while it merged small files.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import fastavro

from hudiformat.codec.avro.values import ValueSchema, decode_value, parse_value_schema
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import CorruptTableError, DecodeError, SchemaError
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.archived import ArchivedInstant, InstantFiles, parse_archived_instant
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.commit_metadata import CommitMetadata, commit_record, parse_commit_record
from hudiformat.timeline.contents import Content, Metadata, Plan, read_content
from hudiformat.timeline.plans import CompactionPlan, IndexCommitMetadata, RequestedReplaceMetadata
from hudiformat.timeline.records import fastavro_schema, from_record, schema_text, to_record
from hudiformat.timeline.rollbacks import RollbackMetadata, SavepointMetadata
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State
from hudiformat.wire import Cursor, int32

_NAME = re.compile(r"\.commits_\.archive\.([0-9]+)(_.*)?")
_RECORD = "HoodieArchivedMetaEntry"
_CONTENT_VERSION = 3
_BATCH = 10  # hoodie.commits.archival.batch

_FIELDS: Mapping[str, type[Content]] = {
    "hoodieCommitMetadata": CommitMetadata,
    "hoodieReplaceCommitMetadata": CommitMetadata,
    "hoodieCleanMetadata": CleanMetadata,
    "hoodieRollbackMetadata": RollbackMetadata,
    "hoodieSavePointMetadata": SavepointMetadata,
    "hoodieIndexCommitMetadata": IndexCommitMetadata,
    "hoodieCompactionPlan": CompactionPlan,
    "hoodieCleanerPlan": CleanerPlan,
    "hoodieRequestedReplaceMetadata": RequestedReplaceMetadata,
}
"""The field of the record for each type of content.  Source: MetadataConversionUtils.createMetaWrapper, Hudi 1.2.0."""

_FIELD_OF = {kind: name for name, kind in _FIELDS.items()}


def read_archive_logs(storage: Storage, config: TableConfig) -> list[ArchivedInstant]:
    """Return the archived instants of a table of timeline layout 1, in no particular order.

    Instants without a completed state in the archive are left out.  Corrupt blocks are skipped, as in Hudi.

    Raises:
        CorruptTableError: a record is not one of Hudi's; the error has the path of the file.

    Source: ArchivedTimelineV1, ArchivedTimelineLoaderV1, Hudi 1.2.0.
    """
    newest: dict[tuple[str, Action], ArchivedInstant] = {}
    for archived in chain.from_iterable(archive_logs(storage, config)):
        newest[archived.instant.time, archived.instant.action] = archived
    return list(newest.values())


def archive_logs(storage: Storage, config: TableConfig) -> Iterator[list[ArchivedInstant]]:
    """Yield the archived instants of each file, as :func:`read_archive_logs`; an instant may be in two of them.

    Raises:
        CorruptTableError: as for :func:`read_archive_logs`.
    """
    plans: dict[tuple[str, Action], Plan] = {}  # of instants whose completed state may be in a later file
    for path in archive_log_paths(storage, config):
        completed: dict[tuple[str, Action], ArchivedInstant] = {}
        for record in _read_records(storage, path):
            instant, contents = _parse_entry(record, path=f"{storage.root}/{path}")
            key = instant.time, instant.action.completed_as
            for content in contents:
                if isinstance(content, Plan):
                    plans[key] = content
            if instant.is_completed:
                metadata = next((content for content in contents if isinstance(content, Metadata)), None)
                completed[key] = ArchivedInstant(instant, metadata)
        yield [ArchivedInstant(one.instant, one.metadata, plans.pop(key, None)) for key, one in completed.items()]


def write_archive_log(storage: Storage, config: TableConfig, instants: Sequence[InstantFiles]) -> None:
    """Add a file with all states of *instants* to the archived timeline of layout 1.

    Source: TimelineArchiverV1.archive, MetadataConversionUtils.createMetaWrapper, Hudi 1.2.0.
    """
    records = [
        _make_record(instant, read_content(storage, config, instant))
        for files in instants
        for instant in (*files.pending, files.completed)
    ]
    _add_file(storage, config, records)


def add_archive_log(storage: Storage, config: TableConfig, archived: Sequence[ArchivedInstant]) -> None:
    """Add a file of instants of another archive, with their plans, to the archived timeline of layout 1."""
    records = []
    for one in archived:
        time, action = one.instant.time, one.instant.action
        if one.plan is not None:
            records.append(_make_record(Instant(time, _requested_action(action, one.plan), State.REQUESTED), one.plan))
        records.append(_make_record(Instant(time, action, State.COMPLETED), one.metadata))
    _add_file(storage, config, records)


def _requested_action(action: Action, plan: Plan) -> Action:
    """Return the action of the requested state of an instant with *plan* in layout 1.

    Layout 1 calls a clustering a replace commit.
    """
    if not isinstance(plan, CompactionPlan):
        return action
    return Action.COMPACTION if action is Action.COMMIT else Action.LOG_COMPACTION


def _add_file(storage: Storage, config: TableConfig, records: Sequence[Mapping[str, Any]]) -> None:
    blocks = [_encode_records(records[first : first + _BATCH]) for first in range(0, len(records), _BATCH)]
    numbers = (int(match[1]) for info in storage.list(config.history_folder) if (match := _NAME.fullmatch(info.name)))
    number = max(numbers, default=0) + 1
    storage.create(f"{config.history_folder}/.commits_.archive.{number}_1-0-1", b"".join(blocks), overwrite=False)


def archive_log_paths(storage: Storage, config: TableConfig) -> list[str]:
    """Return the paths of the files of the archived timeline of layout 1, the oldest first."""
    folder = config.history_folder
    matches = [match for info in storage.list(folder) if (match := _NAME.fullmatch(info.name))]
    return [f"{folder}/{match[0]}" for match in sorted(matches, key=lambda match: int(match[1]))]


def _read_records(storage: Storage, path: str) -> Iterator[Any]:
    for block in LogReader(path, storage=storage):
        yield from decode_archive_block(block, path=f"{storage.root}/{path}")


def decode_archive_block(block: LogBlock, *, path: str) -> list[Any]:
    """Return the records of a block of the archived timeline; none of a block of another type.

    Raises:
        CorruptTableError: they are damaged; *path* is named.
    """
    if block.type is not BlockType.AVRO_DATA:
        return []
    try:
        return list(_decode_records(block.content, parse_value_schema(block.schema)))
    except (DecodeError, SchemaError) as error:
        raise CorruptTableError(f"{path}: cannot read the archived timeline: {error}", path=path) from error


def _decode_records(content: bytes | memoryview, schema: ValueSchema) -> Iterator[Any]:
    cursor = Cursor(memoryview(content))
    cursor.int32("content version")
    for _ in range(cursor.int32("record count")):
        yield decode_value(cursor.take(cursor.int32("record length"), "record"), schema)


def _encode_records(records: Sequence[Mapping[str, Any]]) -> bytes:
    parts = [int32(_CONTENT_VERSION), int32(len(records))]
    for record in records:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, fastavro_schema(_RECORD), record)
        parts += [int32(buffer.tell()), buffer.getvalue()]
    header = BlockHeader({HeaderKey.SCHEMA: schema_text(_RECORD)})
    return encode_block(LogBlock(BlockType.AVRO_DATA, header, b"".join(parts)))


def _parse_entry(record: Any, *, path: str) -> tuple[Instant, list[Content]]:
    name = (record.get("actionState") or State.COMPLETED.name) if isinstance(record, dict) else None
    state = State.__members__.get(name) if isinstance(name, str) else None
    if state is None:
        raise CorruptTableError(f"{path}: expected archived instants in a state of Hudi's", path=path)
    completion_time = record.get("stateTransitionTime") if state is State.COMPLETED else None
    instant = parse_archived_instant(
        record.get("commitTime"), record.get("actionType"), state, completion_time, path=path
    )
    contents = [
        parse_commit_record(record[name], path=path)
        if kind is CommitMetadata
        else from_record(kind, record[name], path=path)
        for name, kind in _FIELDS.items()
        if record.get(name) is not None
    ]
    return instant, contents


def _make_record(instant: Instant, content: Content | None) -> dict[str, Any]:
    return {
        "commitTime": instant.time,
        "actionType": instant.action.value,
        "actionState": instant.state.name,
        # Hudi writes the modification time of the file, and cannot read a completed state without a time.
        "stateTransitionTime": instant.time if instant.is_completed else None,
        **({} if content is None else _content_field(instant, content)),
    }


def _content_field(instant: Instant, content: Content) -> dict[str, Any]:
    if not isinstance(content, CommitMetadata):
        name = _FIELD_OF.get(type(content))  # the record has no field for the plan of a rollback
        return {} if name is None else {name: to_record(content)}
    record = commit_record(content)
    if instant.action is not Action.REPLACE_COMMIT:
        return {"hoodieCommitMetadata": record}
    return {"hoodieReplaceCommitMetadata" if instant.is_completed else "HoodieInflightReplaceMetadata": record}
