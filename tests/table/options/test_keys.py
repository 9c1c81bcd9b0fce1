"""Options by Hudi's keys: what is parsed, what is refused by name, what warns."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from hudiformat import HudiFormatError, HudiFormatWarning, OptionError, UnsupportedFeatureError, open_table
from hudiformat.table.options import keys as option_keys
from hudiformat.table.options.values import IndexType
from tests.tables import create, new_table, tree

BAD_OPTIONS: dict[str, tuple[dict[str, str], type[HudiFormatError], str]] = {
    "a slip": (
        {"hoodie.index.typ": "BUCKET"},
        OptionError,
        "did you mean 'hoodie.index.type', 'hoodie.index.name'",
    ),
    "a slip in the middle": ({"hoodie.logfle.max.size": "1"}, OptionError, "did you mean 'hoodie.logfile.max.size', "),
    "nobody's key": ({"zzz": "1"}, OptionError, "unknown option 'zzz'; no option has a name like it"),
    "a Spark option": ({"path": "x"}, OptionError, "unknown option 'path'"),
    "an unknown index": ({"hoodie.index.type": "HASH"}, OptionError, "one of SIMPLE, BLOOM, INMEMORY, BUCKET"),
    "no buckets": ({"hoodie.bucket.index.num.buckets": "0"}, OptionError, "expected a positive whole number"),
    "no number": ({"hoodie.logfile.max.size": "1GB"}, OptionError, "expected a positive whole number, found '1GB'"),
    "a negative size": ({"hoodie.logfile.data.block.max.size": "-1"}, OptionError, "found '-1'"),
    "a codec": ({"hoodie.parquet.compression.codec": "lzo"}, OptionError, "gzip, snappy, zstd, uncompressed"),
    "no boolean": ({"hoodie.combine.before.upsert": "1"}, OptionError, "expected true or false, found '1'"),
    "no whole number": ({"hoodie.parquet.small.file.limit": "1.5"}, OptionError, "a whole number, found '1.5'"),
    "a negative share": ({"hoodie.record.size.estimation.threshold": "-1"}, OptionError, "0 or more, found '-1'"),
    "no share": ({"hoodie.logfile.to.parquet.compression.ratio": "third"}, OptionError, "0 or more, found 'third'"),
    "a rule of nobody's": ({"hudiformat.sizing": "java"}, OptionError, "expected one of spark, flink, found 'java'"),
    "a policy": ({"hoodie.datasource.insert.dup.policy": "keep"}, OptionError, "none, drop, fail"),
    "a sort mode": ({"hoodie.bulkinsert.sort.mode": "ZORDER"}, OptionError, "NONE, GLOBAL_SORT, PARTITION_SORT"),
    "a sort mode of Hudi's": (
        {"hoodie.bulkinsert.sort.mode": "partition_path_repartition"},
        UnsupportedFeatureError,
        "expected one of NONE, GLOBAL_SORT, PARTITION_SORT",
    ),
    "no boolean for the metadata table": ({"hoodie.metadata.enable": "on"}, OptionError, "expected true or false"),
    "HFiles in log blocks": (
        {"hoodie.logfile.data.block.format": "HFile"},
        UnsupportedFeatureError,
        "hoodie.logfile.data.block.format: expected avro or parquet, as Hudi 1.x cannot read HFile blocks",
    ),
    "an unknown block format": ({"hoodie.logfile.data.block.format": "orc"}, OptionError, "expected one of avro"),
    **{
        f"the index {name}": (
            {"hoodie.index.type": name},
            UnsupportedFeatureError,
            f"found {name}; choose another",
        )
        for name in ("FLINK_STATE", "HBASE")
    },
}


@pytest.mark.parametrize(("options", "error", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options_are_refused(
    tmp_path: Path, options: dict[str, str], error: type[HudiFormatError], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        create(tmp_path / "t", options=options)
    assert tree(tmp_path) == {}
    create(tmp_path / "t")
    with pytest.raises(error, match=re.escape(message)):
        open_table(tmp_path / "t", options=options)


def test_options_that_are_what_happens_anyway(tmp_path: Path) -> None:
    create(tmp_path / "t")
    options = {
        "hoodie.metadata.enable": "false",
        "hoodie.index.type": "bloom",
        "hoodie.logfile.data.block.format": "AVRO",
        "hoodie.parquet.compression.codec": "ZSTD",
        "hoodie.bucket.index.hash.field": "k",
    }
    assert open_table(tmp_path / "t", options=options)._context.options.index_type is IndexType.BLOOM


def test_a_key_of_hudis_that_means_nothing_here_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(option_keys, "_warned", set())
    create(tmp_path / "t")
    options = {"hoodie.clean.parallelism": "4", "hoodie.insert.shuffle.parallelism": "2"}
    with pytest.warns(HudiFormatWarning, match="means nothing to hudiformat") as caught:
        open_table(tmp_path / "t", options=options)
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_table(tmp_path / "t", options=options)


def test_another_bucket_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected one of SIMPLE, CONSISTENT_HASHING, found 'ring'"):
        new_table(tmp_path / "t", options={"hoodie.index.bucket.engine": "ring"})
    assert tree(tmp_path) == {}


def test_lock_providers_that_are_not_here_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="found .*ZookeeperBasedLockProvider; choose one of these"):
        new_table(tmp_path, options={"hoodie.write.lock.provider": "org.apache.hudi.ZookeeperBasedLockProvider"})
