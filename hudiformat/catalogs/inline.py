"""Tell catalogs of a table after each commit, as far as the options ask for it.

A commit is there whatever becomes of this: an error is a warning that says how to tell the catalog again.

Source: HoodieSparkSqlWriter.metaSync, HiveSyncTool, Hudi 1.2.0.
"""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

from hudiformat.catalogs.glue import GlueCatalog
from hudiformat.catalogs.opening import catalog_of
from hudiformat.catalogs.protocol import Catalog
from hudiformat.catalogs.sync import SyncReport, sync_table
from hudiformat.errors import warn
from hudiformat.services import inline as services
from hudiformat.table.options.sync import SyncOptions, SyncTool
from hudiformat.table.state import TableContext
from hudiformat.write.commit.transaction import Commit, Committed

WRITER = "hudiformat"
_log = logging.getLogger("hudiformat")
_T = TypeVar("_T")


def after_write(written: Committed) -> Commit:
    """Run the services that are due after a write, tell catalogs, and return the commit of the write."""
    commit = services.after_write(written)
    tell_catalogs(written[1].context, f"the write {commit.instant} is committed")
    return commit


def after_service(context: TableContext, done: _T) -> _T:
    """Tell catalogs of what a service has *done*, and return that; it is false if it has done nothing."""
    if done:
        tell_catalogs(context, "the service has run")
    return done


def tell_catalogs(context: TableContext, done: str) -> None:
    """Tell the catalogs that the options name; an error is a warning that begins with what is *done*."""
    options = context.options.catalogs
    for tool in options.after_commits:
        try:
            tell(context, catalog_of(tool, options), options.of_tool(tool))
        except Exception as error:  # noqa: BLE001, PERF203 - any error would make callers repeat the write
            root = context.storage.root
            if options.ignore_exceptions:
                _log.warning("%s: %s; a catalog was not told: %s", root, done, error)
            else:
                again = _command(root, tool, options.of_tool(tool))
                warn(f"{root}: {done}, but a catalog was not told: {error}; tell it with: {again}")


def tell(context: TableContext, catalog: Catalog, options: SyncOptions) -> SyncReport:
    """Tell *catalog* of the table as it is now, and close it.

    Raises:
        CatalogError, SchemaError: as for ``sync_table``.
    """
    with closing(catalog):
        return sync_table(context.state(), catalog, options, writer=WRITER)


def _command(root: str, tool: SyncTool, options: SyncOptions) -> str:
    """Return the command that tells the catalog of *tool* again."""
    address = GlueCatalog.uri if tool is SyncTool.GLUE else ",".join(options.uris)
    named = [("--metastore", address), ("--database", options.database), ("--table", options.table)]
    rest = "".join(f" {option} {value}" for option, value in named if value)
    return f"hudiformat sync {root}{rest}"


def asked_again(options: SyncOptions, *, database: str, table: str, full: bool) -> SyncOptions:
    """Return *options* with other names; with *full* all partitions are compared."""
    return replace(
        options,
        database=database or options.database,
        table=table or options.table,
        incremental=options.incremental and not full,
    )
