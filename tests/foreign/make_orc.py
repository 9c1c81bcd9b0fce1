"""Make the tables with base files in ORC: ``python -m tests.foreign.make_orc``.

Hudi 1.2.0 cannot write dates into ORC, and Spark reads its files row by row alone.  Hudi 0.15 writes a table once.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, pack

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("p", pa.string()),
        ("o", pa.int64()),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("ok", pa.bool_()),
        ("amount", pa.decimal128(12, 2)),
        ("large", pa.decimal128(30, 5)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("bytes", pa.binary()),
        ("inner", pa.struct([("a", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.string()))])),
        ("m", pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
        ("s", pa.string()),
    ]
)
_NO_DATES = tuple(name for name in SCHEMA.names if name != "day")
_NOON = dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)
CASES = {  # name: (version of Hudi, type of the table, time zone of the JVM, columns)
    "orc-cow6-h0150": ("0.15.0", "COPY_ON_WRITE", "UTC", tuple(SCHEMA.names)),
    "orc-zone-cow6-h0150": ("0.15.0", "COPY_ON_WRITE", "America/New_York", tuple(SCHEMA.names)),
    "orc-cow9-h120": ("1.2.0", "COPY_ON_WRITE", "UTC", _NO_DATES),
    "orc-mor9-h120": ("1.2.0", "MERGE_ON_READ", "UTC", _NO_DATES),
    "orc-zone-mor9-h120": ("1.2.0", "MERGE_ON_READ", "America/New_York", _NO_DATES),
}


def rows(numbers: range, *, moment: int) -> pa.Table:
    """Rows of the keys *numbers*; their values tell *moment* too."""
    found = []
    for number in numbers:
        at = _NOON + dt.timedelta(days=20 * number, seconds=moment)
        values = {
            "k": f"k{number:02d}",
            "p": "xy"[number % 2],
            "o": moment,
            "i": 100 * moment + number,
            "f": number / 2,
            "d": number / 3,
            "ok": number % 2 == 0,
            "amount": Decimal(number * 101 + moment) / 100,
            "large": Decimal(number) / 100_000,
            "day": dt.date(2024, 1, 1) + dt.timedelta(days=number),
            "at": at,
            "bytes": bytes(range(number)),
            "inner": {"a": number, "at": at, "l": ["ä"] * (number % 3)},
            "m": [("x", at)] * (number % 2),
            "s": f"text {number}",
        }
        kept = {name: None if number % 5 == 4 and name not in ("k", "p", "o") else values[name] for name in values}
        found.append(kept)
    return pa.Table.from_pylist(found, SCHEMA)


def main() -> None:
    for name, (version, kind, zone, columns) in CASES.items():
        # A session each: Hudi waits until its clock is past the last instant, which is hours if the zone has changed.
        with RealHudi(version) as hudi, tempfile.TemporaryDirectory() as folder:
            hudi.eval_("spark.conf.set('spark.sql.orc.enableVectorizedReader', 'false'); result = None")
            set_zone(hudi, zone)
            _make(hudi, Path(folder, name), kind, columns)
            pack(hudi, Path(folder, name), name, {"snapshot": {}})


def set_zone(hudi: RealHudi, zone: str) -> None:
    """Set the time zone of Hudi's JVM."""
    zones = "jvm.java.util.TimeZone"
    hudi.eval_(f"{zones}.setDefault({zones}.getTimeZone({zone!r})); result = None")


def _make(hudi: RealHudi, path: Path, kind: str, columns: tuple[str, ...]) -> None:
    options = {
        **OPTIONS,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "o",
        "hoodie.bulkinsert.shuffle.parallelism": "1",
        "hoodie.table.base.file.format": "ORC",
        "hoodie.datasource.write.row.writer.enable": "false",
    }
    steps = [("bulk_insert", range(12))]
    if not path.name.endswith("h0150"):
        steps += [("upsert", range(8, 15)), ("upsert", range(2))]
    for moment, (operation, numbers) in enumerate(steps):
        given = rows(numbers, moment=moment).select(columns)
        hudi.write(given, path, {**options, "hoodie.datasource.write.operation": operation})


if __name__ == "__main__":
    main()
