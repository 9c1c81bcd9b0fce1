"""Convert the timeline of a table to the layout of another table version: layout 1 below version 8, else 2.

The new files are written beside the old ones, which stay valid until the table's properties name the other version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from hudiformat.errors import CorruptTableError
from hudiformat.file_group.former_slices import FormerSlices
from hudiformat.naming.instants import FULL_BOOTSTRAP, METADATA_BOOTSTRAP, format_instant, parse_instant
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.archive_log import add_archive_log, archive_logs
from hudiformat.timeline.archive.archived import ArchivedInstant
from hudiformat.timeline.archive.history import add_history, history_files
from hudiformat.timeline.commit_metadata import CommitMetadata
from hudiformat.timeline.config_files import META_FOLDER
from hudiformat.timeline.contents import content_kind, decode_content, encode_content
from hudiformat.timeline.table_config import TableConfig, TimelineZone
from hudiformat.timeline.timeline import Action, Instant, Timeline, instant_path, list_instants

_MILLISECOND = timedelta(milliseconds=1)


def convert_timeline(
    storage: Storage, old: TableConfig, new: TableConfig, *, confirm: Callable[[], None] = lambda: None
) -> None:
    """Write the active and the archived timeline of *old* in the layout of *new*; do nothing if the layouts are equal.

    Files that an earlier attempt, or Hudi, has left in the new place are deleted first.  Commit metadata is JSON in
    layout 1 and Avro in layout 2. A pending clustering of layout 2 is a pending replace commit in layout 1.

    From layout 1 to 2, instants get a completion time: the time at which their file was written.  A copied file is
    newer than its instant's completion, so the completion time is limited: it must be before the next instant, because
    in layout 1 writes count in the order of their instants.  For a delta commit that a later compaction did not read,
    it must be before the instant after that compaction.

    From layout 2 to 1, the modification time of an instant's file is set to its completion time, if the storage
    supports that.

    *confirm* is called before each change.

    Raises:
        CorruptTableError: a file is damaged, or the archived timeline of one version lies in that of the other.

    Source: SevenToEightUpgradeHandler, EightToSevenDowngradeHandler, Hudi 1.2.0.
    """
    if old.layout_version == new.layout_version:
        return
    delete_timeline(storage, new, instead_of=old, confirm=confirm)
    _convert_archive(storage, old, new, confirm)
    instants = _with_files(storage, old)
    done = _completion_times(instants, FormerSlices(storage, old, Timeline.of(instants)))
    for instant in sorted(instants, key=lambda one: (one.is_completed, one.sort_key)):
        confirm()
        _convert_instant(storage, old, new, instant, done.get(instant))


def delete_timeline(
    storage: Storage,
    config: TableConfig,
    *,
    instead_of: TableConfig,
    archive: bool = True,
    confirm: Callable[[], None] = lambda: None,
) -> None:
    """Delete the timeline in the layout of *config*, of a table that uses the layout of *instead_of*.

    The archived timeline is deleted, too, unless *archive* is false.  Nothing is deleted if both have the same layout.

    Raises:
        CorruptTableError: the folder of one archive is inside that of the other.
    """
    if config.layout_version == instead_of.layout_version:
        return
    _refuse_nested(config, instead_of)
    for instant in list_instants(storage, config.timeline_folder, layout=config.layout_version):
        confirm()
        storage.delete(instant_path(config, instant))
    if archive:
        confirm()
        storage.delete_folder(config.history_folder)


def _refuse_nested(one: TableConfig, other: TableConfig) -> None:
    folders = {
        one.history_folder,
        other.history_folder,
        *({one.timeline_folder, other.timeline_folder} - {META_FOLDER}),
    }
    archives = one.history_folder, other.history_folder
    if archives[0] == archives[1] or any(
        folder.startswith(f"{archive}/") for archive in archives for folder in folders
    ):
        raise CorruptTableError(
            f"table {one.name}: expected archived timelines in folders of their own, found {archives[0]} and "
            f"{archives[1]}",
            path=archives[0],
        )


def _convert_archive(storage: Storage, old: TableConfig, new: TableConfig, confirm: Callable[[], None]) -> None:
    seen: set[tuple[str, Action]] = set()
    for group in archive_logs(storage, old) if old.layout_version == 1 else history_files(storage, old):
        instants = sorted(group, key=lambda one: one.instant.sort_key)
        fresh = [one for one in instants if (one.instant.time, one.instant.action) not in seen]
        seen |= {(one.instant.time, one.instant.action) for one in fresh}
        if not fresh:
            continue
        confirm()
        if new.layout_version == 1:
            add_archive_log(storage, new, fresh)
        else:
            add_history(storage, new, [_set_completion_time(one) for one in fresh])


def _set_completion_time(archived: ArchivedInstant) -> ArchivedInstant:
    """Return *archived* with a completion time after its instant, as layout 2 requires."""
    instant = archived.instant
    if instant.completion_time is not None and instant.completion_time > instant.time:
        return archived
    return replace(archived, instant=replace(instant, completion_time=_plus(instant.time)))


def _with_files(storage: Storage, config: TableConfig) -> dict[Instant, int | None]:
    """Return the instants of the active timeline, in each state that has a file, with the file's write time in ms."""
    times = {info.name: info.modified for info in storage.list(config.timeline_folder)}
    found = list_instants(storage, config.timeline_folder, layout=config.layout_version)
    return {instant: times.get(instant.file_name) for instant in found}


def _completion_times(instants: Mapping[Instant, int | None], former: FormerSlices) -> dict[Instant, str]:
    """Return the completion time of each completed instant, in the table's time zone."""
    starts = sorted({instant.time for instant in instants})
    following = dict(pairwise(starts))
    done = {}
    for instant, written in instants.items():
        if instant.is_completed:
            known = instant.completion_time or _instant_of(written, former.config.timeline_zone)
            begun = instant.time if instant.completion_time else former.completed_after(instant)
            bound = None if instant.completion_time else following.get(begun)
            done[instant] = _between(begun, known, bound)
    return done


def _between(start: str, known: str | None, bound: str | None) -> str:
    """Return the time closest to *known* that is after *start* and before *bound*."""
    earliest = _plus(start)
    latest = _minus(bound) if bound is not None else None
    chosen = known or earliest
    if latest is not None:
        chosen = min(chosen, latest)
    return max(chosen, earliest)


def _convert_instant(
    storage: Storage, old: TableConfig, new: TableConfig, instant: Instant, completed_at: str | None
) -> None:
    path = instant_path(old, instant)
    data = storage.read(path)
    if data and content_kind(instant) is CommitMetadata:
        content = decode_content(data, instant, path=f"{storage.root}/{path}")
        assert content is not None  # noqa: S101 - there is data
        data = encode_content(content, new)
    target = replace(instant, action=_action_in(new, instant), completion_time=completed_at)
    if new.layout_version == 1:
        target = replace(target, completion_time=None)
    name = instant_path(new, target)
    storage.create(name, data, overwrite=True)
    if new.layout_version == 1 and completed_at is not None:
        storage.set_modified(name, _milliseconds(completed_at, new.timeline_zone))


def _action_in(new: TableConfig, instant: Instant) -> Action:
    if instant.is_completed or instant.action not in (Action.CLUSTERING, Action.REPLACE_COMMIT):
        return instant.action
    return Action.REPLACE_COMMIT if new.layout_version == 1 else Action.CLUSTERING


def _plus(instant: str) -> str:
    if instant in (METADATA_BOOTSTRAP, FULL_BOOTSTRAP):  # no times
        return f"{instant}001"
    return format_instant(parse_instant(instant) + _MILLISECOND)


def _minus(instant: str) -> str:
    return format_instant(parse_instant(instant) - _MILLISECOND)


def _instant_of(milliseconds: int | None, zone: TimelineZone) -> str | None:
    if milliseconds is None:
        return None
    moment = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return format_instant(moment if zone is TimelineZone.UTC else moment.astimezone())


def _milliseconds(instant: str, zone: TimelineZone) -> int:
    moment = parse_instant(instant)
    aware = moment.replace(tzinfo=timezone.utc) if zone is TimelineZone.UTC else moment.astimezone()
    return round(aware.timestamp() * 1000)
