"""What spec/vectors say of Hudi, asked of Hudi."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hudiformat.codec.log.frame import BlockType
from tests.codec.hfile.java import JavaHFiles
from tests.conformance.hudi import RealHudi
from tests.conformance.java import JavaClass
from tests.conformance.test_log_reader import DUMP, ReadWithHudi
from tests.conformance.vector_questions import HudiAnswers
from tests.vectors.test_vectors import LOG_FILES, VECTORS, Vector

WRITTEN = "written by Hudi 1.2.0"
COMPUTED = "computed by Hudi 1.2.0"


@pytest.fixture(scope="module")
def ask(hudi: RealHudi) -> HudiAnswers:
    return HudiAnswers(hudi)


def chosen(operation: str, source: str) -> list[Vector]:
    vectors = [vector for vector in VECTORS if (vector["operation"], vector["source"]) == (operation, source)]
    assert vectors
    return vectors


def words_of(value: Vector | None) -> tuple[str, str]:
    """Type and text of an ordering value."""
    if value is None:
        return "null", ""
    if value["type"] == "array":
        return "array", " ".join(":".join(words_of(item)) for item in value["value"])
    return value["type"], str(value["value"]).lower() if isinstance(value["value"], bool) else str(value["value"])


def test_hudi_writes_the_deletes_in_these_bytes(ask: HudiAnswers) -> None:
    for vector in chosen("decode deletes", WRITTEN):
        version = int(vector["input"]["hex"][:8], 16)
        fields = [(row["key"], row["partition"], *words_of(row["ordering"])) for row in vector["expected"]]
        answer = ask("write deletes", version, *(word for row in fields for word in row))
        assert answer == vector["input"]["hex"], vector["name"]
        keys = "".join(f"{row['key']}\t{row['partition']}\n" for row in vector["expected"])
        assert ask("read deletes", answer) == keys


def test_hudi_parses_these_names_and_refuses_the_others(ask: HudiAnswers) -> None:
    def part(value: Any) -> str:
        return "null" if value is None else str(value)

    for vector in chosen("parse log file name", COMPUTED):
        answer = ask("log file name", vector["input"]["text"])
        expected = vector.get("expected")
        parts = ("file_id", "instant", "version", "write_token", "suffix", "extension")
        assert answer == ("\t".join(part(expected[name]) for name in parts) if expected else "refused")
    for vector in chosen("parse base file name", COMPUTED):
        answer = ask("base file name", vector["input"]["text"])
        expected = vector.get("expected")
        assert answer == (f"{expected['file_id']}\t{expected['instant']}" if expected else "refused")


def test_hudi_computes_the_same_of_single_values(ask: HudiAnswers) -> None:
    for vector in chosen("parse instant", COMPUTED):
        assert ask("instant", vector["input"]["text"]) == str(vector.get("expected", "refused"))
    for vector in chosen("format partition path", COMPUTED):
        (value,) = vector["input"]["values"]
        assert ask("escape", value) == vector["expected"]
        assert ask("unescape", vector["expected"]) == value
    for vector in chosen("bucket", COMPUTED):
        given = vector["input"]
        answer = ask("bucket", given["record_key"], ",".join(given["hash_fields"]), given["buckets"])
        assert answer == str(vector["expected"])
    for vector in chosen("decode hadoop vlong", COMPUTED):
        assert ask("vlong", vector["input"]["hex"]) == str(vector["expected"])


def test_hudi_encodes_positions_and_bloom_filters_alike(ask: HudiAnswers) -> None:
    for vector in chosen("decode positions", COMPUTED):
        assert ask("positions", *vector["expected"]) == vector["input"]["text"]
    for vector in chosen("parse bloom filter", COMPUTED):
        keys, rate = vector["input"]["keys"], vector["input"]["false_positive_rate"]
        assert ask("bloom filter", max(len(keys), 1), rate, *keys) == vector["input"]["text"]


def test_hudis_log_reader_does_what_the_vectors_say(hudi: RealHudi, tmp_path: Path) -> None:
    read = ReadWithHudi(JavaClass(hudi, "LogDump", DUMP), tmp_path)
    readings = read([bytes.fromhex(vector["input"]["hex"]) for vector in LOG_FILES])
    for vector, reading in zip(LOG_FILES, readings, strict=True):
        corrupt = BlockType.CORRUPT
        found = [(kind, None if kind == corrupt else length) for kind, _, length, *_ in reading.blocks]
        expected = [
            (BlockType[block["type"]], len(block["content"]) // 2 if "content" in block else None)
            for block in vector["expected"]
        ]
        outcome = reading.outcome.split()[0]
        if outcome == "ends":
            outcome = "the same" if found == expected else "other blocks"
        assert outcome == vector["hudi"], vector["name"]


def test_hudi_reads_and_writes_the_hfiles(hudi: RealHudi) -> None:
    java = JavaHFiles(hudi)
    for vector in chosen("read hfile", WRITTEN):
        entries = [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in vector["expected"]["entries"]]
        data = bytes.fromhex(vector["input"]["hex"])
        if entries:  # of a file without entries Hudi's reader has no first
            assert java.entries(data) == entries
        extras: dict[str, Any] = {
            name: {key: bytes.fromhex(value) for key, value in vector["expected"][name].items()}
            for name in ("file_info", "meta_blocks")
        }
        options = dict(vector.get("options", {"compression": "gzip"}))
        codec = options.pop("compression")
        assert java.write(entries, codec=codec, **options, **extras) == data
