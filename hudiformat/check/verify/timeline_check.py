"""Check a table's properties, the files of its instants, and the archived timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace

from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.codec.log.reader import LogReader
from hudiformat.codec.log.verify import FindingKind, scan_findings
from hudiformat.errors import CorruptTableError, HudiFormatError, StorageError, UnsupportedFeatureError
from hudiformat.storage.protocol import Storage
from hudiformat.storage.threads import side_by_side
from hudiformat.table.state import TableState
from hudiformat.timeline.archive.archive_log import archive_log_paths, decode_archive_block
from hudiformat.timeline.archive.history import latest_manifest, read_history_file
from hudiformat.timeline.config_files import (
    BACKUP_FILE,
    PROPERTIES_FILE,
    VERSION_WITH_COMPLETION_TIMES,
    parse_table_config,
)
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, instant_path

_PLANNED = (
    Action.COMPACTION,
    Action.LOG_COMPACTION,
    Action.CLUSTERING,
    Action.CLEAN,
    Action.ROLLBACK,
    Action.RESTORE,
    Action.INDEXING,
)
"""Actions whose requested file must hold a plan."""
_NO_PLAN = "the instant has no plan, so that nobody can run it"


def findings_of_properties(storage: Storage) -> Iterator[TableFinding]:
    """Yield findings about the properties of a table, and about a backup of them that a writer has left."""
    path = f"{storage.root}/{PROPERTIES_FILE}"
    try:
        data = storage.read(PROPERTIES_FILE)
        is_cut = not data.endswith((b"\n", b"\r"))
        with suppress(UnsupportedFeatureError) if is_cut else nullcontext():
            parse_table_config(data, path=path)
        if is_cut:
            message = "it ends within a line: its writer died, and what comes after that line is not known"
            yield TableFinding(TableFindingKind.DAMAGED, PROPERTIES_FILE, message)
    except StorageError:
        if storage.exists(PROPERTIES_FILE):  # what cannot be read now is not missing: it must not be made again
            raise
        yield TableFinding(TableFindingKind.MISSING, PROPERTIES_FILE, "the table's properties are not there")
    except CorruptTableError as error:
        yield TableFinding(TableFindingKind.DAMAGED, PROPERTIES_FILE, str(error))
    if storage.exists(BACKUP_FILE):
        message = "a writer of Hudi's has died, or is at work, while it changed the table's properties"
        yield TableFinding(TableFindingKind.LEFTOVER, BACKUP_FILE, message)


def findings_of_instants(state: TableState) -> Iterator[TableFinding]:
    """Yield findings about instants that are not complete, and about files and plans that cannot be read."""
    for found in side_by_side(state.storage, lambda one: list(_of_instant(state, one)), state.timeline.instants):
        yield from found


def _of_instant(state: TableState, instant: Instant) -> Iterator[TableFinding]:
    path = instant_path(state.config, instant)
    if not instant.is_completed:
        yield TableFinding(TableFindingKind.UNCOMMITTED, path, str(instant), (instant.time,))
    message = _damage(lambda: state.content(instant))
    if instant.is_completed and message is None and state.content(instant) is None:
        message = "the file of the completed instant is empty: what it did is not known"
    if message is not None:
        yield TableFinding(TableFindingKind.DAMAGED, path, message, (instant.time,))
    yield from _of_plan(state, instant)


def _of_plan(state: TableState, instant: Instant) -> Iterator[TableFinding]:
    if instant.is_completed or instant.action not in (*_PLANNED, Action.REPLACE_COMMIT):
        return
    requested = replace(instant, state=State.REQUESTED)
    message = _damage(lambda: state.plan(instant))
    if message is None and instant.action in _PLANNED and state.plan(instant) is None:
        message = _NO_PLAN
    path = instant_path(state.config, requested)
    if message == _NO_PLAN or (message is not None and instant.state is not State.REQUESTED):
        yield TableFinding(TableFindingKind.DAMAGED, path, message, (instant.time,))


def _damage(read: Callable[[], object]) -> str | None:
    try:
        read()
    except HudiFormatError as error:
        return str(error)
    return None


def findings_of_archive(storage: Storage, config: TableConfig, *, contents: bool = True) -> Iterator[TableFinding]:
    """Yield findings about files of the archived timeline that cannot be read.

    Without *contents*, only the parts are read that are needed to build file slices.
    """
    if config.version < VERSION_WITH_COMPLETION_TIMES:
        yield from _of_archive_logs(storage, config, contents=contents)
        return
    try:
        number, files = latest_manifest(storage, config.history_folder)
    except CorruptTableError as error:
        yield TableFinding(TableFindingKind.DAMAGED, config.history_folder, str(error))
        return
    for name in files:
        path = f"{config.history_folder}/{name}"
        message = _damage(lambda path=path: read_history_file(storage, path, contents=contents))  # type: ignore[misc]  # mypy cannot infer defaults of a lambda
        if message is not None:
            named = f"manifest_{number} names it: {message}"
            yield TableFinding(TableFindingKind.DAMAGED, path, named)


def _of_archive_logs(storage: Storage, config: TableConfig, *, contents: bool) -> Iterator[TableFinding]:
    for path in archive_log_paths(storage, config):
        for finding in scan_findings(path, contents=False, storage=storage):
            if finding.kind is not FindingKind.QUIRK:
                message = f"{finding.kind.value} of {finding.length} bytes at byte {finding.offset}: {finding.message}"
                yield TableFinding(TableFindingKind.DAMAGED, path, message)
        for block in LogReader(path, storage=storage) if contents else ():
            message = _damage(lambda block=block, path=path: decode_archive_block(block, path=path)) or ""  # type: ignore[misc]  # mypy cannot infer defaults of a lambda
            if message:
                yield TableFinding(TableFindingKind.DAMAGED, path, message)
