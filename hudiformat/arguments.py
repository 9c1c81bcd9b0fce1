"""The checking of arguments of public calls, by the annotations of their parameters.

It stands above all rooms, because the log files and the file sink have public calls too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from hudiformat.errors import ArgumentError, format_value

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")


class ArrowStream(Protocol):
    """Rows that speak Arrow's C stream: tables and readers of pyarrow, data frames of Polars and pandas, scans.

    Source: the Arrow PyCapsule interface.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with the stream of the rows."""
        ...


class LazyRows(Protocol):
    """A lazy frame of Polars, of 1.34 or later, whose rows are computed batch by batch.

    Source: polars.LazyFrame.
    """

    def collect_batches(self, *, lazy: bool) -> Iterable[ArrowStream]:
        """Return an iterator of data frames; with *lazy* the query begins with the first of them."""
        ...


ArrowRows: TypeAlias = "ArrowStream | LazyRows | Iterable[pa.RecordBatch]"
"""What can be written: rows in Arrow's C stream, a lazy frame, or batches one after the other."""


class ArrowColumns(Protocol):
    """What has columns in Arrow's C schema: schemas of pyarrow and of Polars.

    Source: the Arrow PyCapsule interface.
    """

    def __arrow_c_schema__(self) -> object:
        """Return a capsule with the schema."""
        ...


ArrowSchema: TypeAlias = "ArrowColumns | ArrowStream | LazyRows"
"""What says the columns of a table: a schema, or a data frame or a lazy frame, whose columns are taken."""
_Check = tuple[str, Callable[[object], bool]]


def as_name_list(names: str | Iterable[str]) -> list[str]:
    """Return the names as a list; a single text is one name, not the sequence of its letters.

    Raises:
        ArgumentError: *names* is something else.
    """
    if not _are_names(names):
        raise ArgumentError(f"expected {_NAMES[0]}, found {format_value(names)}")
    return [names] if isinstance(names, str) else list(names)


def check_arguments(one: _T) -> _T:
    """Return a function, or a class with all its public methods, that checks each argument before the call.

    Arguments are checked if the annotation of their parameter is in the table below.  All others are checked by the
    call itself, which knows more about them: an instant, a filter, rows.

    Raises:
        ArgumentError: from the call, with the parameter, what it accepts, and what was passed.
    """
    if not inspect.isclass(one):
        return cast("_T", _check_calls(cast("Callable[..., Any]", one)))
    for name, method in list(vars(one).items()):
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(one, name, _check_calls(method))
    return one


def _check_calls(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    checks = {name: check for name, one in signature.parameters.items() if (check := _check_of(one))}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # Python's own message about it names the function
            return function(*args, **kwargs)
        for name, value in given.items():
            if name in checks and not checks[name][1](value):
                _refuse(name, value, checks[name][0])
        return function(*args, **kwargs)

    return call if checks else function


def _check_of(parameter: inspect.Parameter) -> _Check | None:
    if parameter.name == "path":
        return _or_none(_CHECKS["Location"]) if parameter.default is None else _CHECKS["Location"]
    return _CHECKS.get(str(parameter.annotation))


def _refuse(name: str, value: object, expected: str) -> None:
    raise ArgumentError(f"{name}: expected {expected}, found {format_value(value)}", argument=name)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_flag(value: object) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # Python's and numpy's


def _are_names(value: object) -> bool:
    if isinstance(value, str):
        return True
    if not isinstance(value, Iterable) or isinstance(value, bytes | bytearray | memoryview | Mapping):
        return False
    return not isinstance(value, Sized) or all(isinstance(one, str) for one in value)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _is_path(value: object) -> bool:
    return (isinstance(value, str) and value != "") or hasattr(value, "__fspath__")


def _is_buffer(value: object) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def _has(*names: str) -> Callable[[object], bool]:
    """Return a test whether a value has these methods: classes of Spark Connect differ, but have the same methods."""
    return lambda value: all(hasattr(value, name) for name in names)


def _or_none(check: _Check) -> _Check:
    return f"{check[0]}, or None", lambda value: value is None or check[1](value)


_TEXT: _Check = ("a text", _is_text)
_NAMES: _Check = ("a name, or several in a list", _are_names)
_NUMBER: _Check = ("an int", _is_number)
_OPTIONS: _Check = ("options as a dict of texts", _is_mapping)
_SCHEMA: _Check = ("a pyarrow.Schema", _has("names", "field", "with_metadata"))

_CHECKS: dict[str, _Check] = {
    "str": _TEXT,
    "str | None": _or_none(_TEXT),
    "int": _NUMBER,
    "int | None": _or_none(_NUMBER),
    "bool": ("True or False", _is_flag),
    "float": ("a number", lambda value: hasattr(value, "__float__") and not isinstance(value, bool)),
    "str | Sequence[str]": _NAMES,
    "str | Sequence[str] | None": _or_none(_NAMES),
    "Mapping[str, str]": _OPTIONS,
    "Mapping[str, str] | None": _or_none(_OPTIONS),
    "Mapping[str, object]": ("a dict with a value for each column", _is_mapping),
    "Mapping[str, pa.DataType | pa.Field] | None": _or_none(
        ("a dict with a type or field for each column", _is_mapping)
    ),
    "Mapping[str, pa.DataType] | None": _or_none(("a dict with a type for each column", _is_mapping)),
    "Workload | None": _or_none(("a Workload", _has("file_bytes", "row_bytes"))),
    "Prices | None": _or_none(("Prices", _has("put", "get"))),
    "pa.Schema | None": _or_none(_SCHEMA),
    "ArrowSchema": (
        "a pyarrow.Schema or a data frame",
        lambda value: (
            any(hasattr(value, f"__arrow_c_{name}__") for name in ("schema", "stream"))
            or hasattr(value, "collect_schema")
        ),
    ),
    "str | os.PathLike[str]": ("a path", lambda value: value == "" or _is_path(value)),
    "Location": ("a path, a URI, or what open_storage returns", lambda value: _is_path(value) or _has("root")(value)),
    "Source": ("a path, a URI, or the bytes of a log file", lambda value: _is_path(value) or _is_buffer(value)),
    "DataFrame": ("a data frame of Spark", _has("mapInArrow")),
    "SparkSession": ("a Spark session", _has("createDataFrame")),
}
"""For each annotation: the words for the argument in a message, and the test of a value."""
