"""Decode Avro records as Python values, by the schema that came with them, which may be damaged or forged.

fastavro decodes whatever a schema asks for: a type that contains itself exhausts the stack, and an array of nulls has
as many items as its count says, although no item takes a byte.  So schemas are limited first:

- to a size, a depth, and a number of types, counting a named type as often as it is used;
- no type contains itself;
- every value takes at least a byte, and so does every record besides the records in it.

Decoding then takes time in proportion to the bytes.  Its memory is counted: a record of one byte becomes a dict of 200
bytes, and forged files have millions of them.  fastavro has no limit of memory, but passes values of a logical type to
a function of this module: :func:`_count_type` gives a type a logical type whose function counts.
"""

from __future__ import annotations

import json
import reprlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from typing import Any, TypeAlias

import fastavro
import fastavro.read

from hudiformat.errors import CorruptBlockError, SchemaError

MAX_SCHEMA_SIZE = 1 << 20
MAX_DEPTH = 40
MAX_TYPES = 20_000
_PRIMITIVES = ("boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL = ("date", "decimal", "uuid")
_LOGICAL_TIMES = ("time-", "timestamp-", "local-timestamp-")
_MAX_PRECISION = 38
_MAX_FIXED = 1 << 16
_COUNTED = "counted"
_PLAIN = ("null", "boolean", "int", "long", "float", "double", "bytes", "string", "enum", "fixed")
_TYPES = (*_PLAIN, "array", "map", "record", "error")
_BYTES_OF_VALUE = 64  # in a list or a dict, its key included
_BYTES_OF_FIELD = 8
SLACK = 96 << 20
"""Bytes that a value may take beside those in proportion to its size."""
_EXPANSION = 9  # Hudi's own commit metadata takes some seven times its bytes

ValueSchema: TypeAlias = Any
"""A schema within the limits, in fastavro's parsed form."""


@lru_cache(maxsize=64)
def parse_value_schema(text: str | bytes) -> ValueSchema:
    """Parse the JSON *text* of a schema and check it against the limits of this module.

    Raises:
        SchemaError: the text is no Avro schema, or exceeds a limit.
    """
    if len(text) > MAX_SCHEMA_SIZE:
        raise SchemaError(f"an Avro schema of {len(text)} bytes; at most {MAX_SCHEMA_SIZE} are read")
    try:
        definition = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the Avro schema is not JSON: {error}") from error
    limited, _ = _Limiter().limit(definition, "", 0)
    try:
        return fastavro.parse_schema(limited)
    except Exception as error:  # an error of fastavro's own, KeyError, TypeError: whatever is wrong leads to
        raise SchemaError(f"expected an Avro schema: {error!r}") from error


def decode_value(
    data: bytes | memoryview, schema: ValueSchema, *, names: bool = False, size: int | None = None, slack: int = SLACK
) -> Any:
    """Decode the value of *schema* at the start of *data*.

    With *names*, records in unions are pairs of a name and a record.  *size* is the number of bytes that *data* takes
    in its file, if it is compressed there: it limits the memory of the value to nine times as many bytes, and *slack*
    bytes more.

    Raises:
        CorruptBlockError: the bytes are no such value, or one of millions of tiny parts.
    """
    try:
        with _limit_memory(len(data) if size is None else size, slack):
            return fastavro.schemaless_reader(BytesIO(data), schema, None, return_record_name=names)
    except _TooMuchMemoryError as error:
        raise CorruptBlockError(f"expected a record of the Avro schema, found {error}") from error
    except Exception as error:  # fastavro raises whatever the damage leads to, from EOFError to KeyError
        raise CorruptBlockError(f"expected a record of the Avro schema, but it cannot be decoded: {error!r}") from error


class _Limiter:
    """Copies the parts of a schema that decoding needs, and refuses a schema that exceeds the limits."""

    def __init__(self) -> None:
        self._sizes: dict[str, int | None] = {}  # the types in a named type; None while it is being parsed
        self._records: set[str] = set()
        self._count = 0
        self._makers: dict[str, Callable[[dict[str, Any], str, int], tuple[Any, int]]] = {
            "array": self._items,
            "map": self._items,
            "record": self._record,
            "error": self._record,
            "fixed": self._fixed,
            "enum": self._enum,
        }

    def limit(self, definition: Any, namespace: str, depth: int) -> tuple[Any, int]:
        """Return a copy of a type, whose names lie in *namespace*, and the number of types in it.

        Raises:
            SchemaError: the type exceeds a limit, or is no Avro type.
        """
        if depth > MAX_DEPTH:
            raise SchemaError(f"the Avro schema is over {MAX_DEPTH} levels deep")
        found: tuple[Any, int]
        if isinstance(definition, list):
            found = self._union(definition, namespace, depth)
        elif isinstance(definition, str):
            found = self._named(definition, namespace)
        elif not isinstance(definition, dict):
            raise _schema_error(definition, "is no type")
        else:
            kind = definition.get("type")
            if isinstance(kind, str) and kind in self._makers:
                found = self._makers[kind](definition, namespace, depth)
            elif isinstance(kind, str) and kind in _PRIMITIVES:
                found = {"type": kind, **_logical(definition)}, 1
            else:
                found = self.limit(kind, namespace, depth + 1)
        self._count += 1
        if max(self._count, found[1]) > MAX_TYPES:
            raise SchemaError(f"the Avro schema has over {MAX_TYPES} types")
        return found

    def _named(self, name: str, namespace: str) -> tuple[str, int]:
        if name in _PRIMITIVES:
            return name, 1
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self._sizes else name
        if full not in self._sizes:
            raise _schema_error(name, "is no type that is known here; null is one in unions only")
        size = self._sizes[full]
        if size is None:
            raise _schema_error(name, "contains itself")
        return full, size

    def _union(self, branches: list[Any], namespace: str, depth: int) -> tuple[list[Any], int]:
        copies, total = [], 1
        for branch in branches:
            if isinstance(branch, list):
                raise _schema_error(branches, "is a union in a union")
            copy, size = ("null", 1) if _is_null(branch) else self.limit(branch, namespace, depth + 1)
            copies.append(copy)
            total += size
        if not copies:
            raise _schema_error(branches, "is a union of nothing")
        return copies, total

    def _items(self, definition: dict[str, Any], namespace: str, depth: int) -> tuple[dict[str, Any], int]:
        kind = definition["type"]
        key = "items" if kind == "array" else "values"
        copy, size = self.limit(definition.get(key), namespace, depth + 1)
        return _count_type({"type": kind, key: _count_type(copy)}), size + 1

    def _record(self, definition: dict[str, Any], namespace: str, depth: int) -> tuple[dict[str, Any], int]:
        full, scope = self._declare(definition, namespace)
        declared = definition.get("fields")
        if not isinstance(declared, list):
            raise _schema_error(full, "is a record without fields")
        fields, total, has_own = [], 1, False
        for field in declared:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                raise _schema_error(field, "is no field of a record")
            copy, size = self.limit(field.get("type"), scope, depth + 1)
            default = {"default": field["default"]} if "default" in field else {}
            fields.append({"name": field["name"], "type": copy, **default})
            total += size
            has_own = has_own or not self._is_record(copy)
        if not has_own:
            raise _schema_error(full, "has no field but records")
        self._sizes[full] = total
        self._records.add(full)
        return _count_type({"type": "record", "name": full, "fields": fields}), total

    def _is_record(self, copy: Any) -> bool:
        return copy in self._records if isinstance(copy, str) else isinstance(copy, dict) and copy["type"] == "record"

    def _fixed(self, definition: dict[str, Any], namespace: str, _depth: int) -> tuple[dict[str, Any], int]:
        full, _ = self._declare(definition, namespace)
        size = definition.get("size")
        if type(size) is not int or not 0 < size <= _MAX_FIXED:
            raise _schema_error(full, f"is a fixed of {size!r} bytes, where 1 to {_MAX_FIXED} were expected")
        self._sizes[full] = 1
        return _count_type({"type": "fixed", "name": full, "size": size, **_logical(definition)}), 1

    def _enum(self, definition: dict[str, Any], namespace: str, _depth: int) -> tuple[dict[str, Any], int]:
        full, _ = self._declare(definition, namespace)
        self._sizes[full] = 1
        return {"type": "enum", "name": full, "symbols": definition.get("symbols")}, 1

    def _declare(self, definition: dict[str, Any], namespace: str) -> tuple[str, str]:
        """Return the full name of a named type, which is now being parsed, and the namespace of the names in it."""
        name, given = definition.get("name"), definition.get("namespace", namespace)
        if not isinstance(name, str) or not name or not isinstance(given, str):
            raise _schema_error(definition, "is a type that needs a name")
        scope, _, short = name.rpartition(".")
        scope = scope or given
        full = f"{scope}.{short}" if scope else short
        if full in self._sizes:
            raise _schema_error(full, "is defined twice")
        self._sizes[full] = None
        return full, scope


def _is_null(definition: Any) -> bool:
    return definition == "null" or (isinstance(definition, dict) and definition.get("type") == "null")


def _logical(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a logical type; none of an unknown or impossible one, as Avro requires."""
    logical = definition.get("logicalType")
    if not isinstance(logical, str) or not (logical in _LOGICAL or logical.startswith(_LOGICAL_TIMES)):
        return {}
    if logical != "decimal":
        return {"logicalType": logical}
    precision, scale = definition.get("precision"), definition.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision <= _MAX_PRECISION:
        return {}
    return {"logicalType": logical, "precision": precision, "scale": scale}


def _schema_error(what: Any, why: str) -> SchemaError:
    return SchemaError(f"refused the Avro schema: {reprlib.repr(what)} {why}")


class _TooMuchMemoryError(Exception):
    """The values take more memory than they may."""


class _Budget(threading.local):
    """The bytes that the values which this thread decodes may still take."""

    bytes: float = float("inf")


_budget = _Budget()


@contextmanager
def _limit_memory(size: int, slack: int) -> Iterator[None]:
    """Limit the memory of the values that are decoded in the body: nine times *size* bytes, and *slack* more.

    Raises:
        _TooMuchMemoryError: the values would take more.
    """
    before = _budget.bytes
    _budget.bytes = slack + _EXPANSION * size
    try:
        yield
    finally:
        _budget.bytes = before


def _count_type(definition: Any) -> Any:
    """Return a type of a schema with a logical type that counts its values; in a union, each branch gets one.

    A reference to a named type stays as it is: the type is counted where it is defined.
    """
    if isinstance(definition, list):
        return [_count_type(branch) for branch in definition]
    if isinstance(definition, str):
        return {"type": definition, "logicalType": _COUNTED} if definition in _PLAIN else definition
    logical = definition.get("logicalType")
    if logical is None:
        return {**definition, "logicalType": _COUNTED}
    return {**definition, "logicalType": _counted_logical_type(logical)}


def _counted_logical_type(logical: str) -> str:
    return logical if logical.startswith(_COUNTED) else f"{_COUNTED}-{logical}"


def _count(value: Any, _schema: Any, _wanted: Any) -> Any:
    """Return *value*, after subtracting its bytes from the thread's budget."""
    fields = len(value) * _BYTES_OF_FIELD if isinstance(value, dict) else 0
    _budget.bytes -= sys.getsizeof(value) + _BYTES_OF_VALUE + fields
    if _budget.bytes < 0:
        raise _TooMuchMemoryError(f"values that take over {_EXPANSION} times the bytes that they come from")
    return value


def _count_result(reader: Callable[..., Any]) -> Callable[..., Any]:
    def read_counted(value: Any, schema: Any, wanted: Any) -> Any:
        return _count(reader(value, schema, wanted), schema, wanted)

    return read_counted


def _register() -> None:
    """Register the logical types of this module with fastavro."""
    known = dict(fastavro.read.LOGICAL_READERS)
    for name, reader in known.items():
        kind, _, logical = name.partition("-")
        fastavro.read.LOGICAL_READERS[f"{kind}-{_counted_logical_type(logical)}"] = _count_result(reader)
    for kind in _TYPES:
        fastavro.read.LOGICAL_READERS[f"{kind}-{_COUNTED}"] = _count


_register()
