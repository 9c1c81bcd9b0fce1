"""Write an HFile with the bytes that Hudi's own writer makes of the same entries.  Layout: spec/hfile.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.codec.hfile.block import NO_BLOCK, BlockType, Compression, encode_block
from hudiformat.codec.hfile.chain import Longs
from hudiformat.codec.hfile.entries import encode_entries, entry_sizes
from hudiformat.codec.hfile.file_info import encode_file_info, hash_order, text_bytes
from hudiformat.codec.hfile.index import IndexEntry, encode_data_index, encode_meta_index
from hudiformat.codec.hfile.trailer import COMPARATOR, HFileTrailer, encode_trailer
from hudiformat.errors import DataError, EncodeError, SchemaError
from hudiformat.wire import INT32_MAX

DEFAULT_BLOCK_SIZE = 1024 * 1024
LONGEST_KEY = 2**15 - 1


def encode_hfile(
    keys: pa.Array | pa.ChunkedArray,
    values: pa.Array | pa.ChunkedArray,
    *,
    block_size: int = DEFAULT_BLOCK_SIZE,
    compression: str = "gzip",
    file_info: Mapping[str, bytes] | None = None,
    meta_blocks: Mapping[str, bytes] | None = None,
    creation_time: int = 0,
    for_hbase: bool = False,
) -> bytes:
    """Return an HFile of the entries (keys[i], values[i]), byte for byte as Hudi 1.2.0 writes them.

    Keys are binary or text, in ascending order of their bytes; equal keys are allowed, and share a block.  A block is
    closed before the entry that would make it larger than *block_size* bytes (uncompressed).  *creation_time* is in
    milliseconds since 1970.  With *for_hbase*, a file without entries has the form that HBase can open, which Hudi up
    to 0.15 reads with; the form that Hudi 1.2.0 writes cannot be opened by HBase.

    Raises:
        DataError: a key or value is null, or the arrays have different lengths.
        SchemaError: an array is neither binary nor text.
        EncodeError: keys are not in order or have 32768 bytes or more, *file_info* has a name that is reserved for the
            writer, or a block would have 2 GiB.
        UnsupportedFeatureError: a *compression* other than "none" and "gzip".

    Source: HFileWriterImpl; spec/hfile.md.
    """
    codec = Compression.parse(compression)
    rows, contents = _as_binary(keys, "key"), _as_binary(values, "value")
    if len(rows) != len(contents):
        raise DataError(f"{len(rows)} keys and {len(contents)} values: expected as many values as keys")
    _check_keys(rows)
    sizes = entry_sizes(rows, contents)
    file = _File(codec)
    for start, end in block_ranges(rows, sizes, block_size):
        content = encode_entries(rows[start:end], contents[start:end])
        file.add_data(content, first_key=rows[start].as_py(), last_entry=int(sizes[end - 1]))
    extras = dict(meta_blocks or {})
    for name in hash_order(extras):
        file.add_meta(name, extras[name])
    info = encode_file_info(
        file_info or {},
        last_key=rows[-1].as_py() if len(rows) else b"" if for_hbase else None,
        lengths=(_average_length(rows), _average_length(contents)),
        creation_time=creation_time,
    )
    return file.finish(info, entries=len(rows), uncompressed=int(sizes.sum()))


class _File:
    """The part of the file that was written so far, and the entries of its two indexes."""

    def __init__(self, codec: Compression) -> None:
        self._codec = codec
        self._parts: list[bytes] = []
        self._size = 0
        self._data: list[IndexEntry] = []
        self._meta: list[IndexEntry] = []

    def add_data(self, content: memoryview, *, first_key: bytes, last_entry: int) -> None:
        # Hudi's writer stores the offset of this block as that of the block before; no reader uses it.
        previous = self._size if self._data else NO_BLOCK
        block = encode_block(BlockType.DATA, content, self._codec, previous=previous, last_entry=last_entry)
        self._data.append(IndexEntry(first_key, *self._append(block)))

    def add_meta(self, name: str, content: bytes) -> None:
        self._meta.append(IndexEntry(text_bytes(name), *self._add(BlockType.META, content)))

    def finish(self, info: bytes, *, entries: int, uncompressed: int) -> bytes:
        """Return the whole file; *uncompressed* is the size of the contents of all data blocks."""
        load_on_open, _ = self._add(BlockType.ROOT_INDEX, encode_data_index(self._data))
        self._add(BlockType.ROOT_INDEX, encode_meta_index(self._meta))
        info_offset, _ = self._add(BlockType.FILE_INFO, info)
        trailer = HFileTrailer(
            file_info_offset=info_offset,
            load_on_open_offset=load_on_open,
            uncompressed_data_index_size=uncompressed,  # Hudi stores the size of the data here
            data_index_count=len(self._data),
            meta_index_count=len(self._meta),
            entry_count=entries,
            data_index_levels=1,
            first_data_block_offset=self._data[0].offset if self._data else NO_BLOCK,
            last_data_block_offset=self._data[-1].offset if self._data else 0,
            comparator=COMPARATOR,
            compression=self._codec,
        )
        return b"".join((*self._parts, encode_trailer(trailer)))

    def _add(self, kind: BlockType, content: bytes) -> tuple[int, int]:
        """Append a block; return where it begins, and its size."""
        return self._append(encode_block(kind, content, self._codec))

    def _append(self, block: bytes) -> tuple[int, int]:
        offset = self._size
        self._parts.append(block)
        self._size += len(block)
        return offset, len(block)


def _as_binary(array: pa.Array | pa.ChunkedArray, column: str) -> pa.Array:
    kind = array.type
    if not (pat.is_binary(kind) or pat.is_string(kind) or pat.is_large_binary(kind) or pat.is_large_string(kind)):
        raise SchemaError(f"an HFile's {column}s are binary or text, not {kind}: cast them", column=column)
    if array.null_count:
        raise DataError(f"an HFile's {column} is null", column=column)
    wide = array.cast(pa.large_binary())
    return wide.combine_chunks() if isinstance(wide, pa.ChunkedArray) else wide


def _check_keys(keys: pa.Array) -> None:
    longest = pc.max(pc.binary_length(keys)).as_py() or 0
    if longest > LONGEST_KEY:
        raise EncodeError(f"a key of {longest} bytes; an HFile's have at most {LONGEST_KEY}")
    row = pc.index(pc.less(keys[1:], keys[:-1]), value=True).as_py()
    if row >= 0:
        pair = keys[row].as_py(), keys[row + 1].as_py()
        raise EncodeError(f"keys out of order: {pair[0]!r} before {pair[1]!r}, at {row}")


def block_ranges(keys: pa.Array, sizes: Longs, block_size: int) -> Iterator[tuple[int, int]]:
    """Yield the first entry of each block, and the entry behind its last one.

    Four entries of 40 bytes with the keys a, b, b, c and a block size of 100:

        reached    [0, 40, 80, 120, 160]
        bounds     [0, 1, 3, 4]               where a new key begins, and the end
        start 0    fits 2, so end = 3         the second b does not fit, but equal keys stay in one block
        start 3    fits 4, so end = 4

    Raises:
        EncodeError: a block would have 2 GiB or more.
    """
    reached: Longs = np.cumsum(np.append(0, sizes))
    another = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    bounds = np.append(np.flatnonzero(np.append(True, another)), len(keys))
    start = 0
    while start < len(keys):
        fits = int(np.searchsorted(reached, reached[start] + block_size, "right")) - 1
        end = int(bounds[np.searchsorted(bounds, max(fits, start + 1))])
        if (size := int(reached[end] - reached[start])) > INT32_MAX:
            raise EncodeError(f"a data block of {size} bytes; sizes are kept in 32 bits")
        yield start, end
        start = end


def _average_length(array: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(array)).as_py() or 0) // max(len(array), 1)
