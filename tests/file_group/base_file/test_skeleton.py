"""A base file of two files, whose row groups and batches end at other rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.file_group.base_file.filters import HIGHEST
from hudiformat.file_group.base_file.parquet import PARQUET
from hudiformat.file_group.base_file.skeleton import BootstrappedFile
from hudiformat.schema.meta_fields import META_FIELDS
from hudiformat.storage.opening import open_storage

META = ("_hoodie_record_key", "_hoodie_file_name")
NAMES = (*META, "v", "p")
P = pa.field("p", pa.string())


def write_groups(path: Path, rows: pa.Table, sizes: Sequence[int]) -> None:
    with pq.ParquetWriter(path, rows.schema) as writer:
        start = 0
        for size in sizes:
            writer.write_table(rows.slice(start, size))
            start += size


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
    st.integers(1, 9),
    st.data(),
)
def test_rows_of_both_files_stay_side_by_side(
    folder: Path, source_sizes: list[int], skeleton_sizes: list[int], batch_rows: int, data: st.DataObject
) -> None:
    count = sum(source_sizes)
    skeleton_sizes = [*skeleton_sizes, max(count - sum(skeleton_sizes), 0)]
    keys = pa.array([f"k{number}" for number in range(count)])
    skeleton = pa.table(dict.fromkeys(META_FIELDS, keys))
    ends = np.minimum(np.cumsum([0, *skeleton_sizes]), count)
    write_groups(folder / "s.parquet", skeleton, [size for size in np.diff(ends).tolist() if size])
    source = pa.table({"v": pa.array(range(count)), "_hoodie_record_key": ["other"] * count})
    write_groups(folder / "r.parquet", source, source_sizes)
    names = data.draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    groups = data.draw(st.lists(st.sampled_from(range(len(source_sizes))), unique=True).map(sorted))
    storage = open_storage(folder)
    with PARQUET.open(storage, "s.parquet") as left, PARQUET.open(storage, "r.parquet") as right:
        file = BootstrappedFile(
            left, right, schema_key=b"parquet.avro.schema", of_path=[P], value_of=lambda _field: pa.scalar("x")
        )
        assert file.schema.names == [*META_FIELDS, "v", "p"]
        assert file.group_rows == source_sizes
        starts = np.cumsum([0, *source_sizes])
        expected = [row for group in groups for row in range(starts[group], starts[group + 1])]
        keys_read = [f"k{row}" for row in expected]
        every: dict[str, Sequence[object]] = {
            "v": expected,
            "p": ["x"] * len(expected),
            **dict.fromkeys(META, keys_read),
        }
        by_group = [batch for group in groups for batch in file.batches(names, groups=[group], batch_rows=batch_rows)]
        for batches in (by_group, list(file.batches(names, groups=groups, batch_rows=batch_rows))):
            found = [row for batch in batches for row in batch.to_pylist()]
            assert found == [{name: every[name][at] for name in names} for at in range(len(expected))]
            assert all(0 < batch.num_rows <= batch_rows for batch in batches)
        assert file.highest(0, pa.field("v", pa.int64())) == source_sizes[0] - 1
        assert file.highest(0, P) == file.highest(0, pa.field("_hoodie_record_key", pa.string())) == HIGHEST
        known, unknown = file.statistics(pa.schema([*file.schema]), ["v", "p", "_hoodie_record_key"])
        assert (set(known), unknown) == ({"v", "_hoodie_record_key"}, ("p",))
        assert {"v", "_hoodie_record_key"} <= set(file.column_sizes)
