from __future__ import annotations

import contextlib
import pickle
import zipfile
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import NameFormatError
from hudiformat.naming.file_names import (
    BaseFileName,
    LogFileName,
    WriteToken,
    base_name,
    bucket_file_id,
    fixed_bucket_file_id,
    join_path,
    new_file_id,
    parse_bucket,
    parse_data_file,
    stored_name,
)

GOLDEN = Path(__file__).parents[1] / "golden"
ID = "5995ce82-ee07-4322-81db-1b071b9e919a-0"
SOME = UUID("5995ce82-ee07-4322-81db-1b071b9e919a")

LOG_FILES = [
    (f".{ID}_20261121060122753.log.1_0-8010-13605", (ID, "20261121060122753", 1, "0-8010-13605", "", "log")),
    (f".{ID}_20261121060122753.log.12_0-1-2.cdc", (ID, "20261121060122753", 12, "0-1-2", ".cdc", "log")),
    (f".{ID}_20170101134598.log.3", (ID, "20170101134598", 3, None, "", "log")),
    (".commits_.archive.1_1-0-1", ("commits", "", 1, "1-0-1", "", "archive")),
    (".files-0000-0_00000000000000010.log.1_0-0-0", ("files-0000-0", "00000000000000010", 1, "0-0-0", "", "log")),
    (".a_.log.0", ("a", "", 0, None, "", "log")),
    (".a_b_c.log.2147483647", ("a", "b_c", 2147483647, None, "", "log")),
    (".a b_1.log.1_00-01-002", ("a b", "1", 1, "00-01-002", "", "log")),
    (".ü\n_1.log.1", ("ü\n", "1", 1, None, "", "log")),
]

NO_LOG_FILES = [
    "",
    "a_1.log.1",  # no dot in front
    "._1.log.1",  # no file id
    ".a1.log.1",  # no underscore
    ".a_b_c",
    ".a.b_1.log.1",  # a dot in the file id
    ".a_1.2.log.1",  # a dot in the instant
    ".a_1.logs.1",
    ".a_1.log.",
    ".a_1.log.x",
    ".a_1.log.-1",
    ".a_1.log.1_",
    ".a_1.log.1_1-2",
    ".a_1.log.1_1-2-3-4",
    ".a_1.log.1_1-2-3.cdcx",
    ".a_1.log.1.cdc",  # a suffix without a token
    ".a_1.log.1_1-2-3\n",  # matches() takes the whole text, a line end too
    ".a_1.log.١",  # noqa: RUF001 - an Arabic digit: Java's \d is ASCII
    ".a_1.log.1.crc",
    "..a_1.log.1_1-2-3.crc",
    ".hoodie_partition_metadata",
]

BASE_FILES = [
    (f"{ID}_0-181-335_20261121061952567.parquet", (ID, "0-181-335", "20261121061952567", "parquet")),
    ("files-0000-0_0-0-0_001.hfile", ("files-0000-0", "0-0-0", "001", "hfile")),
    ("a_1-0-1_20170101134598.orc", ("a", "1-0-1", "20170101134598", "orc")),
    ("a_token_1.lance", ("a", "token", "1", "lance")),
]

NO_BASE_FILES = [
    "",
    f"{ID}_20170101134598.parquet",  # before write tokens
    f"{ID}_0-1-2_20170101134598",
    f"{ID}_0-1-2_x.parquet",
    f".{ID}_0-1-2_1.parquet.crc",
    f"{ID}_0-1-2_1.parquet.crc",
    f"{ID}_0-1-2_1.csv",
    f"{ID}_0-1-2_1.parquet\n",
    "a.b_0-1-2_1.parquet",
    "ä_0-1-2_1.parquet",
    "_0-1-2_1.parquet",
]


@pytest.mark.parametrize(("text", "parts"), LOG_FILES)
def test_log_file_names_are_taken_apart_and_put_together(text: str, parts: tuple[object, ...]) -> None:
    name = LogFileName.parse(text)
    assert (name.file_id, name.instant, name.version, name.write_token, name.suffix, name.extension) == parts
    assert str(name) == text
    assert name.is_cdc is text.endswith(".cdc")


@pytest.mark.parametrize("text", NO_LOG_FILES)
def test_what_is_no_log_file_name_is_refused(text: str) -> None:
    with pytest.raises(NameFormatError, match="expected a log file name") as caught:
        LogFileName.parse(text)
    assert caught.value.name == text


@pytest.mark.parametrize(("text", "parts"), BASE_FILES)
def test_base_file_names_are_taken_apart_and_put_together(text: str, parts: tuple[str, ...]) -> None:
    name = BaseFileName.parse(text)
    assert (name.file_id, name.write_token, name.instant, name.extension) == parts
    assert str(name) == text


@pytest.mark.parametrize("text", NO_BASE_FILES)
def test_what_is_no_base_file_name_is_refused(text: str) -> None:
    with pytest.raises(NameFormatError, match="expected a base file"):
        BaseFileName.parse(text)


REGISTERED = "part-00000-a_b.c000.snappy.parquet"


def test_a_registered_file_has_its_own_name_in_its_folder() -> None:
    name = BaseFileName.parse(f"{REGISTERED}_20240101000000000_hudiext")
    assert (name.file_id, name.write_token, name.instant, name.extension) == (
        REGISTERED, "", "20240101000000000", "parquet",
    )  # fmt: skip
    assert name.is_registered
    assert name.stored_as == stored_name(str(name)) == REGISTERED
    assert str(name) == f"{REGISTERED}_20240101000000000_hudiext"


def test_hudi_goes_on_with_the_file_group_of_a_registered_file() -> None:
    text = f"{REGISTERED}_0-173-182_20261129130550409.parquet"
    name = BaseFileName.parse(text)
    assert (name.file_id, name.write_token, name.instant) == (REGISTERED, "0-173-182", "20261129130550409")
    assert str(name) == name.stored_as == stored_name(text) == text
    assert stored_name(".a_1.log.1") == ".a_1.log.1"


@pytest.mark.parametrize("parse", [LogFileName.parse, BaseFileName.parse])
def test_a_path_is_refused_with_a_hint(parse: object) -> None:
    with pytest.raises(NameFormatError, match="follows the last '/'"):
        parse("2024/a_0-1-2_1.parquet")  # type: ignore[operator]  # one of two functions


@pytest.mark.parametrize("digits", ["2147483648", "9" * 5000])
def test_a_log_version_beyond_a_java_int_is_refused(digits: str) -> None:
    with pytest.raises(NameFormatError, match="larger than 2147483647"):
        LogFileName.parse(f".a_1.log.{digits}")


def test_leading_zeros_of_a_log_version_come_back() -> None:
    name = LogFileName.parse(".a_1.log.007_0-1-2")
    assert (name.version, str(name)) == (7, ".a_1.log.007_0-1-2")
    assert str(name.next_version()) == ".a_1.log.8_0-1-2"


def test_the_next_version_has_its_own_write_token() -> None:
    name = LogFileName.parse(".a_1.log.1_0-1-2")
    assert str(name.next_version(WriteToken(3, 4, 5))) == ".a_1.log.2_3-4-5"
    assert str(name.next_version("6-7-8")) == ".a_1.log.2_6-7-8"


def test_there_is_no_version_after_the_last() -> None:
    with pytest.raises(NameFormatError, match="no log version follows"):
        LogFileName("a", "1", 2147483647).next_version()


def test_log_files_are_read_by_instant_then_version_then_token_as_text_then_suffix() -> None:
    ordered = [
        ".a_1.log.2",
        ".a_1.log.10",
        ".a_1.log.10_10-0-0",
        ".a_1.log.10_9-0-0",
        ".a_1.log.10_9-0-0.cdc",
        ".a_2.log.1_0-0-0",
    ]
    keys = [LogFileName.parse(text).sort_key for text in ordered]
    assert all(left < right for left, right in pairwise(keys))


def test_write_tokens_are_three_numbers() -> None:
    assert str(WriteToken.parse("0-12-7")) == "0-12-7"
    assert WriteToken.parse("1-2-9223372036854775807") == WriteToken(1, 2, 2**63 - 1)


@pytest.mark.parametrize(
    "text", ["", "1-2", "1-2-3-4", "a-b-c", "01-2-3", "-1-2-3", "2147483648-0-0", "0-0-9223372036854775808", "0-0-1\n"]
)
def test_what_is_no_write_token_is_refused(text: str) -> None:
    with pytest.raises(NameFormatError):
        WriteToken.parse(text)


def test_every_file_in_the_golden_tables_has_a_name_that_comes_back() -> None:
    seen = {LogFileName: 0, BaseFileName: 0}
    for archive in sorted(GOLDEN.glob("*.zip")):
        with zipfile.ZipFile(archive) as content:
            names = [entry.rsplit("/", 1)[-1] for entry in content.namelist() if entry.startswith("table/")]
        for text in names:
            if ".log." in text or ".archive." in text:
                kind: type[LogFileName | BaseFileName] = LogFileName
            elif text.endswith(".hfile") or (text.endswith(".parquet") and text.count("-") > 2):
                kind = BaseFileName
            else:
                continue
            assert str(kind.parse(text)) == text
            seen[kind] += 1
    assert seen[LogFileName] > 600
    assert seen[BaseFileName] > 390


@pytest.mark.parametrize(("text", "_parts"), [*LOG_FILES, *BASE_FILES])
def test_a_data_file_is_told_by_its_name(text: str, _parts: tuple[object, ...]) -> None:
    name = parse_data_file(text)
    assert isinstance(name, LogFileName if text.startswith(".") else BaseFileName)
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        *NO_LOG_FILES,
        *NO_BASE_FILES,
        "data.csv_20240101000000_hudiext",
        "data.parquet_fg%3Dbucket_20240101000000_hudiext",
        "data.parquet",
        "2024/a_0-1-2_1.parquet",
        "2024/.a_1.log.1",
        ".a_1.log.2147483648",
        f".a_1.log.{'9' * 5000}",
    ],
)
def test_any_other_file_has_no_parts_and_raises_nothing(text: str) -> None:
    assert parse_data_file(text) is None


def test_paths_are_joined_and_the_table_itself_is_the_empty_folder() -> None:
    assert join_path("2024/01", "a_0-1-2_1.parquet") == "2024/01/a_0-1-2_1.parquet"
    assert join_path("", "a_0-1-2_1.parquet") == "a_0-1-2_1.parquet"


@pytest.mark.parametrize("path", ["2024/01/a", "2024/a", "a", "s3://bucket/a"])
def test_the_name_of_a_file_is_the_last_part_of_its_path(path: str) -> None:
    assert base_name(path) == "a"


def test_a_folder_has_no_name_after_its_slash() -> None:
    assert base_name("2024/") == ""


TOKENS = st.builds(WriteToken, *(st.integers(0, 2**31 - 1) for _ in range(3)))
LOG_NAMES = st.builds(
    LogFileName,
    st.text(st.characters(exclude_characters="._/", exclude_categories=["Cs"]), min_size=1),
    st.text(st.characters(exclude_characters="./", exclude_categories=["Cs"])),
    st.integers(0, 2**31 - 1),
    st.none() | TOKENS.map(str),
    extension=st.sampled_from(["log", "archive"]),
)
WORDS = st.text("abcXYZ019-", min_size=1)
BASE_NAMES = st.builds(BaseFileName, WORDS, WORDS, st.text("0123456789", min_size=1), st.just("parquet"))


@given(LOG_NAMES)
def test_a_log_file_name_survives_its_text(name: LogFileName) -> None:
    assert LogFileName.parse(str(name)) == name
    assert pickle.loads(pickle.dumps(name)) == name


@given(BASE_NAMES)
def test_a_base_file_name_survives_its_text(name: BaseFileName) -> None:
    assert BaseFileName.parse(str(name)) == name


@given(TOKENS)
def test_a_write_token_survives_its_text(token: WriteToken) -> None:
    assert WriteToken.parse(str(token)) == token


@given(st.text() | st.from_regex(r"\.[a_]{1,3}_[0-9.]{1,4}\.log\.[0-9]{1,12}(_[0-9-]{1,6})?(\.cdc)?"))
def test_any_text_is_accepted_exactly_or_refused(text: str) -> None:
    parsed = {}
    for kind in (LogFileName, BaseFileName, WriteToken):
        with contextlib.suppress(NameFormatError):
            parsed[kind] = kind.parse(text)
            assert str(parsed[kind]) == text
    assert parse_data_file(text) == parsed.get(LogFileName if text.startswith(".") else BaseFileName)


def test_a_file_id_is_a_uuid_and_a_count() -> None:
    assert new_file_id(SOME) == "5995ce82-ee07-4322-81db-1b071b9e919a-0"
    assert new_file_id(SOME, 2) == "5995ce82-ee07-4322-81db-1b071b9e919a-2"


def test_a_bucket_stands_in_the_first_eight_characters() -> None:
    assert bucket_file_id(7, SOME) == "00000007-ee07-4322-81db-1b071b9e919a-0"
    assert parse_bucket(bucket_file_id(99999999, SOME)) == 99999999


def test_only_the_first_part_of_the_uuid_is_replaced() -> None:
    assert bucket_file_id(1, UUID("00000000" * 4)) == "00000001-0000-0000-0000-000000000000-0"


def test_a_fixed_bucket_has_one_name_for_all_writers() -> None:
    assert fixed_bucket_file_id(7) == "00000007-0000-0000-0000-000000000000-0"
    assert fixed_bucket_file_id(7, 2) == "00000007-0000-0000-0000-000000000000-2"
    assert parse_bucket(fixed_bucket_file_id(99999999)) == 99999999


@pytest.mark.parametrize("bucket", [-1, 10**8])
def test_a_bucket_that_eight_digits_cannot_hold_is_refused(bucket: int) -> None:
    with pytest.raises(NameFormatError, match="not within"):
        bucket_file_id(bucket, SOME)


@pytest.mark.parametrize("file_id", ["", "5995ce82-ee07", "0000001-x", "000000012-x", "00000001"])
def test_an_id_without_a_bucket_has_none(file_id: str) -> None:
    assert parse_bucket(file_id) is None


def test_a_base_file_of_a_partitioned_record_index_has_a_path_in_its_name() -> None:
    name = "record-index-p9%2Fa b-0000-0_4-325-1895_20261123052009515.hfile"
    parsed = parse_data_file(name)
    assert isinstance(parsed, BaseFileName)
    assert (parsed.file_id, str(parsed)) == ("record-index-p9%2Fa b-0000-0", name)
    assert parse_data_file(name.replace("hfile", "parquet")) is None
