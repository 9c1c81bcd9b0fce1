"""What a write looks at last, before its files become visible: that they are there, and that it is still its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from hudiformat.errors import CommitError, StorageError, WriteConflictError
from hudiformat.storage import Storage
from hudiformat.table import TableState
from hudiformat.timeline import CommitMetadata, Instant

_PARALLEL_REQUESTS = 16


def check_publishable(state: TableState, seen: TableState, instant: Instant, metadata: CommitMetadata) -> None:
    """Check what is about to become visible; *state* was read under the table's lock.

    The instant is still on the timeline, so is every write that it has *seen* when it began, unless that is archived,
    and every file that *metadata* names exists and has its size.

    Raises:
        CommitError: the instant is not, or a file is not.
        WriteConflictError: another writer has rolled back what this one builds on.
    """
    root = state.storage.root
    _refuse_undone(state, seen, instant)
    if instant.time not in {pending.time for pending in state.timeline.pending}:
        raise CommitError(
            f"{root}: {instant} is no longer on the timeline: it has been rolled back by another writer, as "
            "happens to one that gives no sign of life for too long; nothing was committed, write again",
            path=root,
        )
    for path, expected, found in _sizes(state.storage, _named(metadata)):
        if found != expected:
            there = "it does not exist" if found is None else f"it has {found}"
            raise CommitError(
                f"{root}/{path}: {instant} has written {expected} bytes to this file, and {there}; nothing was "
                "committed, write again",
                path=f"{root}/{path}",
            )


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


def _named(metadata: CommitMetadata) -> Iterator[tuple[str, int]]:
    """The files that a commit names, and their sizes."""
    for stat in metadata.write_stats:
        if stat.path is not None:
            yield stat.path, stat.file_size_in_bytes or 0
        yield from (stat.cdc_stats or {}).items()


def _sizes(storage: Storage, named: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int, int | None]]:
    """Each path, the size that it should have, and the size that it has."""
    files = list(named)
    if storage.capabilities.map:
        yield from ((path, size, _size(storage, path)) for path, size in files)
        return
    with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
        found = pool.map(lambda file: _size(storage, file[0]), files)
        yield from ((path, size, now) for (path, size), now in zip(files, found, strict=True))


def _size(storage: Storage, path: str) -> int | None:
    try:
        with storage.open_input(path) as file:
            return int(file.size())
    except StorageError:
        return None
