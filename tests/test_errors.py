from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import pytest

from hudiformat import errors
from hudiformat.errors import (
    CorruptBlockError,
    DecodeError,
    HudiFormatError,
    HudiFormatWarning,
    StorageError,
    TruncatedBlockError,
)

EXCEPTIONS: list[type[Exception]] = [
    value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, Exception)
]
WITH_FACTS: dict[str, dict[str, object]] = {  # what an exception carries besides its message
    "DecodeError": {"offset": 7},
    "TruncatedBlockError": {"offset": 7, "needed": 20},
    "NameFormatError": {"name": "x.log"},
    "SchemaError": {"column": "a.b"},
    "DataError": {"column": "a"},
    "OptionError": {"option": "hoodie.table.name"},
    "UnsupportedFeatureError": {"feature": "table version 10"},
    "StorageError": {"path": "/t/x"},
    "TableError": {"path": "/t"},
}


def facts_of(kind: type[Exception]) -> dict[str, object]:
    return next((WITH_FACTS[base.__name__] for base in kind.__mro__ if base.__name__ in WITH_FACTS), {})


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_an_exception_survives_pickle_with_its_facts(kind: type[Exception]) -> None:
    error = kind("what happened", **facts_of(kind))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
    assert {key: getattr(copy, key) for key in facts_of(kind)} == facts_of(kind)


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_an_exception_can_be_made_from_its_message_alone(kind: type[Exception]) -> None:
    assert str(kind("what happened")) == "what happened"


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_an_exception_has_the_common_base_and_a_docstring(kind: type[Exception]) -> None:
    assert issubclass(kind, HudiFormatError) or issubclass(kind, UserWarning)
    assert kind.__doc__


def test_an_offset_is_part_of_the_message_once_even_after_pickle() -> None:
    error = CorruptBlockError("length 5", offset=12)
    assert str(error) == "at byte 12: length 5"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.reason, again.offset) == ("at byte 12: length 5", "length 5", 12)


def test_a_file_is_named_before_the_offset_even_after_pickle() -> None:
    error = TruncatedBlockError("length 5", offset=12, needed=20)
    error.in_file("t/a.log")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "t/a.log: at byte 12: length 5"
    assert (again.path, again.reason, again.offset, again.needed) == ("t/a.log", "length 5", 12, 20)


@pytest.mark.parametrize("kind", [DecodeError, TruncatedBlockError, CorruptBlockError])
def test_an_error_can_be_moved_to_where_its_bytes_stand_in_the_file(kind: type[DecodeError]) -> None:
    moved = kind("length 5", offset=12).shifted(1000)
    assert (type(moved), str(moved), moved.offset) == (kind, "at byte 1012: length 5", 1012)
    assert str(kind("length 5").shifted(1000)) == "at byte 1000: length 5"


@pytest.mark.parametrize(
    ("kind", "builtin"), [(DecodeError, ValueError), (TruncatedBlockError, EOFError), (StorageError, OSError)]
)
def test_who_knows_only_python_can_catch_it_too(kind: type[Exception], builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise kind("what happened")


def test_a_warning_names_the_line_of_whoever_called(tmp_path: Path) -> None:
    table = tmp_path / "caller.py"
    table.write_text("from hudiformat.errors import warn\nwarn('mind')\n")
    with pytest.warns(HudiFormatWarning, match="mind") as caught:
        exec(compile(table.read_text(), str(table), "exec"), {"__name__": "caller"})  # noqa: S102 - the text of this test
    assert caught[0].filename == str(table)
