"""State how the records of a table are identified, compared and merged.  Pure.

:func:`merge_rule` makes the rule from the properties of a table: its merge mode, payload class and delete marker.  What
only Java can carry out, such as a payload class of the user, is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.merging.delete_markers import DeleteMarker
from hudiformat.schema.meta_fields import DELETE_OPERATIONS, META_FIELDS, OPERATION
from hudiformat.schema.table_schema import RowKeys, TableSchema, stored_keys
from hudiformat.timeline.table_config import MergeMode, PartialUpdateMode, TableConfig, TableType

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_DELETE_PROPERTIES = ("hoodie.payload.delete.field", "hoodie.payload.delete.marker")
_MARKER_PROPERTY = "hoodie.write.partial.update.unavailable.value"
_PAYLOADS = "org.apache.hudi.common.model."
_EVENT, _COMMIT = MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING
_IGNORE_DEFAULTS, _FILL = PartialUpdateMode.IGNORE_DEFAULTS, PartialUpdateMode.FILL_UNAVAILABLE


class RecordMerger(Protocol):
    """The merge function of a table with a custom merge mode, supplied by its user.

    Source: HoodieRecordMerger.
    """

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """Return the merged row of each pair of rows with the same key.

        Row *i* of the result is made of row *i* of *older* and row *i* of *newer*.  All three tables have the schema of
        the table, with all its columns; in log files and queries that includes the meta fields, in rows that are being
        written it does not.  Deletes are not passed to the merger: a delete removes the older rows of its
        key, and merging starts anew with the next record.
        """
        ...


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """Which values of a record mean "leave this column as it was".

    In *columns* these are the values that equal *marker*, or nulls if there is no marker.  *as_payload* follows Hudi's
    payload classes where they differ from the merge mode: a delete wins whatever its ordering value, the values of a
    deleted row have a lower precedence than those of the records after it, and the columns *newest* always have the
    value of the newer record.  Unless *late_rows_fill*, a record that loses against the row of a base file changes
    nothing.

    Source: PartialUpdateHandler; PartialUpdateAvroPayload, OverwriteNonDefaultsWithLatestAvroPayload.
    """

    columns: frozenset[str]
    marker: str | None = None
    as_payload: bool = False
    late_rows_fill: bool = True
    newest: frozenset[str] = frozenset()

    def is_set(self, name: str, values: pa.ChunkedArray) -> Booleans:
        """Return for each of a column's *values* whether the record sets the column, or leaves it as it was."""
        if name not in self.columns:
            return np.ones(len(values), np.bool_)
        if self.marker is None:
            return np.asarray(pc.is_valid(values))
        return ~np.asarray(pc.fill_null(pc.equal(values.cast(pa.binary()), self.marker.encode()), False))


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How the records of a table are identified and merged.

    ``keys`` returns the record key of each row of a table.  A row is a delete if its ``delete_column`` is true, its
    ``operation_column`` is ``D`` or ``-U``, or its ``delete_marker`` matches.
    With ``by_payload``, as a payload class of Java merges, a delete without its row wins, whatever its ordering value.
    ``partial`` describes the values that leave a column as it was.  If there is a ``merger``, it replaces all other
    rules for merging.
    """

    mode: MergeMode
    keys: Callable[[pa.Table], pa.ChunkedArray]
    ordering_fields: tuple[str, ...] = ()
    delete_column: str | None = None
    delete_marker: DeleteMarker | None = None
    operation_column: str | None = None
    partial: PartialUpdate | None = None
    merger: RecordMerger | None = None
    by_payload: bool = False

    @property
    def deletes_win(self) -> bool:
        """Whether a delete wins over every older entry of its key, whatever its ordering value."""
        return self.partial is not None and self.partial.as_payload

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that merging reads, without those that record keys are made of."""
        return (
            *self.ordering_fields,
            *self.delete_columns,
            *([self.operation_column] if self.operation_column else []),
        )

    @property
    def delete_columns(self) -> tuple[str, ...]:
        """The columns of a row's own that can mark it as a delete."""
        marker = self.delete_marker and self.delete_marker.column.partition(".")[0]
        return tuple(name for name in (self.delete_column, marker) if name)

    def deletes(self, rows: pa.Table | pa.RecordBatch) -> Booleans:
        """Return for each of *rows* whether it is a delete; a column that they lack marks none.

        Source: RecordContext.isDeleteRecord.
        """
        flags, names = np.zeros(rows.num_rows, dtype=np.bool_), rows.schema.names
        if self.delete_column in names:
            flags |= _is_true(rows[self.delete_column])
        if self.operation_column in names:
            flags |= _is_true(pc.is_in(rows[self.operation_column], value_set=pa.array(DELETE_OPERATIONS)))
        if self.delete_marker is not None and self.delete_marker.is_in(rows.schema):
            flags |= _is_true(self.delete_marker.matches(rows))
        return flags


@dataclass(frozen=True, slots=True)
class Combining:
    """How several rows with the same key become one row.

    Without *rule* the row with the highest values of the *ordering_fields* is kept, of equal ones the last; with it the
    values of the rows are merged.
    """

    ordering_fields: tuple[str, ...] = ()
    rule: MergeRule | None = None


def _is_true(values: pa.Array | pa.ChunkedArray) -> Booleans:
    """Return for each of *values* whether it is true; null counts as false."""
    return np.asarray(pc.fill_null(values, False))


class SequenceField(str):
    """An ordering field whose texts, ``<number of a file>.<position>``, compare as pairs of numbers."""

    __slots__ = ()


_SEQUENCE = r"^(?P<file>[0-9]{1,19})[.](?P<position>[0-9]{1,19})(?P<rest>[.].*)?$"
_DIGITS = 19


def ordering_values(rows: pa.Table | pa.RecordBatch, fields: Sequence[str]) -> list[pa.ChunkedArray]:
    """Return the columns *fields* of *rows*, with sequences as texts that compare as they do.

    Raises:
        UnsupportedFeatureError: a text is no sequence.
    """
    columns = [rows[name] for name in fields]
    found = [one if isinstance(one, pa.ChunkedArray) else pa.chunked_array([one]) for one in columns]
    return [
        _pad_sequences(column) if isinstance(name, SequenceField) else column
        for name, column in zip(fields, found, strict=True)
    ]


def _pad_sequences(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return sequences with all their digits: "9.12" becomes "0000000000000000009.0000000000000000012"."""
    numbers = pc.extract_regex(column, _SEQUENCE)
    wrong = pc.and_(pc.is_valid(column), pc.is_null(numbers))
    if pc.any(wrong).as_py():
        found = column.filter(wrong)[0].as_py()
        raise UnsupportedFeatureError(
            "expected sequences such as '000003.154', by whose numbers MySqlDebeziumAvroPayload orders rows below "
            f"table version 9, found {found!r}; write the table with version 9, where {SEQUENCE} does not count",
            feature="an _event_seq that has no two numbers",
        )
    parts = [pc.utf8_lpad(pc.struct_field(numbers, name), _DIGITS, "0") for name in ("file", "position")]
    return pc.binary_join_element_wise(*parts, ".")


OrderingKeys = tuple[pa.ChunkedArray, ...]
"""One array per ordering column, in the order of the columns, all of one length."""


def comparable_integers(columns: OrderingKeys, length: int) -> Integers:
    """Return an integer per row that compares like the row's ordering values; 0 for all rows if there are no columns.

    Several columns compare in order.  Null is equal to zero in a column of numbers, dates (1970-01-01) or times in
    milliseconds, as Hudi's default, the int 0, and lower than every value of any other type.

    The rows (1, "b"), (1, "a"), (0, "z")::

        ranks of the first column:  [1, 1, 0]             result so far: [1, 1, 0]
        ranks of the second column: [1, 0, 2]
        result * 3 + ranks:         [4, 3, 2]             without gaps:  [2, 1, 0]
    """
    result: Integers = np.zeros(length, dtype=np.int64)
    for position, column in enumerate(columns):
        values = _as_integers(column)
        if position == 0 and len(columns) == 1:
            return values
        ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
        result = np.unique(result * (int(ranks.max(initial=0)) + 1) + ranks, return_inverse=True)[1].astype(np.int64)
    return result


def _as_integers(column: pa.ChunkedArray) -> Integers:
    """Return an integer per row that compares like *column*; null counts as in :func:`comparable_integers`."""
    kind = column.type
    if not len(column):
        return np.zeros(0, np.int64)  # older versions of pyarrow cannot rank an empty decimal column
    if pa.types.is_integer(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int32()).cast(pa.int64()), 0))
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), np.iinfo(np.int64).min))
    if pa.types.is_floating(kind):
        return _float_bits(pc.fill_null(column.cast(pa.float64()), 0.0))
    if pa.types.is_decimal(kind):
        column = pc.fill_null(column, pa.scalar(Decimal(0), kind))
    ranks = np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    return np.where(np.asarray(pc.is_null(column)), 0, ranks)


def _float_bits(column: pa.ChunkedArray) -> Integers:
    """Return integers that compare as Java compares the numbers: -0.0 is below 0.0, and every NaN above all others.

    The bits of a positive number, read as an integer, ascend with the number; those of a negative one descend, so all
    its bits but the sign are inverted.

    Source: java.lang.Double.compare.
    """
    values = np.asarray(column).copy()
    values[np.isnan(values)] = np.nan
    bits: Integers = values.view(np.int64)
    return np.asarray(np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits))


def lacks_ordering_value(ordering: Sequence[pa.Array | pa.ChunkedArray], length: int) -> Booleans:
    """Return for each row whether a delete has no ordering value: it is null, or Hudi's placeholder, the 32-bit 0."""
    if len(ordering) != 1:  # several ordering values are never the placeholder 0
        return np.full(length, not ordering, dtype=np.bool_)
    (column,) = ordering
    if not pa.types.is_int32(column.type):
        return np.asarray(column.is_null()) if column.null_count else np.zeros(length, np.bool_)
    missing: Booleans = np.asarray(column.fill_null(0) if column.null_count else column) == 0
    return missing


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a table's records are merged, whichever properties define it."""

    mode: MergeMode
    ordering_fields: tuple[str, ...]
    partial_mode: PartialUpdateMode | None = None
    marker: str | None = None
    delete_marker: DeleteMarker | None = None
    as_payload: bool = False
    by_payload: bool = False
    """Whether a payload class of Java merges the records, as below table version 9."""
    combined_by: tuple[str, ...] = ()
    """The ordering fields by which a payload class chooses among rows of one write, however it merges them later."""
    combines_columns: bool = False
    """Whether a payload class merges rows of one write column by column, and does not keep one of them."""


SEQUENCE = "_event_seq"
"""The column by which MySqlDebeziumAvroPayload orders below version 9, where it does not look at the other two.

Source: MySqlDebeziumAvroPayload.isCurrentSeqLatest.
"""

_DEBEZIUM_DELETE = DeleteMarker("_change_operation_type", "d", ignores_case=True)

PAYLOADS = {
    f"{_PAYLOADS}PartialUpdateAvroPayload": Behaviour(_EVENT, (), _IGNORE_DEFAULTS),
    f"{_PAYLOADS}OverwriteNonDefaultsWithLatestAvroPayload": Behaviour(_COMMIT, (), _IGNORE_DEFAULTS),
    f"{_PAYLOADS}AWSDmsAvroPayload": Behaviour(_COMMIT, (), delete_marker=DeleteMarker("Op", "D", ignores_case=True)),
    f"{_PAYLOADS}debezium.MySqlDebeziumAvroPayload": Behaviour(
        _EVENT, ("_event_bin_file", "_event_pos"), delete_marker=_DEBEZIUM_DELETE
    ),
    f"{_PAYLOADS}debezium.PostgresDebeziumAvroPayload": Behaviour(
        _EVENT, ("_event_lsn",), _FILL, "__debezium_unavailable_value", _DEBEZIUM_DELETE
    ),
}
"""What payload classes below version 9 do, in the terms of that version.  Without ordering fields the table's count.
The classes compare their delete markers without regard to case; an upgrade to version 9 makes exact ones of them.

Source: EightToNineUpgradeHandler, HoodieTableConfig.inferMergingConfigsForV9TableCreation, Hudi 1.2.0.
"""


_LAST_WINS = f"{_PAYLOADS}HoodieAvroPayload"
"""The payload class of XTable's tables: the newest record wins, and of one write the last, whatever its ordering value.

Log files are not merged by it: XTable's tables have none.  Source: HoodieAvroPayload, Hudi 1.2.0.
"""


def behaviour(config: TableConfig) -> Behaviour:
    """Return how a table's records are merged; without ordering fields the newest record wins.

    Raises:
        UnsupportedFeatureError: the table has a payload class or a merger that only Java can run.
    """
    own = _own_behaviour(config)
    if config.merge_mode is not MergeMode.CUSTOM:
        return own
    payload = PAYLOADS.get(config.payload_class or "")
    if config.payload_class == _LAST_WINS and config.table_type is TableType.COPY_ON_WRITE:
        return Behaviour(_COMMIT, (), delete_marker=own.delete_marker, by_payload=True)
    if payload is None:
        raise _cannot_merge(config)
    ordering = payload.ordering_fields or own.ordering_fields
    if len(ordering) > 1:
        ordering = (SequenceField(SEQUENCE),)
    return Behaviour(
        payload.mode if ordering else _COMMIT,
        ordering if payload.mode is _EVENT else (),
        payload.partial_mode,
        payload.marker,
        payload.delete_marker or own.delete_marker,
        as_payload=payload.partial_mode is _IGNORE_DEFAULTS,
        by_payload=True,
        combined_by=ordering if payload.ordering_fields else config.ordering_fields,
        combines_columns=payload.partial_mode is _IGNORE_DEFAULTS and payload.mode is _EVENT,
    )


def _own_behaviour(config: TableConfig) -> Behaviour:
    by_event_time = config.merge_mode is _EVENT and bool(config.ordering_fields)
    return Behaviour(
        mode=_EVENT if by_event_time else _COMMIT,
        ordering_fields=config.ordering_fields if by_event_time or config.merge_mode is MergeMode.CUSTOM else (),
        partial_mode=config.partial_update_mode,
        marker=config.merge_properties.get(_MARKER_PROPERTY),
        delete_marker=delete_marker(config),
    )


def _cannot_merge(config: TableConfig) -> UnsupportedFeatureError:
    what = config.payload_class or f"the merge strategy {config.merge_strategy_id}"
    return UnsupportedFeatureError(
        f"the table {config.name!r}: expected a merge mode that hudiformat knows, found a "
        f"custom one with {what}, which is Java; hand open_table a merger that does the "
        "same",
        feature="CUSTOM merge mode",
    )


def delete_marker(config: TableConfig) -> DeleteMarker | None:
    """Return what marks a row as a delete by the table's own properties; None if these do not define it.

    Source: DeleteContext.getCustomDeleteMarkerKeyValue.
    """
    column, marker = (config.merge_properties.get(key) for key in _DELETE_PROPERTIES)
    return DeleteMarker(column, marker) if column and marker else None


@dataclass(frozen=True, slots=True)
class _MadeKeys:
    """Makes the record keys of rows without meta fields; a class, so that other processes can unpickle it."""

    keys: RowKeys

    def __call__(self, rows: pa.Table) -> pa.ChunkedArray:
        return pa.chunked_array([self.keys.record_keys(rows)])


def merge_rule(config: TableConfig, schema: TableSchema, merger: RecordMerger | None) -> MergeRule:
    """Return how records of a table with *schema* are merged; by *merger* if it is not None.

    Raises:
        UnsupportedFeatureError: only Java code defines how records are merged, and *merger* is None.
    """
    found = _own_behaviour(config) if merger is not None else behaviour(config)
    sequences = {one for one in found.ordering_fields if isinstance(one, SequenceField)}
    if not sequences.issubset(schema.arrow.names):
        raise UnsupportedFeatureError(
            f"the table {config.name!r}: expected the column {SEQUENCE}, by which MySqlDebeziumAvroPayload orders rows "
            "below table version 9, found none; write the table with version 9",
            feature="MySqlDebeziumAvroPayload without _event_seq",
        )
    marker = found.delete_marker
    return MergeRule(
        mode=found.mode,
        keys=stored_keys if config.populate_meta_fields else _MadeKeys(RowKeys.of(config)),
        ordering_fields=found.ordering_fields if merger is None else (),
        delete_column=schema.delete_column,
        delete_marker=marker if marker is not None and marker.is_in(schema.arrow_with_meta) else None,
        operation_column=OPERATION if schema.keeps_operations else None,
        partial=_partial(found, schema) if merger is None else None,
        merger=merger,
        by_payload=merger is None and found.by_payload,
    )


@lru_cache(maxsize=16)
def rule_of_rows(config: TableConfig, schema: TableSchema) -> MergeRule:
    """Return how the rows of writes to a table with *schema* are merged, by the properties of the table alone.

    Raises:
        UnsupportedFeatureError: as for :func:`merge_rule`.
    """
    return merge_rule(config, schema, None)


def _partial(found: Behaviour, schema: TableSchema) -> PartialUpdate | None:
    if found.partial_mode is _IGNORE_DEFAULTS:
        # Hudi compares identities: a default other than null is hardly ever the same object.
        fields = json.loads(schema.avro_with_meta)["fields"]
        ignored = frozenset(field["name"] for field in fields if field.get("default") is None)
        newest = frozenset((*META_FIELDS, OPERATION)) if found.as_payload else frozenset()
        return PartialUpdate(ignored, as_payload=found.as_payload, newest=newest)
    if found.partial_mode is _FILL and found.marker is not None:
        texts = [field.name for field in schema.arrow_with_meta if _is_text(field.type)]
        return PartialUpdate(frozenset(texts), found.marker, late_rows_fill=not found.by_payload)
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))
