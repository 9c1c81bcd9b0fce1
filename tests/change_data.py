"""Tables shaped like change data: their kinds, and how Hudi 1.2.0 merges their rows, one row after the other.

The model is written from Hudi's classes, value by value, and shares no code with the package.  A table has one file
group; ``base`` are the rows of its base file and ``log`` the entries of its log files by key, in a merge-on-read table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

MODEL = "org.apache.hudi.common.model."
PLACEHOLDER = "__debezium_unavailable_value"
Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """How a table merges its rows.

    *ordering* are the ordering columns that a user names, *ordering_9* those of table version 9.  A row whose *marker*
    column has the text is a delete.
    """

    options: dict[str, str]
    ordering: str = "ts"
    ordering_9: tuple[str, ...] = ("ts",)
    by_event_time: bool = True
    marker: tuple[str, str] | None = None
    fills: str = ""
    payload: str = ""

    def ordering_in(self, version: int) -> str:
        return ",".join(self.ordering_9) if version == 9 else self.ordering


def _payload(name: str) -> dict[str, str]:
    return {"hoodie.datasource.write.payload.class": MODEL + name}


_MARKED = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
_DEBEZIUM = ("_change_operation_type", "d")
KINDS = {
    "partial": Kind(_payload("PartialUpdateAvroPayload"), fills="nulls", payload="partial"),
    "non-defaults": Kind(
        _payload("OverwriteNonDefaultsWithLatestAvroPayload"), by_event_time=False, fills="nulls", payload="latest"
    ),
    "dms": Kind(_payload("AWSDmsAvroPayload"), by_event_time=False, marker=("Op", "D"), payload="dms"),
    "mysql": Kind(
        _payload("debezium.MySqlDebeziumAvroPayload"),
        "_event_seq",
        ("_event_bin_file", "_event_pos"),
        marker=_DEBEZIUM,
        payload="mysql",
    ),
    "postgres": Kind(
        _payload("debezium.PostgresDebeziumAvroPayload"),
        "_event_lsn",
        ("_event_lsn",),
        marker=_DEBEZIUM,
        fills="placeholder",
        payload="postgres",
    ),
    "marker": Kind({**_payload("DefaultHoodieRecordPayload"), **_MARKED}, marker=("op", "D")),
    "marker by event time": Kind({**_payload("EventTimeAvroPayload"), **_MARKED}, marker=("op", "D")),
    "marker by commit time": Kind(
        {**_payload("OverwriteWithLatestAvroPayload"), **_MARKED}, by_event_time=False, marker=("op", "D")
    ),
}
OWN = {
    "dms": pa.schema([("Op", pa.string())]),
    "mysql": pa.schema(
        [("_change_operation_type", pa.string()), ("_event_bin_file", pa.string()), ("_event_pos", pa.int64()),
         ("_event_seq", pa.string())]
    ),
    "postgres": pa.schema([("_change_operation_type", pa.string()), ("_event_lsn", pa.int64())]),
}  # fmt: skip
"""The columns that rows of a kind have beside those of all."""


def schema_of(kind: str) -> pa.Schema:
    common = [("id", pa.string()), ("ts", pa.int64()), ("op", pa.string())]
    if kind == "dms":
        common = common[:2]  # Spark tells no column op from Op
    return pa.schema([*common, *OWN.get(kind, ()), ("a", pa.string()), ("b", pa.string()), ("n", pa.int32())])


def row_of(kind: str, key: int, moment: int, operation: str, values: Sequence[Any]) -> Row:
    """A row of the key at the *moment* of its source; *operation* is one of c, u and d."""
    row: Row = {"id": f"k{key}", "ts": moment, **dict(zip("abn", values, strict=True))}
    own = {
        "op": "D" if operation == "d" else "U",
        "Op": "D" if operation == "d" else "U",
        "_change_operation_type": operation,
        "_event_bin_file": f"bin.{moment // 10:03d}",
        "_event_pos": moment % 10 * 7,
        "_event_seq": f"{moment // 10 + 8}.{moment % 10 * 7}",  # 10.0 is later than 9.7
        "_event_lsn": moment,
    }
    return {name: own[name] if name in own else row[name] for name in schema_of(kind).names}


@dataclass(frozen=True)
class Entry:
    """A row, or a delete with its ordering values; a delete by key has none."""

    row: Row | None
    ordering: tuple[Any, ...] | None
    is_delete: bool = False


@dataclass
class Model:
    """What Hudi shows of a table after each write."""

    kind: str
    version: int
    is_cow: bool
    logs_all: bool = False
    """Whether rows of new keys are in log files, too, as with a bucket index."""
    base: dict[str, Row] = field(default_factory=dict)
    log: dict[str, Entry] = field(default_factory=dict)

    @property
    def about(self) -> Kind:
        return KINDS[self.kind]

    @property
    def by_payload(self) -> bool:
        """Whether a payload class merges, as below version 9."""
        return self.version < 9 and bool(self.about.payload)

    @property
    def rows(self) -> list[Row]:
        left = {key: self.merge_base(row, self.log.get(key)) for key, row in self.base.items()}
        left |= {key: one for key, one in self.log.items() if key not in self.base}
        shown = {key: one.row for key, one in left.items() if not one.is_delete and one.row is not None}
        return [row for _, row in sorted(shown.items())]

    def upsert(self, rows: Iterable[Row]) -> None:
        combined: dict[str, Entry] = {}
        for row in rows:
            entry = self.entry(row)
            known = combined.get(row["id"])
            combined[row["id"]] = entry if known is None else self.combine(known, entry)
        self._write(combined)

    def delete(self, keys: Iterable[str]) -> None:
        self._write({key: Entry(None, None, is_delete=True) for key in keys})

    def compact(self) -> None:
        self.base, self.log = {row["id"]: row for row in self.rows}, {}

    def _write(self, entries: dict[str, Entry]) -> None:
        for key, entry in entries.items():
            if self.is_cow or not (self.logs_all or key in self.base or key in self.log):
                self._rewrite(key, entry)
                continue
            logged = self.log.get(key)
            found = Entry(None, entry.ordering, is_delete=True) if entry.is_delete else entry
            self.log[key] = found if logged is None else self.merge(logged, found)

    def _rewrite(self, key: str, entry: Entry) -> None:
        merged = self.merge(self.entry(self.base[key]), entry) if key in self.base else entry
        if merged.is_delete:
            self.base.pop(key, None)
        elif merged.row is not None:
            self.base[key] = merged.row

    def merge_base(self, row: Row, entry: Entry | None) -> Entry:
        return self.entry(row) if entry is None else self.merge(self.entry(row), entry)

    def entry(self, row: Row) -> Entry:
        marker = self.about.marker
        text = row[marker[0]] if marker else None
        ignores_case = self.by_payload
        is_delete = (
            marker is not None
            and text is not None
            and (text.lower() == marker[1].lower() if ignores_case else text == marker[1])
        )
        names = self.about.ordering_in(self.version).split(",")
        if self.version == 9 and not self.about.by_event_time:
            names = []
        return Entry(row, tuple(_ordering(name, row[name]) for name in names), is_delete)

    def combine(self, old: Entry, new: Entry) -> Entry:
        """BaseWriteHelper.reduceRecords; below version 9 the preCombine of the payload classes."""
        if not self.by_payload:
            return self.merge(old, new)
        is_older = old.ordering > new.ordering  # type: ignore[operator]
        if self.about.payload != "partial":
            return old if is_older else new
        high, low = (old, new) if is_older else (new, old)
        return new if high.is_delete else self.fill(high, low)

    def merge(self, old: Entry, new: Entry) -> Entry:
        """BufferedRecordMergerFactory; below version 9 the combineAndGetUpdateValue of the payload classes."""
        return self.merge_by_payload(old, new) if self.by_payload else self.merge_by_mode(old, new)

    def merge_by_mode(self, old: Entry, new: Entry) -> Entry:
        if old.is_delete and old.ordering is None and new.is_delete:
            return old  # deltaMergeDeleteRecord: a delete by key stays
        if new.is_delete and new.ordering is None:
            return new
        if self.about.by_event_time and old.ordering is not None and old.ordering > new.ordering:  # type: ignore[operator]
            return old if old.is_delete or new.is_delete else self.fill(old, new)
        return new if old.is_delete or new.is_delete else self.fill(new, old)

    def merge_by_payload(self, old: Entry, new: Entry) -> Entry:
        if new.row is None or old.row is None:
            return new
        is_older = old.ordering > new.ordering  # type: ignore[operator]
        if self.about.payload in ("mysql", "postgres"):
            return old if is_older else new if new.is_delete else self.fill(new, old)
        if new.is_delete or self.about.payload == "dms":
            return new
        return self.fill(old, new) if is_older and self.about.payload == "partial" else self.fill(new, old)

    def fill(self, high: Entry, low: Entry) -> Entry:
        if not self.about.fills or high.row is None or low.row is None:
            return high
        row = {name: low.row[name] if self._is_unset(value) else value for name, value in high.row.items()}
        return Entry(row, high.ordering, high.is_delete)

    def _is_unset(self, value: Any) -> bool:
        return value == PLACEHOLDER if self.about.fills == "placeholder" else value is None


def _ordering(name: str, value: Any) -> Any:
    return tuple(map(int, value.split("."))) if name == "_event_seq" else value


def table_of(kind: str, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema_of(kind))


def shown(kind: str, table: pa.Table) -> list[Row]:
    """The rows of a query without meta fields, by key."""
    return sorted(table.select(schema_of(kind).names).to_pylist(), key=lambda row: str(row["id"]))


def random_batch(kind: str, choose: Callable[[int], int], count: int) -> list[Row]:
    """Rows of a few keys, with unset values and deletes; *choose* returns a number below its argument."""
    rows = []
    unset = PLACEHOLDER if KINDS[kind].fills == "placeholder" else None
    for _ in range(count):
        texts = [unset if choose(3) == 0 else f"{name}{choose(100)}" for name in "ab"]
        number = None if choose(3) == 0 else choose(100)
        operation = "d" if KINDS[kind].marker and choose(5) == 0 else "cu"[choose(2)]
        rows.append(row_of(kind, choose(6), choose(30), operation, [*texts, number]))
    return rows
