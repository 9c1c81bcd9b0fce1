"""Every exception that hudiformat raises on purpose.

    HudiFormatError
    ├── DecodeError (ValueError)         the bytes do not follow the format
    │   ├── TruncatedBlockError (EOFError)   the bytes end too early
    │   ├── CorruptBlockError                the bytes are complete and contradict each other
    │   └── UnsupportedVersionError          the bytes have an unknown version
    ├── EncodeError (ValueError)         a value that the format cannot hold
    ├── NameFormatError (ValueError)     a file name or instant that is not one of Hudi's
    ├── SchemaError (ValueError)         a schema or type that cannot be mapped, or contradicts the table's
    ├── FilterError (ValueError)         the text of a filter that is no condition
    ├── DataError (ValueError)           rows that cannot be written: a key that is missing or null
    ├── OptionError (ValueError)         an unknown option, or a bad value for a known one
    │   └── ArgumentError (TypeError)        an argument of a type that the call does not accept
    ├── UnsupportedFeatureError (NotImplementedError)   valid, but not supported
    ├── StorageError (OSError)           a file that is missing, exists already or cannot be written
    ├── CatalogError                     a catalog that cannot be asked or told
    └── TableError                       the table at a path does not allow the call
        ├── NotATableError               there is no table
        ├── TableExistsError             there is a table already
        ├── BeforeFirstCommitError       a time at which the table had no rows yet
        ├── FilesGoneError               another writer has deleted files of a query before they were read
        ├── CorruptTableError            the table's own metadata is damaged
        ├── LockError                    another writer holds the lock for too long
        └── CommitError                  a write that did not become visible
            ├── WriteConflictError           another writer has committed to the same file groups
            └── ValidationError              a pre-commit validator refuses the write

There is a branch for each way in which a caller can react to an error.  The facts of a message are attributes too.
Exceptions cross process borders in Spark, so all arguments besides the message are keyword-only with a default:
``pickle`` calls the class with the message alone and then restores the attributes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class HudiFormatError(Exception):
    """Base of every error that this library raises on purpose."""


class DecodeError(HudiFormatError, ValueError):
    """The bytes do not follow the format; ``offset`` counts bytes from the start of the file or buffer.

    ``reason`` is the message without the offset, and ``path`` the file, if the message names it.
    """

    def __init__(self, message: str, *, offset: int | None = None, path: str | None = None) -> None:
        super().__init__(message if offset is None else f"at byte {offset}: {message}")
        self.reason = message
        self.offset = offset
        self.path = path

    def shifted(self, by: int) -> DecodeError:
        """Return the same error with an offset that is *by* bytes larger; a missing offset counts as 0."""
        return type(self)(self.reason, offset=(self.offset or 0) + by, path=self.path)

    def in_file(self, path: str) -> None:
        """Name the file *path* at the beginning of the message."""
        self.path = path
        self.args = (f"{path}: {self}",)


class TruncatedBlockError(DecodeError, EOFError):
    """The bytes end before the length that they declare: a writer died, or is still writing.

    ``needed`` is the number of bytes of the block that a reader has to have before it tries again, or 0 if unknown.
    """

    def __init__(self, message: str, *, offset: int | None = None, path: str | None = None, needed: int = 0) -> None:
        super().__init__(message, offset=offset, path=path)
        self.needed = needed


class CorruptBlockError(DecodeError):
    """The bytes are complete and contradict each other."""


class UnsupportedVersionError(DecodeError):
    """The bytes are well formed, but of a format version that this library does not know."""


class EncodeError(HudiFormatError, ValueError):
    """A value that the format cannot hold, such as a block of 2 GiB."""


class NameFormatError(HudiFormatError, ValueError):
    """A file name, write token or instant that does not have Hudi's form; ``name`` is the text."""

    def __init__(self, message: str, *, name: str | None = None) -> None:
        super().__init__(message)
        self.name = name


class SchemaError(HudiFormatError, ValueError):
    """A type that cannot be mapped, or a schema that contradicts the table's; ``column`` is a dotted path."""

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class FilterError(HudiFormatError, ValueError):
    """A filter that is no condition, or a condition that is not supported."""


class DataError(HudiFormatError, ValueError):
    """Rows that cannot be written, for instance a record key that is missing or null; ``column`` names where.

    If record keys are null or empty, ``missing`` says in how many of the ``rows``, and ``first`` is the number of the
    first of these rows, from 0.
    """

    def __init__(
        self,
        message: str,
        *,
        column: str | None = None,
        missing: int | None = None,
        rows: int | None = None,
        first: int | None = None,
    ) -> None:
        super().__init__(message)
        self.column = column
        self.missing = missing
        self.rows = rows
        self.first = first


class OptionError(HudiFormatError, ValueError):
    """An unknown option, or a value that an option does not accept; ``option`` is its key.

    ``is_unknown`` says that there is no option of that key.
    """

    def __init__(self, message: str, *, option: str | None = None, is_unknown: bool = False) -> None:
        super().__init__(message)
        self.option = option
        self.is_unknown = is_unknown


class ArgumentError(OptionError, TypeError):
    """An argument of a type that the call does not accept; ``argument`` is the parameter's name."""

    def __init__(self, message: str, *, argument: str | None = None, option: str | None = None) -> None:
        super().__init__(message, option=option or argument)
        self.argument = argument


class UnsupportedFeatureError(HudiFormatError, NotImplementedError):
    """Something valid that hudiformat does not support; ``feature`` names it."""

    def __init__(self, message: str, *, feature: str | None = None) -> None:
        super().__init__(message)
        self.feature = feature


class StorageError(HudiFormatError, OSError):
    """A file that is missing, that exists already or that cannot be written; ``path`` names it."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class CatalogError(HudiFormatError):
    """A catalog that cannot be asked or told of a table; ``catalog`` is its address."""

    def __init__(self, message: str, *, catalog: str | None = None) -> None:
        super().__init__(message)
        self.catalog = catalog


class TableError(HudiFormatError):
    """The table at a path does not allow the call; ``path`` is the table's base path."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class NotATableError(TableError):
    """There is no Hudi table at the path."""


class TableExistsError(TableError):
    """A table cannot be created, because there is one at the path."""


class BeforeFirstCommitError(TableError):
    """A time before the first commit of the table: the table had no rows yet, or did not exist."""


class FilesGoneError(TableError):
    """Files of a query were deleted by a clean, a rollback or a restore before they were read."""


class CorruptTableError(TableError):
    """The table's own metadata (properties, timeline, commit metadata) is damaged."""


class CommitError(TableError):
    """A write that did not become visible; the table is as it was before."""


class WriteConflictError(CommitError):
    """Another writer committed to the same file groups meanwhile: nothing was written; write again."""


class ValidationError(CommitError):
    """A pre-commit validator refuses the write: nothing was written; ``failures`` has a text for each query."""

    def __init__(self, message: str, *, path: str | None = None, failures: tuple[str, ...] = ()) -> None:
        super().__init__(message, path=path)
        self.failures = failures


class LockError(TableError):
    """Another writer has held the lock of the table for longer than this one waits."""


class HudiFormatWarning(UserWarning):
    """A call had another effect than was asked for, or an option has no effect."""


def warn(message: str) -> None:
    """Warn the caller of this library: the warning names the caller's line, not one inside this package."""
    if _SILENT.get():
        return
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - the module warnings has no public way below Python 3.12
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, HudiFormatWarning, stacklevel=level)


_PACKAGE = __name__.partition(".")[0]
_SILENT = ContextVar("hudiformat.silent", default=False)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Leave out the warnings of this library in the block, in this thread.

    ``warnings.catch_warnings`` would change the filters of the whole process, and restore those that it found over
    those that another thread has set meanwhile.
    """
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def unknown_column_error(name: str, known: Iterable[str], *, prefix: str = "") -> SchemaError:
    """Return the error about a column that is not among *known*, with the closest known name."""
    names = list(known)
    return SchemaError(
        f"{prefix}no column {name!r}{suggest_names(name, names)}; the columns are {', '.join(names) or 'none'}",
        column=name,
    )


_FAMILIES = ("hoodie", "hudiformat")


def suggest_names(name: str, known: Iterable[str], *, most: int = 1) -> str:
    """Return the end of a sentence about an unknown *name*: at most *most* similar names of *known*; empty if none is.

    The prefix of a family of keys, such as ``hoodie.``, does not count when names are compared.
    """
    import difflib  # noqa: PLC0415 - of errors only

    names = sorted(known)
    first = name.lower().partition(".")[0]
    family = f"{first}." if first in _FAMILIES else ""
    rest = {one: one.lower().removeprefix(family) for one in names}
    same = [one for one in names if one.lower() == name.lower()]
    close = difflib.get_close_matches(name.lower().removeprefix(family), rest.values(), n=most)
    alike = same or [one for text in dict.fromkeys(close) for one in names if rest[one] == text][:most]
    if not alike:
        return ""
    quoted = [repr(one) for one in alike]
    return f"; did you mean {' or '.join([', '.join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)}?"


_MOST_SHOWN = 60


def format_value(value: object) -> str:
    """Return a value as a message shows it: its type and its first characters."""
    text = f"{type(value).__name__} {value!r}" if value is not None else "None"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
