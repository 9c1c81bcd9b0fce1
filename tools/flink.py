"""Jars of Apache Flink, with the classes of its file sink that tests compare hudiformat's with.

    python3 tools/flink.py            # fetches them, or finds them there, and prints their folder

They come from Maven Central, 6 MB, into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``); after that nothing
needs the network.  Only the standard library.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.maven import NoArtifactError, fetched

VERSION = "1.20.0"
JARS = {
    "flink-connector-files": "3668fc2c6454bd340e7c8078bb78eab14a9bb573f7c4f8f491a038835c7c4118",
    "flink-core": "a6d590ea4d66fa3f2e2fffeab4cfe1ec4d30cbdc30d73aea29453f0441946b82",
    "flink-core-api": "846c0b2f94a6ce7c4943a242656199d67257809fd7f94d37a9903f8fa8be6f04",
    "flink-annotations": "a2bbde595f8ebdcdffe462952d000dd42a06e48f639135ab36ab6349bd0bbe34",
    "flink-streaming-java": "1b27796c12c1eca797ce28faace27597de06fba4be42ba8d689a9ff3ded880b6",
    "flink-table-common": "d930b44736fdd77143e1beafa5692ae3a8f40b83baf4c48181c02cd36f261d86",
}
"""By their SHA-256."""


def flink_jars() -> list[Path]:
    """The jars, fetched if they are not there yet.

    Raises:
        NoArtifactError: Maven Central cannot be reached, or has something else.
    """
    folder = cache_folder() / f"flink-{VERSION}"
    files = {f"org/apache/flink/{name}/{VERSION}/{name}-{VERSION}.jar": digest for name, digest in JARS.items()}
    with locked(folder.with_suffix(".lock")):
        return fetched(folder, files)


def main() -> int:
    """Print the folder of the jars; 1 when they cannot be fetched."""
    try:
        print(flink_jars()[0].parent)
    except NoArtifactError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
