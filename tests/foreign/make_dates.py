"""Make the tables with INT96 and with dates of the legacy calendar: ``python -m tests.foreign.make_dates``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, UNPARTITIONED, pack

ROWS = """select * from values
 ('a', 1, date'1500-01-01', timestamp'1500-01-01 00:00:00', timestamp'1500-01-01 12:34:56.123456'),
 ('b', 1, date'0001-01-01', timestamp'0001-01-01 00:00:00', timestamp'0001-01-01 00:00:00.000001'),
 ('c', 1, date'1582-10-04', timestamp'1582-10-04 10:00:00', timestamp'1582-10-15 00:00:00'),
 ('d', 1, date'1900-01-01', timestamp'1900-01-01 00:00:00', timestamp'1850-01-01 00:00:00'),
 ('e', 1, date'2024-05-06', timestamp'2500-05-06 07:08:09.123456', timestamp'9999-12-31 23:59:59.999999'),
 ('f', 1, null, null, null), ('g', 1, date'1500-03-01', timestamp'1500-02-28 23:59:59', timestamp'1212-12-12 12:12:12')
 as t(k, o, d, t, u)"""
NESTED = "select k, o, d, t, u, named_struct('d', d, 't', t) as s, array(t, u) as l, map('x', d) as m from ({rows})"
CHOSEN = {
    **OPTIONS,
    **UNPARTITIONED,
    "hoodie.datasource.write.precombine.field": "o",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.write.auto.upgrade": "false",
}
CASES = {  # name: (version of Hudi, type of the table, format of timestamps, calendar, time zone)
    "dates-int96-cow6-h0150": ("0.15.0", "COPY_ON_WRITE", "INT96", "CORRECTED", "UTC"),
    "dates-int96-mor6-h0150": ("0.15.0", "MERGE_ON_READ", "INT96", "CORRECTED", "UTC"),
    "dates-legacy-int96-cow6-h0150": ("0.15.0", "COPY_ON_WRITE", "INT96", "LEGACY", "UTC"),
    "dates-legacy-millis-cow6-h0150": ("0.15.0", "COPY_ON_WRITE", "TIMESTAMP_MILLIS", "LEGACY", "UTC"),
    "dates-legacy-mor6-h0150": ("0.15.0", "MERGE_ON_READ", "TIMESTAMP_MICROS", "LEGACY", "UTC"),
    "dates-legacy-cow9-h120": ("1.2.0", "COPY_ON_WRITE", "TIMESTAMP_MICROS", "LEGACY", "UTC"),
    "dates-legacy-offset-cow9-h120": ("1.2.0", "COPY_ON_WRITE", "TIMESTAMP_MICROS", "LEGACY", "+05:30"),
    "dates-legacy-zone-cow9-h120": ("1.2.0", "COPY_ON_WRITE", "TIMESTAMP_MICROS", "LEGACY", "Europe/Berlin"),
}


def main() -> None:
    for version in ("0.15.0", "1.2.0"):
        with RealHudi(version) as hudi, tempfile.TemporaryDirectory() as folder:
            hudi.eval_("spark.conf.set('spark.sql.parquet.datetimeRebaseModeInWrite', 'CORRECTED'); result = None")
            for name, (made_by, kind, timestamps, calendar, zone) in CASES.items():
                if made_by == version:
                    _make(hudi, Path(folder, name), kind, timestamps, (calendar, zone))
                    pack(hudi, Path(folder, name), name, {"snapshot": {}})


def _make(hudi: RealHudi, path: Path, kind: str, timestamps: str, written_in: tuple[str, str]) -> None:
    calendar, zone = written_in
    options = {**CHOSEN, "hoodie.datasource.write.table.type": kind, "hoodie.parquet.outputtimestamptype": timestamps}
    conf = {
        "spark.sql.session.timeZone": zone,
        **{f"spark.sql.parquet.{one}RebaseModeInWrite": calendar for one in ("datetime", "int96")},
    }
    rows = NESTED.format(rows=ROWS)
    steps = [("bulk_insert", rows)]
    if kind == "MERGE_ON_READ":
        steps.append(("upsert", f"{rows} where k in ('d', 'f')"))
    for operation, text in steps:
        options["hoodie.datasource.write.operation"] = operation
        hudi.eval_(f"""
before = {{key: spark.conf.get(key, None) for key in {list(conf)!r}}}
for key, value in {conf!r}.items():
    spark.conf.set(key, value)
try:
    spark.sql({text!r}).coalesce(1).write.format("hudi").options(**{options!r}).mode("append").save({str(path)!r})
finally:
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)
result = None
""")


if __name__ == "__main__":
    main()
