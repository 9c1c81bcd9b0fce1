"""The key range and the bloom filters in the footer of a base file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.bloom import BLOOM_FILTER, BLOOM_FILTER_TYPE, BloomFilter, parse_filters

# Source: HoodieBloomFilterWriteSupport.
MIN_KEY = "hoodie_min_record_key"
MAX_KEY = "hoodie_max_record_key"

_BEYOND_UTF16_UNIT = 0xF0
"""The lowest first UTF-8 byte of a code point that takes two UTF-16 units."""

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FileKeys:
    """The range of a base file's record keys and their bloom filters; None for what the footer does not have.

    Source: BloomIndexFileInfo, HoodieKeyLookupHandle.
    """

    key_range: tuple[str, str] | None
    filter_text: str | None
    filter_type: str = "SIMPLE"

    @classmethod
    def of(cls, footer: Mapping[bytes, bytes] | None) -> FileKeys:
        """Return the key range and the filters of the key-value metadata of a footer."""
        names = (MIN_KEY, MAX_KEY, BLOOM_FILTER, BLOOM_FILTER_TYPE)
        values = {name: (footer or {}).get(name.encode()) for name in names}
        texts = {name: value.decode(errors="replace") for name, value in values.items() if value is not None}
        key_range = (texts[MIN_KEY], texts[MAX_KEY]) if MIN_KEY in texts and MAX_KEY in texts else None
        return cls(key_range, texts.get(BLOOM_FILTER), texts.get(BLOOM_FILTER_TYPE, "SIMPLE"))

    @cached_property
    def filters(self) -> tuple[BloomFilter, ...] | None:
        """The filters, or None if the footer has none that is intact and of a known type."""
        try:
            return None if self.filter_text is None else parse_filters(self.filter_text, self.filter_type)
        except CorruptTableError:
            return None

    def filter_of(self, count: int) -> str | None:
        """Return the filter's text if it has the size of a filter of *count* keys, as :meth:`BloomFilter.fits` says."""
        known = self.filters if self.filter_type == "SIMPLE" else None
        return self.filter_text if known and known[0].fits(count) else None

    def in_range(self, keys: pa.Array) -> Booleans:
        """Return for each of *keys* whether it is within the key range of the file; True if the range is not known."""
        if self.key_range is None or beyond_utf16_unit(keys):
            return np.ones(len(keys), np.bool_)
        lowest, highest = self.key_range
        return np.asarray(pc.and_(pc.greater_equal(keys, lowest), pc.less_equal(keys, highest)))

    def might_contain(self, keys: pa.Array) -> bool:
        """Return whether the file may contain any of *keys*, by its filters; False is certain."""
        if self.filters is None or not len(keys):
            return bool(len(keys))
        return any(bloom.might_contain(keys).any() for bloom in self.filters)


def beyond_utf16_unit(keys: pa.Array) -> bool:
    """Return whether Java may order *keys* differently from Arrow: it compares UTF-16 units, Arrow bytes.

    The orders differ only if a key has a code point that takes two UTF-16 units: U+10000 is d800 dc00 in UTF-16, before
    U+FFFD, and f0 90 80 80 in UTF-8, behind ef bf bd.
    """
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    if not len(keys) or offsets[0] == offsets[-1]:
        return False
    data = np.frombuffer(keys.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return bool(data.max() >= _BEYOND_UTF16_UNIT)
