"""Tell a catalog of a table: create or change its tables there, then their partitions, then note the commit.

The commit is noted last, so that a sync that was interrupted is done again by the next one.  A sync that finds nothing
to change makes one request for each of the catalog's tables.

Source: HiveSyncTool.syncHoodieTable, HoodieSyncClient.getPartitionEvents, Hudi 1.2.0; spec/catalogs.md.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass, field, replace

from hudiformat.catalogs.commits import TouchedPartitions, last_times, partitions_since, partitions_with_files
from hudiformat.catalogs.describing import (
    TableFacts,
    View,
    describe,
    same_columns,
    views_of,
    with_changes,
    with_commit,
)
from hudiformat.catalogs.objects import CatalogPartition, CatalogTable
from hudiformat.catalogs.partition_values import PartitionValues, extractor_of
from hudiformat.catalogs.protocol import Catalog, Values, batches
from hudiformat.errors import CatalogError, warn
from hudiformat.table.options.sync import DATABASE, TABLE, SyncOptions
from hudiformat.table.state import TableState


@dataclass(frozen=True, slots=True)
class SyncedTable:
    """What was changed of one table of a catalog; partitions are named by their paths.

    ``name`` is ``database.table``.  ``altered`` means other columns or properties.

    Source: spec/catalogs.md.
    """

    name: str
    created: bool = False
    altered: bool = False
    added: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.created, self.altered, self.added, self.moved, self.dropped, self.touched))


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a catalog was told: ``commit`` is the requested time of the newest commit; None if there is no commit yet.

    It is false if nothing but the commit was new.

    Source: spec/catalogs.md.
    """

    catalog: str
    commit: str | None
    tables: tuple[SyncedTable, ...]

    def __bool__(self) -> bool:
        return any(self.tables)


def sync_table(state: TableState, catalog: Catalog, options: SyncOptions, *, writer: str) -> SyncReport:
    """Tell *catalog* of a table as it is in *state*; *writer* names who does.

    Raises:
        CatalogError: the catalog does not answer, or refuses; or it has a table of that name that is not Hudi's.
        SchemaError: a column has a type that catalogs do not have.
    """
    facts = TableFacts.of(state.config, state.schema, options, root=state.storage.root, owner=_user())
    _ensure_database(catalog, facts.database, options)
    values = PartitionValues(
        facts.partition_fields,
        extractor_of(state.config, options.extractor, facts.partition_fields),
        state.config.hive_style_partitioning,
    )
    sync = _Sync(state, catalog, options, facts, values, writer)
    synced = tuple(sync.view(view) for view in views_of(state.config, options))
    return SyncReport(catalog.uri, sync.commit, synced)


def _user() -> str:
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


def _ensure_database(catalog: Catalog, name: str, options: SyncOptions) -> None:
    if catalog.has_database(name):
        return
    if not options.create_database:
        raise CatalogError(
            f"{catalog.uri}: expected the database {name}, found none; create it, or name another with {DATABASE}",
            catalog=catalog.uri,
        )
    catalog.create_database(name)


@dataclass
class _Sync:
    """One sync of a table; *known* are the catalog's tables as they were before it."""

    state: TableState
    catalog: Catalog
    options: SyncOptions
    facts: TableFacts
    values: PartitionValues
    writer: str
    known: dict[str, CatalogTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.commit, self.completion = last_times(self.state)
        self._every: TouchedPartitions | None = None
        self._root = ""

    def view(self, view: View) -> SyncedTable:
        wanted = self.catalog.adapt(describe(view, self.facts, self.options))
        self._root = wanted.storage.location
        existing = self.catalog.table(wanted.database, wanted.name)
        if existing is None:
            return self._create(wanted)
        self._refuse_foreign(existing)
        if _place(existing.storage.location) != _place(wanted.storage.location):
            warn(
                f"{existing} in the catalog {self.catalog.uri} was the table at {existing.path}, and is now that at "
                f"{self.facts.base_path}; if that is wrong, name another table with {TABLE}"
            )
            return self._recreate(existing, wanted)
        before = self.known.setdefault(view.name, existing)
        if self.options.incremental and self._is_up_to_date(before):
            return SyncedTable(str(wanted))
        try:
            return self._update(before, existing, wanted)
        except CatalogError:
            if not self.options.recreate:
                raise
            return self._recreate(existing, wanted)

    def _refuse_foreign(self, existing: CatalogTable) -> None:
        if not existing.is_hudi:
            raise CatalogError(
                f"{self.catalog.uri}: expected a table of Hudi's, or none, as {existing}, found one with the input "
                f"format {existing.storage.input_format!r}; name another table with {TABLE}",
                catalog=self.catalog.uri,
            )

    def _is_up_to_date(self, table: CatalogTable) -> bool:
        """Return whether the catalog has been told of the newest commit.  Source: HiveSyncTool.isAlreadySynced."""
        if table.last_commit is None or table.last_commit != self.commit:
            return False
        return table.last_completion is None or table.last_completion == self.completion

    def _create(self, wanted: CatalogTable) -> SyncedTable:
        created = self.catalog.create_table(wanted)
        changed = self._sync_partitions(created, None, there={})
        self._note_commit(created)
        return replace(changed, created=True)

    def _recreate(self, existing: CatalogTable, wanted: CatalogTable) -> SyncedTable:
        self.catalog.drop_table(existing)
        return self._create(wanted)

    def _update(self, before: CatalogTable, existing: CatalogTable, wanted: CatalogTable) -> SyncedTable:
        self._refuse_other_keys(existing, wanted)
        table = with_changes(existing, wanted, comments=self.options.comments)
        altered = table != existing
        if altered:
            cascade = bool(wanted.partition_keys) and not same_columns(existing, table)
            table = self.catalog.alter_table(table, cascade=cascade)
        touched = None
        if self.options.incremental and before.last_commit is not None:
            touched = partitions_since(self.state, before.last_commit, before.last_completion)
        changed = self._sync_partitions(table, touched)
        if altered or changed or not self.options.conditional:
            self._note_commit(table)
        return replace(changed, altered=altered)

    def _refuse_other_keys(self, existing: CatalogTable, wanted: CatalogTable) -> None:
        old, new = ([one.name for one in table.partition_keys] for table in (existing, wanted))
        if old != new:
            raise CatalogError(
                f"{self.catalog.uri}: expected {existing} with the partition columns {', '.join(new) or 'none'}, found "
                f"{', '.join(old) or 'none'}, which cannot be changed; set "
                "hoodie.datasource.hive_sync.recreate_table_on_error=true to create it anew",
                catalog=self.catalog.uri,
            )

    def _note_commit(self, table: CatalogTable) -> None:
        told = with_commit(
            table,
            base_path=self.facts.base_path,
            location=self._root,
            commit=self.commit,
            completion=self.completion,
            writer=self.writer,
        )
        if told != table:
            told = self.catalog.alter_table(told, cascade=False)
        self.catalog.complete(told)

    def _all(self) -> TouchedPartitions:
        if self._every is None:
            self._every = partitions_with_files(self.state)
        return self._every

    def _sync_partitions(
        self, table: CatalogTable, touched: TouchedPartitions | None, *, there: dict[Values, str] | None = None
    ) -> SyncedTable:
        """Add, move, touch and drop the partitions *touched*, or all; *there* are those of the catalog, if known."""
        name = str(table)
        whole = touched is None
        touched = touched or self._all()
        if not table.partition_keys or not self.options.partitions:
            return SyncedTable(name)
        live = self.values.by_values(sorted(touched.live))
        gone = {self.values.of(path): path for path in sorted(touched.gone)}
        if there is None:
            there = self._there(table, [*live, *(values for values in gone if values not in live)], whole=whole)
        if whole:
            gone |= {values: _below(place, self.facts.base_path) for values, place in there.items()}
        added = {values: path for values, path in live.items() if values not in there}
        moved = {
            values: path
            for values, path in live.items()
            if values in there and _place(there[values]) != _place(self._location(path))
        }
        dropped = {values: path for values, path in gone.items() if values in there and values not in live}
        known = {values: path for values, path in live.items() if values in there and values not in moved}
        again = known if self.options.touch and not whole else {}
        self._send(table, added, moved, again, dropped)
        names = (tuple(found.values()) for found in (added, moved, dropped, again))
        return SyncedTable(name, False, False, *names)

    def _there(self, table: CatalogTable, values: list[Values], *, whole: bool) -> dict[Values, str]:
        if whole:
            found = self.catalog.partitions(table)
        else:
            found = [
                one
                for batch in batches(values, self.options.names_at_once)
                for one in self.catalog.partitions_of(table, batch)
            ]
        return {one.values: one.location for one in found}

    def _send(
        self,
        table: CatalogTable,
        added: dict[Values, str],
        moved: dict[Values, str],
        again: dict[Values, str],
        dropped: dict[Values, str],
    ) -> None:
        size = self.options.batch
        for batch in batches(list(added.items()), size):
            self.catalog.add_partitions(table, [self._partition(*one) for one in batch])
        for batch in batches([*moved.items(), *again.items()], size):
            self.catalog.alter_partitions(table, [self._partition(*one) for one in batch])
        for names in batches(list(dropped), size):
            self.catalog.drop_partitions(table, names)

    def _partition(self, values: Values, path: str) -> CatalogPartition:
        return CatalogPartition(values, self._location(path))

    def _location(self, path: str) -> str:
        return f"{self._root}/{path}"


def _place(location: str) -> str:
    """Return a location without its scheme: ``s3a://b/t`` is where ``s3://b/t`` is."""
    scheme, separator, rest = location.partition(":/")
    return (rest if separator and "/" not in scheme else location).strip("/")


def _below(location: str, base_path: str) -> str:
    """Return the partition path of a location, or the location if it is elsewhere."""
    place, base = _place(location), _place(base_path)
    return place.removeprefix(f"{base}/")
