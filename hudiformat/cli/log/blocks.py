"""``hudiformat blocks``: the blocks of a log file; of their contents only the number of records is read."""

from __future__ import annotations

from itertools import count
from typing import Any

import click

from hudiformat.cli.printing import Column, Table, print_json, print_line, printable
from hudiformat.cli.source import file_argument, json_option, open_log
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.frame import BlockHeader, BlockType
from hudiformat.errors import DecodeError, UnsupportedFeatureError

_COLUMNS = (
    Column("block", 5, right=True),
    Column("offset", 12, right=True),
    Column("size", 11, right=True, is_bytes=True),
    Column("type", 12),
    Column("instant", 17),
    Column("records", 9, right=True),
    Column("note"),
)
_SMALL_DELETES = 1 << 20  # bytes: deletes are counted only by decoding all of them
_EPILOG = """\b
Examples:
  hudiformat blocks .0a1b-0_20260101000000000.log.1_0-0-0
  hudiformat blocks --headers --reverse FILE | head
  hudiformat blocks --json FILE | jq 'select(.type == "CORRUPT")'
"""


@click.command(epilog=_EPILOG)
@file_argument
@click.option("--reverse", is_flag=True, help="From the last block to the first, numbered -1, -2 and on.")
@click.option("--headers", is_flag=True, help="Print every entry of the blocks' headers and footers.")
@json_option
def blocks(file: str, *, reverse: bool, headers: bool, as_json: bool) -> int:
    """List the blocks of a log FILE: offset and size in bytes, type, instant, records.

    A span that cannot be read is a block of type CORRUPT, with the reason.  Records are what the block declares, or
    "?" where that cannot be told without much work: in delete blocks beyond 1 MiB.
    """
    reader = open_log(file)
    numbers, ordered = (count(-1, -1), reversed(reader)) if reverse else (count(), iter(reader))
    table = None if as_json else Table(*_COLUMNS)
    damaged = False
    for number, block in zip(numbers, ordered, strict=False):
        records, problem = _records(block)
        damaged |= problem is not None
        if table is None:
            entries = {"header": _entry_names(block.header), "footer": _entry_names(block.footer)} if headers else {}
            print_json({**_as_json(number, block, records, problem), **entries})
        else:
            _print_row(table, number, block, records, problem)
            if headers:
                _print_entries(block)
    return int(damaged)


def _records(block: LogBlock) -> tuple[int | None, str | None]:
    """Return how many records *block* declares, None for unknown, and the reason if it is damaged."""
    if block.type is BlockType.CORRUPT:
        return None, block.reason
    if block.type is BlockType.DELETE and len(block.content) > _SMALL_DELETES:
        return None, None
    try:
        return block.num_records(), None
    except DecodeError as error:
        return None, str(error)
    except UnsupportedFeatureError:
        return None, None


def _as_json(number: int, block: LogBlock, records: int | None, problem: str | None) -> dict[str, Any]:
    return {
        "block": number,
        "offset": block.offset,
        "size": block.size,
        "type": block.type.name,
        "version": block.version,
        "instant": block.instant,
        "target_instant": block.target_instant,
        "records": records,
        "reason": problem,
    }


def _print_row(table: Table, number: int, block: LogBlock, records: int | None, problem: str | None) -> None:
    shown: int | str | None = "?" if records is None else records
    if block.type in (BlockType.COMMAND, BlockType.CORRUPT):
        shown = None
    note = problem or (f"rolls back {block.target_instant}" if block.type is BlockType.COMMAND else "")
    colour = "red" if problem else None
    table.row(number, block.offset, block.size, block.type.name, block.instant, shown, note, colour=colour)


def _print_entries(block: LogBlock) -> None:
    for title, entries in (("header", block.header), ("footer", block.footer)):
        for name, value in _entry_names(entries).items():
            print_line(f"       {title} {name} = {printable(value)}")


def _entry_names(entries: BlockHeader) -> dict[str, str]:
    return {key.name: value for key, value in entries.items()}
