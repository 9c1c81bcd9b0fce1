"""Jars of Delta Lake for Spark 3.5, with which benchmarks compare.

    python3 tools/delta.py            # fetches them, or finds them there, and prints their folder

They come from Maven Central, 7 MB, into ``$HUDIFORMAT_CACHE`` (by default ``~/.cache/hudiformat``); after that nothing
needs the network.  Only the standard library.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.environments import cache_folder, locked
from tools.maven import NoArtifactError, fetched

VERSION = "3.3.2"
JARS = {
    "delta-spark_2.12": "4e92085d5d794cf949c50bb665b91384857cad58680c2d0bfc9c7ad353e98e85",
    "delta-storage": "c096975a2ca97ccc9b4005aa5cce16c9ac3903139d340da6665b66ace67d7c36",
}
"""By their SHA-256."""


def delta_jars() -> list[Path]:
    """The jars, fetched if they are not there yet.

    Raises:
        NoArtifactError: Maven Central cannot be reached, or has something else.
    """
    folder = cache_folder() / f"delta-{VERSION}"
    files = {f"io/delta/{name}/{VERSION}/{name}-{VERSION}.jar": digest for name, digest in JARS.items()}
    with locked(folder.with_suffix(".lock")):
        return fetched(folder, files)


def main() -> int:
    """Print the folder of the jars; 1 when they cannot be fetched."""
    try:
        print(delta_jars()[0].parent)
    except NoArtifactError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
