"""The time to open a large table and plan its file slices: ``python -m benchmarks.listing``.

Each partition has 20 files: four file groups of a base file and four log files.  The table is listed folder by folder
and by its metadata table; at a tenth of the size and at the whole, which shows whether time grows with the files.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from hudiformat.metadata_table.records import FileEntry, encode_file_entries
from hudiformat.metadata_table.updates import encode_base_file
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.commit_metadata import CommitMetadata, encode_commit_metadata
from hudiformat.timeline.config_files import METADATA_FOLDER, load_table_config, update_table_config

PARTITIONS = 10_000
GROUPS, LOGS = 4, 4
FILES = GROUPS * (1 + LOGS)
REAL, REAL_ROWS = "real", 1_000
"""The partition of :func:`build_named` whose files are there."""
INSTANTS = [f"202601010000{number:02d}000" for number in range(1 + LOGS)]
SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string())])
RECORD = """{"type": "record", "name": "HoodieMetadataRecord", "namespace": "org.apache.hudi.avro.model", "fields": [
    {"name": "key", "type": "string"},
    {"name": "type", "type": "int"},
    {"name": "filesystemMetadata", "type": ["null", {"type": "map", "values":
        {"type": "record", "name": "HoodieMetadataFileInfo", "fields": [
            {"name": "size", "type": "long"}, {"name": "isDeleted", "type": "boolean"}]}}]}]}"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The best of some rounds, in seconds of the process's time and of the clock's."""

    way: str
    files: int
    cpu: float
    wall: float


def build(root: Path, partitions: int) -> None:
    """A table of empty files in *root*, with a metadata table that names them."""
    _create(root)
    listed: dict[str, dict[str, FileEntry]] = {}
    for number in range(partitions):
        folder = root / f"{number:05d}"
        folder.mkdir()
        (folder / ".hoodie_partition_metadata").write_text("commitTime=1\npartitionDepth=1\n", encoding="utf-8")
        names = _names(number, GROUPS)
        for name in names:
            (folder / name).touch()
        listed[folder.name] = {name: FileEntry(1, is_deleted=False) for name in names}
    _add_metadata_table(root, listed)


def build_named(root: Path, partitions: int, files: int) -> None:
    """A table whose metadata table names so many *files* in each partition; only those of one of them are there."""
    _create(root)
    rows = pa.table({"k": [str(number) for number in range(REAL_ROWS)], "p": [REAL] * REAL_ROWS}, schema=SCHEMA)
    hf.open_table(root, options={"hoodie.metadata.enable": "false"}).insert(rows)
    real = {path.name: FileEntry(path.stat().st_size, is_deleted=False) for path in (root / REAL).glob("*.parquet")}
    _add_metadata_table(root, _listed(partitions, files) | {REAL: real})


def rewrite_named(partitions: int, files: int) -> int:
    """How many bytes a base file of the metadata table has that names so many *files* in each partition."""
    return len(_base_file(_listed(partitions, files)))


def _listed(partitions: int, files: int) -> dict[str, dict[str, FileEntry]]:
    def names(partition: int) -> dict[str, FileEntry]:
        return {name: FileEntry(1, is_deleted=False) for name in _names(partition, files // (1 + LOGS))}

    return {f"{number:05d}": names(number) for number in range(partitions)}


def _create(root: Path) -> None:
    hf.create_table(root, name="large", schema=SCHEMA, record_key=["k"], partition_by=["p"])
    timeline = root / ".hoodie" / "timeline"
    for instant in INSTANTS:
        for name in (f"{instant}.deltacommit.requested", f"{instant}.deltacommit.inflight"):
            (timeline / name).touch()
        (timeline / f"{instant}_{instant[:-3]}500.deltacommit").write_bytes(encode_commit_metadata(CommitMetadata()))


def _names(partition: int, groups: int) -> list[str]:
    names = []
    for group in range(groups):
        file_id = f"{uuid.uuid5(uuid.NAMESPACE_OID, f'{partition} {group}')}-0"  # as little alike as those of writes
        names.append(f"{file_id}_0-1-2_{INSTANTS[0]}.parquet")
        names += [f".{file_id}_{instant}.log.1_0-1-{number}" for number, instant in enumerate(INSTANTS[1:])]
    return names


def _add_metadata_table(root: Path, listed: dict[str, dict[str, FileEntry]]) -> None:
    """As Hudi sets one up: a base file of its partition ``files``, by the instant that it gives it."""
    first = "0" * 17
    own = LocalStorage(root / METADATA_FOLDER)
    properties = (root / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8")
    kept = [line for line in properties.splitlines() if "partition.fields" not in line]
    own.create(".hoodie/hoodie.properties", "\n".join(kept).encode())
    metadata = CommitMetadata(extra_metadata={"schema": RECORD})
    own.create(f".hoodie/timeline/{first}_20260101000001000.deltacommit", encode_commit_metadata(metadata))
    own.create(f"files/files-0000-0_0-0-0_{first}.hfile", _base_file(listed))
    storage = LocalStorage(root)
    changes = {"hoodie.table.metadata.partitions": "files"}
    update_table_config(storage, changes, saved_at=datetime.now(timezone.utc))
    if load_table_config(storage).metadata_partitions != ("files",):
        raise AssertionError("the table does not know of its metadata table")


def _base_file(listed: dict[str, dict[str, FileEntry]]) -> bytes:
    records = {"__all_partitions__": dict.fromkeys(listed, FileEntry(0, is_deleted=False)), **listed}
    keys = sorted(records)
    values = [encode_file_entries(records[key], 1 if key == "__all_partitions__" else 2, RECORD) for key in keys]
    return encode_base_file(pa.array(keys), pa.array(values, pa.binary()), schema=RECORD)


def measure(root: Path, files: int, *, rounds: int) -> list[Measured]:
    """Open the table in *root* and plan it, *rounds* times each way."""
    found = []
    for way, by_metadata in (("folder by folder", "false"), ("metadata table", "true")):
        times = [_once(root, by_metadata, files) for _ in range(rounds)]
        found.append(Measured(way, files, min(cpu for cpu, _ in times), min(wall for _, wall in times)))
    return found


def _once(root: Path, by_metadata: str, files: int) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    slices = hf.open_table(root, options={"hoodie.metadata.enable": by_metadata}).file_slices()
    taken = time.process_time() - cpu, time.perf_counter() - wall
    if sum((item.base_file is not None) + len(item.log_files) for item in slices) != files:
        raise AssertionError("the slices are not those of all files")
    return taken


def show(found: Sequence[Measured], console: Console) -> None:
    """Print a row for each way and size."""
    table = Table(title="open and plan")
    for heading in ("way", "partitions", "files", "s of CPU", "s", "us of CPU a file"):
        table.add_column(heading, justify="left" if heading == "way" else "right", no_wrap=True)
    for one in sorted(found, key=lambda item: (item.way, item.files)):
        sizes = f"{one.files // FILES:,}", f"{one.files:,}"
        table.add_row(one.way, *sizes, f"{one.cpu:.2f}", f"{one.wall:.2f}", f"{one.cpu / one.files * 1e6:.1f}")
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the tables, measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help="of the larger table (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts (%(default)s)")
    asked = parser.parse_args(arguments)
    found: list[Measured] = []
    for partitions in (max(asked.partitions // 10, 1), asked.partitions):
        folder = Path(tempfile.mkdtemp(prefix="hudiformat-listing-"))
        try:
            build(folder / "table", partitions)
            found += measure(folder / "table", partitions * FILES, rounds=asked.rounds)
        finally:
            shutil.rmtree(folder)
    show(found, Console())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
