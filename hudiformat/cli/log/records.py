"""``hudiformat records``: the records and deletes in the blocks of a log file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice

import click
import pyarrow as pa

from hudiformat.cli.printing import print_json, print_line, printable, warn
from hudiformat.cli.rows import Row, print_rows, rows_of
from hudiformat.cli.source import file_argument, json_option, open_log, split
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockType
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import DecodeError, HudiFormatError, SchemaError, suggest_names

_FINDINGS, _UNREADABLE = 1, 2
_WITHOUT_ROWS = (BlockType.COMMAND, BlockType.CORRUPT)


_EPILOG = """\b
Examples:
  hudiformat records --limit 10 FILE
  hudiformat records --block 3 --columns _hoodie_record_key,fare FILE
  hudiformat records --json FILE | jq 'select(.delete) | .delete.record_key'
"""


@click.command(epilog=_EPILOG)
@file_argument
@click.option("--block", type=int, metavar="N", help="Only the block of this number, as in 'blocks'; -1 is the last.")
@click.option("--columns", callback=split, metavar="A,B", help="Only these columns of records, in this order.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many records and deletes.")
@json_option
def records(file: str, *, block: int | None, columns: list[str] | None, limit: int | None, as_json: bool) -> int:
    """Print the records of a log FILE, block by block, as they were written, and its deletes, marked as such.

    Nothing is merged or rolled back.  A column that a block does not have is null there.  Long values are cut in the
    table, and whole with --json.  A block that cannot be read is passed over, with a line on standard error; the exit
    code is then 1 for a corrupt block, and 2 for a content that cannot be decoded.
    """
    reader = open_log(file)
    if columns is not None:
        _check_columns(reader, columns)
    code, remaining = 0, limit
    for number, log_block in _choose_blocks(reader, block):
        if remaining == 0:
            break
        try:
            batch = _batch(log_block, columns)
        except HudiFormatError as error:
            warn(f"block {number} of {file} is passed over: {error}")
            code = max(code, _FINDINGS if log_block.type is BlockType.CORRUPT else _UNREADABLE)
            continue
        if batch is not None:
            shown = batch if remaining is None else batch.slice(0, min(remaining, batch.num_rows))
            (_print_json if as_json else _print_table)(number, log_block, shown, columns)
            remaining = None if remaining is None else remaining - shown.num_rows
    return code


def _choose_blocks(reader: LogReader, number: int | None) -> Iterator[tuple[int, LogBlock]]:
    """Yield the blocks to print, with their numbers."""
    if number is None:
        yield from enumerate(reader)
        return
    skipped, blocks = (number, iter(reader)) if number >= 0 else (-number - 1, reversed(reader))
    block = next(islice(blocks, min(skipped, sys.maxsize), None), None)
    if block is None:
        total = sum(1 for _ in reader)
        raise click.UsageError(f"there is no block {number}: {reader.path} has {total}, the first is 0")
    yield number, block


def _check_columns(reader: LogReader, columns: list[str]) -> None:
    """Check that each column is in some block; blocks of a file may have different schemas.

    Raises:
        SchemaError: no block has one of the columns.
    """
    missing, known = dict.fromkeys(columns), dict[str, None]()
    for names in _schemas(reader):
        known.update(dict.fromkeys(names))
        missing = {name: None for name in missing if name not in known}
        if not missing:
            return
    if known:
        name = next(iter(missing))
        hint = suggest_names(name, known) or f"; the columns are {', '.join(known)}"
        raise SchemaError(f"no block has a column {name!r}{hint}", column=name)


def _schemas(reader: LogReader) -> Iterator[list[str]]:
    for block in reader:
        if block.type not in (*_WITHOUT_ROWS, BlockType.DELETE):
            try:
                yield avro_to_arrow(block.schema).names
            except (DecodeError, SchemaError):  # reported when the block is printed
                continue


def _batch(block: LogBlock, columns: list[str] | None) -> pa.RecordBatch | None:
    """Return the rows of *block*, or None for a command block.

    Raises:
        HudiFormatError: the block is corrupt, or cannot be decoded.
    """
    if block.type is BlockType.CORRUPT:
        raise DecodeError(block.reason or "it is corrupt")
    if block.type is BlockType.COMMAND:
        return None
    if block.type is BlockType.DELETE:
        return block.deletes()
    if columns is None:
        return block.to_arrow()
    present = set(avro_to_arrow(block.schema).names)
    return block.to_arrow(columns=[name for name in columns if name in present])


def _rows(block: LogBlock, batch: pa.RecordBatch, columns: list[str] | None) -> Iterator[Row]:
    if columns is None or block.type is BlockType.DELETE:
        return rows_of(batch)
    return ({name: row.get(name) for name in columns} for row in rows_of(batch))


def _print_json(number: int, block: LogBlock, batch: pa.RecordBatch, columns: list[str] | None) -> None:
    content = "delete" if block.type is BlockType.DELETE else "record"
    for row in _rows(block, batch, columns):
        print_json({"block": number, "type": block.type.name, "instant": block.instant, content: row})


def _print_table(number: int, block: LogBlock, batch: pa.RecordBatch, columns: list[str] | None) -> None:
    """Print a table for the block, with the width of its first rows."""
    print_line(f"block {number} at byte {block.offset}: {block.type.name}, instant {printable(block.instant or '-')}")
    mark = "DELETE" if block.type is BlockType.DELETE else None
    print_rows(_rows(block, batch, columns), mark=mark, indent="  ")
