"""Spans of time, and the writes within them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hudiformat import UnsupportedFeatureError, open_table
from tests.tables import GoldenTable


def test_without_meta_fields_there_is_no_incremental_query(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v6-cow-no-metafields-h0150").table)
    with pytest.raises(UnsupportedFeatureError, match="incremental queries of a table without meta fields"):
        table.incremental("000")
