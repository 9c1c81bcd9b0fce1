"""Schema evolution: how the columns of a write change the columns of a table.  Pure.

:func:`evolve_columns` computes the table's new columns from its old ones, the write's columns and the options, or
refuses the write:

1. The write's columns are aligned with the table's: they get the table's order, with new columns at the end.  A column
   is nullable if it is so in either.  It gets the table's type if its own can be promoted to that.
2. Columns that the write lacks are refused, filled with nulls, dropped, or kept from the table, as the options say.
3. Rows already in the table must be readable with the new columns: types only grow, and new columns are nullable.

Source: HoodieSchemaUtils.deduceWriterSchema, AvroSchemaEvolutionUtils, SchemaChangeUtils, HoodieSchemaCompatibility,
HoodieTable.validateSchema, Hudi 1.2.0; spec/schema-evolution.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hudiformat.codec.avro.types import (
    Column,
    Kind,
    Leaf,
    RecordType,
    decimal_of,
    inner_columns,
    walk_columns,
    with_inner_columns,
)
from hudiformat.errors import SchemaError
from hudiformat.schema.time_labels import TimeLabels, change_labels

PARTIAL_SCHEMA = "hoodie.write.partial.update.schema"
"""The option that makes an upsert update only some columns; its value is their Avro schema as JSON."""
SET_NULL = "hoodie.write.set.null.for.missing.columns"
SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
WIDEN_DECIMALS = "hudiformat.decimals.widen"
MAY_DROP = "hoodie.datasource.write.schema.allow.auto.evolution.column.drop"

_NUMBERS = ("int", "long", "float", "double")  # from narrow to wide
_PROMOTED = {
    "int": ("long", "float", "double", "string"),
    "long": ("float", "double", "string"),
    "float": ("double", "string"),
    "double": ("string",),
    "date": ("string",),
    "binary": ("string",),
    "string": ("date", "binary"),
}
"""The types, besides decimals, to which a type may be promoted.  Source: SchemaChangeUtils.isTypeUpdateAllow."""
_COARSER = {
    "timestamp-millis": "timestamp",
    "local-timestamp-millis": "local-timestamp-micros",
    "time-millis": "time",
}
"""Types in milliseconds and the type in microseconds that can hold them.

Hudi on Spark needs no such rule, because Spark always writes microseconds.
"""


@dataclass(frozen=True, slots=True)
class EvolutionOptions:
    """What a write may do to the columns of a table.

    ``set_null`` fills columns that the rows lack with nulls, ``may_drop`` drops them from the table.  ``reconcile`` is
    Hudi's older mode, in which the wider of the two schemas is used.  ``validate`` requires a schema with which rows of
    the table can be read.  ``schema_on_read`` keeps an internal schema, so that columns may be renamed and dropped.
    ``time_labels`` say what the numbers of times count, whatever the labels of the table and of the rows say.

    Source: HoodieWriteConfig, HoodieCommonConfig, DataSourceWriteOptions, Hudi 1.2.0; of ``time_labels`` Hudi 1.2.1.
    """

    set_null: bool = False
    may_drop: bool = False
    reconcile: bool = False
    validate: bool = False
    schema_on_read: bool = False
    time_labels: TimeLabels = ()


def evolve_columns(table: RecordType, incoming: RecordType, options: EvolutionOptions) -> RecordType:
    """Return the columns of a table after a write of rows with the columns *incoming*.

    Raises:
        SchemaError: the rows cannot be written, or rows already in the table could no longer be read.
    """
    table = change_labels(table, incoming, options.time_labels)
    own = _align(incoming, table, reorders=not options.reconcile)
    assert isinstance(own, RecordType)  # noqa: S101 - both are
    if options.reconcile and _is_projection(own, table):
        result = table
    elif options.set_null and not (options.reconcile or options.may_drop or options.validate):
        result = _with_missing(own, table)
    else:
        result = own
    if not options.may_drop:
        _refuse_missing(table, result, nested=not (options.validate or options.reconcile))
    _refuse_unreadable(result, table, "")
    _refuse_unwritable(own, result, "")
    return table if result == table else result


def wider_decimals(table: RecordType, evolved: RecordType) -> Iterator[tuple[str, Kind, Kind]]:
    """Yield the decimal columns of a table that a write gives more digits: their path, their type and the new type."""
    before = dict(walk_columns(table))
    for path, column in walk_columns(evolved):
        known = before.get(path)
        if known is not None and known.kind != column.kind and _are_decimals(known.kind, column.kind):
            yield path, known.kind, column.kind


def _are_decimals(*kinds: Kind) -> bool:
    return all(isinstance(kind, Leaf) and decimal_of(kind) is not None for kind in kinds)


def _align(kind: Kind, table: Kind, *, reorders: bool) -> Kind:
    """Return a type of the write aligned with the table's: with its order, nullability and types, where they fit.

    Source: AvroSchemaEvolutionUtils.reconcileSchemaRequirements.
    """
    if isinstance(kind, Leaf) or isinstance(table, Leaf) or type(kind) is not type(table):
        return table if kind == table or may_become(kind, table) else kind
    known = {column.name: column for column in inner_columns(table)}
    columns = [_align_column(one, known.get(one.name), reorders=reorders) for one in inner_columns(kind)]
    if reorders:
        places = {name: place for place, name in enumerate(known)}
        columns.sort(key=lambda column: places.get(column.name, len(places)))
    return with_inner_columns(table, tuple(columns))


def _align_column(column: Column, known: Column | None, *, reorders: bool) -> Column:
    if known is None:
        return column
    kind = _align(column.kind, known.kind, reorders=reorders)
    return replace(known, kind=kind, nullable=column.nullable or known.nullable)


def may_become(kind: Kind, other: Kind) -> bool:
    """Return whether values of type *kind* may be promoted to *other*, in a write or by a schema change."""
    if not isinstance(kind, Leaf) or not isinstance(other, Leaf):
        return False
    if other.word in _PROMOTED.get(kind.word, ()) or _COARSER.get(kind.word) == other.word:
        return True
    decimal = decimal_of(other)
    if decimal_of(kind) is not None:
        return other.word == "string" or (decimal is not None and _widens_decimal(kind, other))
    return decimal is not None and kind.word in (*_NUMBERS, "string")


def _widens_decimal(kind: Leaf, other: Leaf) -> bool:
    """Return whether the decimal type *other* can hold all values of *kind*.

    Source: SchemaChangeUtils.isDecimalFixedUpdateAllowInternal, Types.DecimalBase.isWiderThan.
    """
    given, wanted = decimal_of(kind), decimal_of(other)
    if given is None or wanted is None:
        return False
    whole = wanted[0] - wanted[1] >= given[0] - given[1]
    return whole and wanted[1] >= given[1]


def _is_projection(own: Kind, table: Kind) -> bool:
    """Return whether the table has every column of the write, of a type that can be read as the write's type.

    Source: HoodieSchemaProjectionChecker.isCompatibleProjectionOf.
    """
    if isinstance(own, RecordType) and isinstance(table, RecordType):
        known = {column.name: column for column in table.columns}
        return all(
            column.name in known
            and column.nullable == known[column.name].nullable
            and _is_projection(column.kind, known[column.name].kind)
            for column in own.columns
        )
    if isinstance(own, Leaf) or type(own) is not type(table):
        return own == table or _can_read(own, table)
    ours, theirs = inner_columns(own)[0], inner_columns(table)[0]
    return ours.nullable == theirs.nullable and _is_projection(ours.kind, theirs.kind)


def _with_missing(kind: Kind, table: Kind) -> RecordType:
    """Return the columns of the table, then the write's new ones; columns that the write lacks become nullable.

    Source: AvroSchemaEvolutionUtils.reconcileSchema.
    """
    result = _merge_types(kind, table)
    assert isinstance(result, RecordType)  # noqa: S101 - both are
    return result


def _merge_types(kind: Kind, table: Kind) -> Kind:
    if isinstance(kind, Leaf) or type(kind) is not type(table):
        return kind
    given = {column.name: column for column in inner_columns(kind)}
    columns = []
    for known in inner_columns(table):
        one = given.pop(known.name, None)
        joined = replace(known, nullable=True) if one is None else replace(one, kind=_merge_types(one.kind, known.kind))
        columns.append(joined)
    return with_inner_columns(kind, (*columns, *given.values()))


def _refuse_missing(table: RecordType, result: RecordType, *, nested: bool) -> None:
    """Refuse rows that lack columns of the table, because nulls would overwrite the stored values.

    Source: HoodieSchemaCompatibility.checkValidEvolution, HoodieTable.validateSchema.
    """
    paths = list(_missing_columns(table, result, "", nested=nested))
    if paths:
        named = ", ".join(paths)
        raise SchemaError(
            f"the rows lack columns of the table: {named}; nothing was written. Give them all columns, or choose "
            f"what happens: {SET_NULL}=true writes nulls, {MAY_DROP}=true drops the columns from the table, and a "
            f"partial update ({PARTIAL_SCHEMA}) changes some columns and keeps the others",
            column=paths[0],
        )


def _missing_columns(table: Kind, result: Kind, above: str, *, nested: bool) -> Iterator[str]:
    if type(table) is not type(result):
        return
    found = {column.name: column for column in inner_columns(result)}
    for column in inner_columns(table):
        path = f"{above}{column.name}"
        if column.name not in found:
            yield path
        elif nested:
            yield from _missing_columns(column.kind, found[column.name].kind, f"{path}.", nested=nested)


def _refuse_unreadable(reader: Kind, writer: Kind, above: str) -> None:
    """Refuse columns with which rows that have the columns of *writer* could not be read.

    Source: HoodieSchemaCompatibilityChecker.checkReaderWriterCompatibility.
    """
    known = {column.name: column for column in inner_columns(writer)}
    for column in inner_columns(reader):
        path = f"{above}{column.name}"
        if column.name not in known:
            _refuse_required(column, path)
            continue
        old = known[column.name]
        if old.nullable and not column.nullable:
            raise SchemaError(f"column {path} may be null in the table and is required in the rows", column=path)
        if isinstance(column.kind, Leaf) or type(column.kind) is not type(old.kind):
            if column.kind != old.kind and not _can_read(column.kind, old.kind):
                raise _type_error(path, old.kind, column.kind)
        else:
            _refuse_unreadable(column.kind, old.kind, f"{path}.")


def _refuse_required(column: Column, path: str) -> None:
    if not column.has_default:
        raise SchemaError(
            f"column {path} of type {column.kind} is new and required, and the rows that the table has are without it: "
            "make it nullable in the rows (in Arrow a field with nullable=True)",
            column=path,
        )


def _refuse_unwritable(own: Kind, result: Kind, above: str) -> None:
    """Refuse values of the write that cannot be promoted to the new type of their column."""
    given = {column.name: column for column in inner_columns(own)}
    for column in inner_columns(result):
        path, one = f"{above}{column.name}", given.get(column.name)
        if one is None:
            continue
        if isinstance(one.kind, Leaf) or type(one.kind) is not type(column.kind):
            if one.kind != column.kind and not may_become(one.kind, column.kind):
                raise _type_error(path, column.kind, one.kind)
        else:
            _refuse_unwritable(one.kind, column.kind, f"{path}.")


def is_wider(written: Kind, kind: Kind) -> bool:
    """Return whether *kind* is wider than *written*: values stored as *written* can be read as *kind*."""
    return _can_read(kind, written)


def _can_read(kind: Kind, written: Kind) -> bool:
    """Return whether values stored as type *written* can be read as the different type *kind*.

    Source: HoodieSchemaCompatibilityChecker.calculateCompatibility.
    """
    if not isinstance(kind, Leaf) or not isinstance(written, Leaf):
        return False
    decimal = decimal_of(kind)
    if decimal is not None:
        return _widens_decimal(written, kind)
    if kind.word == "string":
        return written.word in (*_NUMBERS, "binary") or decimal_of(written) is not None
    if kind.word in _NUMBERS and written.word in _NUMBERS:
        return _NUMBERS.index(written.word) < _NUMBERS.index(kind.word)
    # Hudi also allows long -> timestamp, but inconsistently: a read takes the numbers for seconds, a rewrite for
    # microseconds.
    return (kind.word, written.word) in (("binary", "string"), ("uuid", "string"))


def _type_error(path: str, table: Kind, rows: Kind) -> SchemaError:
    return SchemaError(
        f"column {path} is of type {table} in the table and of type {rows} in the rows, which does not fit: cast it to "
        f"{table}, or write it as a new column under another name (types may only grow: int, long, float, double, "
        "string; string and binary either way; decimals with more digits)",
        column=path,
    )
