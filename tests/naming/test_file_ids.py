from __future__ import annotations

from uuid import UUID

import pytest

from hudiformat.errors import NameFormatError
from hudiformat.naming import bucket_file_id, new_file_id, parse_bucket

SOME = UUID("5995ce82-ee07-4322-81db-1b071b9e919a")


def test_a_file_id_is_a_uuid_and_a_count() -> None:
    assert new_file_id(SOME) == "5995ce82-ee07-4322-81db-1b071b9e919a-0"
    assert new_file_id(SOME, 2) == "5995ce82-ee07-4322-81db-1b071b9e919a-2"


def test_a_bucket_stands_in_the_first_eight_characters() -> None:
    assert bucket_file_id(7, SOME) == "00000007-ee07-4322-81db-1b071b9e919a-0"
    assert parse_bucket(bucket_file_id(99999999, SOME)) == 99999999


def test_only_the_first_part_of_the_uuid_is_replaced() -> None:
    assert bucket_file_id(1, UUID("00000000" * 4)) == "00000001-0000-0000-0000-000000000000-0"


@pytest.mark.parametrize("bucket", [-1, 10**8])
def test_a_bucket_that_eight_digits_cannot_hold_is_refused(bucket: int) -> None:
    with pytest.raises(NameFormatError, match="not within"):
        bucket_file_id(bucket, SOME)


@pytest.mark.parametrize("file_id", ["", "5995ce82-ee07", "0000001-x", "000000012-x", "00000001"])
def test_an_id_without_a_bucket_has_none(file_id: str) -> None:
    assert parse_bucket(file_id) is None
