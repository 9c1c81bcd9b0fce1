"""Make the tables with base files in HFile: ``python -m tests.foreign.make_hfile``.

Hudi writes such tables on Spark, and cannot read them there: what they hold is what it was given.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, pack
from tests.foreign.make_orc import rows

CASES = {  # name: (version of Hudi, type of the table)
    "hfile-cow6-h0150": ("0.15.0", "COPY_ON_WRITE"),
    "hfile-cow9-h120": ("1.2.0", "COPY_ON_WRITE"),
    "hfile-mor9-h120": ("1.2.0", "MERGE_ON_READ"),
}
WRITES = ((range(6), 1), (range(6, 8), 2))
"""The numbers of the rows of each insert, and its moment.  Hudi cannot look for keys in HFiles."""
UPSERTS = ((range(6), 1), (range(4, 8), 2))
"""The same with buckets, in which Hudi does not look for keys: the second write makes log files."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for version in sorted({version for version, _ in CASES.values()}):
            with RealHudi(version) as hudi:
                for name, (made_by, kind) in CASES.items():
                    if made_by == version:
                        _write(hudi, Path(folder, name), kind)
                        pack(hudi, Path(folder, name), name, {"snapshot": {}})


def _write(hudi: RealHudi, path: Path, kind: str) -> None:
    options = {
        **OPTIONS,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "o",
        "hoodie.table.base.file.format": "HFILE",
        "hoodie.base.file.format": "HFILE",
    }
    if kind == "MERGE_ON_READ":
        options |= {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    else:
        options["hoodie.datasource.write.operation"] = "insert"
    for numbers, moment in UPSERTS if kind == "MERGE_ON_READ" else WRITES:
        hudi.write(rows(numbers, moment=moment), path, options)


def expected(name: str) -> list[dict[str, object]]:
    """The rows that the table *name* holds, by their keys."""
    found: dict[str, dict[str, object]] = {}
    for numbers, moment in UPSERTS if "mor" in name else WRITES:
        found |= {row["k"]: row for row in rows(numbers, moment=moment).to_pylist()}
    return [found[key] for key in sorted(found)]


if __name__ == "__main__":
    main()
