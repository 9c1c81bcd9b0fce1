"""Parse and format the names of base files and log files, with file ids and write tokens.  Grammar: spec/names.md.

``str()`` of a parsed name gives back exactly the text that was parsed.  A name is the last part of a path; a path is
refused, not split.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from uuid import UUID, uuid5

from hudiformat.errors import NameFormatError, UnsupportedFeatureError
from hudiformat.wire import INT32_MAX

CDC_SUFFIX = ".cdc"
BASE_FILE_EXTENSIONS = ("parquet", "orc", "hfile", "lance")

_EXTERNAL_SUFFIX = "_hudiext"
_LONG_MAX = 2**63 - 1
_INT_DIGITS = len(str(INT32_MAX))

# Hudi's own patterns.  Java's \d is ASCII only and matches() takes the whole text, hence [0-9] and fullmatch.
_TOKEN = re.compile(r"(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)")
_LOG_FILE = re.compile(r"\.([^._/]+)_([^./]*)\.(log|archive)\.(0*)([0-9]+)(?:_([0-9]+-[0-9]+-[0-9]+)(\.cdc)?)?")
_BASE_FILE = re.compile(r"([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_([0-9]+)\.([a-zA-Z0-9]+)")
# A file that others wrote, registered with a table under its name and the instant; and what Hudi makes of such a group.
_REGISTERED = re.compile(r"(.+\.(parquet|orc))_([0-9]+)_hudiext")
_OF_REGISTERED = re.compile(r"(.+\.(?:parquet|orc))_([0-9]+-[0-9]+-[0-9]+)_([0-9]+)\.(parquet|orc)")
_PREFIXED = "_fg%3D"
# The pattern of Hudi's has no place for the partition paths that are in the ids of a partitioned record index.
_INDEX_FILE = re.compile(r"(record-index-[^-_/]*-[0-9]+-[0-9]+)_([a-zA-Z0-9-]+)_([0-9]+)\.(hfile)")


@dataclass(frozen=True, slots=True, order=True)
class WriteToken:
    """The attempt of a task that wrote a file: ``partition-stage-attempt``, three numbers of the engine.

    Raises:
        NameFormatError: a number that is negative, or too large for Java's type.

    Source: FSUtils.makeWriteToken, Hudi 1.2.0; spec/names.md.
    """

    partition: int
    stage: int
    attempt: int

    def __post_init__(self) -> None:
        for name, value, limit in (
            ("partition", self.partition, INT32_MAX),
            ("stage", self.stage, INT32_MAX),
            ("attempt", self.attempt, _LONG_MAX),
        ):
            if not 0 <= value <= limit:
                raise NameFormatError(f"write token: {name} {value} is not within 0 to {limit}", name=str(self))

    def __str__(self) -> str:
        return f"{self.partition}-{self.stage}-{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> WriteToken:
        """Parse a write token, such as ``0-12-7``.

        Raises:
            NameFormatError: not three numbers, or numbers with leading zeros, or too large.

        Source: FSUtils.makeWriteToken, Hudi 1.2.0.
        """
        match = _TOKEN.fullmatch(text)
        if match is None:
            raise NameFormatError(f"expected a write token <partition>-<stage>-<attempt>, found {text!r}", name=text)
        for digits in match.groups():
            if not _is_at_most(digits, _LONG_MAX):
                raise NameFormatError(f"{digits} in {text!r} is larger than {_LONG_MAX}", name=text)
        return cls(*map(int, match.groups()))


@dataclass(frozen=True, slots=True)
class LogFileName:
    """The name of a log file: ``.<file id>_<instant>.log.<version>[_<write token>[.cdc]]``.

    *instant* is the delta commit's from table version 8 on, and the instant of the slice's base file before.  It is
    empty in the names of archives (``.commits_.archive.1_1-0-1``), whose *extension* is ``archive`` instead of ``log``.
    *write_token* is the text as found.  *zeros* are leading zeros of the version, which Hudi accepts and never writes.

    Source: FSUtils.LOG_FILE_PATTERN and HoodieLogFile, Hudi 1.2.0; spec/names.md.
    """

    file_id: str
    instant: str
    version: int
    write_token: str | None = None
    suffix: str = ""
    extension: str = "log"
    zeros: str = ""

    def __str__(self) -> str:
        token = "" if self.write_token is None else f"_{self.write_token}"
        return f".{self.file_id}_{self.instant}.{self.extension}.{self.zeros}{self.version}{token}{self.suffix}"

    @classmethod
    def parse(cls, text: str) -> LogFileName:
        """Parse the name of a log file.

        Raises:
            NameFormatError: not a log file's name, or a version beyond a Java ``int``.

        Source: FSUtils.LOG_FILE_PATTERN and HoodieLogFile.parseFieldsFromPath, Hudi 1.2.0.
        """
        name = parse_data_file(text)
        if isinstance(name, LogFileName):
            return name
        _refuse_path(text)
        if match := _LOG_FILE.fullmatch(text):
            raise NameFormatError(f"{match[5]} in {text!r} is larger than {INT32_MAX}", name=text)
        raise NameFormatError(
            f"expected a log file name .<file id>_<instant>.log.<version>[_<write token>[.cdc]], found {text!r}",
            name=text,
        )

    @property
    def is_cdc(self) -> bool:
        """Whether the file holds change data rather than the group's rows."""
        return self.suffix == CDC_SUFFIX

    @property
    def sort_key(self) -> tuple[str, int, bool, str, str]:
        """The order in which a slice's log files are read: instant, version, token (none first), suffix.

        Tokens compare as text, so ``10-0-0`` comes before ``9-0-0``.

        Source: HoodieLogFile.LogFileComparator, Hudi 1.2.0.
        """
        return self.instant, self.version, self.write_token is not None, self.write_token or "", self.suffix

    def next_version(self, write_token: str | WriteToken | None = None) -> LogFileName:
        """Return the name that a writer rolls over to: the next version, with *write_token* or the token of this name.

        Raises:
            NameFormatError: the version is the last that a Java ``int`` holds.

        Source: HoodieLogFile.rollOver, Hudi 1.2.0.
        """
        if self.version >= INT32_MAX:
            raise NameFormatError(f"no log version follows {self.version}", name=str(self))
        token = self.write_token if write_token is None else str(write_token)
        return replace(self, version=self.version + 1, write_token=token, zeros="")


@dataclass(frozen=True, slots=True, order=True)
class BaseFileName:
    """The name of a base file: ``<file id>_<write token>_<instant>.<extension>``, the extension without its dot.

    A file that others wrote, and that was registered with the table, has no write token.  Its own name is the file id,
    and listings have it as ``<file id>_<instant>_hudiext``.

    Source: FSUtils.BASE_FILE_PATTERN and HoodieBaseFile, ExternalFilePathUtil, Hudi 1.2.0; spec/names.md.
    """

    file_id: str
    write_token: str
    instant: str
    extension: str = "parquet"

    def __str__(self) -> str:
        if self.is_registered:
            return f"{self.file_id}_{self.instant}{_EXTERNAL_SUFFIX}"
        return f"{self.file_id}_{self.write_token}_{self.instant}.{self.extension}"

    @property
    def is_registered(self) -> bool:
        """Whether others wrote the file."""
        return not self.write_token

    @property
    def began_registered(self) -> bool:
        """Whether the file is of a group whose first file others wrote: its id is that file's name."""
        return "." in self.file_id

    @property
    def stored_as(self) -> str:
        """The name that the file has in its folder."""
        return self.file_id if self.is_registered else str(self)

    @classmethod
    def parse(cls, text: str) -> BaseFileName:
        """Parse the name of a base file.

        Raises:
            NameFormatError: not a base file's name.

        Source: FSUtils.BASE_FILE_PATTERN, FSUtils.isBaseFile and HoodieBaseFile, Hudi 1.2.0.
        """
        name = parse_data_file(text)
        if isinstance(name, BaseFileName):
            return name
        _refuse_path(text)
        if _BASE_FILE.fullmatch(text):
            raise NameFormatError(
                f"expected a base file of extension {', '.join(BASE_FILE_EXTENSIONS)}, found {text!r}", name=text
            )
        raise NameFormatError(
            f"expected a base file name <file id>_<write token>_<instant>.<extension>, found {text!r}", name=text
        )


# A frozen class sets each field by object.__setattr__, which takes most of the time of parsing a name; its slots are
# set in half of that.
_SET_LOG = [getattr(LogFileName, name).__set__ for name in LogFileName.__slots__]
_SET_BASE = [getattr(BaseFileName, name).__set__ for name in BaseFileName.__slots__]


@lru_cache(maxsize=65_536)  # every write to a partition lists it again; larger partitions do not profit
def parse_data_file(name: str) -> BaseFileName | LogFileName | None:
    """Parse the name of a data file; None if *name* is neither a base file's nor a log file's.

    Source: FSUtils.BASE_FILE_PATTERN, FSUtils.LOG_FILE_PATTERN and FSUtils.isDataFile, Hudi 1.2.0.
    """
    if name.startswith("."):
        if (log := _LOG_FILE.fullmatch(name)) is None:
            return None
        file_id, instant, extension, zeros, digits, token, suffix = log.groups()
        if len(digits) >= _INT_DIGITS and not _is_at_most(digits, INT32_MAX):
            return None
        extension = "log" if extension == "log" else "archive"  # the constants, not copies
        log_name = LogFileName.__new__(LogFileName)
        values = (_intern(file_id), _intern(instant), int(digits), token, suffix or "", extension, zeros)
        for put, value in zip(_SET_LOG, values, strict=True):
            put(log_name, value)
        return log_name
    base = _BASE_FILE.fullmatch(name) or _INDEX_FILE.fullmatch(name) or _OF_REGISTERED.fullmatch(name)
    if base is None:
        registered = None if _PREFIXED in name else _REGISTERED.fullmatch(name)
        return None if registered is None else BaseFileName(registered[1], "", registered[3], registered[2])
    if base[4] not in BASE_FILE_EXTENSIONS:
        return None
    base_name = BaseFileName.__new__(BaseFileName)
    for put, value in zip(_SET_BASE, (_intern(base[1]), base[2], _intern(base[3]), _intern(base[4])), strict=True):
        put(base_name, value)
    return base_name


def stored_name(name: str) -> str:
    """Return the name in its folder of a file that a listing has as *name*: another one if it was registered."""
    parsed = parse_data_file(name)
    return parsed.stored_as if isinstance(parsed, BaseFileName) else name


def refuse_registered(name: str) -> None:
    """Refuse the name of a registered file that is read in no way, so that its rows are not silently left out.

    Such are names with the prefix of a folder, and files that are neither in Parquet nor in ORC.

    Raises:
        UnsupportedFeatureError: *name* is such a name.

    Source: ExternalFilePathUtil, Hudi 1.2.0.
    """
    if name.endswith(_EXTERNAL_SUFFIX):
        feature = "files that were registered with a table"
        raise UnsupportedFeatureError(
            f"{name}: expected a file that Hudi wrote, found one of the {feature}; read the table with Hudi",
            feature=feature,
        )


_intern = lru_cache(maxsize=1 << 12)(str)
"""Returns the text itself, or an equal one that came before: names in one listing share parts, and so their memory."""


def root_uri(root: str) -> str:
    """Return the root of a storage as Hudi names it in plans and indexes: a local path is a URI too."""
    return root if "://" in root else f"file:{root}"


def join_path(folder: str, name: str) -> str:
    """Return the path of *name* in *folder*, both relative to the table; the empty folder is the table's own."""
    return f"{folder}/{name}" if folder else name


def base_name(path: str) -> str:
    """Return the last part of *path*: the name of a file without its folders."""
    return path.rpartition("/")[2]


def _refuse_path(text: str) -> None:
    if "/" in text:
        raise NameFormatError(
            f"expected a file name, found the path {text!r}: pass only what follows the last '/'", name=text
        )


def _is_at_most(digits: str, limit: int) -> bool:
    # The length first: int() of a very long text is slow, and refused by Python beyond 4300 digits.
    longest = len(str(limit))
    return len(digits) < longest or (len(digits) == longest and int(digits) <= limit)


_IDS = UUID("6a2d0b1c-9a0e-5d53-8c4e-0d6c1f5f7a11")
"""The UUID namespace of new file ids, which are derived from the write: the same write gives the same names."""

_BUCKET_DIGITS = 8
_BUCKET = re.compile(r"[0-9]{8}-.*", re.DOTALL)


def new_file_id(uuid: UUID, index: int = 0) -> str:
    """Return the id of a new file group, ``<uuid>-<index>``.

    A writer that rolls over to a new file group increments *index*.

    Source: FSUtils.createNewFileId and createNewFileIdPfx, Hudi 1.2.0.
    """
    return f"{uuid}-{index}"


def new_group_uuid(instant: str, partition_path: str, task_partition: int, number: int) -> UUID:
    """Return the UUID of a new file group; *number* counts the new groups of the task in its partition."""
    return uuid5(_IDS, f"{instant}/{partition_path}/{task_partition}/{number}")


def new_bucket_uuid(instant: str, partition_path: str, bucket: int) -> UUID:
    """Return the UUID in a new bucket's file id: the same for all tasks of a write, so that they agree on the name."""
    return uuid5(_IDS, f"{instant}/{partition_path}/{bucket}")


def bucket_file_id(bucket: int, uuid: UUID) -> str:
    """Return the id of a bucket's file group: the bucket's number, in eight digits, replaces the UUID's first part.

    Raises:
        NameFormatError: the number is negative or has more than eight digits.

    Source: BucketIdentifier.newBucketFileIdPrefix, Hudi 1.2.0.
    """
    if not 0 <= bucket < 10**_BUCKET_DIGITS:
        raise NameFormatError(f"bucket {bucket} is not within 0 to {10**_BUCKET_DIGITS - 1}", name=str(bucket))
    return new_file_id(uuid).replace(str(uuid)[:_BUCKET_DIGITS], f"{bucket:0{_BUCKET_DIGITS}d}", 1)


def fixed_bucket_file_id(bucket: int, index: int = 0) -> str:
    """Return the id of a new bucket whose UUID is zeros: ``00000007-0000-0000-0000-000000000000-0`` for bucket 7.

    It is for writers that do not block each other: all of them choose the same id.

    Raises:
        NameFormatError: as for :func:`bucket_file_id`.

    Source: BucketIdentifier.newBucketFileIdForNBCC, Hudi 1.2.0.
    """
    return new_file_id(UUID(bucket_file_id(bucket, UUID(int=0)).rpartition("-")[0]), index)


def parse_bucket(file_id: str) -> int | None:
    """Return the bucket number in a file id; None if it does not begin with eight digits and a dash.

    About one random UUID in forty begins like this too: the answer has a meaning only in a table with a bucket index.

    Source: BucketIdentifier.bucketIdFromFileId, Hudi 1.2.0.
    """
    return int(file_id[:_BUCKET_DIGITS]) if _BUCKET.fullmatch(file_id) else None
