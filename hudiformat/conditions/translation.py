"""Translate conditions to expressions of Arrow that are true of the same rows as in Spark SQL.

If Spark and Arrow differ, Spark's rules apply: NaN is greater than all other numbers and equal to itself, and a
comparison with null is neither true nor false.  ``not`` is moved inwards first, to the comparisons: a comparison that
cannot be translated can then be replaced by true without ruling out a row.

The text of a condition is parsed by sqlglot, in the dialect of Spark 4.  In it, as in standard SQL, two quotes in a
text are one.  Up to Spark 3.5 they end a text and begin the next one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timezone, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.conditions.comparison import COMPARISONS, compare, held_values
from hudiformat.conditions.literals import literal_scalar, prefix_upper_bound, value_of
from hudiformat.errors import FilterError, SchemaError, unknown_column_error

if TYPE_CHECKING:
    from sqlglot.expressions import Expression


_COLUMN_NUMBER = re.compile(r"Line \d+, Col: (\d+)")


def parse_condition(text: str) -> Expression:
    """Parse a condition as Spark 4 does.

    Raises:
        FilterError: the text is no condition.
    """
    return _parse(text, _spark_4())


def is_same_in_spark_3(text: str) -> bool:
    """Return whether the condition *text* has the same meaning in Spark 3.5 as in Spark 4.

    Raises:
        FilterError: the text is no condition.
    """
    return bool(parse_condition(text) == _parse(text, "spark"))


@cache
def _spark_4() -> Any:
    from sqlglot.dialects.spark import Spark  # noqa: PLC0415 - it takes a third of a second, for filters as text alone

    escapes = {"STRING_ESCAPES": ["'", '"', "\\"]}
    return type("HudiformatSpark4", (Spark,), {"Tokenizer": type("Tokenizer", (Spark.Tokenizer,), escapes)})


def _parse(text: str, dialect: Any) -> Expression:
    import sqlglot  # noqa: PLC0415 - as above

    try:
        trees = sqlglot.parse(text, dialect=dialect)
    except sqlglot.errors.SqlglotError as error:
        example = "\"p = 'x' and v > 0\""
        message = f"{text!r} is not a condition such as {example}: {_error_position(error)}"
        raise FilterError(message) from error
    if len(trees) != 1 or trees[0] is None:
        raise FilterError(f"{text!r}: expected one condition such as \"p = 'x' and v > 0\", found {len(trees)}")
    return trees[0]


def _error_position(error: Exception) -> str:
    """Return where the text cannot be parsed; sqlglot's own message would name its classes."""
    lines = str(error).splitlines()
    found = _COLUMN_NUMBER.search(lines[0]) if lines else None
    return f"it cannot be parsed from character {found[1]} on" if found else lines[0].strip()


_NEGATED = {"EQ": "NEQ", "NEQ": "EQ", "LT": "GTE", "GTE": "LT", "GT": "LTE", "LTE": "GT"}
_MIRRORED = {"EQ": "EQ", "NEQ": "NEQ", "LT": "GT", "GTE": "LTE", "GT": "LT", "LTE": "GTE"}
_SIGNS = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_KNOWN_ARGUMENTS = ("this", "expression", "expressions", "low", "high", "negate", "table", "db", "catalog")
"""The arguments of nodes that are translated; another one, such as ``symmetric``, changes the meaning of the node."""

_TRUE_OF_NAN = ("GT", "GTE", "NEQ")


def as_expression(text: str, schema: pa.Schema) -> pc.Expression:
    """Translate the condition *text* on rows with the columns of *schema*.

    A condition compares columns with literals (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``between``, ``in``,
    ``like``, ``is null``), joined by ``and``, ``or`` and ``not``.  Fields of structs are ``a.b``, names with other than
    letters, digits and _ are in backticks, a quote in a text is two quotes, dates are ``date '2024-01-31'`` or a text;
    times without a zone are in UTC.

    Raises:
        FilterError: *text* is no such condition.
        SchemaError: there is no such column.

    Source: Spark SQL's conditions.
    """
    return translate_condition(parse_condition(text), schema)


def translate_condition(tree: Expression, schema: pa.Schema) -> pc.Expression:
    """Translate a condition that sqlglot has parsed, in any dialect, as :func:`as_expression` does its text.

    Raises:
        FilterError: *tree* is no condition that is supported.
        SchemaError: there is no such column.
    """
    found = _Translator(schema, timezone.utc).of(tree, negated=False)
    assert found is not None  # noqa: S101 - only a translator that skips parts returns None
    return found


def implied_condition(text: str, schema: pa.Schema, zone: tzinfo = timezone.utc) -> pc.Expression | None:
    """Return an expression that is true of all rows that Spark SQL finds by *text*; None if nothing is known of them.

    As in Spark, names of columns may be in another case; times without a time zone are in *zone*.
    """
    try:
        if not is_same_in_spark_3(text):
            return None  # the Spark that evaluates it may be an older one
        return _Translator(schema, zone, passes_over=True).of(parse_condition(text), negated=False)
    except FilterError:
        return None  # if the condition is wrong, Spark raises the error


def columns_named(text: str, schema: pa.Schema) -> list[str] | None:
    """Return the columns of *schema* that the condition *text* names, in any case; None if it cannot be parsed."""
    try:
        tree = parse_condition(text)
    except FilterError:
        return None
    if any(type(node).__name__ == "Star" for node in tree.walk()):
        return None  # all columns, as in hash(*)
    names = {node.parts[0].name.lower() for node in tree.walk() if _is_column(node)}
    return [name for name in schema.names if name.lower() in names]


@dataclass(frozen=True, slots=True)
class _Translator:
    """Translates conditions on rows with the columns of ``schema``."""

    schema: pa.Schema
    zone: tzinfo
    passes_over: bool = False
    """Whether a part that cannot be translated counts as true."""

    def of(self, node: Expression, *, negated: bool) -> pc.Expression | None:
        """Return a condition, or its opposite if *negated*; None for a part that counts as true.

        Raises:
            FilterError: the condition cannot be translated.
            SchemaError: there is no such column.
        """
        kind = type(node).__name__
        if kind == "Paren":
            return self.of(node.this, negated=negated)
        if kind == "Not":
            return self.of(node.this, negated=not negated)
        if kind in ("And", "Or"):
            both = [self.of(one, negated=negated) for one in (node.this, node.expression)]
            return _combine(both, all_of=(kind == "And") != negated)
        try:
            _check_known(node)
            return self._translate_comparison(node, kind, negated=negated != bool(node.args.get("negate")))
        except (FilterError, SchemaError):
            if not self.passes_over:
                raise
            return None

    def _translate_comparison(self, node: Expression, kind: str, *, negated: bool) -> pc.Expression | None:
        if kind in _SIGNS:
            return self._comparison(node, _NEGATED[kind] if negated else kind)
        of_kind = {"Between": self._between, "In": self._in, "Is": self._is, "Like": self._like}
        if kind in of_kind:
            return of_kind[kind](node, negated=negated)
        if kind == "Boolean":
            return pc.scalar(bool(node.this) != negated)
        if _is_column(node):
            return self._with_literal(node, "EQ", not negated)
        raise FilterError(
            f"{node.sql('spark')}: expected a comparison of a column with a literal, in, between, like or is null"
        )

    def _between(self, node: Expression, *, negated: bool) -> pc.Expression | None:
        bounds = [("LT" if negated else "GTE", "low"), ("GT" if negated else "LTE", "high")]
        both = [self._with_literal(node.this, op, value_of(node.args[name])) for op, name in bounds]
        return _combine(both, all_of=not negated)

    def _in(self, node: Expression, *, negated: bool) -> pc.Expression | None:
        column, kind = self._column(node.this)
        values = [value_of(one) for one in node.expressions]
        if node.args.get("query") or not values:
            raise FilterError(f"{node.sql('spark')}: expected literals")
        if negated and None in values:  # SQL: "v not in (1, null)" is never true
            return pc.scalar(False)
        if pat.is_floating(kind):
            each = [self._with_literal(node.this, "NEQ" if negated else "EQ", value) for value in values]
            return _combine(each, all_of=negated)
        known = [literal_scalar(value, kind, self.zone) for value in values if value is not None]
        is_one = column.isin(held_values(known, kind))
        return ~is_one & column.is_valid() if negated else is_one

    def _comparison(self, node: Expression, op: str) -> pc.Expression:
        left, right = node.this, node.expression
        if _is_column(right) and not _is_column(left):
            return self._with_literal(right, _MIRRORED[op], value_of(left))
        if not _is_column(right):
            return self._with_literal(left, op, value_of(right))
        (column, kind), (other, of_other) = self._column(left), self._column(right)
        if kind != of_other or pat.is_floating(kind) or pat.is_nested(kind):
            raise FilterError(f"{node.sql('spark')}: columns of the types {kind} and {of_other} are not compared here")
        return COMPARISONS[_SIGNS[op]](column, other)

    def _with_literal(self, node: Expression, op: str, value: Any) -> pc.Expression:
        column, kind = self._column(node)
        if value is None:
            return pc.scalar(False)
        try:
            compared = compare(column, _SIGNS[op], literal_scalar(value, kind, self.zone), kind)
        except FilterError as error:
            raise FilterError(f"the column {node.sql('spark')}: {error}") from error
        if pat.is_floating(kind) and op in _TRUE_OF_NAN:
            return compared | pc.is_nan(column)
        return compared

    def _is(self, node: Expression, *, negated: bool) -> pc.Expression:
        column, _ = self._column(node.this)
        wanted = value_of(node.expression)
        if wanted is None:
            return column.is_valid() if negated else column.is_null()
        if negated:
            return column.is_null() | self._with_literal(node.this, "NEQ", wanted)
        return self._with_literal(node.this, "EQ", wanted)

    def _like(self, node: Expression, *, negated: bool) -> pc.Expression:
        column, kind = self._column(node.this)
        pattern = value_of(node.expression)
        if not isinstance(pattern, str) or "\\" in pattern or not pat.is_string(kind):
            raise FilterError(f"{node.sql('spark')}: expected a column of texts, like a pattern without backslashes")
        matches = pc.match_like(column, pattern)
        if negated:
            return ~matches
        # 'ab%' also becomes column >= 'ab' and column < 'ac', by which Arrow can skip row groups.
        text = re.split("[%_]", pattern, maxsplit=1)[0]
        within = _combine(
            [column >= text, None if (end := prefix_upper_bound(text)) is None else column < end], all_of=True
        )
        return matches if not text or within is None else within & matches

    def _column(self, node: Expression) -> tuple[pc.Expression, pa.DataType]:
        """Return a column, or a field of one, and its type."""
        if not _is_column(node):
            raise FilterError(f"{node.sql('spark')}: expected the name of a column")
        names = [part.name for part in node.parts]
        fields: Sequence[pa.Field] = list(self.schema)
        path: list[str] = []
        for name in names:
            field = self._field(name, fields, path)
            path.append(field.name)
            fields = list(field.type.fields) if pat.is_struct(field.type) else []
        return pc.field(*path), field.type

    def _field(self, name: str, fields: Sequence[pa.Field], path: Sequence[str]) -> pa.Field:
        found = [field for field in fields if field.name == name]
        alike = [field for field in fields if field.name.lower() == name.lower()]
        if not found and self.passes_over:
            found = alike
        if len(found) == 1:
            return found[0]
        raise unknown_column_error(".".join([*path, name]), [".".join([*path, field.name]) for field in fields])


def _check_known(node: Expression) -> None:
    if strange := sorted(name for name, value in node.args.items() if value and name not in _KNOWN_ARGUMENTS):
        raise FilterError(f"{node.sql('spark')}: {', '.join(strange)} is not supported")


def _is_column(node: Expression) -> bool:
    return type(node).__name__ in ("Column", "Dot")


def _combine(parts: Sequence[pc.Expression | None], *, all_of: bool) -> pc.Expression | None:
    """Return what is true if all of *parts* are (with *all_of*), or one is; a part that is None may be anything.

    Of ``and``, unknown parts are dropped, because the rest still has to be true; ``or`` with an unknown part is
    unknown.
    """
    known = [part for part in parts if part is not None]
    if not known or (not all_of and len(known) < len(parts)):
        return None
    result = known[0]
    for part in known[1:]:
        result = result & part if all_of else result | part
    return result
