"""Print the rows of a query, or write them to a file."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from hudiformat.cli.files import STANDARD, Batches, file_format, write_rows
from hudiformat.cli.printing import print_json, print_line
from hudiformat.cli.rows import Row, print_rows, rows_of


def show_rows(schema: pa.Schema, batches: Batches, *, output: str | None, format_: str | None, as_json: bool) -> None:
    """Print *batches*, or write them to the file *output*, in *format_*, and print how many there were.

    Raises:
        UsageError: neither the name of the file nor *format_* says what it has.
    """
    if output is None:
        if not as_json:
            print_rows(_rows(batches))
            return
        for row in _rows(batches):
            print_json(row)
        return
    count = write_rows(output, file_format(output, format_, of="-o"), schema, batches)
    if output == STANDARD:
        return
    if as_json:
        print_json({"file": output, "rows": count})
    else:
        print_line(f"{count} rows in {output}")


def _rows(batches: Batches) -> Iterator[Row]:
    for batch in batches:
        yield from rows_of(batch)
