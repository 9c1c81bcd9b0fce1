"""Jars of other projects: the file sink of Apache Flink for tests, Delta Lake for benchmarks.

    python3 tools/jars.py flink       # fetches them, or finds them there, and prints their folder; or delta

They come from Maven Central into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``); after that nothing needs
the network.  Only the standard library.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.maven import NoArtifactError, fetched


@dataclass(frozen=True)
class Jars:
    """Jars of one version of a project; ``digests`` are their SHA-256."""

    name: str
    group: str
    version: str
    digests: Mapping[str, str]

    def fetch(self) -> list[Path]:
        """Return the jars, fetched if they are not there yet.

        Raises:
            NoArtifactError: Maven Central cannot be reached, or has something else.
        """
        folder, version = cache_folder() / f"{self.name}-{self.version}", self.version
        files = {f"{self.group}/{jar}/{version}/{jar}-{version}.jar": digest for jar, digest in self.digests.items()}
        with locked(folder.with_suffix(".lock")):
            return fetched(folder, files)


FLINK = Jars(
    "flink",
    "org/apache/flink",
    "1.20.0",
    {
        "flink-connector-files": "3668fc2c6454bd340e7c8078bb78eab14a9bb573f7c4f8f491a038835c7c4118",
        "flink-core": "a6d590ea4d66fa3f2e2fffeab4cfe1ec4d30cbdc30d73aea29453f0441946b82",
        "flink-core-api": "846c0b2f94a6ce7c4943a242656199d67257809fd7f94d37a9903f8fa8be6f04",
        "flink-annotations": "a2bbde595f8ebdcdffe462952d000dd42a06e48f639135ab36ab6349bd0bbe34",
        "flink-streaming-java": "1b27796c12c1eca797ce28faace27597de06fba4be42ba8d689a9ff3ded880b6",
        "flink-table-common": "d930b44736fdd77143e1beafa5692ae3a8f40b83baf4c48181c02cd36f261d86",
    },
)
"""6 MB."""
DELTA = Jars(
    "delta",
    "io/delta",
    "3.3.2",
    {
        "delta-spark_2.12": "4e92085d5d794cf949c50bb665b91384857cad58680c2d0bfc9c7ad353e98e85",
        "delta-storage": "c096975a2ca97ccc9b4005aa5cce16c9ac3903139d340da6665b66ace67d7c36",
    },
)
"""7 MB, for Spark 3.5."""


def main(arguments: Sequence[str]) -> int:
    """Print the folder of the jars that are named; 1 when they cannot be fetched."""
    named = {one.name: one for one in (FLINK, DELTA)}
    if len(arguments) != 1 or arguments[0] not in named:
        print(f"expected one of {', '.join(named)}", file=sys.stderr)
        return 1
    try:
        print(named[arguments[0]].fetch()[0].parent)
    except NoArtifactError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
