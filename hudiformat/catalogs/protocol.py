"""What hudiformat asks of a catalog.  Each method makes as few requests as the catalog allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from hudiformat.catalogs.objects import CatalogPartition, CatalogTable

Values = tuple[str, ...]
"""A partition's values, one for each partition key."""


_T = TypeVar("_T")


def batches(items: Sequence[_T], size: int) -> Iterator[list[_T]]:
    """Yield *items* in lists of at most *size*."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


class Catalog(Protocol):
    """A catalog of databases and tables.

    Every method raises a CatalogError if the catalog does not answer, or refuses.
    """

    @property
    def uri(self) -> str:
        """The address of the catalog."""
        ...

    def adapt(self, table: CatalogTable) -> CatalogTable:
        """Return *table* as this catalog wants it; no request is made."""
        ...

    def databases(self) -> list[str]:
        """Return the names of the databases, sorted."""
        ...

    def tables(self, database: str) -> list[CatalogTable]:
        """Return the tables of a database, by name."""
        ...

    def has_database(self, name: str) -> bool:
        """Return whether there is a database of that name."""
        ...

    def create_database(self, name: str) -> None:
        """Create a database, unless another process has just done so."""
        ...

    def table(self, database: str, name: str) -> CatalogTable | None:
        """Return a table; None if there is none."""
        ...

    def create_table(self, table: CatalogTable) -> CatalogTable:
        """Create a table, unless another process has just done so, and return it as the catalog has it."""
        ...

    def alter_table(self, table: CatalogTable, *, cascade: bool) -> CatalogTable:
        """Change a table; with *cascade* the columns of its partitions too.  Return it as the catalog has it."""
        ...

    def drop_table(self, table: CatalogTable) -> None:
        """Take a table out of the catalog; its files stay."""
        ...

    def partitions(self, table: CatalogTable) -> list[CatalogPartition]:
        """Return all partitions of a table."""
        ...

    def partitions_of(self, table: CatalogTable, values: Sequence[Values]) -> list[CatalogPartition]:
        """Return those of the partitions with *values* that there are."""
        ...

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        """Add partitions; those that are there already stay as they are."""
        ...

    def alter_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        """Set the locations of partitions that are there, and the times at which they were changed."""
        ...

    def drop_partitions(self, table: CatalogTable, values: Sequence[Values]) -> None:
        """Take partitions out of the catalog, if they are there; their files stay."""
        ...

    def complete(self, table: CatalogTable) -> None:
        """Do what the catalog has besides, once it has been told of *table* and its partitions."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
