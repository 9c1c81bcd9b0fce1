"""A change-data log: what a merge did to each row of a base file, written next to the new base file.

Source: HoodieCDCLogger, HoodieCDCUtils, Hudi 1.2.0; spec/log-block.md.
"""

from __future__ import annotations

import json

import pyarrow as pa

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.build import data_block
from hudiformat.naming.file_names import LogFileName, base_name
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.table.options.values import CdcMode
from hudiformat.write.commit.files import GroupTarget

INSERT, UPDATE, DELETE = "i", "u", "d"

_KEYS_SCHEMA = (
    '{"type":"record","name":"Record","fields":[{"name":"op","type":["string","null"]},'
    '{"name":"record_key","type":["string","null"]}]}'
)


class ChangeLog:
    """Writes changes into blocks of about ``block_max_size`` bytes; memory is bounded by one block."""

    def __init__(self, target: GroupTarget) -> None:
        plan = target.plan
        self._plan = plan
        self._target = target
        self._schema = change_log_schema(plan.schema.avro, CdcMode(plan.config.cdc_supplemental_logging_mode))
        self._arrow = avro_to_arrow(self._schema)
        name = LogFileName(target.file_id, plan.instant, 1, str(target.token), suffix=".cdc")
        self._writer = target.log_writer(name)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._sizes: dict[str, int] = {}

    def add(self, operation: str, before: pa.Table | None, after: pa.Table | None) -> None:
        """Add changes of one kind: rows with meta fields *before* and *after*; None where no such row exists."""
        there = after if before is None else before
        assert there is not None  # noqa: S101 - a change has a row before it or after it
        if not there.num_rows:
            return
        texts = {"op": operation, "ts_ms": self._plan.instant}
        images = {"before": before, "after": after}
        columns = []
        for field in self._arrow:
            if field.name in texts:
                columns.append(pa.repeat(pa.scalar(texts[field.name], pa.string()), there.num_rows))
            elif field.name == "record_key":
                columns.append(there[RECORD_KEY].combine_chunks())
            else:
                columns.append(_image(images[field.name], field.type, there.num_rows))
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._arrow))
        self._waiting_bytes += self._waiting[-1].nbytes
        if self._waiting_bytes >= self._plan.options.block_max_size:
            self._flush()

    def close(self) -> dict[str, int]:
        """Write what is left, and return the sizes of the files by their paths.

        Without any change, a block without records is written.
        """
        if self._waiting or not self._sizes:
            self._flush()
        self._writer.close()
        return self._sizes

    def abandon(self) -> None:
        """Close the log file without writing what is left."""
        self._writer.abandon()

    def _flush(self) -> None:
        rows = pa.Table.from_batches(self._waiting, self._arrow)
        self._waiting, self._waiting_bytes = [], 0
        block = data_block(rows, instant=self._plan.instant, schema=self._schema, format="cdc")
        result = self._writer.append(block)
        name = base_name(result.path)
        self._sizes[self._target.path(name)] = result.offset + result.size


def change_log_schema(table_schema: str, mode: CdcMode) -> str:
    """Return the Avro schema of the changes of a table with *table_schema*, both as JSON.

    Source: HoodieCDCUtils.schemaBySupplementalLoggingMode.
    """
    if mode is CdcMode.KEYS_ONLY:
        return _KEYS_SCHEMA
    record = json.loads(table_schema)
    names = ("op", "ts_ms", "before", "after") if mode is CdcMode.BEFORE_AFTER else ("op", "record_key", "before")
    kinds = {"before": record, "after": record["name"]}
    fields = [{"name": name, "type": ["null", kinds.get(name, "string")], "doc": "", "default": None} for name in names]
    head = {"type": "record", "name": "CDC", "namespace": record.get("namespace"), "doc": "", "fields": fields}
    return json.dumps({key: value for key, value in head.items() if value is not None}, separators=(",", ":"))


def _image(rows: pa.Table | None, kind: pa.DataType, count: int) -> pa.Array:
    if rows is None:
        return pa.nulls(count, kind)
    fields = [kind.field(number) for number in range(kind.num_fields)]
    return pa.StructArray.from_arrays([rows[field.name].combine_chunks() for field in fields], fields=fields)
