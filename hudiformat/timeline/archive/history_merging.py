"""Merge files of the archived timeline of layout 2: ten of a level become one of the next level.

Otherwise a table of 100,000 commits would have some ten thousand files, and each archiving would write a manifest that
names all of them.
"""

from __future__ import annotations

from itertools import count

import pyarrow as pa

from hudiformat.codec.log.content.parquet_data import encode_parquet
from hudiformat.storage.protocol import Storage
from hudiformat.timeline.archive.history import (
    MANIFESTS_KEPT,
    file_range,
    latest_manifest,
    manifest_versions,
    read_history_rows,
    write_manifest,
)
from hudiformat.timeline.records import schema_text
from hudiformat.timeline.table_config import TableConfig

_FILES = 10  # hoodie.timeline.compaction.batch.size
_MOST_BYTES = 1000 << 20  # hoodie.timeline.compaction.target.file.max.bytes
_RECORD = "HoodieLSMTimelineInstant"


def merge_history(storage: Storage, config: TableConfig) -> int:
    """Merge the files of each level that has ten; return the number of levels that were merged.

    Then files that no kept manifest names are deleted.  The caller must hold the lock of the table.  A merged file is
    valid once a manifest lists it; the files that it replaces stay as long as a manifest names them that a reader may
    still use.

    Raises:
        CorruptTableError: the manifest, or a file to be merged, is damaged; nothing has been replaced then.

    Source: LSMTimelineWriter.compactAndClean, Hudi 1.2.0.
    """
    for level in count():  # a merge of one level may fill the next one
        if not _merge_level(storage, config, level):
            break
    if level:
        _delete_unnamed(storage, config.history_folder, MANIFESTS_KEPT + level)
    return level


def _merge_level(storage: Storage, config: TableConfig, level: int) -> bool:
    folder = config.history_folder
    version, files = latest_manifest(storage, folder)
    names = sorted(name for name in files if name.endswith(f"_{level}.parquet"))
    chosen = _choose_files([(name, files[name]) for name in names]) if len(names) >= _FILES else []
    if len(chosen) < 2:  # noqa: PLR2004 - one file alone is not merged
        return False
    rows = pa.concat_tables([read_history_rows(storage, f"{folder}/{name}") for name in chosen])
    firsts, lasts = zip(*(file_range(name) for name in chosen), strict=True)
    merged = f"{min(firsts)}_{max(lasts)}_{level + 1}.parquet"
    data = encode_parquet(rows, schema_text(_RECORD)).to_pybytes()
    storage.create(f"{folder}/{merged}", data, overwrite=True)  # an existing file was left by a writer that crashed
    kept = {name: size for name, size in files.items() if name not in chosen}
    write_manifest(storage, folder, version + 1, {**kept, merged: len(data)})
    return True


def _choose_files(files: list[tuple[str, int]]) -> list[str]:
    """Return the oldest of *files*, names and sizes by time, that are merged: ten, or fewer if they are large.

    Of the sizes 2, 700, 900, 5 and 6 MB the first three are chosen, as the third passes 1,000; after a file of 1,200 MB
    the choice begins anew.

    Source: LSMTimelineWriter.getCandidateFiles.
    """
    chosen: list[str] = []
    total = 0
    for name, size in files:
        chosen.append(name)
        total += size
        if len(chosen) == _FILES:
            break
        if total > _MOST_BYTES:
            if len(chosen) > 1:
                break
            chosen, total = [], 0
    return chosen


def _delete_unnamed(storage: Storage, folder: str, manifests: int) -> None:
    """Delete all but the newest *manifests*, and the files that none of these manifests names."""
    versions = manifest_versions(storage, folder)
    kept = versions[-manifests:]
    named = {name for version in kept for name in latest_manifest(storage, folder, version)[1]}
    for version in versions[:-manifests]:
        storage.delete(f"{folder}/manifest_{version}")
    for info in storage.list(folder):
        if info.name.endswith(".parquet") and info.name not in named:
            storage.delete(f"{folder}/{info.name}")
