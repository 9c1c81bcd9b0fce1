"""The time zones of Spark's legacy calendar, from the jar of the PySpark that is installed, as a file of the package.

    .venv/bin/python -m tools.legacy_zones     # writes hudiformat/codec/parquet/legacy_zones.json

Spark's table names for each zone the moments at which the difference of the calendars changes.  Up to 1582 these are
those of UTC, shifted by the zone's offset, and so are the differences; so a zone is its offset, one difference, and
what follows.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

TARGET = Path(__file__).parents[1] / "hudiformat" / "codec" / "parquet" / "legacy_zones.json"
_NAME = "julian-gregorian-rebase-micros.json"


def spark_zones() -> dict[str, list[tuple[int, int]]]:
    """Return Spark's table: by zone, pairs of a moment of the legacy calendar and the seconds to add from then on."""
    found = find_spec("pyspark")
    origin = "" if found is None else found.origin or ""
    for jar in sorted(Path(origin).parent.glob("jars/spark-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            if _NAME in archive.namelist():
                records = json.loads(archive.read(_NAME))
                return {one["tz"]: list(zip(one["switches"], one["diffs"], strict=True)) for one in records}
    raise FileNotFoundError(f"no jar beside {origin} has {_NAME}")


def _lines() -> Iterator[str]:
    zones = spark_zones()
    utc = zones["UTC"]
    for name, pairs in sorted(zones.items()):
        offset, added = utc[0][0] - pairs[0][0], pairs[0][1] - utc[0][1]
        shifted = [(moment - offset, seconds + added) for moment, seconds in utc]
        if pairs[: len(utc)] != shifted:
            raise ValueError(f"the zone {name} has other moments than UTC: {pairs}")
        numbers = [offset, added, *(number for pair in pairs[len(utc) :] for number in pair)]
        yield f"{json.dumps(name)}: {json.dumps(numbers)}"


def main() -> None:
    """Write the file."""
    TARGET.write_text("{\n" + ",\n".join(_lines()) + "\n}\n")


if __name__ == "__main__":
    main()
