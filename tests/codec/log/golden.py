"""The log files in the archives of golden tables."""

from __future__ import annotations

import zipfile
from pathlib import Path

from hudiformat.errors import NameFormatError
from hudiformat.naming.file_names import LogFileName

ARCHIVES = sorted((Path(__file__).parents[2] / "golden").glob("*.zip"))


def is_log_file(name: str) -> bool:
    try:
        LogFileName.parse(name.rsplit("/", 1)[-1])
    except NameFormatError:
        return False
    return True


def log_files(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as files:
        return {name: files.read(name) for name in files.namelist() if is_log_file(name)}
