"""Tell the values of partition columns: from the files, and where a file lacks the column, from its path.

A path holds a text that the key generator made of the value, and not every text tells the value again: a timestamp may
be formatted as a day, or a slash in a value adds a folder.  Where only the path could tell and does not, that is an
error; and a path that does not tell its values rules no partition out.

Source: PartitionPathEncodeUtils, HoodieSparkUtils.parsePartitionColumnValues, SparkParsePartitionUtil, Hudi 1.2.0,
whose queries show the values of the path in some cases and those of the file in others; spec/queries.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.errors import DataError, OptionError, UnsupportedFeatureError
from hudiformat.naming.keys import DEFAULT_PARTITION, unescape_path_name, value_of_folder
from hudiformat.naming.timed_intervals import conditions, intervals
from hudiformat.naming.timed_partitions import TimedPartitions
from hudiformat.timeline.table_config import KeyGenerator, TableConfig

_MOST_CASES = 16


@dataclass(frozen=True, slots=True)
class PartitionColumns:
    """The partition columns ``fields`` of a table.

    For the fields in ``timed`` the key generator formats, or may format, a time into the path, by ``times`` if it is
    known how.  ``escaped`` means that values in paths contain no ``/``.  With ``dropped``, files lack the columns, and
    the columns are texts.
    """

    fields: tuple[str, ...]
    timed: frozenset[str]
    escaped: bool
    dropped: bool
    times: TimedPartitions | None = None

    @classmethod
    def of(cls, config: TableConfig) -> PartitionColumns:
        """Return the partition columns of a table."""
        timed = _timed_fields(config)
        return cls(
            fields=config.partition_fields,
            timed=timed,
            escaped=config.url_encode_partitioning and not timed,
            dropped=config.drop_partition_columns,
            times=_times(config) if timed else None,
        )

    @property
    def from_path(self) -> frozenset[str]:
        """The columns whose values a path can tell."""
        return frozenset(self.fields) if self.dropped else frozenset(self.fields) - self.timed

    @property
    def bounded_by_path(self) -> frozenset[str]:
        """The columns about whose values a path can tell something."""
        return self.from_path if self.times is None else self.from_path | self.timed

    def value(self, field: pa.Field, path: str) -> pa.Scalar:
        """Return the value of a partition column in a file of the partition at *path* that lacks the column.

        Raises:
            UnsupportedFeatureError: the path does not tell it.
        """
        texts = self._texts(path)
        text = None if texts is None else texts[self.fields.index(field.name)]
        if texts is not None and text is None:
            return pa.scalar(None, field.type)
        found = None if text is None or field.name not in self.from_path else _parse(text, field.type)
        if found is None:
            raise UnsupportedFeatureError(
                f"the partition {path!r}: expected the column {field.name} of type {field.type} in its files, or its "
                "value in the path, found a file without the column and a path that does not tell it; leave the column "
                "out, or write the partition again with it",
                feature=f"the partition column {field.name} from a path",
            )
        return found

    def is_default(self, name: str, path: str) -> bool:
        """Return whether the partition at *path* is that of nulls, and of empty texts, which are shown as null."""
        if name not in self.from_path or DEFAULT_PARTITION not in path:
            return False
        texts = self._texts(path)
        return texts is not None and texts[self.fields.index(name)] is None

    def cases(self, path: str, schema: pa.Schema) -> list[pc.Expression]:
        """Return conditions of which one is true for each row of the partition at *path*; none if it tells nothing.

        *schema* has the columns to which the conditions may refer.
        """
        shown, folders = set(schema.names), self._folders(path)
        if folders is None:
            return []
        by_field = []
        for name, folder in zip(self.fields, folders, strict=True):
            if name in self.bounded_by_path and name in shown:
                of_field = self._times_of if name in self.timed and not self.dropped else _cases
                found = of_field(schema.field(name), self._spellings(folder))
                if found:
                    by_field.append(found)
        if not by_field:
            return []
        found = [_conjunction(case) for case in product(*by_field)]
        return found if len(found) <= _MOST_CASES else []

    def cases_below(self, folder: str, schema: pa.Schema) -> list[pc.Expression]:
        """Return conditions of which one is true for each row of partitions inside *folder*; none if it tells nothing.

        A single text with slashes makes such folders; by the option for slashes they are hyphens in the column.  What
        begins with ``2024/`` or ``2024-`` is at least ``2024-`` and below ``20240``.
        """
        name = self.fields[0] if len(self.fields) == 1 else ""
        if name not in self.from_path or schema.get_field_index(name) < 0:
            return []
        kind = schema.field(name).type
        if not (pat.is_string(kind) or pat.is_large_string(kind)):
            return []
        bounds = [(pa.scalar(f"{text}-", kind), pa.scalar(f"{text}0", kind)) for text in self._spellings(folder)]
        return [(pc.field(name) >= lowest) & (pc.field(name) < end) for lowest, end in bounds]

    def made_of(self, name: str, values: Iterable[str]) -> frozenset[str] | None:
        """Return the texts of paths that the key generator makes of *values*, which the column *name* has as texts.

        None if the column is of another type, or if it is not known how the texts are made of one of the values.
        """
        if name not in self.timed or self.times is None or self.times.unit is not None or self.dropped:
            return None
        try:
            return frozenset(self.times.texts(pa.array(sorted(values), pa.string()), name).to_pylist())
        except (DataError, OptionError):
            return None

    def may_be_made_of(self, path: str, made: Mapping[str, frozenset[str]]) -> bool:
        """Return whether the partition at *path* can be one of those whose columns have one of the texts *made*."""
        folders = self._folders(path)
        if folders is None:
            return True
        texts = {name: {*self._spellings(folder)} for name, folder in zip(self.fields, folders, strict=True)}
        return all(
            DEFAULT_PARTITION in texts[name] or not found.isdisjoint(texts[name]) for name, found in made.items()
        )

    def _times_of(self, field: pa.Field, texts: Sequence[str]) -> list[pc.Expression]:
        """Return conditions of which one is true for the column *field* if one of *texts* was made of its time.

        Null is a time, too: which one has changed with Hudi's releases.
        """
        known = self.times if DEFAULT_PARTITION not in texts else None
        found = [] if known is None else [one for text in texts for one in intervals(known, text)]
        cases = [case for one in found for case in conditions(field, one)]
        return [*cases, pc.field(field.name).is_null()] if cases else []

    def _folders(self, path: str) -> list[str] | None:
        """Return the part of *path* for each field; None if it has not as many folders as the fields have.

        A time that is formatted with slashes has several.
        """
        folders = path.split("/") if path else []
        if len(folders) == len(self.fields):
            return folders
        if len(self.fields) == 1:
            return [path]
        more = 0 if self.times is None else self.times.output.slashes
        counts = [1 + more * (name in self.timed) for name in self.fields]
        if len(folders) != sum(counts):
            return None
        rest = iter(folders)
        return ["/".join(islice(rest, count)) for count in counts]

    def _texts(self, path: str) -> list[str | None] | None:
        """Return the text of each field in *path*, None for the default partition; None if it does not tell them.

        A dropped column that the key generator formats alone has the whole path.

        Source: HoodieSparkUtils.parsePartitionColumnValues, Hudi 1.2.0.
        """
        if self.dropped and self.timed == frozenset(self.fields):
            return [path] * len(self.fields)
        folders = self._folders(path)
        if folders is None:
            return None
        if len(folders) == 1 and "/" in path:
            return [path.removeprefix(f"{self.fields[0]}=")]
        return [value_of_folder(folder) for folder in folders]

    def _spellings(self, folder: str) -> list[str]:
        """Return the texts that can have made a folder: with the name of the field or without, escaped or not."""
        plain = [folder, folder.partition("=")[2]] if "=" in folder else [folder]
        plain += [one.replace("/", "-") for one in plain if "/" in one]  # of a date, by the option for slashes
        return list(dict.fromkeys([*plain, *(unescape_path_name(one) for one in plain if "%" in one)]))


def _cases(field: pa.Field, texts: Sequence[str]) -> list[pc.Expression]:
    """Return the conditions of which one is true for the column *field* if one of *texts* was made of its value."""
    column = pc.field(field.name)
    if DEFAULT_PARTITION in texts:
        return [column.is_null()]
    if pat.is_timestamp(field.type):
        return []  # in whose zone a text was made is not known
    values = [_parse(text, field.type) for text in texts]
    return [column == value for value in values if value is not None]


def _conjunction(conditions: Sequence[pc.Expression]) -> pc.Expression:
    first, *others = conditions
    for one in others:
        first &= one
    return first


def _parse(text: str, kind: pa.DataType) -> pa.Scalar | None:
    """Return the value of type *kind* that a key generator has made *text* of; None if the text does not tell it."""
    given = pa.scalar(text, pa.string())
    if pat.is_string(kind) or pat.is_large_string(kind):
        return given.cast(kind)
    if pat.is_date32(kind):
        given = pa.scalar(text.replace("/", "-"), pa.string())  # in Hudi's form of dates with slashes
    elif pat.is_timestamp(kind):
        return _parse_number(text, kind)
    elif not (pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind) or pat.is_boolean(kind)):
        return None
    try:
        return given.cast(kind)
    except pa.ArrowInvalid:  # "20240102" is no date: the caller says what follows from it
        return None


def _parse_number(text: str, kind: pa.DataType) -> pa.Scalar | None:
    """Return the timestamp of a number of its unit, as Hudi's writers format it; a text has an unknown zone."""
    digits = text.removeprefix("-")
    return pa.scalar(int(text), pa.int64()).cast(kind) if digits.isdecimal() and digits.isascii() else None


def _times(config: TableConfig) -> TimedPartitions | None:
    """Return how times become texts of paths, by the table's properties and options; None if they do not say it.

    The zone of this process is not taken: others may have written the table.
    """
    is_custom = config.key_generator is KeyGenerator.CUSTOM
    if config.key_generator is KeyGenerator.OTHER or (is_custom and None in config.partition_types):
        return None
    try:
        return TimedPartitions.of(config.properties, None)
    except OptionError:
        return None


def _timed_fields(config: TableConfig) -> frozenset[str]:
    """Return the fields whose values are times that the key generator formats into the path, or may be."""
    if config.key_generator in (KeyGenerator.TIMESTAMP, KeyGenerator.OTHER):
        return frozenset(config.partition_fields)
    if config.key_generator is not KeyGenerator.CUSTOM:
        return frozenset()
    pairs = zip(config.partition_fields, config.partition_types, strict=True)
    return frozenset(name for name, kind in pairs if kind != "simple")  # Hudi 0.15 keeps no types
