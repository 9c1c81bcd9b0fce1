"""A table as a lazy frame of Polars, which pushes columns, predicates and limits on rows down into a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa

from hudiformat.api.packages import import_package
from hudiformat.conditions.polars_predicates import implied_by_predicate
from hudiformat.errors import SchemaError
from hudiformat.read.dataset import ScannableTable
from hudiformat.read.time_travel import Moment

if TYPE_CHECKING:
    import polars as pl


def lazy_frame(table: ScannableTable, *, as_of: Moment | None = None) -> pl.LazyFrame:
    """Return a lazy frame of the rows of *table*: the newest ones at the time of each query, or those as of a moment.

    Raises:
        UnsupportedFeatureError: Polars is not installed, or is older than 1.28.

    Source: polars.io.plugins.register_io_source.
    """
    polars, plugins = (import_package(name, extra="polars") for name in ("polars", "polars.io.plugins"))
    schema = table.scan(as_of=as_of).schema
    found: pl.LazyFrame = plugins.register_io_source(
        _source(table, as_of, schema), schema=polars.DataFrame(schema.empty_table()).schema
    )
    return found


def _source(table: ScannableTable, as_of: Moment | None, schema: pa.Schema) -> Callable[..., Iterator[pl.DataFrame]]:
    """Return the function that Polars calls for each query."""

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG001 - a hint
    ) -> Iterator[pl.DataFrame]:
        import polars as pl  # noqa: PLC0415 - only for those who have it

        names = list(schema.names) if with_columns is None else with_columns
        read = names if predicate is None else list(dict.fromkeys([*names, *predicate.meta.root_names()]))
        # A limit is one on the rows before the predicate: head(n) and then filter(p).
        pushed = None if predicate is None or n_rows is not None else implied_by_predicate(predicate, schema)
        scan = table.scan(as_of=as_of, columns=read, filter=pushed)
        _refuse_other_columns(scan.schema, schema)
        left = n_rows
        with closing(scan.batches()) as batches:
            for batch in batches:
                if left is not None and left <= 0:
                    return
                frame = pl.DataFrame(batch if left is None else batch.slice(0, left))
                left = None if left is None else left - frame.height
                yield (frame if predicate is None else frame.filter(predicate)).select(names)

    return source


def _refuse_other_columns(found: pa.Schema, expected: pa.Schema) -> None:
    """Refuse columns that have got another type since the frame was made, which Polars would take for the old one.

    Raises:
        SchemaError: a column has another type.
    """
    for field in found:
        if field.type != (kind := expected.field(field.name).type):
            raise SchemaError(
                f"column {field.name}: expected {kind}, as when the lazy frame was made, found {field.type}; "
                "make the lazy frame again",
                column=field.name,
            )
