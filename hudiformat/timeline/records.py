"""Frozen dataclasses <-> the records of Avro files, by the names and types of their fields.

The class ``RollbackPlan`` is the record ``HoodieRollbackPlan``, its field ``instant_to_rollback`` the field
``instantToRollback``; where Hudi departs from that, the dataclass's field names the other one in its metadata, under
``AVRO_NAME``.  A field that a file does not have takes the dataclass's default; one that the class does not have is
passed over.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from hudiformat.errors import CorruptTableError
from hudiformat.timeline.avro_file import decode_avro_file, encode_avro_file
from hudiformat.timeline.schemas import parsed_schema, schema_text

AVRO_NAME = "avro name"

_T = TypeVar("_T")


def encode_record_file(value: object) -> bytes:
    """The Avro file that holds *value*, an instance of a dataclass of this room.

    Raises:
        EncodeError: a value that does not fit its field.
    """
    name = f"Hoodie{type(value).__name__}"
    return encode_avro_file(schema_text(name), parsed_schema(name), to_record(value))


def decode_record_file(kind: type[_T], data: bytes, *, path: str) -> _T:
    """The *kind* in an Avro file.

    Raises:
        CorruptTableError: not an Avro file, or one of something else; *path* is named.
    """
    return from_record(kind, decode_avro_file(data, path=path), path=path)


def to_record(value: Any) -> dict[str, Any]:
    """*value* as fastavro takes it."""
    return {avro_name(attribute): _plain(getattr(value, attribute.name)) for attribute in fields(value)}


def from_record(kind: type[_T], record: object, *, path: str) -> _T:
    """The *kind* that a record, as fastavro gives it, stands for.

    Raises:
        CorruptTableError: a field is missing or of another type; *path* is named.
    """
    try:
        found: _T = _record(kind)(record)
    except _UnexpectedError as error:
        raise CorruptTableError(f"{path}: expected a {kind.__name__}: {error}", path=path) from error
    return found


def avro_name(attribute: Field[Any]) -> str:
    """The name of a dataclass's field in Avro and JSON."""
    first, *rest = attribute.name.split("_")
    return str(attribute.metadata.get(AVRO_NAME) or first + "".join(word.capitalize() for word in rest))


class _UnexpectedError(Exception):
    """A value is not of the type that Hudi writes."""


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_record(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):  # a typed value to fastavro
        return [_plain(item) for item in value]
    return value


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """What turns a value of Avro's into one of the type *hint*."""
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        read = _reader(arguments[0])
        return lambda value: None if value is None else read(value)
    if get_origin(hint) is tuple:
        item = _reader(arguments[0])
        return lambda value: tuple(map(item, _expect(list, value)))
    if get_origin(hint) is Mapping:
        entry = _reader(arguments[1])
        return lambda value: {key: entry(inner) for key, inner in _expect(dict, value).items()}
    read_record: Callable[[Any], Any] = _record(hint) if is_dataclass(hint) else partial(_expect, hint)
    return read_record


def _record(kind: Any) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        record = _expect(dict, value)
        if not any(key in record for _, key, _ in _readers(kind)):
            raise _UnexpectedError("none of its fields is there")
        return kind(
            **{
                name: convert(record[key])
                for name, key, convert in _readers(kind)
                if key in record or _required(kind, name, key)
            }
        )

    return read


def _required(kind: Any, name: str, key: str) -> bool:
    attribute = kind.__dataclass_fields__[name]
    if attribute.default is MISSING and attribute.default_factory is MISSING:
        raise _UnexpectedError(f"there is no {key}")
    return False


@cache
def _readers(kind: Any) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, avro_name(field), _reader(hints[field.name])) for field in fields(kind))


def _expect(kind: type[_T], value: object) -> _T:
    if not isinstance(value, kind):
        raise _UnexpectedError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value
