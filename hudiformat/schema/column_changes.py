"""Change a table's columns by name: add, rename, widen, make nullable, drop, comment.  Pure.

Columns are named by dotted paths, in which ``element`` stands for the items of a list and ``value`` for those of a map,
as ``n.x`` or ``r.element.x``.

Source: InternalSchemaChangeApplier, TableChanges, SchemaChangeUtils, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from hudiformat.codec.avro.schema import META_COLUMNS, arrow_to_avro
from hudiformat.codec.avro.types import (
    Column,
    Kind,
    Leaf,
    RecordType,
    inner_columns,
    parse_avro_types,
    walk_columns,
    with_inner_columns,
)
from hudiformat.errors import SchemaError, unknown_column_error
from hudiformat.schema.evolution import SCHEMA_ON_READ, is_wider, may_become
from hudiformat.schema.internal_schema import InternalSchema


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """The changes to make, by the paths that columns have before the change; added columns by their new paths.

    ``rename`` maps paths to new names, not to new paths.  Columns are added after all other changes.
    """

    add: Mapping[str, pa.DataType | pa.Field] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    widen: Mapping[str, pa.DataType] = field(default_factory=dict)
    nullable: Sequence[str] = ()
    drop: Sequence[str] = ()
    comment: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_ids(self) -> bool:
        """Whether columns have to be matched by ids after the changes, because a name may denote different columns."""
        return bool(self.rename or self.drop)

    def on(self, schema: InternalSchema, *, by_ids: bool, kept: Sequence[str]) -> InternalSchema:
        """Return *schema* with the changes applied.

        *by_ids* says that columns of files are matched by ids instead of names.  The columns *kept* can be neither
        dropped nor renamed.

        Raises:
            SchemaError: a column does not exist, is one of *kept*, or cannot be changed as asked.
        """
        editor = _Editor(schema.record)
        for path, kind in self.widen.items():
            editor.change(path, partial(_widen, kind=kind, path=path, by_ids=by_ids))
        for path in self.nullable:
            editor.change(path, partial(replace, nullable=True))
        for path, text in self.comment.items():
            editor.change(path, partial(replace, doc=text))
        for path in (*self.drop, *self.rename):
            if path in kept:
                raise SchemaError(
                    f"column {path} says which rows the table has, in which order or where: it can be neither dropped "
                    "nor renamed",
                    column=path,
                )
        for path, name in self.rename.items():
            editor.rename(path, name)
        for path in self.drop:
            editor.change(path, lambda _column: None)
        record = editor.record
        next_id = schema.max_id + 1
        for path, added in self.add.items():
            record, next_id = _with_new(record, path, added, next_id)
        return replace(schema, record=record, max_id=next_id - 1)


class _Editor:
    """Changes columns of a tree, named by their paths before the first change.

    The paths are mapped to ids at first, so that renames do not affect later changes.
    """

    def __init__(self, record: RecordType) -> None:
        self.record = record
        self._ids = {path: column.id for path, column in walk_columns(record)}

    def change(self, path: str, change: Callable[[Column], Column | None]) -> None:
        """Replace a column with the result of *change*; drop the column if it is None."""
        result = _change_column(self.record, self._id(path), change)
        assert isinstance(result, RecordType)  # noqa: S101 - as it was
        self.record = result

    def rename(self, path: str, name: str) -> None:
        """Rename a column; its siblings must not have the name."""
        if not name or "." in name:
            raise SchemaError(f"column {path}: {name!r} is no name of a column; give it without a path", column=path)
        number = self._id(path)
        siblings = _parent(self.record, number)
        if not isinstance(siblings, RecordType):
            raise SchemaError(f"column {path}: the parts of lists and maps have no names of their own", column=path)
        if any(column.name.lower() == name.lower() for column in inner_columns(siblings)):
            raise SchemaError(f"column {path} cannot be renamed to {name}: there is such a column", column=path)
        self.change(path, partial(replace, name=name))

    def _id(self, path: str) -> int:
        if path.split(".", maxsplit=1)[0] in META_COLUMNS:
            raise SchemaError(f"{path} is one of Hudi's meta fields, which cannot be changed", column=path)
        if path not in self._ids:
            raise unknown_column_error(path, (name for name in self._ids if name not in META_COLUMNS))
        return self._ids[path]


def _parent(kind: Kind, number: int) -> Kind:
    """Return the type that contains the column with the id *number*; *kind* itself if there is no such column."""
    for column in inner_columns(kind):
        if column.id == number:
            return kind
        found = _parent(column.kind, number)
        if any(one.id == number for one in inner_columns(found)):
            return found
    return kind


def _change_column(kind: Kind, number: int, change: Callable[[Column], Column | None]) -> Kind:
    columns = []
    for column in inner_columns(kind):
        result = change(column) if column.id == number else column
        if result is not None:
            columns.append(replace(result, kind=_change_column(result.kind, number, change)))
    if len(columns) < len(inner_columns(kind)) and not (isinstance(kind, RecordType) and columns):
        raise SchemaError("a struct needs a field, a list its items and a map its values: drop the whole column")
    return with_inner_columns(kind, tuple(columns))


def _widen(column: Column, *, kind: pa.DataType, path: str, by_ids: bool) -> Column:
    wanted = _kind(path.rpartition(".")[2], kind)
    fits = may_become if by_ids else is_wider
    if column.kind == wanted:
        return column
    if not isinstance(wanted, Leaf) or not fits(column.kind, wanted):
        way_out = "" if by_ids or not may_become(column.kind, wanted) else f"; {SCHEMA_ON_READ}=true would allow it"
        raise SchemaError(f"column {path} of type {column.kind} cannot become {wanted}{way_out}", column=path)
    return replace(column, kind=wanted)


def _kind(name: str, kind: pa.DataType | pa.Field) -> Kind:
    column = kind.with_name(name) if isinstance(kind, pa.Field) else pa.field(name, kind)
    return parse_avro_types(arrow_to_avro(pa.schema([column]), name="new", namespace="")).columns[0].kind


def _with_new(record: RecordType, path: str, kind: pa.DataType | pa.Field, first: int) -> tuple[RecordType, int]:
    """Return the tree with a new nullable column at the end of its struct, and the next free id."""
    above, _, name = path.rpartition(".")
    there = dict(walk_columns(record))
    if path.lower() in {at.lower() for at in there}:
        raise SchemaError(f"column {path} cannot be added: there is such a column", column=path)
    parent: Kind | None = record if not above else there[above].kind if above in there else None
    if not isinstance(parent, RecordType):
        what = "is no struct" if parent is not None else "is not there"
        raise SchemaError(f"column {path} cannot be added: {above} {what}", column=path)
    added = Column(name, _kind(name, kind), nullable=True)
    if above and isinstance(added.kind, Leaf) and added.kind.word.startswith("vector"):
        raise SchemaError(
            f"column {path} cannot be added: expected a vector as a column of the table itself, found one in {above}; "
            "add a list of any size",
            column=path,
        )
    follower = InternalSchema(0, first - 1, RecordType(())).with_new_ids(RecordType((added,)))
    if not above:
        return replace(record, columns=(*record.columns, *follower.record.columns)), follower.max_id + 1
    number = there[above].id
    result = _change_column(
        record,
        number,
        lambda column: replace(column, kind=replace(parent, columns=(*parent.columns, *follower.record.columns))),
    )
    assert isinstance(result, RecordType)  # noqa: S101 - as it was
    return result, follower.max_id + 1
