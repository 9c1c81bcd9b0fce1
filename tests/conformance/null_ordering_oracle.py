"""Ask real Hudi how rows with null as ordering value merge: ``python -m tests.conformance.null_ordering_oracle``.

The answers are the table in spec/merging.md.  Prints a line for each case: what Hudi shows by key, or its error, and
whether hudiformat shows the same.  A key such as ``None>5`` has a base row of null, and an update or delete at 5.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

import hudiformat as hf
from tests.conformance.hudi import RealHudi, RealHudiError

_UTC = dt.timezone.utc
_MOMENTS = tuple(dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second) for second in (-5, 0, 5))
_ZONED = tuple(one.replace(tzinfo=_UTC) for one in _MOMENTS)
TYPES: Mapping[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "int": (pa.int32(), (-5, 0, 5)),
    "long": (pa.int64(), (-5, 0, 5)),
    "float": (pa.float32(), (-5.0, 0.0, 5.0)),
    "double": (pa.float64(), (-5.0, 0.0, 5.0)),
    "decimal": (pa.decimal128(10, 2), (Decimal("-5.00"), Decimal("0.00"), Decimal("5.00"))),
    "string": (pa.string(), ("", "0", "a")),
    "date": (pa.date32(), tuple(dt.date(1970, 1, 1) + dt.timedelta(day) for day in (-5, 0, 5))),
    "timestamp": (pa.timestamp("us", "UTC"), _ZONED),
    "local timestamp": (pa.timestamp("us"), _MOMENTS),
    "timestamp in milliseconds": (pa.timestamp("ms", "UTC"), _ZONED),
    "local timestamp in milliseconds": (pa.timestamp("ms"), _MOMENTS),
    "boolean": (pa.bool_(), (False, True)),
    "binary": (pa.binary(), (b"", b"0", b"a")),
}
"""Types, and values below, at and above the int 0, which is Hudi's null."""
IN_MILLIS = tuple(name for name in TYPES if "milliseconds" in name)
PLACES = ("null in the base file", "null in what comes", "null in both")
_OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.precombine.field": "o",
    "hoodie.table.name": "t",
    "hoodie.metadata.enable": "false",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "hoodie.embed.timeline.server": "false",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}


@dataclass(frozen=True, slots=True)
class Case:
    """Which rows meet which, in which table."""

    table_type: str
    version: int
    type_name: str
    place: str
    is_delete: bool

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        values = TYPES[self.type_name][1]
        both = {"null in the base file": [(None, one) for one in values], "null in both": [(None, None)]}
        return both.get(self.place, [(one, None) for one in values])

    def rows(self, which: int) -> pa.Table:
        """The row of each pair that comes first, or second."""
        keys = [f"{before}>{after}" for before, after in self.pairs]
        ordering = pa.array([pair[which] for pair in self.pairs], TYPES[self.type_name][0])
        return pa.table({"k": keys, "o": ordering, "v": pa.array([which] * len(keys), pa.int32())})

    @property
    def name(self) -> str:
        done = "delete" if self.is_delete else "upsert"
        return f"{self.table_type} {self.version}, {self.type_name}, {self.place}, {done}"


def cases(table_types: list[str], versions: list[int], names: list[str]) -> Iterator[Case]:
    """Yield all cases of some kinds of table and types of ordering values.

    Writers of copy-on-write tables merge, so those of milliseconds, which Hudi on Spark does not write, are left out.
    """
    for chosen in product(table_types, versions, names, PLACES, (False, True)):
        case = Case(*chosen)
        if case.table_type == "MERGE_ON_READ" or case.type_name not in IN_MILLIS:
            yield case


def write(hudi: RealHudi, path: Path, case: Case) -> None:
    """Have Hudi write both rows; those of milliseconds, which Spark has not, hudiformat writes."""
    if case.type_name in IN_MILLIS:
        table = _in_millis(path, case)
        table.delete(case.rows(1)) if case.is_delete else table.upsert(case.rows(1))
        return
    kind = {"hoodie.datasource.write.table.type": case.table_type, "hoodie.write.table.version": case.version}
    for which, operation in enumerate(("bulk_insert", "delete" if case.is_delete else "upsert")):
        hudi.write(case.rows(which), path, {**_OPTIONS, **kind, "hoodie.datasource.write.operation": operation})


def _in_millis(path: Path, case: Case) -> hf.Table:
    table = hf.create_table(
        path,
        name="t",
        schema=case.rows(0).schema,
        record_key="k",
        ordering="o",
        table_type=case.table_type,
        version=case.version,
        options={"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"} if case.version > 6 else {},
    )
    table.insert(case.rows(0))
    return table


def shown(rows: pa.Table) -> dict[str, int]:
    """Which of its two rows each key has."""
    return dict(zip(rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True))


def ask(hudi: RealHudi, path: Path, case: Case) -> dict[str, Any]:
    """Return what Hudi shows, or its error in a line, and whether hudiformat shows the same."""
    try:
        write(hudi, path, case)
        theirs: Any = shown(hudi.read(path))
    except RealHudiError as error:
        return {"Hudi fails": str(error).splitlines()[-1][:200], "hudiformat": _ours(path)}
    ours = _ours(path)
    return {"Hudi": theirs, "hudiformat": "the same" if ours == theirs else ours}


def _ours(path: Path) -> Any:
    try:
        return shown(hf.open_table(path).snapshot(columns=["k", "v"]))
    except hf.HudiFormatError as error:
        return f"{type(error).__name__}: {error}"[:200]


def main() -> None:
    """Ask about what the command line names; about all without a name."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.null_ordering_oracle", description=__doc__)
    parser.add_argument("--hudi", default="1.2.0")
    parser.add_argument("--table-type", action="append", choices=("COPY_ON_WRITE", "MERGE_ON_READ"))
    parser.add_argument("--version", action="append", type=int, choices=(6, 8, 9))
    parser.add_argument("--type", action="append", choices=tuple(TYPES))
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    table_types = given.table_type or ["MERGE_ON_READ", "COPY_ON_WRITE"]
    asked = cases(table_types, given.version or [6, 8, 9], given.type or list(TYPES))
    with RealHudi(given.hudi) as hudi, tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(asked):
            print(f"{case.name}: {json.dumps(ask(hudi, Path(folder, str(number)), case))}", flush=True)


if __name__ == "__main__":
    main()
