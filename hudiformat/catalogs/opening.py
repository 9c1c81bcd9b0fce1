"""Open the catalog at an address, and tell the address of a table in one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hudiformat.catalogs.glue import GlueCatalog
from hudiformat.catalogs.hive import HiveCatalog
from hudiformat.catalogs.hive_site import metastores_of
from hudiformat.catalogs.objects import CatalogTable
from hudiformat.catalogs.protocol import Catalog
from hudiformat.errors import NotATableError, OptionError
from hudiformat.table.options.sync import DATABASE, METASTORE_URIS, TABLE, TOOLS, SyncOptions, SyncTool

_ADDRESS = re.compile(r"(hive|thrift)://([^/]+)(?:/(.*))?")
_EXPECTED = "hive://<host>:<port> or glue://"


@dataclass(frozen=True, slots=True)
class CatalogAddress:
    """The address of a catalog, and the name ``database.table`` of a table in it, or an empty text."""

    catalog: str
    name: str = ""

    @property
    def tool(self) -> SyncTool:
        """The kind of the catalog."""
        return SyncTool.GLUE if self.catalog == GlueCatalog.uri else SyncTool.HIVE

    def options_of(self, table: CatalogTable) -> dict[str, str]:
        """Return the options by which the catalog is told of *table*, which was found in it."""
        is_one_of_three = table.name.endswith(("_ro", "_rt"))
        named = {DATABASE: table.database, **({} if is_one_of_three else {TABLE: table.name})}
        if self.tool is SyncTool.GLUE:
            return {TOOLS: self.tool.value, **named}
        return {METASTORE_URIS: self.catalog.removeprefix("hive://"), **named}


def is_catalog(text: object) -> bool:
    """Return whether *text* is the address of a catalog, or of a table in one."""
    return isinstance(text, str) and (text.startswith(GlueCatalog.uri) or _ADDRESS.fullmatch(text) is not None)


def parse_catalog_address(text: str) -> CatalogAddress:
    """Parse ``hive://host:9083``, ``hive://host:9083/database.table``, ``glue://`` or ``glue://database.table``.

    ``thrift`` is the same as ``hive``.

    Raises:
        OptionError: the text has another form.
    """
    if text.startswith(GlueCatalog.uri):
        return CatalogAddress(GlueCatalog.uri, text.removeprefix(GlueCatalog.uri))
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise OptionError(f"catalog: expected {_EXPECTED}, found {text!r}", option="catalog")
    _, place, name = match.groups()
    return CatalogAddress(f"hive://{place}", name or "")


def open_catalog(address: CatalogAddress, options: SyncOptions | None = None) -> Catalog:
    """Return the catalog at *address*, which is asked for nothing yet."""
    if address.tool is SyncTool.GLUE:
        return GlueCatalog(SyncOptions().glue if options is None else options.glue)
    return HiveCatalog(address.catalog.removeprefix("hive://").split(","))


def catalog_of(tool: SyncTool, options: SyncOptions) -> Catalog:
    """Return the catalog that *options* name for *tool*, which is asked for nothing yet.

    Raises:
        UnsupportedFeatureError: the options ask for another way of telling it, or the metastore for Kerberos or TLS.
        OptionError: an address, or Hive's own configuration, has another form.
    """
    options.check((tool,))
    if tool is SyncTool.GLUE:
        return GlueCatalog(options.glue)
    return HiveCatalog(metastores_of(options))


def split_name(name: str | tuple[str, ...]) -> tuple[str, str]:
    """Split ``database.table``, or a tuple of both, into its two parts; without a database it is ``default``.

    Raises:
        OptionError: there are more parts, or none.
    """
    parts = tuple(name.split(".")) if isinstance(name, str) else tuple(name)
    if len(parts) == 1:
        parts = ("default", *parts)
    if len(parts) != 2 or not all(parts) or any("/" in part for part in parts):  # noqa: PLR2004 - a database and a table
        raise OptionError(f"name: expected database.table, found {name!r}", option="name")
    return parts[0], parts[1]


def find_table(catalog: Catalog, name: str | tuple[str, ...]) -> CatalogTable:
    """Return a table of *catalog*, which is one of Hudi's.

    Raises:
        NotATableError: there is no such table, or it is not Hudi's.
        CatalogError: the catalog does not answer.
    """
    database, table = split_name(name)
    found = catalog.table(database, table)
    if found is None:
        raise NotATableError(f"{catalog.uri}: there is no table {database}.{table}", path=f"{database}.{table}")
    if not found.is_hudi:
        raise NotATableError(
            f"{catalog.uri}: expected a table of Hudi's as {found}, found one with the input format "
            f"{found.storage.input_format!r}",
            path=found.path,
        )
    return found
