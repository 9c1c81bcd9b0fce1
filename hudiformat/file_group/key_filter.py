"""Derive from a filter a condition on record keys alone.

Such a condition keeps or drops all rows with the same key.  So it can be applied to base rows and log records before
they are merged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudiformat.file_group.base_file.filters import Comparison, KeyFilter
from hudiformat.schema.meta_fields import RECORD_KEY
from hudiformat.timeline.table_config import KeyGenerator, TableConfig

_KEY = pc.field(RECORD_KEY)
_AND, _OR = ("and_kleene", "and"), ("or_kleene", "or")
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "less": lt,
    "less_equal": le,
    "greater": gt,
    "greater_equal": ge,
}
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
_ITEM = re.compile(r"^(call|end|literal|options|field_ref|nested_field_ref): '(.*)'$", re.MULTILINE)
_END: Any = object()
_UNKNOWN_FORM = (LookupError, ValueError, TypeError, StopIteration, RuntimeError, pa.ArrowException)
_PLAIN_KEYS = (KeyGenerator.SIMPLE, KeyGenerator.NON_PARTITION)


def key_filter(expression: pc.Expression | None, config: TableConfig) -> KeyFilter | None:
    """Return a condition on the record key that is true wherever *expression* is true; None if there is none."""
    if expression is None or not config.populate_meta_fields:
        return None
    names = {RECORD_KEY}
    if len(config.record_key_fields) == 1 and config.key_generator in _PLAIN_KEYS:
        names.update(config.record_key_fields)
    try:
        return _derive_filter(_parse(expression), names, _text)
    except _UNKNOWN_FORM:
        return None


def value_filter(expression: pc.Expression, column: str) -> frozenset[str] | None:
    """Return the values that *column* can have where *expression* is true, as texts of a secondary index.

    Return None if it can have any value.
    """
    try:
        found = _derive_filter(_parse(expression), {column}, _indexed_text)
    except _UNKNOWN_FORM:
        return None
    return None if found is None else found.keys


def plain_comparisons(expression: pc.Expression) -> tuple[Comparison, ...]:
    """Return comparisons of columns with whole numbers and texts that are all true wherever *expression* is true."""
    try:
        return tuple(_comparisons(_parse(expression)))
    except _UNKNOWN_FORM:
        return ()


def _comparisons(node: _Node) -> Iterator[Comparison]:
    if not isinstance(node, _Call):
        return
    if node.name in _AND:
        for argument in node.arguments:
            yield from _comparisons(argument)
        return
    first, second, *_ = (*node.arguments, None)
    if isinstance(second, str):
        yield from _plain_comparison(_MIRRORED.get(node.name, node.name), second, first)
    else:
        yield from _plain_comparison(node.name, first, second)


def _plain_comparison(name: str, column: _Node, value: _Node) -> Iterator[Comparison]:
    compare = eq if name == "equal" else _COMPARISONS.get(name)
    if compare is not None and isinstance(column, str) and isinstance(value, pa.Scalar) and _is_plain(value):
        yield column, compare, value.as_py()


def _is_plain(value: pa.Scalar) -> bool:
    return bool(value.is_valid and (_is_text(value.type) or pa.types.is_integer(value.type)))


@dataclass(frozen=True, slots=True)
class _Call:
    """A function call in an expression."""

    name: str
    arguments: tuple[_Node, ...]


_Texts = Callable[[pa.Scalar], str]
_Node: TypeAlias = "_Call | str | pa.Scalar | None"
"""A call, the name of a column, a literal (or the options of a call), or something else."""


def _parse(expression: pc.Expression) -> _Node:
    """Return the tree of an expression.

    Arrow exposes the tree only in the pickled form: an IPC file with one row, which holds the literals, and with
    metadata that list the nodes in order.  Column names follow Avro's rules, so they cannot be mistaken for metadata
    syntax.
    Source: arrow::compute::Serialize.
    """
    _, (data, *_) = expression.__reduce__()
    batch = pa.ipc.open_file(data).get_batch(0)
    # The text, because as a dict the metadata would lose repeated keys.
    text = batch.schema.to_string(show_schema_metadata=True, truncate_metadata=False)
    return _node(iter(_ITEM.findall(text.partition("-- schema metadata --")[2])), batch)


def _node(items: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> _Node:
    kind, value = next(items)
    if kind == "call":
        return _Call(value, tuple(_arguments(items, batch)))
    if kind in ("literal", "options"):
        return batch.column(int(value))[0]
    if kind == "nested_field_ref":
        for _ in range(int(value)):
            next(items)
        return None
    return value if kind == "field_ref" else _END


def _arguments(items: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> Iterator[_Node]:
    while (node := _node(items, batch)) is not _END:
        yield node


def _derive_filter(node: _Node, names: Container[str], text: _Texts) -> KeyFilter | None:
    """Return a condition on the record key that is true wherever *node* is true; None if there is none.

    Columns called *names* hold the key; *text* converts a literal to a key.
    """
    if not isinstance(node, _Call):
        return None
    if node.name in _AND or node.name in _OR:
        one, other = (_derive_filter(argument, names, text) for argument in node.arguments)
        if one is None or other is None:
            return (one or other) if node.name in _AND else None
        return one & other if node.name in _AND else one | other
    first, second, *_ = (*node.arguments, None)
    if isinstance(second, str):
        return _derive_from_comparison(_MIRRORED.get(node.name, node.name), second, first, names, text)
    return _derive_from_comparison(node.name, first, second, names, text)


def _derive_from_comparison(
    name: str, column: _Node, value: _Node, names: Container[str], text: _Texts
) -> KeyFilter | None:
    if not isinstance(column, str) or column not in names or not isinstance(value, pa.Scalar):
        return None
    if name == "is_in":
        options: Any = value  # a struct
        keys = frozenset(text(one) for one in options["value_set"].values)
        return KeyFilter(_KEY.isin(pa.array(sorted(keys), pa.string())), keys)
    if name == "equal":
        return KeyFilter(_KEY.isin(pa.array([text(value)])), frozenset([text(value)]))
    if name in _COMPARISONS and _is_text(value.type):
        return KeyFilter(_COMPARISONS[name](_KEY, value.as_py()), None)
    return None


def _text(value: pa.Scalar) -> str:
    """Return the record key made of a value; raise a ValueError if its type makes no keys."""
    if not _is_plain(value):
        raise ValueError(f"no record key is made of {value!r}")
    return str(value.as_py())


def _indexed_text(value: pa.Scalar) -> str:
    """Return the text that a secondary index stores for a value."""
    if value.is_valid and pa.types.is_date32(value.type):
        value = value.cast(pa.int32())
    elif value.is_valid and pa.types.is_timestamp(value.type) and value.type.tz is not None:
        value = value.cast(pa.timestamp("us", value.type.tz)).cast(pa.int64())
    return _text(value)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
