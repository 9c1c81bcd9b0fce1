"""The two sides: what each can do to the table, by the same names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from hudiformat import Table, open_table
from tests.conformance.hudi import RealHudi
from tests.turns.kinds import OFTEN

EVERY_GROUP = {
    "hoodie.clustering.plan.strategy.small.file.limit": "999999999",
    "hoodie.clustering.inline.max.commits": "1",
}
COMPACTION = {"hoodie.compact.inline.max.delta.commits": "1"}
LOG_COMPACTION = {
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.enable": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
}


class Opened(Protocol):
    """What both sides know of a table: the options of each, and the settings of Hudi's Spark session."""

    @property
    def ours(self) -> Mapping[str, str]: ...
    @property
    def hudis(self) -> Mapping[str, str]: ...
    @property
    def settings(self) -> Mapping[str, str]: ...
    @property
    def in_catalog(self) -> bool: ...
    @property
    def has_records(self) -> bool: ...
    @property
    def has_all_in_folders(self) -> bool: ...


class Side(Protocol):
    """One of the two; ``often`` has it clean and archive after a few writes."""

    name: str

    def write(self, operation: str, data: pa.Table, *, often: bool) -> None: ...
    def delete_partitions(self, paths: Sequence[str]) -> None: ...
    def compact(self) -> None: ...
    def schedule_compaction(self) -> None: ...
    def log_compact(self, data: pa.Table) -> None: ...
    def cluster(self) -> None: ...
    def clean(self) -> None: ...
    def roll_back(self, instant: str) -> None: ...
    def savepoint(self, instant: str) -> None: ...
    def delete_savepoint(self, instant: str) -> None: ...
    def restore(self, instant: str) -> None: ...


class Ours:
    """hudiformat."""

    name = "ours"

    def __init__(self, path: Path, kind: Opened) -> None:
        self._path, self._kind = path, kind

    def table(self, more: Mapping[str, str] | None = None) -> Table:
        return open_table(self._path, options={**self._kind.ours, **(more or {})})

    def write(self, operation: str, data: pa.Table, *, often: bool) -> None:
        getattr(self.table(OFTEN if often else None), operation)(data)

    def delete_partitions(self, paths: Sequence[str]) -> None:
        self.table().delete_partitions(paths)

    def compact(self) -> None:
        self.table().compact()

    def schedule_compaction(self) -> None:
        self.table().schedule_compaction()

    def log_compact(self, data: pa.Table) -> None:
        self.table().upsert(data)
        self.table({"hoodie.log.compaction.blocks.threshold": "2"}).log_compact()

    def cluster(self) -> None:
        self.table(EVERY_GROUP).cluster()

    def clean(self) -> None:
        self.table({"hoodie.clean.commits.retained": "2"}).clean()

    def roll_back(self, instant: str) -> None:
        self.table().rollback(instant)

    def savepoint(self, instant: str) -> None:
        self.table().savepoint(instant)

    def delete_savepoint(self, instant: str) -> None:
        self.table().delete_savepoint(instant)

    def restore(self, instant: str) -> None:
        self.table().restore(instant)

    def evolve(self, *, add: Mapping[str, pa.DataType], widen: Mapping[str, pa.DataType]) -> None:
        self.table().evolve(add=add, widen=widen)


class Theirs:
    """Real Hudi: its data source and its procedures."""

    name = "Hudi"

    def __init__(self, hudi: RealHudi, path: Path, kind: Opened, table: str) -> None:
        self.hudi, self._path, self._kind, self._table = hudi, path, kind, table
        self._named = {"table": table} if kind.in_catalog else {"path": str(path)}
        # Hudi 1.2.0 knows no completion times of what it archives after a restore or an indexing (spec/timeline.md).
        self.may_archive = not kind.has_records

    def write(self, operation: str, data: pa.Table, *, often: bool, **more: str) -> None:
        options = {
            **self._kind.hudis,
            "hoodie.datasource.write.operation": operation,
            # The row writer of Hudi 1.2.0's bulk insert adds nothing to secondary indexes.
            "hoodie.datasource.write.row.writer.enable": "false",
            **(OFTEN if often else {}),
            **({} if self.may_archive else {"hoodie.archive.automatic": "false"}),
            **more,
        }
        self.hudi.write(data, self._path, options)

    def create_table(self) -> None:
        """Make the table known to Spark's catalog, which some procedures ask, with the settings of the session."""
        self.hudi.eval_(f"for key, value in {dict(self._kind.settings)!r}.items(): spark.conf.set(key, value)")
        if self._kind.in_catalog:
            self.hudi.sql(f"create table {self._table} using hudi location '{self._path}'")

    def create_index(self, name: str, what: str) -> None:
        self._with(self._kind.hudis, f"create index {name} on {self._table} {what}")

    def drop_table(self) -> None:
        """Undo :meth:`create_table`."""
        self.hudi.eval_(f"for key in {list(self._kind.settings)!r}: spark.conf.unset(key)")
        if self._kind.in_catalog:
            self.hudi.sql(f"drop table if exists {self._table}")

    def delete_partitions(self, paths: Sequence[str]) -> None:
        named = {"hoodie.datasource.write.partitions.to.delete": ",".join(paths)}
        schema = open_table(self._path).schema
        self.write("delete_partition", schema.empty_table(), often=False, **named)

    def compact(self) -> None:
        self._compact("scheduleAndExecute")

    def schedule_compaction(self) -> None:
        self._compact("schedule")

    def run_compactions(self) -> None:
        self._compact("execute")

    def _compact(self, what: str) -> None:
        self.call("run_compaction", COMPACTION, op=what, **self._named)

    def log_compact(self, data: pa.Table) -> None:
        self.write("upsert", data, often=False, **LOG_COMPACTION)

    def cluster(self) -> None:
        self.call("run_clustering", EVERY_GROUP, **self._named)

    def clean(self) -> None:
        self.call("run_clean", {}, **self._named, retain_commits=2)

    def roll_back(self, instant: str) -> None:
        self.call("rollback_to_instant", {}, **self._named, instant_time=instant)

    def savepoint(self, instant: str) -> None:
        self.call("create_savepoint", {}, **self._named, commit_time=instant)

    def delete_savepoint(self, instant: str) -> None:
        self.call("delete_savepoint", {}, **self._named, instant_time=instant)

    def restore(self, instant: str) -> None:
        self.call("rollback_to_savepoint", {}, **self._named, instant_time=instant)

    def call(self, procedure: str, options: Mapping[str, str], **arguments: Any) -> list[dict[str, Any]]:
        """The rows of a procedure that writes with the options of the table and *options*."""
        given = ", ".join(f"{name} => {value!r}" for name, value in arguments.items())
        return self._with({**self._kind.hudis, **options}, f"call {procedure}({given})")

    def _with(self, settings: Mapping[str, str], statement: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.hudi.eval_(
            f"for key, value in {dict(settings)!r}.items(): spark.conf.set(key, value)\n"
            "try:\n"
            f"    result = [row.asDict() for row in spark.sql({statement!r}).collect()]\n"
            "finally:\n"
            f"    for key in {list(settings)!r}: spark.conf.unset(key)\n"
        )
        return found

    def validation(self) -> list[dict[str, Any]]:
        """What Hudi's validation of the metadata table reports, which it makes of tables in the catalog alone."""
        if not self._kind.in_catalog:
            return []
        return self._with({}, f"call validate_metadata_table_files(table => {self._table!r})")

    def rows(self, filters: Sequence[str]) -> tuple[list[str], list[list[Any]], list[list[Any]], list[list[Any]]]:
        """Columns and rows of a full scan, and by filter the keys that it leaves: of them, and by Hudi's indexes."""
        by_folders = "false" if self._kind.has_all_in_folders else "true"
        plain = {"hoodie.metadata.enable": by_folders, "hoodie.enable.data.skipping": "false"}
        skipping = {**self._kind.hudis, "hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
        columns, rows, wanted, found = self.hudi.eval_(
            f"scan = spark.read.format('hudi').options(**{plain!r}).load({str(self._path)!r})\n"
            "scan = spark.createDataFrame(scan.collect(), scan.schema)\n"
            f"skip = spark.read.format('hudi').options(**{skipping!r}).load({str(self._path)!r})\n"
            f"filters = {list(filters)!r}\n"
            "marked = scan.selectExpr('k', 'p', *filters).collect()\n"
            "wanted = [sorted([row[0], row[1]] for row in marked if row[2 + at]) for at in range(len(filters))]\n"
            "by_index = [skip.where(one).select('k', 'p').collect() for one in filters]\n"
            "found = [sorted([row[0], row[1]] for row in rows) for rows in by_index]\n"
            "names = [name for name in scan.columns if not name.startswith('_hoodie') or name.endswith('deleted')]\n"
            "result = [names, [list(row) for row in scan.select(names).collect()], wanted, found]\n"
        )
        return columns, rows, wanted, found
