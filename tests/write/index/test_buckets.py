"""Locations by bucket number."""

from __future__ import annotations

import numpy as np

from hudiformat.write.index.buckets import locate_by_bucket
from tests.write.index.test_tagging import places


def test_a_bucket_has_the_file_group_that_is_there_or_a_new_one() -> None:
    groups = {3: ("three", True), 0: ("zero", False), 7: ("seven", False)}
    tags = locate_by_bucket(np.array([7, 3, 7, 0], np.int32), groups.__getitem__)
    assert places(tags) == [(0, "seven"), (1, "three"), (2, "seven"), (3, "zero")]
    assert dict(zip(tags.file_ids, tags.existing, strict=True)) == {"zero": False, "three": True, "seven": False}


def test_no_records_in_buckets() -> None:
    tags = locate_by_bucket(np.array([], np.int32), lambda bucket: (str(bucket), True))
    assert (places(tags), tags.file_ids, tags.existing) == ([], (), ())


def test_buckets_say_nothing_of_positions() -> None:
    assert locate_by_bucket(np.array([3], np.int32), lambda _: ("three", True)).positions is None
