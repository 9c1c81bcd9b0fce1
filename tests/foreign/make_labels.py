"""Make the tables whose files label times otherwise than they count: ``python -m tests.foreign.make_labels``.

Real Hudi writes numbers of milliseconds as microseconds and as bare longs.  In the tables ``labels-`` the schema of the
commits is then edited to what the numbers count, as the commits of a writer with Avro schemas name it.  Those of
``wrong-labels-`` stay as they are: their schema is wrong like their files; in ``wrong-labels-some-`` the last commit
counts microseconds.  Hudi 1.2.0 answers.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hudiformat.timeline.commit_metadata import decode_commit_metadata, encode_commit_json, encode_commit_metadata
from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import OPTIONS, UNPARTITIONED, pack

ROWS = """
select k, {order} as o, timestamp_micros(n) as ts, n as l, named_struct('ts', timestamp_micros(n), 'x', k) as s
 from values
 ('a', 1704067200123), ('b', -5), ('c', 253402300799999), ('d', null) as t(k, n)"""
CHOSEN = {
    **OPTIONS,
    **UNPARTITIONED,
    "hoodie.datasource.write.precombine.field": "o",
    "hoodie.write.auto.upgrade": "false",
}
LABELS = {"ts": "timestamp-millis", "l": "local-timestamp-millis"}
CASES = {
    f"labels-{short}{table}-h{version.replace('.', '')}": (version, kind, table)
    for version, table in (("0.15.0", "6"), ("1.0.2", "8"), ("1.1.1", "9"))
    for short, kind in (("cow", "COPY_ON_WRITE"), ("mor", "MERGE_ON_READ"))
}
WRONG = {
    "wrong-labels-cow6-h0150": ("0.15.0", "COPY_ON_WRITE", "6"),
    "wrong-labels-mor8-h102": ("1.0.2", "MERGE_ON_READ", "8"),
    "wrong-labels-some-cow8-h102": ("1.0.2", "COPY_ON_WRITE", "8"),
    "wrong-labels-some-mor6-h0150": ("0.15.0", "MERGE_ON_READ", "6"),
}
_LATER = """
select 'e' as k, 1 as o, timestamp_micros(1704067200123456) as ts, 5L as l,
 named_struct('ts', timestamp_micros(1704067200123456), 'x', 'e') as s"""


def main(chosen: Sequence[str]) -> None:
    cases = {name: case for name, case in {**CASES, **WRONG}.items() if not chosen or name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        for version in sorted({version for version, _, _ in cases.values()}):
            with RealHudi(version) as hudi:
                for name, (made_by, kind, table) in cases.items():
                    if made_by == version:
                        _write(hudi, Path(folder, name), kind, table)
                        if name in CASES:
                            _edit_schemas(Path(folder, name))
                        elif "some" in name:
                            _insert_later(hudi, Path(folder, name), kind, table)
        with RealHudi() as hudi:
            for name in cases:
                pack(hudi, Path(folder, name), name, {"snapshot": {}})


def _insert_later(hudi: RealHudi, path: Path, kind: str, table: str) -> None:
    """Insert a row whose times are right into a file group of its own."""
    options = {
        **CHOSEN,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": table,
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.datasource.write.operation": "bulk_insert",
    }
    hudi.eval_(
        f"spark.sql({_LATER!r}).coalesce(1).write.format('hudi').options(**{options!r}).mode('append')"
        f".save({str(path)!r}); result = None"
    )


def _write(hudi: RealHudi, path: Path, kind: str, table: str) -> None:
    options = {**CHOSEN, "hoodie.datasource.write.table.type": kind, "hoodie.write.table.version": table}
    steps = [(1, "k is not null", "avro"), (2, "k in ('b', 'd')", "avro"), (3, "k = 'c'", "parquet")]
    for order, where, blocks in steps if kind == "MERGE_ON_READ" else steps[:1]:
        text = f"{ROWS.format(order=order)} where {where}"
        options["hoodie.logfile.data.block.format"] = blocks
        hudi.eval_(
            f"spark.sql({text!r}).coalesce(1).write.format('hudi').options(**{options!r}).mode('append')"
            f".save({str(path)!r}); result = None"
        )


def _edit_schemas(path: Path) -> None:
    for file in path.joinpath(".hoodie").rglob("*commit"):
        data = file.read_bytes()
        metadata = decode_commit_metadata(data, path=str(file))
        schema = json.loads(metadata.schema or "")
        for one in schema["fields"]:
            if one["name"] in LABELS:
                one["type"] = ["null", {"type": "long", "logicalType": LABELS[one["name"]]}]
            if one["name"] == "s":
                record = one["type"][1] if isinstance(one["type"], list) else one["type"]
                inner = record["fields"][0]
                inner["type"] = ["null", {"type": "long", "logicalType": LABELS["ts"]}]
        edited = replace(metadata, extra_metadata={**(metadata.extra_metadata or {}), "schema": json.dumps(schema)})
        encode = encode_commit_json if data.startswith(b"{") else encode_commit_metadata
        file.write_bytes(encode(edited))
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
