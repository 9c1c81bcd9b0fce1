"""Read and write the files of instants: their content is a plan, metadata, or nothing, by action and state.

An instant goes from requested to inflight to completed: each step creates one file, and only the last file makes the
changes visible.

A writer that dies between two steps leaves a pending instant, which readers ignore and the next writer removes.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from hudiformat.codec.avro.container import is_whole_avro_file
from hudiformat.errors import CommitError
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.cleans import CleanerPlan, CleanMetadata
from hudiformat.timeline.commit_metadata import (
    CommitMetadata,
    decode_commit_metadata,
    encode_commit_json,
    encode_commit_metadata,
)
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES
from hudiformat.timeline.plans import (
    CompactionPlan,
    IndexCommitMetadata,
    IndexPlan,
    RequestedReplaceMetadata,
    decode_compaction_plan,
)
from hudiformat.timeline.records import decode_record_file, encode_record_file, to_record
from hudiformat.timeline.rollbacks import (
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPlan,
    SavepointMetadata,
)
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path

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


def content_kind(instant: Instant) -> type[Content]:
    """Return the class of the content that the file of an instant holds, unless it is empty.

    Up to Hudi 0.15 an inflight clean holds its plan once more; the inflight file of every write holds commit metadata.

    Source: MetadataConversionUtils.createMetaWrapper, CleanerUtils.getCleanerPlan, Hudi 1.2.0.
    """
    action = instant.action
    if instant.state is State.COMPLETED:
        return _METADATA.get(action, CommitMetadata)
    if instant.state is State.INFLIGHT and action.completed_as.is_write:
        return CommitMetadata
    return _PLANS.get(action, CommitMetadata)


def decode_content(data: bytes, instant: Instant, *, path: str) -> Content | None:
    """Decode the content of the file of *instant*; None if it is empty.

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


def is_whole_content(data: bytes) -> bool:
    """Return whether *data* is a whole Avro file or JSON object, whatever it holds; one that ends early is not."""
    try:
        return is_whole_avro_file(data) or isinstance(json.loads(data), dict)
    except ValueError:
        return False


def encode_content(content: Content, config: TableConfig) -> bytes:
    """Encode *content* as the file of an instant, in the format of the table version in *config*.

    Raises:
        EncodeError: a value that does not fit its field.

    Source: CommitMetadataSerDeV1 and V2.getInstantWriter, Hudi 1.2.0.
    """
    if not isinstance(content, CommitMetadata):
        return encode_record_file(content)
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        return encode_commit_json(content)
    return encode_commit_metadata(content)


def content_record(content: Content) -> dict[str, Any]:
    """Return *content* as values of JSON, under the names that Hudi's fields have."""
    if isinstance(content, CommitMetadata):
        return dict(json.loads(encode_commit_json(content)))
    return to_record(content)


def read_content(storage: Storage, config: TableConfig, instant: Instant) -> Content | None:
    """Read the content of the file of an instant, in the state that *instant* has; None if it is empty.

    Raises:
        CorruptTableError: the file is damaged.
        StorageError: the file does not exist (any more).
    """
    path = instant_path(config, instant)
    return decode_content(storage.read(path), instant, path=f"{storage.root}/{path}")


def create_requested(
    storage: Storage, config: TableConfig, time: str, action: Action, plan: Content | None = None, *, sync: bool = True
) -> Instant:
    """Create the requested file of a new instant, with its *plan* if it has one; that of a commit is empty.

    A savepoint has no requested file: it begins inflight.  Without *sync*, the file is certain to be on disk only after
    another file of the timeline was synced.

    Raises:
        CommitError: a clustering in timeline layout 1, where it is called a replace commit.
        StorageError: there is one with this time already.

    Source: ActiveTimelineV2.createNewInstant and saveToPendingReplaceCommit, Hudi 1.2.0.
    """
    if action is Action.CLUSTERING and config.version < VERSION_WITH_COMPLETION_TIMES:
        raise CommitError("timeline layout 1 calls a clustering a replacecommit: pass that action", path=storage.root)
    instant = Instant(time, action, State.INFLIGHT if action is Action.SAVEPOINT else State.REQUESTED)
    storage.create(instant_path(config, instant), _encode_or_empty(plan, config), overwrite=False, sync=sync)
    return instant


def transition_inflight(
    storage: Storage, config: TableConfig, instant: Instant, metadata: Content | None = None
) -> Instant:
    """Create the inflight file of a requested instant.

    Hudi writes the files that it plans to write as *metadata*; an empty file has the same effect.

    Raises:
        CommitError: the instant is not requested, or its requested file is gone: somebody rolled it back.
        StorageError: it has begun already.

    Source: ActiveTimelineV2.transitionRequestedToInflight, Hudi 1.2.0.
    """
    _expect_state(storage, config, instant, State.REQUESTED)
    inflight = Instant(instant.time, instant.action, State.INFLIGHT)
    storage.create(instant_path(config, inflight), _encode_or_empty(metadata, config), overwrite=False)
    return inflight


def begin_instant(
    storage: Storage, config: TableConfig, time: str, action: Action, metadata: Content | None = None
) -> Instant:
    """Create the requested and the inflight file of a new instant; return the inflight instant.

    Raises:
        StorageError: there is an instant with this time already.
    """
    create_requested(storage, config, time, action, sync=False)  # it is empty: only its name counts
    inflight = Instant(time, action, State.INFLIGHT)
    storage.create(instant_path(config, inflight), _encode_or_empty(metadata, config), overwrite=False)
    return inflight


def complete_instant(
    storage: Storage,
    config: TableConfig,
    instant: Instant,
    metadata: Metadata,
    *,
    completion_time: str,
    timeline: Timeline | None = None,
) -> Instant:
    """Create the completed file of an inflight instant, which makes all its changes visible in one atomic step.

    *completion_time* is an instant later than every other time on the timeline, chosen after all files are on disk.
    Timeline layout 1 does not store it, but it is checked all the same.  A *timeline* that was read under the table's
    lock saves the request that checks for the inflight file.

    Raises:
        CommitError: the instant is not inflight, its inflight file is gone, or it would complete before it began.
        StorageError: the file cannot be created.

    Source: ActiveTimelineV1 and V2.saveAsComplete, Hudi 1.2.0.
    """
    if completion_time <= instant.time:
        message = f"{instant} cannot complete at {completion_time}: expected a time after {instant.time}"
        raise CommitError(message, path=storage.root)
    if timeline is None or instant not in timeline.instants:
        _expect_state(storage, config, instant, State.INFLIGHT)
    in_name = completion_time if config.version >= VERSION_WITH_COMPLETION_TIMES else None
    done = Instant(instant.time, instant.action.completed_as, State.COMPLETED, in_name)
    storage.create(instant_path(config, done), encode_content(metadata, config), overwrite=False)
    return done


def remove_pending(storage: Storage, config: TableConfig, instant: Instant) -> None:
    """Remove a pending instant from the timeline; the files that it wrote have to be deleted before.

    The inflight file is deleted first: if the writer dies in between, the instant is still pending.

    Raises:
        CommitError: the instant is completed.

    Source: HoodieActiveTimeline.deleteInflight and deletePending, Hudi 1.2.0.
    """
    if instant.is_completed:
        raise CommitError(f"{instant} is not pending and cannot be removed", path=storage.root)
    states = (State.INFLIGHT,) if instant.action is Action.SAVEPOINT else (State.INFLIGHT, State.REQUESTED)
    for state in states:
        storage.delete(instant_path(config, Instant(instant.time, instant.action, state)))


def _expect_state(storage: Storage, config: TableConfig, instant: Instant, state: State) -> None:
    if instant.state is not state:
        raise CommitError(f"expected an instant that is {state.name.lower()}, found {instant}", path=storage.root)
    if not storage.exists(instant_path(config, instant)):
        raise CommitError(f"{instant} is no longer on the timeline: it has been rolled back", path=storage.root)


def _encode_or_empty(content: Content | None, config: TableConfig) -> bytes:
    return b"" if content is None else encode_content(content, config)
