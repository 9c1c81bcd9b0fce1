"""Ways to break tables of Hudi's, one for each kind of step of a repair, with what is expected of the repair."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hudiformat import RepairKind, Table, open_table
from hudiformat.naming.file_names import BaseFileName, LogFileName, parse_data_file
from hudiformat.timeline.timeline import instant_path
from tests.tables import unpack

TABLES = "v9-mor-avro-h120", "v6-mor-avro-h0150"


def age(root: Path) -> None:
    """Make all files old: their writers are dead."""
    for path in root.rglob("*"):
        os.utime(path, (0, 0))


def base_files(table: Path) -> dict[str, list[tuple[BaseFileName, Path]]]:
    """The base files of each file group, the oldest first."""
    found: dict[str, list[tuple[BaseFileName, Path]]] = {}
    for path in sorted(table.rglob("*.parquet")):
        name = parse_data_file(path.name)
        if isinstance(name, BaseFileName) and ".hoodie" not in path.relative_to(table).parts:
            found.setdefault(name.file_id, []).append((name, path))
    return {file_id: sorted(files, key=lambda one: one[0].instant) for file_id, files in found.items()}


def log_files(table: Path) -> list[Path]:
    """The log files of the table's data."""
    logs = (path for path in table.rglob(".*.log.*") if isinstance(parse_data_file(path.name), LogFileName))
    return sorted(path for path in logs if ".hoodie" not in path.relative_to(table).parts)


def cut(path: Path, *, by: int | None = None) -> None:
    """Leave the first half of a file, or all but so many bytes."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 if by is None else len(data) - by])


def properties(table: Path) -> Path:
    return table / ".hoodie/hoodie.properties"


def half_properties(table: Path) -> None:
    """A writer of Hudi's has died while it changed the properties."""
    shutil.copy(properties(table), properties(table).with_suffix(".properties.backup"))
    cut(properties(table))


def lost_properties(table: Path) -> None:
    properties(table).unlink()


def empty_commit(table: Path) -> None:
    """The newest commit was created, and nothing of it reached the disk."""
    newest(table).write_bytes(b"")


def cut_commit(table: Path) -> None:
    cut(newest(table))


def newest(table: Path) -> Path:
    opened = open_table(table)
    return table / instant_path(opened.config, opened.timeline.completed_writes[-1])


def cut_overwrite(table: Path) -> None:
    """The newest commit that has removed file groups cannot be read."""
    opened = open_table(table)
    replaced = [one for one in opened.timeline.completed_writes if one.action.value == "replacecommit"]
    cut(table / instant_path(opened.config, replaced[-1]))


def empty_plan(table: Path) -> None:
    opened = open_table(table)
    (pending,) = opened.timeline.pending
    (table / instant_path(opened.config, pending)).write_bytes(b"")


def cut_plan(table: Path) -> None:
    opened = open_table(table)
    (pending,) = opened.timeline.pending
    cut(table / instant_path(opened.config, pending))


def unmarked_partition(table: Path) -> None:
    min(table.rglob(".hoodie_partition_metadata")).unlink()


def damaged_partition(table: Path) -> None:
    max(table.rglob(".hoodie_partition_metadata")).write_bytes(b"#partition met")


def orphan(table: Path) -> None:
    """A task of a write that was rolled back has gone on."""
    _, path = next(iter(base_files(table).values()))[-1]
    name = BaseFileName.parse(path.name)
    newer = BaseFileName(name.file_id, name.write_token, f"{int(name.instant) + 7}", name.extension)
    shutil.copy(path, path.with_name(str(newer)))


def leftovers(table: Path) -> None:
    """Markers of the newest commit, which its writer had no time to delete."""
    done = newest(table).name[:17]
    marker = table / f".hoodie/.temp/{done}/x.parquet.marker.CREATE"
    marker.parent.mkdir(parents=True)
    marker.touch()


def cut_metadata_table(table: Path) -> None:
    cut(newest_of_listing(table), by=20)


def unlisted(table: Path) -> None:
    """What the newest commit has added to the metadata table is lost."""
    newest_of_listing(table).unlink()


def newest_of_listing(table: Path) -> Path:
    logs = (table / ".hoodie/metadata/files").glob(".files-*.log.*")
    return max(logs, key=lambda path: (LogFileName.parse(path.name).instant, LogFileName.parse(path.name).version))


def cut_log(table: Path) -> None:
    cut(max(log_files(table), key=lambda path: path.stat().st_size), by=100)


def cut_archive(table: Path) -> None:
    opened = open_table(table)
    folder = table / opened.config.history_folder
    cut(max(path for path in folder.iterdir() if ".parquet" in path.name or ".archive." in path.name))


def cut_manifest(table: Path) -> None:
    opened = open_table(table)
    folder = table / opened.config.history_folder
    cut(folder / f"manifest_{(folder / '_version_').read_text()}")


def damaged_base(table: Path) -> None:
    """The newest base file of a file group that has an older one cannot be read."""
    chosen = next(files for files in base_files(table).values() if len(files) > 1)
    cut(chosen[-1][1])


def missing_base(table: Path) -> None:
    chosen = next(files for files in base_files(table).values() if len(files) > 1)
    chosen[-1][1].unlink()


def only_base_damaged(table: Path) -> None:
    """The only base file of a file group cannot be read."""
    cut(next(files for files in base_files(table).values() if len(files) == 1)[-1][1])


def missing_log(table: Path) -> None:
    log_files(table)[-1].unlink()


@dataclass(frozen=True)
class Break:
    """A table of Hudi's, how it is broken, and the step that is expected; ``same`` says that no row is lost."""

    golden: str
    by: Callable[[Path], None]
    kind: RepairKind
    same: bool = True
    given: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.by.__name__}-{self.golden}"

    def make(self, root: Path) -> Path:
        """The broken table, whose writers are dead."""
        table = unpack(self.golden, root).table
        self.by(table)
        age(table)
        return table


def as_it_is(_table: Path) -> None:
    """The golden table is broken by itself."""


V9, V6 = TABLES
UNKNOWN = {
    "hoodie.table.version": "9",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
}
UNKNOWN_6 = {
    "hoodie.table.version": "6",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.compaction.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}
BREAKS = [
    Break(V9, half_properties, RepairKind.PROPERTIES),
    Break(V6, half_properties, RepairKind.PROPERTIES),
    Break(V9, lost_properties, RepairKind.PROPERTIES, given=UNKNOWN),
    Break(V6, lost_properties, RepairKind.PROPERTIES, given=UNKNOWN_6),
    Break("v9-mor-inflight-h120", as_it_is, RepairKind.PENDING),
    Break("v9-mor-compaction-pending-h120", as_it_is, RepairKind.PENDING),
    Break("v9-mor-compaction-pending-h120", empty_plan, RepairKind.PLAN),
    Break("v9-mor-compaction-pending-h120", cut_plan, RepairKind.PLAN),
    Break("v6-mor-compaction-pending-h120", cut_plan, RepairKind.PLAN),
    Break(V9, empty_commit, RepairKind.COMMIT),
    Break(V9, cut_commit, RepairKind.COMMIT),
    Break(V6, cut_commit, RepairKind.COMMIT),
    Break("v9-cow-small-files-h120", empty_commit, RepairKind.COMMIT),
    Break("v9-cow-replaced-h120", cut_overwrite, RepairKind.COMMIT),
    Break("v9-mor-clustered-h120", cut_overwrite, RepairKind.COMMIT),
    Break("v9-mor-metadata-table-h120", empty_commit, RepairKind.COMMIT),
    Break(V9, unmarked_partition, RepairKind.PARTITION),
    Break(V6, damaged_partition, RepairKind.PARTITION),
    Break("v9-mor-multilevel-hive-h120", unmarked_partition, RepairKind.PARTITION),
    Break(V9, orphan, RepairKind.ORPHAN),
    Break(V9, leftovers, RepairKind.LEFTOVER),
    Break("v9-mor-metadata-table-h120", cut_metadata_table, RepairKind.METADATA),
    Break("v9-mor-metadata-table-h120", unlisted, RepairKind.METADATA),
    Break("v6-cow-metadata-table-h0150", cut_metadata_table, RepairKind.METADATA),
    Break(V9, cut_log, RepairKind.LOG, same=False),
    Break("v9-mor-damaged-h120-garbage-between", as_it_is, RepairKind.LOG, same=False),
    Break("v6-mor-damaged-h0150-flip-size", as_it_is, RepairKind.LOG),
    Break("v9-mor-metadata-table-h120", cut_log, RepairKind.LOG, same=False),
    Break("v9-mor-archived-h120", cut_archive, RepairKind.ARCHIVE),
    Break("v9-mor-archived-h120", cut_manifest, RepairKind.ARCHIVE),
    Break("v6-mor-archived-h0150", cut_archive, RepairKind.ARCHIVE),
    Break("v9-mor-compacted-h120", damaged_base, RepairKind.FILES),
    Break("v6-mor-compacted-h0150", damaged_base, RepairKind.FILES),
    Break("v9-mor-compacted-h120", missing_base, RepairKind.FILES),
    Break("v6-mor-compacted-h0150", missing_base, RepairKind.FILES),
    Break("v9-cow-small-files-h120", damaged_base, RepairKind.FILES, same=False),
    Break("v9-cow-small-files-h120", missing_base, RepairKind.FILES, same=False),
    Break(V9, only_base_damaged, RepairKind.FILES, same=False),
    Break(V9, missing_log, RepairKind.FILES, same=False),
    Break(V6, missing_log, RepairKind.FILES, same=False),
]
"""Every kind but KEYS, which only a writer can bring about."""


def own_rows(table: Table) -> list[str]:
    """The rows without meta fields, sorted: a repair may write a row to another file."""
    found = table.snapshot()
    names = [name for name in found.column_names if not name.startswith("_hoodie_")]
    return sorted(map(repr, found.select(names).to_pylist()))
