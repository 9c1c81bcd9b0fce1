"""Encode the records that a file group of the metadata table gets as log blocks and base files.  Pure.

Source: HoodieAppendHandle, HoodieAvroHFileWriter, Hudi 1.2.0; spec/metadata-table.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.codec.hfile.writer import DEFAULT_BLOCK_SIZE, encode_hfile
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import delete_block
from hudiformat.codec.log.frame import BlockHeader, BlockType, HeaderKey
from hudiformat.file_group.base_file.bloom import BloomFilter
from hudiformat.metadata_table.changes import KeyedRecords
from hudiformat.metadata_table.kinds.record_index import RECORD_INDEX
from hudiformat.naming.bucket_hash import string_hashes

SMALL_BLOCK = 256 * 1024
"""Bytes of a block of ``record_index`` before compression: looking up a key reads a whole block.

Smaller blocks would make look-ups even faster, but compactions slower, because fewer entries are decoded at once.
"""


def encode_log_blocks(records: KeyedRecords, *, partition: str, instant: str, schema: str) -> list[LogBlock]:
    """Return the blocks of a delta commit in a file group of *partition*: one of records, one of dropped keys.

    *schema* is the Avro schema of the metadata table's records, with meta fields, as JSON.  A key that is dropped and
    has a record keeps the record.
    """
    blocks = []
    if len(records.keys):
        header = BlockHeader({HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: schema})
        blocks.append(
            LogBlock(BlockType.HFILE_DATA, header, _hfile(records.keys, records.values, schema, partition=partition))
        )
    dropped = records.dropped.filter(pc.invert(pc.is_in(records.dropped, records.keys)))
    if len(dropped):
        # As in Hudi, the ordering value is the number 0, with which a delete wins over any older record.
        blocks.append(delete_block(dropped.unique().sort(), instant=instant, partition_path=partition, schema=schema))
    return blocks


def encode_base_file(keys: pa.Array, values: pa.Array, *, schema: str, partition: str = "") -> bytes:
    """Return the HFile of a compaction of *partition*, of *keys* in ascending order and the encoded records of each.

    Source: HoodieAvroHFileWriter.
    """
    info, meta = {}, {}
    if len(keys):
        info = {
            "bloomFilterTypeCode": b"SIMPLE",
            "minRecordKey": keys[0].as_py().encode(),
            "maxRecordKey": keys[-1].as_py().encode(),
        }
        meta = {"bloomFilter": BloomFilter.of(keys).serialize().encode()}
    return _hfile(keys, values, schema, partition=partition, info=info, meta_blocks=meta)


def file_groups_of(keys: pa.Array, count: int) -> npt.NDArray[np.int64]:
    """Return the number of the file group that each key belongs to, of *count* in a partition.

    Source: HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex.
    """
    numbers: npt.NDArray[np.int64] = np.abs(string_hashes(keys).astype(np.int32).astype(np.int64)) % count
    return numbers


def _hfile(
    keys: pa.Array,
    values: pa.Array,
    schema: str,
    *,
    partition: str,
    info: Mapping[str, bytes] | None = None,
    meta_blocks: Mapping[str, bytes] | None = None,
) -> bytes:
    order = pc.array_sort_indices(keys)
    return encode_hfile(
        keys.take(order),
        values.take(order),
        block_size=SMALL_BLOCK if partition == RECORD_INDEX else DEFAULT_BLOCK_SIZE,
        file_info={"schema": schema.encode(), **(info or {})},
        meta_blocks=meta_blocks,
        for_hbase=True,
    )
