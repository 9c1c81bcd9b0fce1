"""Errors of ours come out of the text of a traceback as they went in."""

from __future__ import annotations

import traceback

import pytest

import hudiformat as hf
from hudiformat.errors import DataError, DecodeError, FilesGoneError, OptionError, StorageError, TruncatedBlockError

pytest.importorskip("pyspark.sql")

from hudiformat.spark.write.task_errors import decode_error, encode_error, mark_errors

ERRORS = [
    DataError("record key k: null or empty in 2 of 3 rows", column="k", missing=2, rows=3, first=1),
    DataError("two lines\nand a blank one\n\nTraceback: é"),
    TruncatedBlockError("length 5", offset=12, path="t/a.log", needed=20),
    OptionError("unknown option 'x'", option="x", is_unknown=True),
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_the_class_the_message_and_the_facts_are_kept(error: hf.HudiFormatError) -> None:
    text = f"Job aborted\n{''.join(traceback.format_exception(raised(error)))}\n\tat org.apache.spark.X\n"
    again = decode_error(text)
    assert (type(again), str(again)) == (type(error), str(error).partition("\nhudiformat.raised")[0])
    assert {name: value for name, value in vars(again).items() if name != "__notes__"} == {
        name: value for name, value in vars(error).items() if name != "__notes__"
    }


def raised(error: hf.HudiFormatError) -> hf.HudiFormatError:
    with pytest.raises(type(error)) as caught, mark_errors():
        raise type(error)(*error.args) if not vars(error) else error
    return caught.value


def test_a_class_of_another_module_is_its_base() -> None:
    class OwnError(DecodeError):
        """One that the driver does not have."""

    again = decode_error(encode_error(OwnError("broken", offset=3)))
    assert (type(again), str(again)) == (DecodeError, "at byte 3: broken")


@pytest.mark.parametrize(
    "text",
    [
        "hudiformat.errors.DataError: the record key is null",
        "hudiformat.raised {",
        "hudiformat.raised []",
        'hudiformat.raised {"class": "NoSuchError", "message": "x", "facts": {}}',
        'hudiformat.raised {"class": "warn", "message": "x", "facts": {}}',
        'hudiformat.raised {"class": "annotations", "message": "x", "facts": {}}',
    ],
)
def test_other_text_is_no_error(text: str) -> None:
    assert decode_error(text) is None


def test_errors_of_others_are_left_as_they_are() -> None:
    with pytest.raises(ZeroDivisionError) as caught, mark_errors():
        raise ZeroDivisionError
    assert not getattr(caught.value, "__notes__", [])


def test_the_outermost_error_is_raised_and_the_others_are_its_causes() -> None:
    """As where a query's file was deleted: that it cannot be read is the cause, not what happened."""

    def open_file() -> None:
        with mark_errors():
            raise StorageError("cannot read x/a.parquet", path="x/a.parquet")

    def read() -> None:
        try:
            open_file()
        except StorageError as error:
            with mark_errors():
                raise FilesGoneError("t: a clean has deleted files of the query", path="t") from error

    with pytest.raises(FilesGoneError) as caught:
        read()
    text = "".join(traceback.format_exception(caught.value))
    again = decode_error(f"Job aborted\n{text}\nDriver stacktrace:\nCaused by: {text}")
    assert isinstance(again, FilesGoneError)
    assert again.path == "t"
    cause = again.__cause__
    assert isinstance(cause, StorageError)
    assert cause.path == "x/a.parquet"
    assert cause.__cause__ is None
