"""How many different keys there are, by parts that may have the same ones: exact for few, else by a sample.

Kept are the keys whose hashes begin with enough zero bits, so that two samples, brought to the same number of bits, are
the sample of both together.  Source: Gibbons, "Distinct Sampling for Highly-Accurate Answers", VLDB 2001.
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
    """The numbers of different hashes of several parts; of more than ``most`` in all, estimates within a hundredth."""

    most: int = _MOST
    _zeros: int = 0
    _found: dict[Part, Hashes] = field(default_factory=dict)

    def add(self, part: Part, hashes: Hashes) -> None:
        """Count *hashes*, whose first bits are as good as random."""
        kept = self._sampled(hashes)
        known = self._found.get(part)
        self._found[part] = np.unique(kept) if known is None else np.union1d(known, kept)
        while sum(map(len, self._found.values())) > self.most:
            self._zeros += 1
            self._found = {name: self._sampled(one) for name, one in self._found.items()}

    def merge(self, other: DistinctCounts[Part]) -> None:
        """Count what *other* has counted."""
        self._zeros = max(self._zeros, other._zeros)
        self._found = {name: self._sampled(one) for name, one in self._found.items()}
        for part, hashes in other._found.items():
            self.add(part, hashes)

    def counts(self) -> Mapping[Part, int]:
        """How many there are of each part; at least one where anything was counted."""
        return {part: max(len(found) << self._zeros, 1) for part, found in self._found.items()}

    def _sampled(self, hashes: Hashes) -> Hashes:
        return hashes[hashes >> np.uint64(_BITS - self._zeros) == 0] if self._zeros else hashes


def spread(hashes: npt.NDArray[np.generic]) -> Hashes:
    """Hashes whose bits are all as good as random.  Source: SplitMix64."""
    mixed = hashes.astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
