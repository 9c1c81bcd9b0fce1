"""Small merge-on-read tables of real Hudi whose log files are easily merged wrongly, each with the rows that it has.

``python -m tests.foreign.log_tables`` makes the archives again, or those whose names are given.  ``answer.json`` has
what Hudi read; of HFile blocks, which Hudi 1.2.0 cannot merge on Spark, it has what was written.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.conformance.hudi import RealHudi

FOLDER = Path(__file__).parent
_MODEL = "org.apache.hudi.common.model."
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Made:
    """How a table is made: by a write of each of *batches*; *is_read* says whether Hudi can read it."""

    batches: tuple[pa.Table, ...]
    ordering: str = "ts"
    key: str = "k"
    version: int = 9
    options: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = True


def _marked(column: str, first: Sequence[str | None], second: Sequence[str | None]) -> tuple[pa.Table, ...]:
    """Rows with operations in *column*: their inserts, and what comes after them."""
    return tuple(
        pa.table(
            {
                "k": [f"k{number}" for number in range(len(operations))],
                "ts": pa.array([ts] * len(operations), pa.int64()),
                "_event_lsn": pa.array([ts] * len(operations), pa.int64()),
                "_event_seq": [f"000001.{ts}"] * len(operations),
                "_event_bin_file": ["000001"] * len(operations),
                "_event_pos": pa.array([ts] * len(operations), pa.int64()),
                column: pa.array(operations, pa.string()),
            }
        )
        for ts, operations in ((1, first), (2, second))
    )


def _payload(name: str) -> dict[str, str]:
    return {"hoodie.datasource.write.payload.class": f"{_MODEL}{name}"}


_FIRST, _SECOND = ["I", "I", "I", "I", "I", "D", "d"], ["D", "d", "U", None, "", "I", "I"]
_DMS = _marked("Op", _FIRST, _SECOND)
_DEBEZIUM = _marked("_change_operation_type", _FIRST, _SECOND)

_DAYS = (-5, 0, 5, None)


def _dated(which: int) -> pa.Table:
    """A row for each two days of 1970, the first or second of which is its ordering value; null is one too."""
    pairs = [(before, after) for before in _DAYS for after in _DAYS]
    days = pa.array([pair[which] for pair in pairs], pa.int32()).cast(pa.date32())
    return pa.table({"k": [f"{before}>{after}" for before, after in pairs], "day": days, "v": [which] * len(pairs)})


CONTAINERS = (
    *("value", "data", "op", "before", "after", "location", "array", "element", "list", "bag", "key_value"),
    *("record_key", "partition_path", "ordering", "array_element", "map", "entries"),
)
"""Names of fields in Hudi's own records, and of the groups by which Parquet stores lists and maps."""


def _named() -> pa.Table:
    """Columns, and fields at all depths, with names of CONTAINERS and the name ``key``."""
    inner = pa.struct([(name, pa.string()) for name in (*CONTAINERS, "key")])
    value = {name: f"in {name}" for name in inner.names}
    alone = {
        f"of_{name}": pa.array([[{name: "x"}], []], pa.list_(pa.struct([(name, pa.string())])))
        for name in ("element", "array", "list", "bag", "array_element")
    }
    return pa.table(
        {
            "k": ["a", "b"],
            "ts": pa.array([1, 1], pa.int64()),
            **{name: [f"{name} 1", None] for name in CONTAINERS},
            "s": pa.array([value, None], inner),
            "l": pa.array([[value], []], pa.list_(inner)),
            "m": pa.array([[("q", value)], []], pa.map_(pa.string(), inner)),
            **alone,
        }
    )


def _keyed(**columns: Any) -> pa.Table:
    return pa.table({"k": ["a", "b"], "ts": pa.array([1, 1], pa.int64()), **columns})


_HFILE = {"hoodie.logfile.data.block.format": "hfile"}
_PARQUET = {"hoodie.logfile.data.block.format": "parquet"}

TABLES: Mapping[str, Made] = {
    "delete-marker-dms-v6": Made(_DMS, version=6, options=_payload("AWSDmsAvroPayload")),
    "delete-marker-dms-v9": Made(_DMS, options=_payload("AWSDmsAvroPayload")),
    "delete-marker-mysql-v8": Made(
        _DEBEZIUM, "_event_seq", version=8, options=_payload("debezium.MySqlDebeziumAvroPayload")
    ),
    "delete-marker-postgres-v8": Made(
        _DEBEZIUM, "_event_lsn", version=8, options=_payload("debezium.PostgresDebeziumAvroPayload")
    ),
    "delete-marker-chosen-v8": Made(
        _DMS,
        version=8,
        options={
            **_payload("DefaultHoodieRecordPayload"),
            "hoodie.payload.delete.field": "Op",
            "hoodie.payload.delete.marker": "D",
        },
    ),
    **{
        f"null-days-v{version}": Made(
            (_dated(0), _dated(1)), "day", version=version, options=_payload("DefaultHoodieRecordPayload")
        )
        for version in (6, 9)
    },
    "names-avro-v9": Made((_named(), _named())),
    "names-parquet-v6": Made((_named(), _named()), version=6, options=_PARQUET),
    "names-hfile-v9": Made((_named(), _named()), options=_HFILE, is_read=False),
    "key-is-record-key-v9": Made(
        (_keyed(key=["x", "y:1,k:2"]), _keyed(key=["x", "y:1,k:2"])), key="key", options=_HFILE, is_read=False
    ),
    "key-of-two-v6": Made(
        (_keyed(key=["x", None]), _keyed(key=["x", None])), key="key,k", version=6, options=_HFILE, is_read=False
    ),
    "key-is-lost-v9": Made((_keyed(key=["x", "y"]), _keyed(key=["x", "y"])), options=_HFILE, is_read=False),
}


def unpack(name: str, root: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Unpack the table *name* below *root*; return its path and its rows, sorted by the text of each."""
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        archive.extractall(root / name)
    return root / name / "table", json.loads((root / name / "answer.json").read_text())


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows in the form of ``answer.json``."""
    found = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return sorted(found, key=repr)


def _plain(value: Any) -> Any:
    """A value as JSON carries it: a map is a list of pairs."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (int, str, bool)) else str(value)


def make(hudi: RealHudi, name: str) -> None:
    """Make the archive of the table *name*."""
    made = TABLES[name]
    options = {
        "hoodie.table.name": "t",
        "hoodie.write.table.version": str(made.version),
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": made.key,
        "hoodie.datasource.write.precombine.field": made.ordering,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.embed.timeline.server": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.parquet.small.file.limit": "0",
        **made.options,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table")
        for batch in made.batches:
            hudi.write(batch, path, options)
        columns = made.batches[0].column_names
        answer = rows_of(hudi.read(path).select(columns) if made.is_read else made.batches[-1])
        with zipfile.ZipFile(FOLDER / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path.rglob("*")):
                if file.is_file() and not file.name.endswith(".crc"):
                    archive.writestr(_entry(f"table/{file.relative_to(path)}"), file.read_bytes())
            archive.writestr(_entry("answer.json"), json.dumps(answer, indent=1))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def main(names: Sequence[str]) -> None:
    """Make the archives *names*, or all."""
    with RealHudi() as hudi:
        for name in names or TABLES:
            make(hudi, name)


if __name__ == "__main__":
    main(sys.argv[1:])
