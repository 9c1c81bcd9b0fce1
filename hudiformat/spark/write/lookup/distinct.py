"""Count distinct keys over several batches of keys that may overlap: exactly if they are few, else by a sample.

The sample holds the keys whose hashes begin with a certain number of zero bits.  The union of two samples with the same
number of bits is the sample of the union.  With 2 bits, about a quarter of the keys is in the sample, so a sample of
1000 keys estimates 4000.  Source: Gibbons, "Distinct Sampling for Highly-Accurate Answers", VLDB 2001.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

_MOST = 1 << 16
_BITS = 64

Hashes = npt.NDArray[np.uint64]
Part = TypeVar("Part", bound=Hashable)


@dataclass
class DistinctCounts(Generic[Part]):
    """The numbers of distinct hashes of several parts: exact up to ``most`` in all, else estimates within about 1 %."""

    most: int = _MOST
    _zeros: int = 0
    _found: dict[Part, Hashes] = field(default_factory=dict)

    def add(self, part: Part, hashes: Hashes) -> None:
        """Count *hashes* for *part*; their first bits have to be as good as random."""
        kept = self._sample(hashes)
        known = self._found.get(part)
        self._found[part] = np.unique(kept) if known is None else np.union1d(known, kept)
        while sum(map(len, self._found.values())) > self.most:
            self._zeros += 1
            self._found = {name: self._sample(one) for name, one in self._found.items()}

    def merge(self, other: DistinctCounts[Part]) -> None:
        """Add the hashes that *other* has counted."""
        self._zeros = max(self._zeros, other._zeros)
        self._found = {name: self._sample(one) for name, one in self._found.items()}
        for part, hashes in other._found.items():
            self.add(part, hashes)

    def counts(self) -> Mapping[Part, int]:
        """Return the number of distinct hashes of each part; at least 1 for a part that was counted."""
        return {part: max(len(found) << self._zeros, 1) for part, found in self._found.items()}

    def _sample(self, hashes: Hashes) -> Hashes:
        return hashes[hashes >> np.uint64(_BITS - self._zeros) == 0] if self._zeros else hashes


def mix_hashes(hashes: npt.NDArray[np.generic]) -> Hashes:
    """Mix *hashes* so that each of their bits is as good as random.  Source: SplitMix64."""
    mixed = hashes.astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
