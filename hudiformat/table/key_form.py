"""Tell the form of a table's record keys from its rows, where releases of Hudi disagree: ``1`` or ``a:1``.

Below version 9 the COMPLEX key generator with one field makes ``1`` in Hudi 0.14.1 to 1.0.2, and ``a:1`` in releases
before and after.

Source: HUDI-7001, KeyGenUtils.encodeSingleKeyFieldNameForComplexKeyGen, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from hudiformat.codec.conversion import convert_to_schema
from hudiformat.codec.log.reader import LogReader
from hudiformat.errors import HudiFormatError, OptionError
from hudiformat.file_group.base_file.read import scan_base_file
from hudiformat.naming.file_names import BaseFileName, base_name, parse_data_file
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.schema.table_schema import RowKeys
from hudiformat.storage.protocol import Storage
from hudiformat.table.options.keys import NEW_KEY_ENCODING
from hudiformat.table.state import TableState
from hudiformat.timeline.timeline import Instant

_MOST_COMMITS = 10


def refuse_other_keys(state: TableState) -> None:
    """Raise an OptionError if the option says another form of record keys than rows of the table have.

    One row of a file of the newest commit is looked at, and one of the oldest commit.
    """
    plain = state.config.plain_keys
    if not state.config.has_ambiguous_keys or plain is None:
        return
    for path, key, is_plain in _forms(state):
        if is_plain is not plain:
            raise OptionError(
                f"{state.storage.root}: expected {NEW_KEY_ENCODING}={str(is_plain).lower()}, because {path} has the "
                f"record key {key!r}, found {str(plain).lower()}",
                option=NEW_KEY_ENCODING,
            )


def _forms(state: TableState) -> list[tuple[str, str, bool]]:
    """Return data files with the record key of a row of each, and whether it is the plain value."""
    writes = state.timeline.completed_writes
    found = (_form(state, writes[: -_MOST_COMMITS - 1 : -1]), _form(state, writes[:_MOST_COMMITS]))
    return [one for one in found if one is not None]


def _form(state: TableState, writes: Sequence[Instant]) -> tuple[str, str, bool] | None:
    keys = replace(RowKeys.of(state.config), complex_form=False)
    own = (state.schema.arrow.field(name) for name in keys.key_columns)
    columns = pa.schema([pa.field(RECORD_KEY, pa.string()), *own])
    for metadata in state.commits(writes):
        for path in (stat.path for stat in metadata.write_stats if stat.path):
            try:
                row = next(_rows(state.storage, path, columns), None)
            except HudiFormatError:  # the file was cleaned; if it is damaged, its readers say so
                continue
            if row is not None and row.num_rows:
                key = row.column(0)[0].as_py()
                return path, key, key == keys.record_keys(row)[0].as_py()
    return None


def _rows(storage: Storage, path: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows of a data file, with *columns*: single rows of a base file, or all of a block with whole records."""
    if isinstance(parse_data_file(base_name(path)), BaseFileName):
        yield from scan_base_file(storage, path, columns, batch_rows=1)
        return
    with LogReader(path, storage=storage) as reader:
        for block in reader:
            if block.type.name.endswith("_DATA") and not block.is_partial:
                yield convert_to_schema(block.to_arrow(), columns, relabel=True)
