"""Repair lost or half-written table properties: restore their backup, as Hudi does, or infer them from the table.

Some properties cannot be inferred from files, above all the ordering columns.  The caller has to give these; the reason
of the refused step names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial

from hudiformat.check.repair.inferring import (
    ORDERING,
    PARTITIONS,
    RECORD_KEYS,
    of_files,
    of_metadata_table,
    whole_lines,
)
from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFindingKind
from hudiformat.check.verify.timeline_check import findings_of_properties
from hudiformat.errors import CorruptTableError, HudiFormatError, NotATableError, StorageError
from hudiformat.storage.protocol import Storage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.config_files import (
    BACKUP_FILE,
    PROPERTIES_FILE,
    config_from_properties,
    format_table_config,
    has_table,
    load_table_config,
    parse_table_config,
)
from hudiformat.timeline.table_config import (
    CHECKSUM_KEY,
    MergeMode,
    TableConfig,
    TableType,
    TimelineZone,
    table_checksum,
)

_NAME, _VERSION, _TYPE = "hoodie.table.name", "hoodie.table.version", "hoodie.table.type"
_OLD_ORDERING = "hoodie.table.precombine.field"
_GENERATOR, _GENERATOR_CLASS = "hoodie.table.keygenerator.type", "hoodie.table.keygenerator.class"
_MODE, _PAYLOAD = "hoodie.record.merge.mode", "hoodie.compaction.payload.class"
_NEEDED = (_NAME, _VERSION, _TYPE, RECORD_KEYS, PARTITIONS, ORDERING)
"""The properties that must be known, because a wrong value would cause wrong results without an error."""


_MADE_AGAIN = "is made again from what the table shows"
_LOST = "every property that files do not show, and that has another value than Hudi's default"


@dataclass(frozen=True, slots=True)
class MendedProperties:
    """The jobs that repair the properties, and the properties after that; None if they are not known."""

    jobs: tuple[Job, ...]
    config: TableConfig | None


def mend_properties(storage: Storage, given: Mapping[str, str], timeout: WriterTimeout) -> MendedProperties:
    """Return the jobs for the properties of the table in *storage*; *given* are properties that the caller knows.

    Raises:
        NotATableError: there is no table.
        UnsupportedFeatureError: the properties are sound, but the table version is not supported.
    """
    findings = list(findings_of_properties(storage))
    if not findings:
        return MendedProperties((), load_table_config(storage))
    if not has_table(storage):
        raise NotATableError(f"{storage.root} is not a Hudi table: it has no folder .hoodie", path=storage.root)
    why = "; ".join(finding.message for finding in findings)
    backup = _read_if_intact(storage, BACKUP_FILE)
    if findings[0].kind is TableFindingKind.LEFTOVER:
        return _restore_backup(storage, why, timeout)
    if backup is not None:
        step = RepairStep(RepairKind.PROPERTIES, PROPERTIES_FILE, "is restored from its backup", why)
        job = _guard(step, partial(_restore, storage, why), timeout, BACKUP_FILE)
        return MendedProperties((job,), backup)
    return _rebuild(storage, given, why, timeout)


def _restore_backup(storage: Storage, why: str, timeout: WriterTimeout) -> MendedProperties:
    step = RepairStep(RepairKind.PROPERTIES, BACKUP_FILE, "is taken away: the properties are whole", why)
    job = _guard(step, lambda taken: taken.move_file(BACKUP_FILE, why), timeout, BACKUP_FILE)
    return MendedProperties((job,), load_table_config(storage))


def _guard(step: RepairStep, run: Callable[[RepairFolder], object], timeout: WriterTimeout, path: str) -> Job:
    """Return a job that is refused if the writer of *path* may be alive."""
    reason = timeout.of_file(path)
    return Job(step, run) if reason is None else Job.refused(step, reason)


def _read_if_intact(storage: Storage, path: str) -> TableConfig | None:
    try:
        return parse_table_config(storage.read(path), path=f"{storage.root}/{path}")
    except CorruptTableError:
        return None
    except StorageError:
        if storage.exists(path):
            raise
        return None


def _restore(storage: Storage, why: str, taken: RepairFolder) -> None:
    """Restore the properties from their backup.

    Source: HoodieTableConfig.recover, Hudi 1.2.0.
    """
    taken.copy_file(PROPERTIES_FILE, why)
    storage.create(PROPERTIES_FILE, storage.read(BACKUP_FILE), overwrite=True)
    taken.move_file(BACKUP_FILE, "the properties were restored from it")


def _rebuild(storage: Storage, given: Mapping[str, str], why: str, timeout: WriterTimeout) -> MendedProperties:
    inferred = of_files(storage)
    known = {**inferred, **of_metadata_table(storage), **whole_lines(storage, PROPERTIES_FILE)}
    known = {**known, **whole_lines(storage, BACKUP_FILE), **given}
    if _OLD_ORDERING in known:
        known.setdefault(ORDERING, known[_OLD_ORDERING])
    # If partition paths are not the values of columns, a key generator made them, which only the properties name.
    by_generator = () if PARTITIONS in inferred or _GENERATOR_CLASS in known else (_GENERATOR,)
    needed = (*_NEEDED, *_of_merging(known), *by_generator)
    missing = [key for key in needed if key not in known]
    step = RepairStep(RepairKind.PROPERTIES, PROPERTIES_FILE, _MADE_AGAIN, why, _LOST)
    if missing:
        return MendedProperties((Job.refused(step, _ask_for(missing)),), None)
    try:
        config = _config(storage, known)
    except (HudiFormatError, ValueError) as error:
        return MendedProperties((Job.refused(step, f"they would be invalid: {error}"),), None)
    found = ", ".join(f"{key}={config.properties.get(key, '')}" for key in needed)
    step = replace(step, what=f"{_MADE_AGAIN}: {found}")
    job = _guard(step, partial(_write, storage, config, why), timeout, PROPERTIES_FILE)
    return MendedProperties((job,), config)


def _of_merging(known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the property that decides whether ordering columns are used in merging; none without ordering columns."""
    if not known.get(ORDERING):
        return ()
    return (_PAYLOAD,) if known.get(_VERSION) == "6" else (_MODE,)


def _ask_for(missing: list[str]) -> str:
    names = ", ".join(missing)
    example = missing[0]
    return (
        f"the table does not show {names}: give each by properties={{{example!r}: ...}} (on the command line "
        f"--set {example}=...); an empty value says that there are none"
    )


def _config(storage: Storage, known: Mapping[str, str]) -> TableConfig:
    """Return the properties of a new table, with those that are *known*."""
    ordering, mode = known[ORDERING], known.get(_MODE)
    made = new_table_config(
        name=known[_NAME],
        record_key_fields=_names(known[RECORD_KEYS]),
        partition_fields=[name.partition(":")[0] for name in _names(known[PARTITIONS])],
        ordering_fields=_names(ordering),
        table_type=TableType(known[_TYPE].strip().upper()),
        merge_mode=MergeMode(mode.strip().upper()) if mode else None,
        timeline_zone=TimelineZone(known.get("hoodie.table.timeline.timezone", "LOCAL").strip().upper()),
        database=known.get("hoodie.database.name", ""),
        version=int(known[_VERSION]),
    )
    properties = {ORDERING: "", **made.properties, **known}
    properties[CHECKSUM_KEY] = str(table_checksum(known[_NAME], known.get("hoodie.database.name", "")))
    for key in (ORDERING, _GENERATOR):  # where an empty value says that there is none
        if not properties[key]:
            del properties[key]
    return config_from_properties(properties, path=f"{storage.root}/{PROPERTIES_FILE}")


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _write(storage: Storage, config: TableConfig, why: str, taken: RepairFolder) -> None:
    taken.copy_file(PROPERTIES_FILE, why)
    storage.create(PROPERTIES_FILE, format_table_config(config, saved_at=datetime.now(timezone.utc)), overwrite=True)
    taken.move_file(BACKUP_FILE, "it was damaged too")
