"""Make the tables whose files label times otherwise than the table: ``python -m tests.foreign.make_labels``.

Real Hudi writes numbers of milliseconds as microseconds and as bare longs; then the schema of the commits is edited to
what the numbers count, as the commits of a writer with Avro schemas name it, and Hudi 1.2.0 answers.
"""

from __future__ import annotations

import json
import tempfile
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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for version in sorted({version for version, _, _ in CASES.values()}):
            with RealHudi(version) as hudi:
                for name, (made_by, kind, table) in CASES.items():
                    if made_by == version:
                        _write(hudi, Path(folder, name), kind, table)
                        _edit_schemas(Path(folder, name))
        with RealHudi() as hudi:
            for name in CASES:
                pack(hudi, Path(folder, name), name, {"snapshot": {}})


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
    main()
