from __future__ import annotations

from collections.abc import Callable

import pytest

from hudiformat.arguments import as_name_list
from hudiformat.errors import NameFormatError
from hudiformat.naming.checks import (
    check_data_file,
    check_file_id,
    check_instant,
    check_partition_path,
    check_path_in_table,
)

HOSTILE = ["..", "../..", "/etc", "a/../b", "a//b", ".", "a\0b", "a\ud800", "x" * 100_000 + "/.."]
LOG, BASE = ".f-0_20260101000000000.log.1_0-0-0", "f-0_0-0-0_20260101000000000.parquet"


@pytest.mark.parametrize(
    ("check", "accepted", "refused"),
    [
        (check_instant, ["1", "20260101000000000", "00000000000000"], ["", "1x", "-1", "\u0661"]),
        (check_path_in_table, ["", "a", "a/b=%2F", ".hoodie/x"], []),
        (
            check_partition_path,
            ["", "a", "year=2024/month=1", "ü", "...", "a/.hoodie"],
            [".hoodie", ".hoodie/metadata"],
        ),
        (
            check_data_file,
            [
                LOG,
                BASE,
                f"p/{BASE}",
                f"file:/table/p/{LOG}",
                f"s3://bucket/table/{BASE}",
                f"../{BASE}",
                "p/part-0.parquet",
            ],
            ["", "hoodie.properties", "p/", f"{BASE}/", ".hoodie_partition_metadata.parquet", ".f\0_1.log.1"],
        ),
        (check_file_id, ["f-0", "00000001-a", "ü", "a_b.c.parquet"], ["", "a_b", "a.b", ".parquet", ".a.orc"]),
    ],
)
def test_a_name_is_returned_or_refused(check: Callable[[str], str], accepted: list[str], refused: list[str]) -> None:
    for text in accepted:
        assert check(text) == text
    for text in [*refused, *HOSTILE]:
        with pytest.raises(NameFormatError, match="^expected .*, found '") as caught:
            check(text)
        assert len(str(caught.value)) < 400
        str(caught.value).encode()


@pytest.mark.parametrize(
    ("given", "names"), [("id", ["id"]), (["a", "b"], ["a", "b"]), (("a",), ["a"]), ((), []), ("", [""])]
)
def test_a_text_is_one_name(given: str | list[str] | tuple[str, ...], names: list[str]) -> None:
    assert as_name_list(given) == names
