"""Make the tables with partition columns of all types: ``python -m tests.foreign.make_partition_values``.

Each table gets rows in two writes, the second of which updates a row; ``k`` is the record key.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.hudi import RealHudi, RealHudiError
from tests.foreign.foreign_tables import FOLDER, OPTIONS, pack

KEYGEN = "org.apache.hudi.keygen."
CHOSEN = {
    **OPTIONS,
    "hoodie.datasource.write.precombine.field": "o",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.write.auto.upgrade": "false",
}
ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
SLASHES = {"hoodie.datasource.write.slash.separated.date.partitioning": "true"}
TIMEBASED = "hoodie.keygen.timebased."


@dataclass(frozen=True)
class Case:
    """What a table is partitioned by: *fields*, whose values in three rows are *values*, in Spark's SQL."""

    fields: str
    values: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


def timed(kind: str, pattern: str, *, zone: str = "UTC", given: str = "") -> dict[str, str]:
    more = {f"{TIMEBASED}input.dateformat": given} if given else {}
    return {
        "hoodie.datasource.write.keygenerator.class": f"{KEYGEN}TimestampBasedKeyGenerator",
        f"{TIMEBASED}timestamp.type": kind,
        f"{TIMEBASED}output.dateformat": pattern,
        f"{TIMEBASED}timezone": zone,
        **more,
    }


def custom(of: dict[str, str] | None = None) -> dict[str, str]:
    times = timed("EPOCHMILLISECONDS", "yyyyMMdd") if of is None else of
    return {**times, "hoodie.datasource.write.keygenerator.class": f"{KEYGEN}CustomKeyGenerator"}


def beside(values: tuple[str, ...]) -> tuple[str, ...]:
    """The *values* of a second field; the first one has texts."""
    return tuple(f"'x{number}', {value}" for number, value in enumerate(values))


MOMENTS = ("timestamp'2024-01-01 18:00:00.789'", "timestamp'2024-01-02 00:00:00'", "timestamp'1969-12-31 23:59:59.5'")
LOCAL = tuple(one.replace("timestamp", "timestamp_ntz") for one in MOMENTS)
DATES = ("date'2024-01-01'", "date'1969-12-31'", "date'2024-01-02'")
TIMES = ("'2024-01-01 01:02:03'", "'2024-01-02 01:02:03'", "'1969-12-31 01:02:03'")
DAYS = ("'2024-01-01'", "'2024-01-02'", "'1969-12-31'")
MILLIS = ("1704069015000L", "1704189844004L", "-5L")
CASES = {
    "timestamp": Case("p", MOMENTS),
    "timestamp-encoded": Case("p", MOMENTS, ENCODED),
    "timestamp-hive": Case("p", MOMENTS, {**HIVE, **ENCODED}),
    "local": Case("p", LOCAL),
    "local-encoded": Case("p", LOCAL, ENCODED),
    "date": Case("p", ("date'2024-01-01'", "date'1969-12-31'", "null")),
    "date-slashes": Case("p", DATES, SLASHES),
    "text-slashes": Case("p", tuple(f"'{one}'" for one in ("2024-01-01", "1969-12-31", "2024-01-02")), SLASHES),
    "date-slashes-hive": Case("p", DATES, {**SLASHES, **HIVE}),
    "int": Case("p", ("1", "-2", "null")),
    "double": Case("p", ("1.5D", "1e10D", "-0.0D")),
    "float": Case("p", ("float('1.5')", "float('1e10')", "float('0.1')")),
    "decimal": Case("p", ("cast(1.50 as decimal(6,2))", "cast(-0.01 as decimal(6,2))", "null")),
    "boolean": Case("p", ("true", "false", "null")),
    "binary": Case("p", ("binary('ab')", "binary('c')", "binary('d')")),
    "folders": Case("dt,hh", ("'2018/10/05', '10'", "'2018/10/06', '11'", "'2018/10/07', '12'")),
    "folders-one": Case("dt", ("'2018/10/05'", "'2018/10/06'", "'a'")),
    "folders-int": Case("dt,hh", ("'2018/10/05', 10", "'2018/10/06', 11", "'2018/10/07', 12")),
    "two": Case("dt,hh", ("date'2024-01-01', 1", "date'2024-01-02', 2", "null, null")),
    "two-moments": Case("p,q", tuple(f"{one}, 'x'" for one in MOMENTS), ENCODED),
    "timed-millis": Case("p", MILLIS, timed("EPOCHMILLISECONDS", "yyyy-MM-dd")),
    "timed-slashes": Case("p", MILLIS, timed("EPOCHMILLISECONDS", "yyyy/MM/dd")),
    "timed-moment": Case("p", MOMENTS, timed("EPOCHMILLISECONDS", "yyyy-MM-dd HH")),
    "timed-local": Case("p", LOCAL, timed("EPOCHMILLISECONDS", "yyyy-MM-dd HH")),
    "timed-date": Case("p", DATES, timed("EPOCHMILLISECONDS", "yyyyMM")),
    "timed-text": Case(
        "p",
        ("'2024-01-01 01:02:03'", "'2024-01-02 01:02:03'", "'1969-12-31 01:02:03'"),
        timed("DATE_STRING", "yyyyMMdd", given="yyyy-MM-dd HH:mm:ss"),
    ),
    "timed-text-slashes": Case("p", DAYS, timed("DATE_STRING", "yyyy/MM/dd", given="yyyy-MM-dd")),
    "timed-seconds": Case("p", ("1704069015L", "1704189844L", "5L"), timed("UNIX_TIMESTAMP", "yyyyMMdd")),
    "timed-double": Case("p", ("1704069015D", "1704189844D", "5D"), timed("UNIX_TIMESTAMP", "yyyyMMdd")),
    "custom": Case("r,p", beside(MILLIS), custom()),
    "custom-moment": Case("r,p", beside(MOMENTS), custom()),
    "custom-one": Case("p", MILLIS, custom()),
    "custom-text": Case("r,p", beside(DAYS), custom(timed("DATE_STRING", "yyyy/MM", given="yyyy-MM-dd"))),
    "custom-simple": Case("r,p", beside(MOMENTS), {**ENCODED, **custom()}),
}
"""Tables by their names; those that begin with ``custom`` have the type of each field behind it."""
VERSIONS = {"1.2.0": ("9", "6"), "0.15.0": ("6",)}


def main(chosen: list[str]) -> None:
    for version, tables in VERSIONS.items():
        with RealHudi(version) as hudi, tempfile.TemporaryDirectory() as folder:
            for case in CASES:
                for table in tables:
                    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
                        short = "cow" if kind.startswith("C") else "mor"
                        name = f"partition-{case}-{short}{table}-h{version.replace('.', '')}"
                        if (chosen and name not in chosen) or Path(FOLDER, f"{name}.zip").exists():
                            continue
                        try:
                            _make(hudi, Path(folder, name), case, kind, table)
                        except RealHudiError as error:
                            sys.stderr.write(f"{name}: {str(error)[:200]}\n")  # Hudi refuses some
                        else:
                            pack(hudi, Path(folder, name), name, {"snapshot": {}})


def _make(hudi: RealHudi, path: Path, name: str, kind: str, version: str) -> None:
    case = CASES[name]
    fields = case.fields.split(",")
    simple = "Simple" if len(fields) == 1 else "Complex"
    of_custom = {"r": "r:SIMPLE", "p": "p:SIMPLE" if name == "custom-simple" else "p:TIMESTAMP"}
    options = {
        **CHOSEN,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.keygenerator.class": f"{KEYGEN}{simple}KeyGenerator",
        "hoodie.datasource.write.partitionpath.field": ",".join(
            of_custom[one] if name.startswith("custom") else one for one in fields
        ),
        "hoodie.write.table.version": version,
        **case.options,
    }
    rows = ", ".join(f"('{key}', 1, {values})" for key, values in zip("abc", case.values, strict=True))
    text = f"select * from values {rows} as t(k, o, {case.fields})"
    update = f"select k, 2 as o, {case.fields} from ({text}) where k = 'b'"
    for one in (text, update):
        hudi.eval_(
            f"spark.sql({one!r}).coalesce(1).write.format('hudi').options(**{options!r}).mode('append')"
            f".save({str(path)!r}); result = None"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
