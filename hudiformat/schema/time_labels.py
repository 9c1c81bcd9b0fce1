"""The labels of times: which unit the numbers of a column count, as a schema says.  Pure.

Hudi 0.14.1 to 1.0 lost labels: a column of milliseconds got the label of microseconds, and a local timestamp became a
bare long, while the numbers stayed.  ``hoodie.write.timestamp.logical.type.overrides`` says what the numbers count.

Source: SchemaChangeUtils, AvroSchemaEvolutionUtils, TimestampLogicalTypeClassifier, Hudi 1.2.1;
spec/schema-evolution.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hudiformat.codec.avro.types import (
    Column,
    Kind,
    Leaf,
    RecordType,
    inner_columns,
    parse_leaf,
    walk_columns,
    with_inner_columns,
)
from hudiformat.errors import OptionError, SchemaError, suggest_names

TIME_LABELS = "hoodie.write.timestamp.logical.type.overrides"
_WORDS = {
    "timestamp-micros": "timestamp",
    "timestamp-millis": "timestamp-millis",
    "local-timestamp-micros": "local-timestamp-micros",
    "local-timestamp-millis": "local-timestamp-millis",
}
"""Avro's names of the types, and the words for them in an internal schema."""
_ALLOWED = {
    ("timestamp", "timestamp-millis"),
    ("timestamp-millis", "timestamp"),
    ("local-timestamp-millis", "local-timestamp-micros"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
}
"""Changes of a label after which the rows that are there can be read: files keep the labels that they have."""

TimeLabels = tuple[tuple[str, str], ...]
"""Dotted paths of columns, each with one of the four labels."""


def parse_time_labels(key: str, value: str) -> TimeLabels:
    """Parse pairs ``column:label`` with commas between them; the last colon of a pair ends the column.

    Raises:
        OptionError: a pair has no column or no such label, or a column comes twice.
    """
    labels: dict[str, str] = {}
    for pair in filter(None, map(str.strip, value.split(","))):
        path, _, label = (part.strip() for part in pair.rpartition(":"))
        label = label.lower()
        if not path or label not in _WORDS or path in labels:
            allowed = ", ".join(_WORDS)
            raise OptionError(
                f"{key}: expected pairs column:label, each column once, with one of the labels {allowed}, "
                f"found {pair!r}",
                option=key,
            )
        labels[path] = label
    return tuple(labels.items())


def change_labels(table: RecordType, rows: RecordType, labels: TimeLabels) -> RecordType:
    """Return the columns of a table with those of the *labels* that its *rows* have and it has not.

    Raises:
        OptionError: neither the table nor the rows have a column of that name.
        SchemaError: the column is no time, or the rows that are there could not be read with the label.

    Source: AvroSchemaEvolutionUtils.reconcileTimestampLogicalType.
    """
    if not labels:
        return table
    known, given = dict(walk_columns(table)), dict(walk_columns(rows))
    changed: dict[str, str] = {}
    for path, label in labels:
        if path not in known and path not in given:
            raise OptionError(
                f"{TIME_LABELS}: expected columns of the table or of the rows, found "
                f"{path!r}{suggest_names(path, known)}; name one of them, with its path",
                option=TIME_LABELS,
            )
        if path in known and path in given and known[path].kind != given[path].kind == parse_leaf(_WORDS[label]):
            changed[path] = label
    return relabel(table, changed)


def relabel(table: RecordType, labels: Mapping[str, str]) -> RecordType:
    """Return the columns of a table with these labels, by their dotted paths; no number of a row changes by it.

    Raises:
        SchemaError: a column is no time, or the rows that are there could not be read with the label.
    """
    known = dict(walk_columns(table))
    for path, label in labels.items():
        check_label(path, known[path].kind, label)
    changed = _relabel(table, {path: parse_leaf(_WORDS[label]) for path, label in labels.items()}, "")
    assert isinstance(changed, RecordType)  # noqa: S101 - as it was
    return changed


def check_label(path: str, kind: Kind, label: str) -> None:
    """Raise a SchemaError if the column *path* of type *kind* cannot get the *label*."""
    word, wanted = kind.word if isinstance(kind, Leaf) else "", _WORDS[label]
    if word == wanted or (word, wanted) in _ALLOWED:
        return
    raise SchemaError(
        f"column {path} of type {kind} cannot become {label}: expected a change between timestamp-micros and "
        "timestamp-millis, from local-timestamp-millis to local-timestamp-micros, or from long to a local timestamp; "
        "with any other the rows that are there could not be read alike by all readers: write the values to a new "
        "column",
        column=path,
    )


def unit_of(label: str) -> str:
    """Return Arrow's name of the unit of a label."""
    return "ms" if label.endswith("millis") else "us"


def _relabel(kind: Kind, kinds: Mapping[str, Kind], above: str) -> Kind:
    if isinstance(kind, Leaf):
        return kind

    def changed(column: Column) -> Column:
        path = f"{above}{column.name}"
        return replace(column, kind=kinds[path] if path in kinds else _relabel(column.kind, kinds, f"{path}."))

    return with_inner_columns(kind, tuple(map(changed, inner_columns(kind))))
