"""In each case, and after each write, a metastore has the objects that Hudi's own sync gives it, field by field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalogs.fake_metastore import FakeMetastore, plain
from tests.catalogs.hudi_cases import cases, comparable, expected, writes


@pytest.mark.parametrize("case", sorted(cases()))
def test_the_objects_of_each_write_are_those_of_hudi(
    case: str, tmp_path: Path, metastore_in_memory: FakeMetastore
) -> None:
    path = tmp_path / case
    for step in writes(case, path, {}):
        there = {
            name: comparable(
                {"table": plain(table), "partitions": [plain(one) for one in parts.values()]}, str(path), str(path)
            )
            for (_, name), table, parts in (
                (key, table, metastore_in_memory.partitions[key]) for key, table in metastore_in_memory.tables.items()
            )
        }
        assert there == expected(case, step, path), step
