"""Convert frozen dataclasses to the records of the timeline's Avro files and back, and hold the records' schemas.

The class ``RollbackPlan`` is the record ``HoodieRollbackPlan``, its field ``instant_to_rollback`` the field
``instantToRollback``.  If Hudi uses another name, the metadata of the dataclass's field holds it under ``AVRO_NAME``.
If a file lacks a field, the default of Hudi's schema is used, or else the dataclass's, which is what hudiformat writes;
a field that the class lacks is ignored.

``schemas.json`` holds the fields of every record, in which other records are referred to by name.  The text of a schema
defines each record where it is first used, and adds ``avro.java.string``, which tells Java the class of its strings.
Readers take the schema from the file, so the text could differ from Hudi's.  It equals Hudi's except for the comments,
so that files of hudiformat differ from Hudi's only in their values.

Source: hudi-common/src/main/avro, as Hudi 1.2.0 writes them.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import fastavro

from hudiformat.codec.avro.container import decode_avro_file, encode_avro_file
from hudiformat.errors import CorruptTableError, NameFormatError
from hudiformat.naming.checks import check_data_file, check_file_id, check_instant, check_partition_path

_NAMESPACE = "org.apache.hudi.avro.model"
_JAVA_STRING = {"avro.java.string": "String"}


@cache
def schema_text(name: str) -> str:
    """Return the schema of the record *name*, such as ``HoodieRollbackPlan``, as JSON."""
    top: list[Any] = [name]
    defined: set[str] = set()
    unexpanded: list[tuple[Any, Any]] = [(top, 0)]  # a container and the key in it of a type of schemas.json, a stack
    while unexpanded:
        container, key = unexpanded.pop()
        kind = container[key]
        if isinstance(kind, list):
            kind = list(kind)
            unexpanded += [(kind, index) for index in reversed(range(len(kind)))]
        elif isinstance(kind, dict) and "logicalType" in kind:
            kind = dict(kind)
        elif isinstance(kind, dict):
            java = _JAVA_STRING if kind["type"] == "map" else {}
            inner = "values" if kind["type"] == "map" else "items"
            default = {"default": kind["default"]} if "default" in kind else {}
            kind = {"type": kind["type"], inner: kind[inner], **java, **default}
            unexpanded.append((kind, inner))
        elif kind == "string":
            kind = {"type": "string", **_JAVA_STRING}
        elif kind in _records() and kind not in defined:
            defined.add(kind)
            fields = [dict(field) for field in _records()[kind]]
            unexpanded += [(field, "type") for field in reversed(fields)]
            kind = {"type": "record", "name": kind, "fields": fields}
        container[key] = kind
    head = {"type": "record", "name": name, "namespace": _NAMESPACE}
    return json.dumps({**head, "fields": top[0]["fields"]}, separators=(",", ":"))


def metadata_record_schema() -> str:
    """Return the schema of the records of a metadata table, without meta fields, as JSON."""
    return schema_text("HoodieMetadataRecord")


@cache
def fastavro_schema(name: str) -> Any:
    """Return the schema of the record *name* in fastavro's parsed form."""
    return fastavro.parse_schema(json.loads(schema_text(name)))


@cache
def _records() -> dict[str, Any]:
    return dict(json.loads(files("hudiformat.timeline").joinpath("schemas.json").read_text("utf-8")))


AVRO_NAME = "avro name"
CHECK = "check"
"""The key, in the metadata of a dataclass's field, of the function that checks its texts.

Those are the value itself, the items of a tuple, or the keys of a mapping.  None and the empty text are not checked.
"""

INSTANT = {CHECK: check_instant}
PARTITION = {CHECK: check_partition_path}
DATA_FILE = {CHECK: check_data_file}
FILE_ID = {CHECK: check_file_id}

_T = TypeVar("_T")


def encode_record_file(value: object) -> bytes:
    """Return the Avro file that holds *value*, an instance of a dataclass of this folder.

    Raises:
        EncodeError: a value does not fit its field.
    """
    name = f"Hoodie{type(value).__name__}"
    return encode_avro_file(schema_text(name), fastavro_schema(name), to_record(value))


def decode_record_file(kind: type[_T], data: bytes, *, path: str) -> _T:
    """Decode the Avro file of a *kind*.

    Raises:
        CorruptTableError: the file is no Avro file, or one of another record; *path* is named.
    """
    return from_record(kind, decode_avro_file(data, path=path), path=path)


def to_record(value: Any) -> dict[str, Any]:
    """Return *value*, a dataclass of this folder, as the dict that fastavro encodes."""
    return {avro_name(attribute): _to_avro_value(getattr(value, attribute.name)) for attribute in fields(value)}


def from_record(kind: type[_T], record: object, *, path: str) -> _T:
    """Return the *kind* of a record that fastavro decoded.

    Raises:
        CorruptTableError: a field is missing or of another type; *path* is named.
    """
    try:
        found: _T = _record_reader(kind)(record)
    except _UnexpectedError as error:
        raise CorruptTableError(f"{path}: expected a {kind.__name__}: {error}", path=path) from error
    return found


def avro_name(attribute: Field[Any]) -> str:
    """Return the name of a dataclass's field in Avro and JSON."""
    first, *rest = attribute.name.split("_")
    return str(attribute.metadata.get(AVRO_NAME) or first + "".join(word.capitalize() for word in rest))


class _UnexpectedError(Exception):
    """A value is not of the type that Hudi writes."""


def _to_avro_value(value: Any) -> Any:
    if is_dataclass(value):
        return to_record(value)
    if isinstance(value, Mapping):
        return {key: _to_avro_value(item) for key, item in value.items()}
    if isinstance(value, tuple):  # a typed value to fastavro
        return [_to_avro_value(item) for item in value]
    return value


@cache
def _value_reader(hint: Any) -> Callable[[Any], Any]:
    """Return the function that converts a value that fastavro decoded to the type *hint*."""
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        read = _value_reader(arguments[0])
        return lambda value: None if value is None else read(value)
    if get_origin(hint) is tuple:
        item = _value_reader(arguments[0])
        return lambda value: tuple(map(item, _expect(list, value)))
    if get_origin(hint) is Mapping:
        entry = _value_reader(arguments[1])
        return lambda value: {key: entry(inner) for key, inner in _expect(dict, value).items()}
    read_record: Callable[[Any], Any] = _record_reader(hint) if is_dataclass(hint) else partial(_expect, hint)
    return read_record


def _record_reader(kind: Any) -> Callable[[Any], Any]:
    """Return the function that converts a dict that fastavro decoded to the dataclass *kind*."""

    def read(value: Any) -> Any:
        record = _expect(dict, value)
        if not any(key in record for _, key, _ in _field_readers(kind)):
            raise _UnexpectedError("the record has none of its fields")
        defaults = _defaults(kind)
        return kind(
            **{
                name: convert(record[key] if key in record else defaults[key])
                for name, key, convert in _field_readers(kind)
                if key in record or key in defaults or _refuse_missing(kind, name, key)
            }
        )

    return read


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return the values that Hudi reads for fields that a file lacks, as files of older releases do."""
    own = _records().get(f"Hoodie{kind.__name__}", ())
    return {field["name"]: field["default"] for field in own if "default" in field}


def _refuse_missing(kind: Any, name: str, key: str) -> bool:
    """Raise if the field *name* of *kind* has no default; return False.

    Raises:
        _UnexpectedError: the record lacks the field *key*, which is required.
    """
    attribute = kind.__dataclass_fields__[name]
    if attribute.default is MISSING and attribute.default_factory is MISSING:
        raise _UnexpectedError(f"the field {key} is missing")
    return False


@cache
def _field_readers(kind: Any) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (field.name, avro_name(field), _check_texts_of(_value_reader(hints[field.name]), field.metadata.get(CHECK)))
        for field in fields(kind)
    )


def _check_texts_of(read: Callable[[Any], Any], check: Callable[[str], str] | None) -> Callable[[Any], Any]:
    """Return a function that calls *read*, and then *check* for each text in its result."""
    if check is None:
        return read

    def read_checked(value: Any) -> Any:
        found = read(value)
        try:
            for text in (found,) if isinstance(found, str) else found or ():
                if text:
                    check(text)
        except NameFormatError as error:
            raise _UnexpectedError(str(error)) from error
        return found

    return read_checked


def _expect(kind: type[_T], value: object) -> _T:
    if not isinstance(value, kind):
        raise _UnexpectedError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value
