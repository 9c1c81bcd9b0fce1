"""What the footer of a base file says of its record keys, without reading them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class FileKeys:
    """The range of a base file's record keys and their bloom filters; None for what is not known.

    Source: BloomIndexFileInfo, HoodieKeyLookupHandle.
    """

    key_range: tuple[str, str] | None
    filters: tuple[BloomFilter, ...] | None

    @classmethod
    def of(cls, footer: Mapping[bytes, bytes] | None) -> FileKeys:
        """What *footer* says; a filter that is damaged, or of a type that is not known, says nothing."""
        texts = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in (footer or {}).items()}
        least, greatest = texts.get(MIN_KEY), texts.get(MAX_KEY)
        return cls(None if least is None or greatest is None else (least, greatest), _filters(texts))

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


def _filters(footer: Mapping[str, str]) -> tuple[BloomFilter, ...] | None:
    try:
        return parse_filters(footer[BLOOM_FILTER], footer.get(BLOOM_FILTER_TYPE, "SIMPLE"))
    except (KeyError, CorruptTableError):
        return None
