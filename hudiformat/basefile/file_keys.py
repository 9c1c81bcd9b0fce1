"""What the footer of a base file says of its record keys, without reading them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.basefile.bloom import BLOOM_FILTER, BLOOM_FILTER_TYPE, BloomFilter, parse_filters
from hudiformat.errors import CorruptTableError

# Source: HoodieBloomFilterWriteSupport.
MIN_KEY = "hoodie_min_record_key"
MAX_KEY = "hoodie_max_record_key"

_BEYOND_UTF16_UNIT = 0xF0
"""The least byte that begins a code point of two UTF-16 units."""

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FileKeys:
    """The range of a base file's record keys and their bloom filters; None for what is not known.

    Source: BloomIndexFileInfo, HoodieKeyLookupHandle.
    """

    key_range: tuple[str, str] | None
    filter_text: str | None
    filter_type: str = "SIMPLE"

    @classmethod
    def of(cls, footer: Mapping[bytes, bytes] | None) -> FileKeys:
        """What *footer* says."""
        names = (MIN_KEY, MAX_KEY, BLOOM_FILTER, BLOOM_FILTER_TYPE)
        given = {name: (footer or {}).get(name.encode()) for name in names}
        texts = {name: value.decode(errors="replace") for name, value in given.items() if value is not None}
        key_range = (texts[MIN_KEY], texts[MAX_KEY]) if MIN_KEY in texts and MAX_KEY in texts else None
        return cls(key_range, texts.get(BLOOM_FILTER), texts.get(BLOOM_FILTER_TYPE, "SIMPLE"))

    @cached_property
    def filters(self) -> tuple[BloomFilter, ...] | None:
        """The filters; one that is damaged, or of a type that is not known, says nothing."""
        try:
            return None if self.filter_text is None else parse_filters(self.filter_text, self.filter_type)
        except CorruptTableError:
            return None

    def filter_of(self, count: int) -> str | None:
        """The filter's text, if its size is that of a filter of *count* keys: of the same keys it is then the same."""
        known = self.filters if self.filter_type == "SIMPLE" else None
        return self.filter_text if known and known[0].fits(count) else None

    def in_range(self, keys: pa.Array) -> Booleans:
        """Which of *keys* lie between the least and the greatest of the file."""
        if self.key_range is None or beyond_utf16_unit(keys):
            return np.ones(len(keys), np.bool_)
        least, greatest = self.key_range
        return np.asarray(pc.and_(pc.greater_equal(keys, least), pc.less_equal(keys, greatest)))

    def might_contain(self, keys: pa.Array) -> bool:
        """Whether the file may hold one of *keys*, by its filters; False is certain."""
        if self.filters is None or not len(keys):
            return bool(len(keys))
        return any(one.might_contain(keys).any() for one in self.filters)


def beyond_utf16_unit(keys: pa.Array) -> bool:
    """Whether Java, which compares UTF-16 units, may order *keys* otherwise than Arrow, which compares bytes."""
    places = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    if not len(keys) or places[0] == places[-1]:
        return False
    data = np.frombuffer(keys.buffers()[2], np.uint8)[places[0] : places[-1]]
    return bool(data.max() >= _BEYOND_UTF16_UNIT)
