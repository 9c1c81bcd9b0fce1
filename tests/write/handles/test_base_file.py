"""A base file that is being written."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.tables import new_table, tree
from tests.write.support import cow, keyed


def test_a_copy_on_write_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = cow(tmp_path / "t")
    table.insert(keyed(0, 10))
    before = tree(tmp_path / "t")
    for place in ("OpenBaseFile.write", "OpenBaseFile.close"):
        module, name = place.split(".")
        with monkeypatch.context() as patch:

            def fail(*_arguments: object, **_options: object) -> None:
                raise OSError("no space left")

            patch.setattr(f"hudiformat.write.handles.base_files.{module}.{name}", fail)
            for write in (table.upsert, table.bulk_insert):
                with pytest.raises(OSError, match="no space left"):
                    write(keyed(5, 15))
        assert tree(tmp_path / "t") == before


def test_the_codec_and_the_filter_of_base_files_are_as_asked(tmp_path: Path) -> None:
    for codec in ("gzip", "snappy", "zstd", "uncompressed"):
        options = {"hoodie.parquet.compression.codec": codec, "hoodie.parquet.bloom.filter.enabled": "false"}
        table = new_table(tmp_path / codec, options=options)
        (stat,) = table.insert(keyed(0, 99)).stats  # of fewer rows are not compressed if there are many files of them
        metadata = pq.read_metadata(tmp_path / codec / (stat.path or ""))
        assert metadata.row_group(0).column(0).compression == codec.upper()
        assert b"org.apache.hudi.bloomfilter" not in (metadata.metadata or {})
