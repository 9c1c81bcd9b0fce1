"""Rows of old file groups go to new files of about the same size, with the meta fields that they have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hudiformat.naming.file_names import WriteToken
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.files import GroupTarget
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.handles.clustered import ClusteredFiles
from tests.tables import new_table, rows

COUNT = 60_000


def stored(schema: pa.Schema) -> pa.Table:
    """Rows as a base file has them, without its name."""
    random = np.random.default_rng(3)
    keys = pa.array([f"{number:09}" for number in random.permutation(COUNT)])
    columns = {
        "_hoodie_commit_time": pa.repeat("20240101000000000", COUNT),
        "_hoodie_commit_seqno": keys,
        "_hoodie_record_key": keys,
        "_hoodie_partition_path": pa.repeat("x", COUNT),
        "k": keys,
        "ts": pa.array(random.integers(0, 10**12, COUNT)),
        "p": pa.repeat("x", COUNT),
        "v": pa.array(random.integers(0, 10**9, COUNT).astype(np.int32)),
    }
    names = [name for name in schema.names if name in columns]
    return pa.table([columns[name] for name in names], names=names)


def files_of(path: Path, *, count: int, expected: int, target: int) -> list[tuple[int, int]]:
    """The rows and bytes of the files."""
    table = new_table(path, options={"hoodie.parquet.bloom.filter.enabled": "false"})  # the limits are of rows alone
    table.insert(rows(("a", 1, "x", 1)))
    with begin_write(table._context, Operation.UPSERT) as write:
        token = WriteToken(0, 0, 0)
        files = ClusteredFiles(
            GroupTarget(table._context.storage, write.plan, token, "x"),
            count=count,
            expected_size=expected,
            target_size=target,
        )
        given = stored(write.plan.schema.arrow_with_meta)
        for start in range(0, COUNT, 5_000):
            files.write(given.slice(start, 5_000))
        stats = files.close()
        assert len({stat.file_id for stat in stats}) == len(stats)
        found = [pq.read_table(path / str(stat.path)) for stat in stats]
        for one, stat in zip(found, stats, strict=True):
            assert one["_hoodie_file_name"].unique().to_pylist() == [Path(str(stat.path)).name]
        keys = pa.chunked_array([chunk for one in found for chunk in one["_hoodie_record_key"].chunks])
        assert keys.to_pylist() == given["_hoodie_record_key"].to_pylist()
        assert {time for one in found for time in one["_hoodie_commit_time"].unique().to_pylist()} == {
            "20240101000000000"
        }
    return [(stat.num_writes or 0, stat.file_size_in_bytes or 0) for stat in stats]


def test_files_have_equal_shares(tmp_path: Path) -> None:
    ((_, size),) = files_of(tmp_path / "one", count=1, expected=1, target=10**9)
    found = files_of(tmp_path / "three", count=3, expected=size, target=size)
    assert len(found) == 3
    shares = [bytes_ / size for _, bytes_ in found]
    assert min(shares) > 0.25
    assert max(shares) < 0.45


def test_there_are_more_files_where_the_rows_are_more_than_expected(tmp_path: Path) -> None:
    ((_, size),) = files_of(tmp_path / "one", count=1, expected=1, target=10**9)
    found = files_of(tmp_path / "more", count=2, expected=size // 4, target=size // 3)
    assert len(found) >= 4
    assert max(bytes_ for _, bytes_ in found) < size // 3 * 1.3
