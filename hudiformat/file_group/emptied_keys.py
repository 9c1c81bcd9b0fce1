"""Restore the column ``key`` of HFile log blocks, in whose records Hudi leaves it empty.

Hudi writes its metadata table in such blocks.  There the column ``key`` is the key of the HFile's entry as well, so it
is written once.  In a table whose own columns include ``key`` Hudi empties that too, whatever it holds.  If the record
key is made of the column, the record key still has its value; else no file has it.

Source: HFileUtils.serializeRecord, HoodieAvroHFileReaderImplBase.deserialize, Hudi 1.2.0.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.errors import UnsupportedFeatureError
from hudiformat.naming.keys import EMPTY_PLACEHOLDER, NULL_PLACEHOLDER
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.timeline.table_config import TableConfig

EMPTIED = "key"
"""The name of the column.  Source: HoodieAvroHFileReaderImplBase.KEY_FIELD_NAME."""


def may_lack_key(block: LogBlock) -> bool:
    """Return whether *block* is an HFile block with a column ``key`` of texts; Hudi can empty no others."""
    if block.type is not BlockType.HFILE_DATA:
        return False
    columns = avro_to_arrow(block.schema)
    position = columns.get_field_index(EMPTIED)
    return position >= 0 and bool(pa.types.is_string(columns.field(position).type))


def restore_emptied_keys(block: LogBlock, config: TableConfig) -> LogBlock:
    """Return *block*; if it is an HFile block with an empty ``key``, an Avro block with the values of that column.

    Raises:
        DecodeError: the block is damaged.
        UnsupportedFeatureError: the record keys of the table *config* do not have the values.
    """
    if not may_lack_key(block):
        return block
    records = block.to_arrow()
    is_empty = pc.fill_null(pc.equal(records[EMPTIED].cast(pa.string()), ""), False)
    if not pc.any(is_empty).as_py():
        return block  # a writer that does not empty it, as hudiformat's
    if EMPTIED not in config.record_key_fields or RECORD_KEY not in records.schema.names:
        raise UnsupportedFeatureError(
            f"expected the values of the column {EMPTIED} in an HFile block, found empty texts: Hudi writes these for "
            f"any column of this name, and its values cannot be told from the record keys; read the other columns "
            "alone (columns=...), or rows that were written before the block (as_of=...)",
            feature=f"a column {EMPTIED} in HFile blocks",
        )
    values = _values_in(records[RECORD_KEY].cast(pa.string()), config)
    restored = pc.if_else(is_empty, values, records[EMPTIED])
    records = records.set_column(records.schema.get_field_index(EMPTIED), records.schema.field(EMPTIED), restored)
    content = data_block(records, instant=block.instant or "", schema=block.schema).content
    header = BlockHeader({**block.header, HeaderKey.SCHEMA: block.schema})
    return block._replace(type=BlockType.AVRO_DATA, header=header, content=content)


def _values_in(record_keys: pa.Array, config: TableConfig) -> pa.Array:
    """Return the values of the column in record keys, such as x in ``x``, or in ``key:x,other:1``."""
    fields = config.record_key_fields
    place = fields.index(EMPTIED)
    if len(fields) == 1:
        prefix = f"{EMPTIED}:" if config.uses_complex_keys else ""
        texts = pc.utf8_slice_codeunits(record_keys, len(prefix))
        texts = pc.if_else(pc.starts_with(record_keys, prefix), texts, record_keys)
    else:
        pattern = ",".join(
            f"{re.escape(name)}:{'(?P<value>.*?)' if number == place else '.*?'}" for number, name in enumerate(fields)
        )
        texts = pc.struct_field(pc.extract_regex(record_keys, f"(?s)^{pattern}$"), "value")
    texts = pc.if_else(pc.equal(texts, EMPTY_PLACEHOLDER), "", texts)
    return pc.if_else(pc.equal(texts, NULL_PLACEHOLDER), pa.scalar(None, pa.string()), texts)
