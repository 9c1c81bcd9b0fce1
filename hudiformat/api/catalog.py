"""A catalog to list tables of, and to open them by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from hudiformat.api.table import Table, open_table
from hudiformat.arguments import check_arguments
from hudiformat.catalogs.opening import find_table, open_catalog, parse_catalog_address, split_name
from hudiformat.catalogs.protocol import Catalog
from hudiformat.errors import OptionError


@check_arguments
def catalog(uri: str) -> TableCatalog:
    """Open the catalog at *uri*: ``hive://<host>:9083``, a Hive Metastore, or ``glue://``, AWS Glue.

    ``thrift`` is the same as ``hive``.  Account, region and credentials of AWS are those of boto3's environment.

    Nothing is asked before one of its methods is called.

    Raises:
        OptionError: *uri* has another form.
        UnsupportedFeatureError: what speaks to the catalog is not installed.

    Source: spec/catalogs.md.
    """
    address = parse_catalog_address(uri)
    if address.name:
        raise OptionError(f"uri: expected a catalog, found {uri!r}, a table in one; use open_table", option="uri")
    return TableCatalog(open_catalog(address))


@check_arguments
class TableCatalog:
    """A catalog; :func:`catalog` returns one.  The names of its methods are those of pyiceberg.

    It is for one thread, and may be used in a ``with`` statement, which closes the connection.

    Raises:
        CatalogError: from any call: the catalog does not answer, or refuses.

    Source: spec/catalogs.md.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @property
    def uri(self) -> str:
        """The address of the catalog."""
        return self._catalog.uri

    def list_namespaces(self) -> list[tuple[str]]:
        """Return the databases, each as a tuple of its name.

        Source: spec/catalogs.md.
        """
        return [(name,) for name in self._catalog.databases()]

    def list_tables(self, namespace: str | tuple[str, ...]) -> list[tuple[str, str]]:
        """Return database and name of each of Hudi's tables in a database; other tables are left out.

        Source: spec/catalogs.md.
        """
        database = namespace if isinstance(namespace, str) else ".".join(namespace)
        return [(one.database, one.name) for one in self._catalog.tables(database) if one.is_hudi]

    def table_exists(self, identifier: str | tuple[str, ...]) -> bool:
        """Return whether there is a table of Hudi's with the name *identifier*, as for :meth:`load_table`.

        Source: spec/catalogs.md.
        """
        found = self._catalog.table(*split_name(identifier))
        return found is not None and found.is_hudi

    def load_table(
        self,
        identifier: str | tuple[str, ...],
        *,
        options: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> Table:
        """Open the table with the name *identifier*: ``database.table``, or a tuple of both.

        *options* and *storage_options* are as for ``open_table``.

        Raises:
            NotATableError: there is no such table, or it is not Hudi's.
            OptionError: *identifier* has another form.

        Source: spec/catalogs.md.
        """
        return open_table(find_table(self._catalog, identifier).path, options=options, storage_options=storage_options)

    def close(self) -> None:
        """Close the connection; the next call opens another one.

        Source: spec/catalogs.md.
        """
        self._catalog.close()

    def __enter__(self) -> TableCatalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
