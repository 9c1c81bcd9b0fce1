"""Create a table from Hudi's keys alone, as the options of the first write give them.

Source: HoodieSparkSqlWriter.writeInternal, HoodieWriterUtils, Hudi 1.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from hudiformat.api.create import create_table
from hudiformat.api.table import Table
from hudiformat.errors import OptionError
from hudiformat.storage.opening import Location, open_storage
from hudiformat.table.state import Clock

_NAME = ("hoodie.table.name", "hoodie.datasource.write.table.name")
_RECORD_KEY = ("hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields")
_PARTITION_BY = ("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields")
_ORDERING = (
    "hoodie.table.ordering.fields",
    "hoodie.datasource.write.precombine.field",
    "hoodie.table.precombine.field",
    "hoodie.payload.ordering.field",
)
_TABLE_TYPE = ("hoodie.datasource.write.table.type", "hoodie.table.type")
_VERSION = ("hoodie.write.table.version",)


def create_from_keys(
    path: Location,
    *,
    schema: pa.Schema,
    options: Mapping[str, str],
    partition_by: Sequence[str] | None = None,
    clock: Clock | None = None,
) -> Table:
    """Create an empty table at *path* from Hudi's keys in *options*, with Hudi's defaults for missing keys.

    Without ``hoodie.datasource.write.recordkey.field`` every row gets a generated key.  Without ``hoodie.table.name``
    the table is named after its folder.  The default table type is COPY_ON_WRITE.  *partition_by* overrides
    ``hoodie.datasource.write.partitionpath.field``.

    Raises:
        OptionError: a value is not valid, or two keys contradict each other.
        HudiFormatError: as for :func:`hudiformat.create_table`.
    """
    return create_table(
        path,
        name=_text(options, _NAME) or _name_of(path),
        schema=schema,
        record_key=_fields(options, _RECORD_KEY),
        ordering=_fields(options, _ORDERING),
        partition_by=_fields(options, _PARTITION_BY) if partition_by is None else partition_by,
        table_type=(_text(options, _TABLE_TYPE) or "COPY_ON_WRITE").upper(),
        version=_version(options),
        options=options,
        clock=clock,
    )


def _name_of(path: Location) -> str:
    """Return the name of the table's folder, with ``_`` for each character that a table name cannot have."""
    name = re.sub(r"\W", "_", open_storage(path).root.rstrip("/").rpartition("/")[2], flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


def _text(options: Mapping[str, str], keys: Sequence[str]) -> str:
    """Return the first value among *keys* that is not blank, stripped; empty if there is none."""
    return next((str(options[key]).strip() for key in keys if str(options.get(key, "")).strip()), "")


def _fields(options: Mapping[str, str], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in _text(options, keys).split(",") if name.strip())


def _version(options: Mapping[str, str]) -> int:
    text = _text(options, _VERSION) or "9"
    if not text.isdecimal():
        raise OptionError(f"{_VERSION[0]}: expected a number, found {text!r}", option=_VERSION[0])
    return int(text)
