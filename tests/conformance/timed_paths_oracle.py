"""Ask Hudi for the paths of times: ``python -m tests.conformance.timed_paths_oracle`` keeps the answers.

They are in tests/naming/timed_paths.json: the options, the values, and the paths; None where Hudi raised an error.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random

from hudiformat.naming.timed_partitions import INPUT, INPUT_ZONE, OUTPUT, OUTPUT_ZONE, TYPE, UNIT, ZONE
from tests.conformance.hudi import RealHudi

ANSWERS = Path(__file__).parents[1] / "naming" / "timed_paths.json"
_ASK = """
import json
hudi = jvm.org.apache.hudi

def path_of(generator, value):
    given = generator.getDefaultPartitionVal() if value is None else value
    given = jvm.java.lang.Long.valueOf(str(given)) if isinstance(given, int) else given
    try:
        return generator.getPartitionPath(given)
    except Exception:
        return None

def ask(options, values):
    properties = hudi.common.config.TypedProperties()
    for key, value in options.items():
        properties.setProperty(key, value)
    properties.setProperty("hoodie.datasource.write.recordkey.field", "k")
    properties.setProperty("hoodie.datasource.write.partitionpath.field", "p")
    generator = hudi.keygen.TimestampBasedAvroKeyGenerator(properties)
    return [path_of(generator, value) for value in values]

result = [ask(*case) for case in json.loads(CASES)]
"""
_ZONES: list[dict[str, str]] = [
    {},
    {ZONE: "GMT+8:00"},
    {ZONE: "America/New_York"},
    {OUTPUT_ZONE: "Asia/Kolkata"},
    {ZONE: "PST"},
    {ZONE: "EST"},
    {INPUT_ZONE: "Europe/Berlin"},
    {INPUT_ZONE: "Europe/Berlin", OUTPUT_ZONE: "Australia/Lord_Howe"},
    {ZONE: "GMT-0330"},
]
_OUTPUTS = [
    "yyyy/MM/dd",
    "yyyyMMdd",
    "yyyy-MM-dd HH",
    "yyyy-MM-dd'T'HH:mm:ss.SSSZZ",
    "yy/M/d",
    "xxxx-'W'ww-e",
    "YYYY.DDD",
    "CC yyyy kk KK hh",
    "HHmmssSSSSSS Z",
    "y-M-d 'o''clock' H ''S",
]
_NUMBERS = [
    ({TYPE: "EPOCHMILLISECONDS"}, 1e3),
    ({TYPE: "UNIX_TIMESTAMP"}, 1),
    ({TYPE: "EPOCHMICROSECONDS"}, 1e6),
    ({TYPE: "SCALAR", UNIT: "DAYS"}, 1 / 86400),
    ({TYPE: "SCALAR", UNIT: "hours"}, 1 / 3600),
    ({TYPE: "SCALAR"}, 1),
]
_ISO = "yyyy-MM-dd'T'HH:mm:ss"
_MOMENT = "2024-01-01T01:02:03"
_ZONED = ["Z", "z", "+0100", "+01", "-09:30", "+010203", "+24:00", "+01:0", ".Z", ".5-09:30", ".123+01", ".1234Z"]
_TEXTS = {
    "yyyy-MM-dd": [
        *("2024-02-29", "2023-02-29", "2024-2-3", "02024-1-1", "-5-01-01", "+2024-01-01", "2024-13-01", "2024-00-01"),
        *("2024-01-00", "2024-04-31", "12345-01-01", " 2024-01-01", "2024-01-01 ", ""),
    ],
    "yyyy-MM-dd HH:mm:ss": [
        f"2024-{time}"
        for time in (
            "03-10 02:30:00",
            "03-31 02:30:00",
            "10-27 02:30:00",
            "11-03 01:30:00",
            "01-01 24:00:00",
            "01-01 23:59:60",
            "1-1 1:2:3",
        )
    ],
    "yyyyMMdd": ["20240229", "2024229", "202402290", "2024022", "202422"],
    "yyyyMMddHHmmss": ["20240229010203", "2024022901020"],
    f"{_ISO}Z,{_ISO}.SSSZ,yyyy-MM-dd": [f"{_MOMENT}{one}" for one in _ZONED] + ["2024-01-01", "2024-01-01t01:02:03Z"],
    "dd/MM/yyyy": ["1/2/2024", "31/12/1899", "31/4/2024"],
    "MM-dd": ["02-29", "12-31"],
    "HH:mm": ["10:20", "24:00"],
    "yyyy": ["2024", "5", "-3"],
    "yyyy-DDD": ["2024-366", "2023-366", "2024-1"],
    "y-M-d k": ["2024-1-2 24", "2024-1-2 1", "2024-1-2 0"],
    f"{_ISO}.SSS": [f"{_MOMENT}.{one}" for one in ("", "9", "123", "1239")],
}
"""Texts to read, by their pattern: some of them are wrong."""


def _cases() -> list[tuple[dict[str, str], list[int | str | None]]]:
    chance = Random(5)
    found: list[tuple[dict[str, str], list[int | str | None]]] = []
    for output, zone in product(_OUTPUTS, _ZONES):
        of, scale = chance.choice(_NUMBERS)
        numbers = [int(chance.uniform(-3e9, 5e9) * scale) + chance.randint(0, 999) for _ in range(8)]
        found.append(({**of, OUTPUT: output, **zone}, [None, 0, -1, -5, *numbers]))
    for pattern, zone in product(_TEXTS, _ZONES):
        options = {TYPE: chance.choice(["DATE_STRING", "MIXED"]), INPUT: pattern, **zone}
        found.append(({**options, OUTPUT: "yyyy/MM/dd HH:mm:ss.SSS ZZ"}, [None, *_TEXTS[pattern]]))
    return found


def main() -> None:
    cases = _cases()
    with RealHudi() as hudi:
        answers = hudi.eval_(f"CASES = {json.dumps(cases)!r}\n{_ASK}")
    kept = [
        {"options": options, "paths": list(map(list, zip(values, paths, strict=True)))}
        for (options, values), paths in zip(cases, answers, strict=True)
    ]
    ANSWERS.write_text("[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in kept) + "\n]\n", "utf-8")


if __name__ == "__main__":
    main()
