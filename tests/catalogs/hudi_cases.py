"""What Hudi's own sync wrote into a Hive Metastore, case by case; and the same writes by hudiformat."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudiformat import Table, create_table, open_table
from hudiformat.table.options.keys import TABLE_KEYS
from tests.tables import GOLDEN, Clock

TIMES = ("last_commit_time_sync", "last_commit_completion_time_sync")
OF_THE_METASTORE = ("transient_lastDdlTime", "numFiles", "totalSize")
OF_TABLES = ("catName", "createTime", "lastAccessTime", "writeId", "ownerType", "owner")
"""Fields that the metastore sets, or that name who writes."""
SPARK = "3.5.7"
"""The version of Spark that Hudi wrote with."""
_ASKED = "hoodie.datasource.write."
_FACTS = (
    "hoodie.table.name",
    "hoodie.write.table.version",
    "hoodie.embed.timeline.server",
    "hoodie.datasource.hive_sync.metastore.uris",
)


@cache
def cases() -> Mapping[str, Any]:
    with gzip.open(GOLDEN / "hms" / "hive-3.1.3-hudi-1.2.0.json.gz") as file:
        found: Mapping[str, Any] = json.load(file)["cases"]
    return found


def writes(case: str, path: Path, more: Mapping[str, str]) -> Iterator[str]:
    """Make the table of *case* at *path* by its writes, and yield the number of each step after it."""
    asked = cases()[case]["options"]
    options = {key: value for key, value in asked.items() if not key.startswith(_ASKED) and key not in _FACTS}
    # the options of hive_sync that Hudi 1.2.0 itself no longer knows
    options.pop("hoodie.datasource.hive_sync.use_pre_apache_input_format", None)
    options |= {"hoodie.meta_sync.spark.version": SPARK, "hudiformat.sync": "false", **more}
    if case.startswith("types"):
        yield from _write_types(case, path, asked, options)
    else:
        yield from _write_steps(case, path, asked, options)


def _table(path: Path, asked: Mapping[str, str], options: Mapping[str, str], schema: pa.Schema) -> Table:
    name = asked["hoodie.table.name"]
    style = {f"{_ASKED}hive_style_partitioning": asked.get(f"{_ASKED}hive_style_partitioning", "false")}
    create_table(
        path,
        name=name,
        schema=schema,
        record_key=["id"],
        ordering=["ts"],
        partition_by=[one for one in asked.get(f"{_ASKED}partitionpath.field", "").split(",") if one],
        table_type=asked[f"{_ASKED}table.type"],
        version=int(asked["hoodie.write.table.version"]),
        options={**options, **style},
    )
    return open_table(path, options={k: v for k, v in options.items() if k not in TABLE_KEYS}, clock=Clock())


def _write_steps(case: str, path: Path, asked: Mapping[str, str], options: Mapping[str, str]) -> Iterator[str]:
    parts = [one for one in asked.get(f"{_ASKED}partitionpath.field", "").split(",") if one]
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("n", pa.int32()), *((p, pa.string()) for p in parts)])
    table = _table(path, asked, options, schema)
    first, second, third = ("x", "1"), ("y", "2"), ("z", "3")

    def rows(*found: tuple[str, int, tuple[str, str]], extra: float | None = None) -> pa.Table:
        new = {} if extra is None else {"extra": extra}
        listed = [{"id": i, "ts": v, "n": v, **dict(zip(parts, p, strict=False)), **new} for i, v, p in found]
        return pa.Table.from_pylist(listed, schema if extra is None else schema.append(pa.field("extra", pa.float64())))

    table.upsert(rows(("a", 1, first), ("b", 1, second)))
    yield "1"
    table.upsert(rows(("a", 2, first)))
    yield "2"
    table.upsert(rows(("c", 1, third)))
    yield "3"
    if parts:
        is_hive = asked[f"{_ASKED}hive_style_partitioning"] == "true"
        pairs = zip(parts, second, strict=False)
        table.delete_partitions("/".join(f"{p}={v}" if is_hive else v for p, v in pairs))
        yield "4"
    table.upsert(rows(("a", 4, first), extra=1.5))
    yield "5"
    table.upsert(rows(("d", 5, third), extra=2.5))
    yield "6"


def _write_types(case: str, path: Path, asked: Mapping[str, str], options: Mapping[str, str]) -> Iterator[str]:
    time = pa.timestamp("us", "UTC")
    inner = pa.struct([("x", pa.string()), ("y", time)])
    nest = pa.struct([("a", pa.int32()), ("Bc", pa.decimal128(5, 1)), ("nest", pa.struct([("z", pa.date32())]))])
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("ts", pa.int64()),
            ("b", pa.bool_()),
            ("i8", pa.int8()),
            ("i16", pa.int16()),
            ("i", pa.int32()),
            ("l", pa.int64()),
            ("f", pa.float32()),
            ("d", pa.float64()),
            ("dec", pa.decimal128(10, 2)),
            ("dec38", pa.decimal128(38, 10)),
            ("s", pa.string()),
            ("bin", pa.binary()),
            ("day", pa.date32()),
            ("t", time),
            ("tn", pa.timestamp("us")),
            ("arr", pa.list_(pa.int32())),
            ("arrs", pa.list_(inner)),
            ("m", pa.map_(pa.string(), pa.int64())),
            ("st", nest),
            ("UpperCase", pa.string()),
            ("dt", pa.string()),
        ]
    )
    moment = datetime(2026, 1, 2, tzinfo=timezone.utc)
    row = {
        "id": "a",
        "ts": 1,
        "b": True,
        "i8": 1,
        "i16": 2,
        "i": 3,
        "l": 4,
        "f": 1.0,
        "d": 2.0,
        "s": "s",
        "bin": b"x",
        "dec": Decimal("1.25"),
        "dec38": Decimal("1.5"),
        "day": date(2026, 1, 2),
        "t": moment,
        "tn": moment.replace(tzinfo=None),
        "arr": [1],
        "arrs": [{"x": "q", "y": moment}],
        "m": [("k", 1)],
        "st": {"a": 1, "Bc": Decimal("1.5"), "nest": {"z": date(2026, 1, 1)}},
        "UpperCase": "U",
        "dt": "2026-01-02",
    }
    _table(path, asked, options, schema).upsert(pa.Table.from_pylist([row], schema))
    yield "1"


def expected(case: str, step: str, path: Path) -> dict[str, Any]:
    """The objects after a step of *case*, as Hudi's sync left them, for a table at *path*."""
    [found] = [one for one in cases()[case]["steps"] if one["step"].startswith(step)]
    return {name: comparable(one, cases()[case]["path"], str(path)) for name, one in found["objects"].items()}


def comparable(found: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """A table and its partitions without what differs from one sync to the next; the path *old* is *new*."""
    text = json.dumps({"table": found["table"], "partitions": found["partitions"]})
    result: dict[str, Any] = json.loads(text.replace(f'{old}"', f'{new}"').replace(f"{old}/", f"{new}/"))
    for one in (result["table"], *result["partitions"]):
        for name in OF_TABLES:
            one.pop(name, None)
        parameters = one.get("parameters") or {}
        for name in OF_THE_METASTORE:
            parameters.pop(name, None)
        for name in (*TIMES, "hudi_writer_version"):
            if name in parameters:
                parameters[name] = "there"
        one["sd"].pop("skewedInfo", None)
        one["sd"] = {name: value for name, value in one["sd"].items() if value not in ([], {}, False, 0)}
    for name in ("retention", "rewriteEnabled", "temporary"):
        result["table"].pop(name, None)
    result["partitions"].sort(key=lambda one: one["values"])
    return result
