"""Tables that have a metadata table, for the tests of several rooms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat import Table, open_table
from hudiformat.codec.log.build import delete_block
from hudiformat.codec.log.writer import LogWriter
from hudiformat.metadata_table.definitions import IndexDefinition, encode_definitions, load_definitions
from hudiformat.naming.file_names import LogFileName
from hudiformat.storage.folder import FolderStorage
from hudiformat.storage.local import LocalStorage
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.config_files import load_table_config, update_table_config
from hudiformat.timeline.table_config import parse_properties
from hudiformat.timeline.timeline import load_timeline
from hudiformat.write.metadata.setting_up import set_up_metadata_table
from tests.metadata_table.tables import add_metadata_table
from tests.tables import Clock, new_table

PARTITIONS = "hoodie.table.metadata.partitions"
NAME = "v9-mor-metadata-table-h120"


def properties(path: Path) -> dict[str, str]:
    return dict(parse_properties((path / ".hoodie" / "hoodie.properties").read_bytes()))


def some_keys(table: Table, count: int) -> pa.Table:
    names = [*table.config.record_key_fields, *table.config.partition_fields]
    return table.snapshot(columns=names).slice(0, count)


def without_metadata_table(path: Path) -> Table:
    return open_table(path, options={"hoodie.metadata.enable": "false"})


def with_metadata_table(table: Table, options: dict[str, str] | None = None) -> Table:
    add_metadata_table(Path(table.path))
    return with_options(table, options or {})


def with_options(table: Table, options: dict[str, str]) -> Table:
    return open_table(table.path, options={"hudiformat.sync": "false", **options}, clock=table._context.clock)


def told(table: Table) -> list[str]:
    """The instants of the metadata table's own timeline."""
    own = FolderStorage(table._context.storage, ".hoodie/metadata")
    return [one.time for one in load_timeline(own, load_table_config(own)).completed]


def base_files(table: Table) -> list[str]:
    return [path.name for path in (Path(table.path) / ".hoodie/metadata/files").glob("*.hfile")]


def indexed_table(path: Path, *, options: Mapping[str, str] | None = None, **more: Any) -> Table:
    """A new table with a metadata table, as Hudi makes one by default; with the real clock, by which it is set up."""
    few = {"hoodie.metadata.global.record.level.index.min.filegroup.count": "2"}
    chosen = {"hoodie.metadata.enable": "true", **few, **(options or {})}
    new_table(path, options=chosen, **more)
    return open_table(path, options={"hudiformat.sync": "false", **chosen})


def set_properties(path: Path, changes: Mapping[str, str]) -> None:
    update_table_config(LocalStorage(path), changes, saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))


def set_up(place: Storage, clock: Clock, options: Mapping[str, str]) -> None:
    """Give the new table at *place* a metadata table as *options* say, at the time of *clock*."""
    table = open_table(place, options=options)
    state = table._context.state()
    changes = set_up_metadata_table(state.storage, state.config, state.options, state.schema, clock)
    update_table_config(place, changes, saved_at=datetime(2024, 2, 29, tzinfo=timezone.utc))


def add_secondary_index(path: Path, column: str, *, groups: int = 3) -> str:
    """Give the table at *path*, which has a record index and no rows yet, a secondary index of *column*: its name."""
    name = f"secondary_index_{column.replace('.', '_')}"
    add_index(path, IndexDefinition(name, "secondary_index", "identity", (column,)), groups=groups)
    return name


def with_partitioned_index(path: Path) -> None:
    """Make the record index of the table at *path*, which has no rows yet, a partitioned one: without file groups."""
    file = path / ".hoodie/.index_defs/index.json"
    file.write_text(file.read_text().replace('"isPartitioned": "false"', '"isPartitioned": "true"'))
    for log in (path / ".hoodie/metadata/record_index").glob(".record-index*"):
        log.unlink()


def add_expression_index(path: Path, column: str, function: str) -> str:
    """Give the table at *path*, which has no rows yet, an index of what *function* gives for *column*: its name."""
    name = f"expr_index_{function}_{column}"
    add_index(path, IndexDefinition(name, "column_stats", function, (column,), {"expr": function}), groups=2)
    return name


def add_index(path: Path, definition: IndexDefinition, *, groups: int) -> None:
    """Give the table at *path*, which has no rows yet, an index without entries."""
    storage = LocalStorage(path)
    config = load_table_config(storage)
    version = "V2" if config.version >= 9 else "V1"
    definitions = {**load_definitions(storage, config), definition.name: replace(definition, version=version)}
    storage.create(".hoodie/.index_defs/index.json", encode_definitions(definitions), overwrite=True)
    own = FolderStorage(storage, ".hoodie/metadata")
    for number in range(groups):
        prefix = definition.name.replace("_", "-")
        log = LogFileName(f"{prefix}-{number:04d}-0", "00000000000000000", 1, "0-0-0")
        with LogWriter(definition.name, log, storage=own) as writer:
            writer.append(delete_block(pa.array([], pa.string()), instant=log.instant))
    set_properties(
        path,
        {
            PARTITIONS: ",".join([*config.metadata_partitions, definition.name]),
            "hoodie.table.index.defs.path": ".hoodie/.index_defs/index.json",
        },
    )
