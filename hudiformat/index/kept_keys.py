"""The record keys of file slices that a table object keeps from one commit to the next.

A slice is read as a whole, and kept, when its keys are looked up for the second time: most tables are written once by a
process.  From then on only the log files are read that came since.  A base file is known by its name and size: its name
has the instant of the write and the attempt at it, so no two files ever have one name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hudiformat.basefile import FileKeys
from hudiformat.index.known_keys import SliceKeys, base_of
from hudiformat.storage import Kept
from hudiformat.view import FileSlice

_MARK_BYTES = 500


class _Asked(NamedTuple):
    """Keys of a slice with this base file were looked up once; they are not read again in order to be kept."""

    base: tuple[str, int] | None
    fits: bool = True


@dataclass(frozen=True, slots=True)
class KeptSlices:
    """What is kept of the slices of one partition *path*."""

    kept: Kept
    path: str

    def known(self, file_slice: FileSlice) -> SliceKeys | None:
        """The keys that are kept of *file_slice*; those of further log files are not among them."""
        found = self.kept.get((self.path, file_slice.file_id))
        return found if isinstance(found, SliceKeys) and found.is_before(file_slice) else None

    def is_asked_again(self, file_slice: FileSlice) -> bool:
        """Whether the keys of a slice that is not kept shall be read as a whole now; the first call says no."""
        key, base = (self.path, file_slice.file_id), base_of(file_slice)
        found = self.kept.get(key)
        if isinstance(found, _Asked) and found.base == base:
            return found.fits
        self.kept.put(key, _Asked(base, fits=file_slice.size < self.kept.most), _MARK_BYTES)
        return False

    def keep(self, file_slice: FileSlice, keys: SliceKeys | None) -> None:
        """Keep the *keys* of a slice where there is room; None where they cannot be kept."""
        key = self.path, file_slice.file_id
        if keys is None or not self.kept.put(key, keys, keys.size):
            self.kept.put(key, _Asked(base_of(file_slice), fits=False), _MARK_BYTES)

    def footer(self, name: str, size: int) -> FileKeys | None:
        """The key range and filters of a base file, if they are kept."""
        found: FileKeys | None = self.kept.get((self.path, name, size))
        return found

    def keep_footer(self, name: str, size: int, keys: FileKeys) -> None:
        """Keep the key range and filters of a base file; a filter is there as a text and as bits."""
        self.kept.put((self.path, name, size), keys, _MARK_BYTES + 2 * len(keys.filter_text or ""))
