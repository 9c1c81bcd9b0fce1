"""Times become the texts that Hudi's key generator makes of them."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudiformat.errors import DataError, OptionError, SchemaError
from hudiformat.naming.time_zones import UTC, Zone
from hudiformat.naming.timed_partitions import (
    DELIMITER,
    INPUT,
    INPUT_ZONE,
    OUTPUT,
    PARSER,
    TYPE,
    UNIT,
    ZONE,
    TimedPartitions,
    timed_options,
)

ANSWERS = json.loads(Path(__file__).with_name("timed_paths.json").read_text("utf-8"))
MILLIS = {TYPE: "EPOCHMILLISECONDS", OUTPUT: "yyyy-MM-dd"}
TEXTS = {TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd", OUTPUT: "yyyy/MM"}


def texts(options: dict[str, str], column: pa.Array) -> list[Any]:
    return TimedPartitions.of(options, UTC).texts(column, "p").to_pylist()


def test_numbers_and_texts_give_hudis_paths() -> None:
    """What Hudi 1.2.0 answers, by tests/conformance/timed_paths_oracle.py; texts that it refuses are refused."""
    for case in ANSWERS:
        made = TimedPartitions.of(case["options"], UTC)
        kind = pa.string() if made.unit is None else pa.int64()
        known = [(value, path) for value, path in case["paths"] if path is not None]
        found = made.texts(pa.array([value for value, _ in known], kind), "p")
        assert found.to_pylist() == [path for _, path in known], case["options"]
        for value, path in case["paths"]:
            if path is None:
                with pytest.raises(DataError):
                    made.texts(pa.array([value], kind), "p")


MOMENT = datetime(2024, 1, 1, 23, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("column", "options", "path"),
    [
        (pa.array([MOMENT], pa.timestamp("ms", "UTC")), {}, "2024-01-01"),
        (pa.array([MOMENT], pa.timestamp("us", "UTC")), {TYPE: "EPOCHMICROSECONDS"}, "2024-01-01"),
        (pa.array([MOMENT], pa.timestamp("us", "UTC")), {}, "55972-06-03"),
        (pa.array([date(2024, 1, 1)]), {TYPE: "SCALAR", UNIT: "DAYS"}, "2024-01-01"),
        (pa.array([1704067200999.9]), {}, "2024-01-01"),
        (pa.array([float("nan")]), {}, "1970-01-01"),
        (pa.array([Decimal("1704067200999.9")]), {}, "2024-01-01"),
        (pa.array([17, None], pa.int8()).dictionary_encode(), {TYPE: "UNIX_TIMESTAMP"}, "1970-01-01"),
        (pa.array([None], pa.null()), {}, "1970-01-01"),
        (pa.array([2**62]), {TYPE: "SCALAR", UNIT: "NANOSECONDS"}, "2116-02-20"),
        (pa.array(["2024-01-02"], pa.large_string()), TEXTS, "2024/01"),
        (pa.array(["2024-01-02"]), TEXTS | {INPUT: "yyyy;yyyy-MM-dd", DELIMITER: ";"}, "2024/01"),
    ],
)
def test_a_column_is_a_number_of_the_unit_whatever_its_type(column: pa.Array, options: Any, path: str) -> None:
    assert texts({**MILLIS, ZONE: "UTC", **options}, column)[0] == path


def test_clocks_go_on_changing_after_2037_and_in_any_year() -> None:
    zoned = {TYPE: "UNIX_TIMESTAMP", OUTPUT: "yyyy-MM-dd HH Z", ZONE: "Europe/Berlin"}
    summers = [1_719_792_000, 4_086_806_400, 253_386_489_600, 320_000_000_000, -70_000_000_000_000]
    found = texts(zoned, pa.array(summers))
    assert found[:3] == ["2024-07-01 02 +0200", "2099-07-04 02 +0200", "9999-07-02 02 +0200"]
    assert [one[:5] for one in found[3:]] == ["12110", "-2216"]
    read = {TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd HH:mm", OUTPUT: "HH:mm", INPUT_ZONE: "Europe/Berlin"}
    read["hoodie.keygen.timebased.output.timezone"] = "UTC"
    assert texts(read, pa.array(["2099-07-01 12:00", "2099-01-01 12:00"])) == ["10:00", "11:00"]
    with pytest.raises(DataError, match="clocks in Europe/Berlin have never shown"):
        texts(read, pa.array(["2099-03-29 02:30"]))


def test_without_a_zone_times_are_those_of_the_writer() -> None:
    hours = {TYPE: "UNIX_TIMESTAMP", OUTPUT: "HH"}
    here = Zone("Asia/Tokyo")
    assert TimedPartitions.of(hours, here).texts(pa.array([0]), "p").to_pylist() == ["09"]
    plain = {TYPE: "DATE_STRING", INPUT: "yyyy-MM-dd'T'HH:mm,yyyy-MM-dd'T'HH:mmZ", OUTPUT: "HH ZZ"}
    read = TimedPartitions.of(plain, here).texts(pa.array(["2024-01-01T10:00", "2024-01-01T10:00-02:00"]), "p")
    assert read.to_pylist() == ["10 +09:00", "10 -02:00"]
    with pytest.raises(OptionError, match=f"{ZONE}: expected a time zone, or a process in a zone"):
        TimedPartitions.of(hours, None).texts(pa.array([0]), "p")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({TYPE: ""}, f"{TYPE}: expected a value, .*, found none in its properties; give the option"),
        ({OUTPUT: ""}, f"{OUTPUT}: expected a value"),
        ({TYPE: "DATE_STRING"}, f"{INPUT}: expected a value"),
        ({TYPE: "MONTHS"}, f"{TYPE}: expected one of EPOCHMILLISECONDS, .*, found 'MONTHS'"),
        ({TYPE: "SCALAR", UNIT: "weeks"}, f"{UNIT}: expected one of .*, found 'WEEKS'"),
        ({PARSER: "my.Parser"}, f"{PARSER}: expected org.*, found 'my.Parser', which is Java"),
        ({ZONE: "Europe/Atlantis"}, f"{ZONE}: expected the name of a time zone, .*, found 'Europe/Atlantis'"),
        ({OUTPUT: "MMM yyyy"}, f"{OUTPUT}: expected a pattern of numbers, found MMM in 'MMM yyyy', whose text"),
        ({OUTPUT: "yyyy EEE"}, f"{OUTPUT}: expected a pattern of numbers, found EEE"),
        ({OUTPUT: "yyyy b"}, f"{OUTPUT}: expected letters of Joda-Time, found b"),
        ({OUTPUT: "yyyy 'x"}, f"{OUTPUT}: expected a pattern of Joda-Time such as .*, found"),
        ({**TEXTS, INPUT: "yy-MM-dd"}, f"{INPUT}: expected years of four digits and hours .*, found yy in 'yy-MM-dd'"),
        ({**TEXTS, INPUT: "yyyy hh"}, f"{INPUT}: expected years of four digits and hours .*, found hh"),
    ],
)
def test_options_that_do_not_tell_a_path_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        TimedPartitions.of({**MILLIS, **options}, UTC)


def test_a_column_of_another_type_and_a_text_of_another_form_are_refused() -> None:
    with pytest.raises(SchemaError, match="column p of type string .*: expected numbers, dates or timestamps"):
        texts(MILLIS, pa.array(["2024"]))
    with pytest.raises(SchemaError, match="column p of type int64 .*: expected texts"):
        texts(TEXTS, pa.array([2024]))
    with pytest.raises(DataError, match="expected texts of the form yyyy-MM-dd, found '2024'"):
        texts(TEXTS, pa.array(["2024-01-01", "2024"]))
    with pytest.raises(DataError, match="expected times, found a number that is none"):
        texts(MILLIS, pa.array([1e30]))


def test_older_names_of_options_count_too() -> None:
    old = {"hoodie.deltastreamer.keygen.timebased.output.dateformat": "yyyy", "hoodie.other": "x", TYPE: "SCALAR"}
    assert timed_options(old) == {OUTPUT: "yyyy", TYPE: "SCALAR"}
    assert timed_options({"hoodie.deltastreamer.keygen.datetime.parser.class": "x"}) == {PARSER: "x"}
