"""Make texts of partition paths from times, as the key generators TIMESTAMP and CUSTOM do.  Pure.

Hudi takes a number for a time in the unit that the table's properties name, whatever the type of the column: the
microseconds of a timestamp for milliseconds, if they say so.  Null is one unit after 1970 began.

Source: TimestampBasedAvroKeyGenerator, HoodieDateTimeParser, Hudi 0.15.0 and 1.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from hudiformat.errors import DataError, OptionError, SchemaError
from hudiformat.naming.date_patterns import DAY, DatePattern, Moment
from hudiformat.naming.time_zones import UTC, Zone

Integers = npt.NDArray[np.int64]

PREFIX, OLD_PREFIX = "hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."
TYPE, OUTPUT = f"{PREFIX}timestamp.type", f"{PREFIX}output.dateformat"
UNIT, INPUT = f"{PREFIX}timestamp.scalar.time.unit", f"{PREFIX}input.dateformat"
DELIMITER = f"{PREFIX}input.dateformat.list.delimiter.regex"
ZONE, INPUT_ZONE, OUTPUT_ZONE = (f"{PREFIX}{name}timezone" for name in ("", "input.", "output."))
PARSER = "hoodie.keygen.datetime.parser.class"
TIMED_KEYS = (TYPE, UNIT, INPUT, DELIMITER, ZONE, INPUT_ZONE, OUTPUT, OUTPUT_ZONE, PARSER)
"""The options that Hudi keeps in the properties of tables of the TIMESTAMP key generator, since 1.0 all of them."""

_PARSER_CLASS = "org.apache.hudi.keygen.parser.HoodieDateTimeParser"
_OF_TEXTS = ("DATE_STRING", "MIXED")
UNITS = {"NANOSECONDS": -1_000_000, "MICROSECONDS": -1_000, "MILLISECONDS": 1, "SECONDS": 1_000, "MINUTES": 60_000}
UNITS |= {"HOURS": 3_600_000, "DAYS": DAY}
"""The milliseconds of a unit; if negative, how many of it are a millisecond."""
_UNIT_OF_TYPE = {"EPOCHMILLISECONDS": "MILLISECONDS", "EPOCHMICROSECONDS": "MICROSECONDS", "UNIX_TIMESTAMP": "SECONDS"}
_TYPES = (*_UNIT_OF_TYPE, "SCALAR", *_OF_TEXTS)
_DEFAULT = 1
"""The number, or the milliseconds of the text, that null counts as."""


@dataclass(frozen=True, slots=True)
class TimedPartitions:
    """How a column of times becomes texts of partition paths.

    ``unit`` is the name of the unit of numbers; None if the values are texts, which one of ``inputs`` reads.  A zone is
    None if the options name none: then texts name their own, and other times have that of the writer, ``here``.
    """

    unit: str | None
    output: DatePattern
    inputs: tuple[DatePattern, ...]
    input_zone: Zone | None
    output_zone: Zone | None
    here: Zone | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str], here: Zone | None) -> TimedPartitions:
        """Return what the properties or options of a table say; *here* is the zone of this process, if it is known.

        Raises:
            OptionError: they lack something, or have a value that is not supported.
        """
        return replace(_parse(tuple((key, _value(properties, key)) for key in TIMED_KEYS)), here=here)

    def texts(self, column: pa.Array, name: str) -> pa.Array:
        """Return the text of each value of the column *name*, a string array without nulls.

        Raises:
            SchemaError: a column of a type that is no time in this form.
            DataError: a text that no pattern reads, or a time whose offset from UTC is not known.
        """
        if pat.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        self._check_type(column.type, name)
        if self.unit is None:
            return self._texts_of_texts(column.cast(pa.string()), name)
        moments = _to_milliseconds(_numbers(column, name), self.unit)
        zone = self.output_zone or self._zone_of_writer()
        local = zone.local(moments)
        return self._format(local, local - moments)

    def _check_type(self, kind: pa.DataType, name: str) -> None:
        is_text = pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind)
        is_number = pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind)
        is_number = is_number or pat.is_date(kind) or pat.is_timestamp(kind)
        if not pat.is_null(kind) and not (is_text if self.unit is None else is_number):
            expected = "texts" if self.unit is None else f"numbers, dates or timestamps, in {self.unit.lower()}"
            raise SchemaError(
                f"column {name} of type {kind} cannot be part of a partition path: expected {expected}, because of "
                f"{TYPE} of the table; cast the column",
                column=name,
            )

    def _texts_of_texts(self, column: pa.Array, name: str) -> pa.Array:
        encoded = pc.fill_null(column, self._default_text()).dictionary_encode()
        texts = encoded.dictionary
        local, offsets, has_offset, waiting = (np.zeros(len(texts), np.int64) for _ in range(4))
        waiting += 1
        for pattern in self.inputs:
            rows = np.flatnonzero(waiting)
            if not len(rows):
                break
            found = pattern.reader(INPUT).read(texts.take(pa.array(rows)))
            read = rows[found.is_read]
            local[read], offsets[read] = found.local[found.is_read], found.offsets[found.is_read]
            has_offset[read], waiting[read] = found.has_offset[found.is_read], 0
        if waiting.any():
            [first, *_] = texts.take(pa.array(np.flatnonzero(waiting))).to_pylist()
            expected = " or ".join(one.text for one in self.inputs)
            raise DataError(
                f"partition {name}: expected texts of the form {expected}, found {first!r}; change the values",
                column=name,
            )
        shown, offset = self._shown(local, offsets, has_offset.astype(np.bool_))
        return self._format(shown, offset).take(encoded.indices)

    def _shown(
        self, local: Integers, offsets: Integers, has_offset: npt.NDArray[np.bool_]
    ) -> tuple[Integers, Integers]:
        """Return the wall-clock times of the output, and their offsets from UTC, for times that texts name."""
        moments = np.where(has_offset, local - offsets, 0)
        without = np.flatnonzero(~has_offset)
        if len(without):
            moments[without] = (self.input_zone or self._zone_of_writer()).moments(local[without])
        zone = self.output_zone or self.input_zone
        if zone is not None:
            shown = zone.local(moments)
        else:  # that of each text
            shown = np.where(has_offset, moments + offsets, 0)
            if len(without):
                shown[without] = local[without]
        return shown, shown - moments

    def _zone_of_writer(self) -> Zone:
        if self.here is None:
            raise OptionError(
                f"{ZONE}: expected a time zone, or a process in a zone of the database of time zones, found neither; "
                "give the option, with the zone of the table's other writers",
                option=ZONE,
            )
        return self.here

    def _default_text(self) -> str:
        zone = self.input_zone or self.output_zone or UTC
        [local] = zone.local(np.array([_DEFAULT], np.int64)).tolist()
        return self.inputs[0].format(_moment(local, local - _DEFAULT))

    def _format(self, local: Integers, offsets: Integers) -> pa.Array:
        """Return the texts of wall-clock times; each text is made once.

        Three times by ``yyyy/MM``::

            local        2024-01-01 10:00  2024-01-31 00:00  2024-01-31 05:00
            days         19723             19753             19753
            dictionary   2024/01           2024/01                             of each day
        """
        unit = self.output.unit
        short = pa.array(local // unit).dictionary_encode()
        codes = np.asarray(short.indices).astype(np.int64)
        values = np.asarray(short.dictionary) * unit
        if not self.output.has_offset:
            texts = [self.output.format(_moment(one, 0)) for one in values.tolist()]
            return pa.array(texts, pa.string()).take(short.indices)
        named = pa.array(offsets).dictionary_encode()
        pairs = pa.array(codes * max(len(named.dictionary), 1) + np.asarray(named.indices)).dictionary_encode()
        at, of = np.divmod(np.asarray(pairs.dictionary), max(len(named.dictionary), 1))
        zones = np.asarray(named.dictionary)
        texts = [
            self.output.format(_moment(one, offset))
            for one, offset in zip(values[at].tolist(), zones[of].tolist(), strict=True)
        ]
        return pa.array(texts, pa.string()).take(pairs.indices)


def timed_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return those of *options* that say how times become paths, by their current names."""
    found = {key: _value(options, key) for key in TIMED_KEYS}
    return {key: value for key, value in found.items() if value is not None}


def _value(properties: Mapping[str, str], key: str) -> str | None:
    old = key.replace(PREFIX, OLD_PREFIX) if key.startswith(PREFIX) else key.replace("hoodie.", "hoodie.deltastreamer.")
    found = properties.get(key, properties.get(old))
    return None if found is None else str(found)


@lru_cache(maxsize=64)
def _parse(given: tuple[tuple[str, str | None], ...]) -> TimedPartitions:
    options = dict(given)
    kind, output = (_required(options, key) for key in (TYPE, OUTPUT))
    if kind not in _TYPES:
        raise OptionError(f"{TYPE}: expected one of {', '.join(_TYPES)}, found {kind!r}", option=TYPE)
    parser = options[PARSER] or _PARSER_CLASS
    if parser != _PARSER_CLASS:
        raise OptionError(
            f"{PARSER}: expected {_PARSER_CLASS}, found {parser!r}, which is Java; write the table with Hudi",
            option=PARSER,
        )
    unit = _UNIT_OF_TYPE.get(kind, None if kind in _OF_TEXTS else (options[UNIT] or "SECONDS").upper())
    if unit is not None and unit not in UNITS:
        raise OptionError(f"{UNIT}: expected one of {', '.join(UNITS)}, found {unit!r}", option=UNIT)
    inputs: Sequence[DatePattern] = ()
    if unit is None:
        texts = re.split((options[DELIMITER] or "").strip() or ",", _required(options, INPUT))
        inputs = [DatePattern.parse(one.strip(), INPUT) for one in texts]
        for one in inputs:
            one.reader(INPUT)
    zones = [_zone(options, ZONE if options[ZONE] is not None else key) for key in (INPUT_ZONE, OUTPUT_ZONE)]
    return TimedPartitions(unit, DatePattern.parse(output, OUTPUT), tuple(inputs), *zones)


def _required(options: Mapping[str, str | None], key: str) -> str:
    found = options[key]
    if not found:
        raise OptionError(
            f"{key}: expected a value, for the times in the table's partition paths, found none in its properties; "
            "give the option that the table's other writers have",
            option=key,
        )
    return found


def _zone(options: Mapping[str, str | None], key: str) -> Zone | None:
    text = (options[key] or "").strip()
    return Zone.parse(text, key) if text else None


def _numbers(column: pa.Array, name: str) -> Integers:
    """Return the numbers that Hudi takes for times; null is 1.

    Source: HoodieAvroUtils.getNestedFieldVal; a date is its day.
    """
    kind = column.type
    if pat.is_null(kind):
        return np.full(len(column), _DEFAULT, np.int64)
    if pat.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(0, kind), column)
    if pat.is_floating(kind) or pat.is_decimal(kind):
        column = pc.round(column, round_mode="towards_zero")
    if pat.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(
            f"partition {name}: expected times, found a number that is none: {error}", column=name
        ) from error
    return np.asarray(pc.fill_null(numbers, _DEFAULT))


def _to_milliseconds(numbers: Integers, unit: str) -> Integers:
    """Return numbers of a unit in milliseconds, cut as TimeUnit.convert cuts them: towards zero."""
    factor = UNITS[unit]
    if factor < 0:
        cut: Integers = np.sign(numbers) * (np.abs(numbers) // -factor)
        return cut
    most = np.iinfo(np.int64).max // factor
    return np.clip(numbers, -most, most) * factor


def _moment(local: int, offset: int) -> Moment:
    day, time = divmod(local, DAY)
    return Moment(day, time, offset)
