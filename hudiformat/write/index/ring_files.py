"""The files that store the rings of buckets: one for each change, and an empty file once the change is committed.

Source: ConsistentBucketIndexUtils, Hudi 1.2.0; spec/bucket-index.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from hudiformat.errors import StorageError
from hudiformat.file_group.slices import Visibility
from hudiformat.naming.file_names import join_path, parse_data_file
from hudiformat.storage.protocol import Storage
from hudiformat.write.commit.files import RINGS_FOLDER
from hudiformat.write.index.hash_ring import FIRST_INSTANT, HashRing

_RING, _COMMITTED = ".hashing_meta", ".commit"


def ring_of(storage: Storage, path: str, visibility: Visibility) -> HashRing | None:
    """Return the buckets of a partition after all visible changes; None if the partition has none yet.

    A change is committed if its clustering is completed.  If the clustering has been archived, the empty file shows
    that it was committed; or, if nobody has created that file, the file groups that the change has opened.

    Raises:
        CorruptTableError: a file is damaged.
    """
    names = _names(storage, path)
    rings = sorted((name.removesuffix(_RING) for name in names if name.endswith(_RING)), reverse=True)
    for instant in rings:
        if instant == FIRST_INSTANT or instant in visibility.completion:
            _mark(storage, path, instant, names)
            return _read(storage, path, instant)
        is_archived = instant < (visibility.first_active or "") and instant not in visibility.pending
        if is_archived and f"{instant}{_COMMITTED}" in names:
            return _read(storage, path, instant)
        if is_archived and _is_in_use(storage, path, [_read(storage, path, one) for one in rings if one <= instant]):
            _mark(storage, path, instant, names)
            return _read(storage, path, instant)
    return None


def first_ring(storage: Storage, path: str, buckets: int) -> HashRing:
    """Store the ring with which a partition begins, and return it, or that of another writer that was faster."""
    ring = HashRing.first(path, buckets)
    if save_ring(storage, ring):
        return ring
    return _read(storage, path, FIRST_INSTANT)


def save_ring(storage: Storage, ring: HashRing) -> bool:
    """Store a ring; return False if there is one of its instant already."""
    try:
        storage.create(_file(ring.partition_path, ring.instant, _RING), ring.format())
    except StorageError:
        if not storage.exists(_file(ring.partition_path, ring.instant, _RING)):
            raise
        return False
    return True


def mark_committed(storage: Storage, path: str, instant: str) -> None:
    """Record that a change of a partition's buckets is committed."""
    _mark(storage, path, instant, _names(storage, path))


def _mark(storage: Storage, path: str, instant: str, names: Sequence[str]) -> None:
    if f"{instant}{_COMMITTED}" not in names and (instant != FIRST_INSTANT or len(names) > 1):
        storage.create(_file(path, instant, _COMMITTED), b"", overwrite=True)


def _is_in_use(storage: Storage, path: str, rings: Sequence[HashRing]) -> bool:
    """Return whether a file group exists that the newest ring, the first of *rings*, has opened."""
    known = {node.prefix for ring in rings[1:] for node in ring.nodes}
    opened = {node.file_id for node in rings[0].nodes if node.prefix not in known}
    found = (parse_data_file(one.name) for one in storage.list(path) if not one.is_dir)
    return any(name is not None and name.file_id in opened for name in found)


def _names(storage: Storage, path: str) -> list[str]:
    return [one.name for one in storage.list(_folder(path)) if not one.is_dir]


def _read(storage: Storage, path: str, instant: str) -> HashRing:
    file = _file(path, instant, _RING)
    return HashRing.parse(storage.read(file), f"{storage.root}/{file}")


def _file(path: str, instant: str, suffix: str) -> str:
    return join_path(_folder(path), f"{instant}{suffix}")


def _folder(path: str) -> str:
    """Return the folder of a partition's rings; without partitions it is the folder of all rings."""
    return join_path(RINGS_FOLDER, path) if path else RINGS_FOLDER
