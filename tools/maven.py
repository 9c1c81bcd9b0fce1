"""Files of Maven Central, fetched once into the cache and known by their SHA-256.  Only the standard library."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 60  # seconds without an answer


class NoArtifactError(Exception):
    """A file cannot be fetched, or is not what was expected; the message says which."""


def fetched(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """The *files*, in *folder*; those that are not there yet are fetched.

    *files* maps paths below Maven Central's address to SHA-256 digests.  Whoever calls holds a lock of the folder.

    Raises:
        NoArtifactError: Maven Central cannot be reached, or has something else.
    """
    return [_file(folder, path, digest) for path, digest in files.items()]


def _file(folder: Path, path: str, digest: str) -> Path:
    file = folder / path.rpartition("/")[2]
    if file.exists():
        return file
    address = f"{CENTRAL}/{path}"
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:  # noqa: S310 - https
            data = answer.read()
    except (urllib.error.URLError, TimeoutError) as error:
        raise NoArtifactError(f"cannot fetch {address}: {error}") from error
    if (found := hashlib.sha256(data).hexdigest()) != digest:
        raise NoArtifactError(f"{address}: expected a file with SHA-256 {digest}, found {found}")
    folder.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.write_bytes(data)
    part.replace(file)
    return file
