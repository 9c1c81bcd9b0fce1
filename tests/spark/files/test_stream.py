"""The writer of a stream into plain files leaves what may be decided when Spark aborts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

from hudiformat.spark.files.source import FilesWriter, share_of


def test_an_abort_deletes_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"")
    writer = FilesWriter(share_of({"path": str(tmp_path)}), pa.schema([("id", pa.int64())]))
    writer.abort([None], 0)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
