"""Announce, check and complete instants, while the writer holds the table's lock.

An instant is completed in the metadata table first, and then on the timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from hudiformat.errors import (
    CommitError,
    HudiFormatError,
    LockError,
    StorageError,
    WriteConflictError,
    warn,
)
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.naming.file_names import LogFileName, base_name, parse_data_file
from hudiformat.naming.instants import next_instant
from hudiformat.schema.table_schema import TableSchema
from hudiformat.storage.protocol import Storage, TellsOneThing
from hudiformat.storage.threads import side_by_side
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.contents import (
    Metadata,
    Plan,
    complete_instant,
    create_requested,
    encode_content,
    remove_pending,
)
from hudiformat.timeline.rollbacks import RollbackPlan
from hudiformat.timeline.timeline import Action, Instant, State, instant_path, load_timeline
from hudiformat.write.commit.plan import WritePlan
from hudiformat.write.metadata.definitions import define_columns
from hudiformat.write.metadata.indexes import indexes_of
from hudiformat.write.metadata.metadata_table import MetadataTable
from hudiformat.write.reporting.commits import record_service

_USE_A_LOCK = "; several writers need hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL"


def announce(state: TableState, action: Action, plan: Plan) -> Instant:
    """Put a new requested instant with its *plan* on the timeline; *state* was read under the table's lock.

    Raises:
        LockError: this writer has lost the lock, and others may have changed what was planned; nothing is announced.
        StorageError: the file cannot be created; nothing is announced.
    """
    state.context.confirm()
    requested = Instant(state.next_instant, action, State.REQUESTED)
    try:
        create_requested(state.storage, state.config, requested.time, action, plan)
        state.context.confirm()  # again: the lock may have been lost while the file was created
    except HudiFormatError:
        with suppress(HudiFormatError):  # the file may be there although creating it has failed; another's is not taken
            if state.storage.read(instant_path(state.config, requested)) == encode_content(plan, state.config):
                remove_pending(state.storage, state.config, requested)
        raise
    return requested


def publish(state: TableState, instant: Instant, metadata: Metadata) -> Instant:
    """Complete an inflight instant; *metadata* describes what it did.

    *state* was read under the table's lock.  The metadata table is written first, and its records are valid once the
    timeline has the completed instant; in the other order, readers would miss files for a moment.

    After an unclear answer the timeline decides: the completed file may exist although creating it has failed, because
    the answer was lost, or a sync failed after it.

    Raises:
        CommitError: a write or service is not completed, or nobody can tell.
        WriteConflictError: another process has completed the service, with files of its own.
        LockError, StorageError: another action is not completed.

    Source: BaseHoodieWriteClient.commitStats, Hudi 1.2.0.
    """
    root = state.storage.root
    try:
        return _publish(state, instant, metadata)
    except HudiFormatError as error:
        is_write = isinstance(metadata, CommitMetadata)
        try:
            done, is_own = find_completed(state.context.state(), instant, metadata)
        except HudiFormatError:
            if not is_write:
                raise error from None
            raise CommitError(
                f"{root}: it is not known whether the instant {instant.time} was completed: {error}; look at "
                "the timeline before writing again",
                path=root,
            ) from error
        if done is None:
            if not is_write:
                raise
            raise CommitError(
                f"{root}: the instant {instant.time} could not be completed: {error}; the table is as it was, "
                "write again",
                path=root,
            ) from error
        if not is_own:
            raise WriteConflictError(
                f"{root}: another process has completed {done}; nothing of this one was written", path=root
            ) from error
        return done


def find_completed(state: TableState, instant: Instant, metadata: Metadata) -> tuple[Instant | None, bool]:
    """Return *instant* as completed, or None, and whether it names the files of *metadata*.

    The files of two attempts at a service have different names; other actions have no files of their own.
    """
    action = instant.action.completed_as
    done = next((one for one in state.timeline.completed if (one.time, one.action) == (instant.time, action)), None)
    if done is None or not isinstance(metadata, CommitMetadata):
        return done, done is not None
    return done, [one.path for one in state.metadata(done).write_stats] == [one.path for one in metadata.write_stats]


def _publish(state: TableState, instant: Instant, metadata: Metadata) -> Instant:
    recorded = None
    if FILES in state.config.metadata_partitions:
        recorded = MetadataTable.of(state).record(instant, metadata)
    # Completion times grow along both timelines: readers order the commits by them.
    latest = state.timeline.latest_instant_time
    now = next_instant(state.context.clock(), max(filter(None, (latest, instant.time, recorded)), default=None))
    state.context.confirm()
    done = complete_instant(
        state.storage, state.config, instant, metadata, completion_time=now, timeline=state.timeline
    )
    _remove_if_lock_lost(state, instant, done)
    record_service(state.context, metadata)
    if recorded is not None and isinstance(metadata, CommitMetadata) and metadata.schema is not None:
        with suppress(StorageError):  # the instant is completed; the next commit does so if this one cannot
            define_columns(state, TableSchema(metadata.schema))
    return done


def _remove_if_lock_lost(state: TableState, instant: Instant, done: Instant) -> None:
    """Remove the completed *done* if the lock was lost just before it appeared and others have changed the table.

    No file system can complete an instant on the condition that a lock is held.  A writer that was stopped between its
    last check of the lock and this moment finds out here.
    """
    try:
        state.context.confirm()
    except LockError as error:
        known = {one.time for one in state.timeline.instants}
        others = [one for one in load_timeline(state.storage, state.config).instants if one.time not in known]
        if not others and state.storage.exists(instant_path(state.config, instant)):
            return  # no other writer has changed anything while it had the lock
        with suppress(StorageError):
            state.storage.delete(instant_path(state.config, done))
        root = state.storage.root
        raise CommitError(f"{root}: {instant} is not committed: {error}", path=root) from error


def check_publishable(state: TableState, seen: TableState, instant: Instant, metadata: CommitMetadata) -> None:
    """Check what is about to become visible; *state* was read under the table's lock.

    The instant must still be on the timeline, and so must every write that was there when it began (*seen*), unless
    that write has been archived.  Every file that *metadata* names must exist and have its size.

    Raises:
        CommitError: the instant is gone, or a file is missing or has another size.
        WriteConflictError: another writer has rolled back a commit that this write builds on.
    """
    root = state.storage.root
    _refuse_undone(state, seen, instant)
    if instant.time not in {pending.time for pending in state.timeline.pending}:
        raise CommitError(
            f"{root}: {instant} is no longer on the timeline: it has been rolled back by another writer, as "
            "happens to a write that gives no sign of life for too long; nothing was committed, write again",
            path=root,
        )
    for path, expected, found in _sizes(state.storage, _files_of_commit(metadata)):
        if found != expected and not (state.logs_name_slices and _has_grown(path, expected, found)):
            there = "it does not exist" if found is None else f"it has {found}"
            raise CommitError(
                f"{root}/{path}: {instant} has written {expected} bytes to this file, but {there}; nothing was "
                "committed, write again",
                path=f"{root}/{path}",
            )


def _has_grown(path: str, expected: int, found: int | None) -> bool:
    """Return whether another writer has appended to a log file since, as in tables of version 6."""
    is_log = isinstance(parse_data_file(base_name(path)), LogFileName)
    return is_log and found is not None and found > expected


def _refuse_undone(state: TableState, seen: TableState, instant: Instant) -> None:
    left, first = {done.time for done in state.timeline.completed}, state.timeline.first_active or ""
    undone = [done for done in seen.timeline.completed_writes if done.time not in left and done.time >= first]
    if undone:
        root = state.storage.root
        raise WriteConflictError(
            f"{root}: the write {instant.time} cannot commit: {undone[0]} has been rolled back since it began; nothing "
            "was written, write again",
            path=root,
        )


def refuse_new_indexes(state: TableState, plan: WritePlan, instant: Instant, schema: TableSchema | None = None) -> None:
    """Check that the files of a write have been indexed as the metadata table now needs it.

    *schema* is the table's schema after the write, if that changes it: columns that it removes need no statistics.

    Raises:
        WriteConflictError: an index was built since the write began.
    """
    needed = indexes_of(state, schema) if state.config.metadata_partitions else None
    if needed is not None and not needed.is_subset_of(plan.indexes):
        root = state.storage.root
        raise WriteConflictError(
            f"{root}: {instant} cannot commit: an index of the metadata table was built since it began, and its files "
            "are not indexed; nothing was committed, write again",
            path=root,
        )


def refuse_others(state: TableState, seen: TableState, instant: Instant) -> None:
    """Check before a commit without a lock that no other write was begun or completed since *seen*.

    If two writers begin at once, at least one finds the other, because each puts its instant on the timeline before it
    looks for others.  Services add no rows and do no harm, except a clustering: it removes file groups from the table
    to which the write may have added rows.

    Raises:
        WriteConflictError: another write was begun or completed.
    """
    known = {one.time for one in seen.timeline.instants} | {instant.time}
    for other in state.timeline.instants:
        if other.time not in known and other.action.completed_as.is_write and not _is_harmless(state, other):
            root = state.storage.root
            raise WriteConflictError(
                f"{root}: the write {instant.time} cannot commit: another writer has begun {other.time} in the "
                f"meantime, and neither uses a lock; nothing was committed, write again{_USE_A_LOCK}",
                path=root,
            )


def _is_harmless(state: TableState, other: Instant) -> bool:
    if other.is_completed:
        return state.metadata(other).operation_type not in {*Operation.__members__, "CLUSTER"}
    if state.is_clustering(other):
        return False
    return any(group.instant.time == other.time for group in state.pending_groups)


def refuse_rolled_back(state: TableState, instant: Instant, done: Instant) -> None:
    """Check after a commit without a lock that no other writer was rolling it back; if one was, remove the commit.

    If that cannot be checked, the commit stays, with a warning.

    Raises:
        CommitError: another writer was rolling the commit back.
    """
    root = state.storage.root
    try:
        is_committed = not _is_rolled_back(state.again(), instant, done)
    except HudiFormatError as error:
        message = f"{root}: {instant} is committed; whether another writer was rolling it back is not known: {error}"
        warn(message)
        return
    if is_committed:
        return
    with suppress(StorageError):
        state.storage.delete(instant_path(state.config, done))
    raise CommitError(
        f"{root}: {instant} is not committed: another writer has rolled it back; write again{_USE_A_LOCK}", path=root
    )


def _is_rolled_back(now: TableState, instant: Instant, done: Instant) -> bool:
    later = [one for one in now.timeline.instants if one.action is Action.ROLLBACK and one.time > instant.time]
    is_there = any(one.time == done.time and one.is_completed for one in now.timeline.instants)
    return not is_there or any(_is_of(now, rollback, instant) for rollback in later)


def _is_of(state: TableState, rollback: Instant, target: Instant) -> bool:
    plan = state.plan(rollback)
    rolled_back = plan.instant_to_rollback if isinstance(plan, RollbackPlan) else None
    return rolled_back is None or rolled_back.commit_time == target.time


def _files_of_commit(metadata: CommitMetadata) -> Iterator[tuple[str, int]]:
    """Yield the files that a commit names, and their sizes."""
    for stat in metadata.write_stats:
        if stat.path is not None:
            yield stat.path, stat.file_size_in_bytes or 0
        yield from (stat.cdc_stats or {}).items()


def _sizes(storage: Storage, named: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int, int | None]]:
    """Yield each path, the size that it should have, and the size that it has."""
    files = list(named)
    ask = storage.size if isinstance(storage, TellsOneThing) else partial(_size_of_open, storage)
    found = side_by_side(storage, lambda file: _size(ask, file[0]), files)
    yield from ((path, size, now) for (path, size), now in zip(files, found, strict=True))


def _size(ask: Callable[[str], int], path: str) -> int | None:
    try:
        return ask(path)
    except StorageError:
        return None


def _size_of_open(storage: Storage, path: str) -> int:
    with storage.open_input(path) as file:  # opening a file costs one request, which returns its size
        return int(file.size())
