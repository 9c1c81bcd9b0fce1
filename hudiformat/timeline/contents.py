"""What the file of an instant holds, by its action and state: a plan, metadata, or nothing."""

from __future__ import annotations

from typing import TypeAlias

from hudiformat.storage import Storage
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    decode_commit_metadata,
    encode_commit_json,
    encode_commit_metadata,
)
from hudiformat.timeline.config_parsing import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.instant import Action, Instant, State
from hudiformat.timeline.plans import (
    CompactionPlan,
    IndexCommitMetadata,
    IndexPlan,
    RequestedReplaceMetadata,
    decode_compaction_plan,
)
from hudiformat.timeline.records import decode_record_file, encode_record_file
from hudiformat.timeline.rollbacks import (
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPlan,
    SavepointMetadata,
)
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import instant_path

Plan: TypeAlias = CleanerPlan | CompactionPlan | RequestedReplaceMetadata | RollbackPlan | RestorePlan | IndexPlan
Metadata: TypeAlias = (
    CommitMetadata | CleanMetadata | RollbackMetadata | RestoreMetadata | SavepointMetadata | IndexCommitMetadata
)
Content: TypeAlias = Plan | Metadata

_PLANS: dict[Action, type[Plan]] = {
    Action.CLEAN: CleanerPlan,
    Action.COMPACTION: CompactionPlan,
    Action.LOG_COMPACTION: CompactionPlan,
    Action.CLUSTERING: RequestedReplaceMetadata,
    Action.REPLACE_COMMIT: RequestedReplaceMetadata,
    Action.ROLLBACK: RollbackPlan,
    Action.RESTORE: RestorePlan,
    Action.INDEXING: IndexPlan,
}
_METADATA: dict[Action, type[Metadata]] = {
    Action.CLEAN: CleanMetadata,
    Action.ROLLBACK: RollbackMetadata,
    Action.RESTORE: RestoreMetadata,
    Action.SAVEPOINT: SavepointMetadata,
    Action.INDEXING: IndexCommitMetadata,
}
_WRITES = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)


def content_kind(instant: Instant) -> type[Content]:
    """What the file of an instant holds where it is not empty.

    Up to Hudi 0.15 an inflight clean holds its plan once more; the inflight file of every write holds commit metadata.

    Source: MetadataConversionUtils.createMetaWrapper, CleanerUtils.getCleanerPlan, Hudi 1.2.0.
    """
    action = instant.action
    if instant.state is State.COMPLETED:
        return _METADATA.get(action, CommitMetadata)
    if instant.state is State.INFLIGHT and action.completed_as in _WRITES:
        return CommitMetadata
    return _PLANS.get(action, CommitMetadata)


def decode_content(data: bytes, instant: Instant, *, path: str) -> Content | None:
    """What the file of *instant* says; None where it is empty.

    Raises:
        CorruptTableError: the file holds something else; *path* is named.
    """
    kind = content_kind(instant)
    if not data:
        return None
    if kind is CommitMetadata:
        return decode_commit_metadata(data, path=path)
    if kind is CompactionPlan:
        return decode_compaction_plan(data, path=path)
    return decode_record_file(kind, data, path=path)


def encode_content(content: Content, config: TableConfig) -> bytes:
    """The file that says *content* in a table of the version in *config*.

    Raises:
        EncodeError: a value that does not fit its field.

    Source: CommitMetadataSerDeV1 and V2.getInstantWriter, Hudi 1.2.0.
    """
    if not isinstance(content, CommitMetadata):
        return encode_record_file(content)
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return encode_commit_json(content)
    return encode_commit_metadata(content)


def read_content(storage: Storage, config: TableConfig, instant: Instant) -> Content | None:
    """What the file of an instant says, in whatever state it is; None where it is empty.

    Raises:
        CorruptTableError: the file is damaged.
        StorageError: it is not there (any more).
    """
    path = instant_path(config, instant)
    return decode_content(storage.read(path), instant, path=f"{storage.root}/{path}")
