"""How the properties of a table define the merging of its records: the merge mode, payload classes, delete markers.

Properties that only Java can carry out, such as payload classes of one's own, are refused by name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.merging.rule import MergeRule, PartialUpdate, RecordMerger
from hudiformat.schema.meta_fields import META_FIELDS, OPERATION
from hudiformat.schema.table_schema import RowKeys, TableSchema, stored_keys
from hudiformat.timeline.table_config import MergeMode, PartialUpdateMode, TableConfig

_DELETE_PROPERTIES = ("hoodie.payload.delete.field", "hoodie.payload.delete.marker")


_MARKER_PROPERTY = "hoodie.write.partial.update.unavailable.value"


_PAYLOADS = "org.apache.hudi.common.model."


_DEBEZIUM_DELETE = ("_change_operation_type", "d")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a table's records are merged, whichever properties define it."""

    mode: MergeMode
    ordering_fields: tuple[str, ...]
    partial_mode: PartialUpdateMode | None = None
    marker: str | None = None
    delete_marker: tuple[str, str] | None = None
    as_payload: bool = False


_EVENT, _COMMIT = MergeMode.EVENT_TIME_ORDERING, MergeMode.COMMIT_TIME_ORDERING


_IGNORE_DEFAULTS, _FILL = PartialUpdateMode.IGNORE_DEFAULTS, PartialUpdateMode.FILL_UNAVAILABLE


PAYLOADS = {
    f"{_PAYLOADS}PartialUpdateAvroPayload": Behaviour(_EVENT, (), _IGNORE_DEFAULTS),
    f"{_PAYLOADS}OverwriteNonDefaultsWithLatestAvroPayload": Behaviour(_COMMIT, (), _IGNORE_DEFAULTS),
    f"{_PAYLOADS}AWSDmsAvroPayload": Behaviour(_COMMIT, (), delete_marker=("Op", "D")),
    f"{_PAYLOADS}debezium.MySqlDebeziumAvroPayload": Behaviour(
        _EVENT, ("_event_bin_file", "_event_pos"), delete_marker=_DEBEZIUM_DELETE
    ),
    f"{_PAYLOADS}debezium.PostgresDebeziumAvroPayload": Behaviour(
        _EVENT, ("_event_lsn",), _FILL, "__debezium_unavailable_value", _DEBEZIUM_DELETE
    ),
}
"""What payload classes below version 9 do, in the terms of that version.  Without ordering fields the table's count.

Source: EightToNineUpgradeHandler, HoodieTableConfig.inferMergingConfigsForV9TableCreation, Hudi 1.2.0.
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
    if payload is None:
        raise _cannot_merge(config)
    ordering = payload.ordering_fields or own.ordering_fields
    return Behaviour(
        payload.mode if ordering else _COMMIT,
        ordering if payload.mode is _EVENT else (),
        payload.partial_mode,
        payload.marker,
        payload.delete_marker or own.delete_marker,
        as_payload=payload.partial_mode is _IGNORE_DEFAULTS,
    )


def merge_mode(config: TableConfig) -> MergeMode:
    """Return how the records of a table to write are merged; without ordering fields the newest record wins.

    Raises:
        UnsupportedFeatureError: in a way that writing does not support yet.
    """
    found = behaviour(config)
    if found.partial_mode is not None:
        raise UnsupportedFeatureError(f"the partial update mode {found.partial_mode}", feature="partial update mode")
    if found.delete_marker is not None:
        raise UnsupportedFeatureError(f"the delete marker {found.delete_marker}", feature="custom delete markers")
    return found.mode


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
        f"the table {config.name!r} has a custom merge mode, with {what}, which is Java: hand open_table a merger that "
        "does the same",
        feature="CUSTOM merge mode",
    )


def delete_marker(config: TableConfig) -> tuple[str, str] | None:
    """Return the column and its text that mark a row as a delete; None if the table does not define them.

    Source: DeleteContext.getCustomDeleteMarkerKeyValue.
    """
    column, marker = (config.merge_properties.get(key) for key in _DELETE_PROPERTIES)
    return (column, marker) if column and marker else None


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
    return MergeRule(
        mode=found.mode,
        keys=stored_keys if config.populate_meta_fields else _MadeKeys(RowKeys.of(config)),
        ordering_fields=found.ordering_fields if merger is None else (),
        delete_column=schema.delete_column,
        delete_marker=found.delete_marker,
        operation_column=OPERATION if schema.keeps_operations else None,
        partial=_partial(found, schema) if merger is None else None,
        merger=merger,
    )


def _partial(found: Behaviour, schema: TableSchema) -> PartialUpdate | None:
    if found.partial_mode is _IGNORE_DEFAULTS:
        # Hudi compares identities: a default other than null is hardly ever the same object.
        fields = json.loads(schema.avro_with_meta)["fields"]
        ignored = frozenset(field["name"] for field in fields if field.get("default") is None)
        newest = frozenset((*META_FIELDS, OPERATION)) if found.as_payload else frozenset()
        return PartialUpdate(ignored, as_payload=found.as_payload, newest=newest)
    if found.partial_mode is _FILL and found.marker is not None:
        texts = [field.name for field in schema.arrow_with_meta if _is_text(field.type)]
        return PartialUpdate(frozenset(texts), found.marker)
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))
