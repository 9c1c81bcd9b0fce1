"""The configuration of a new table has the keys that Hudi writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hudiformat.errors import (
    OptionError,
)
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.config_files import load_table_config
from hudiformat.timeline.table_config import KeyGenerator, MergeMode
from tests.tables import GoldenTable


@pytest.mark.parametrize(
    "name",
    [
        "v6-mor-avro-h120",
        "v8-mor-avro-h102",
        "v9-mor-avro-h120",
        "v9-cow-small-files-h120",
        "v9-mor-multilevel-hive-h120",
        "v9-cow-dropped-partition-columns-h120",
        "v9-mor-cdc-h120",
        "v9-mor-commit-time-h120",
        "v9-mor-two-ordering-fields-h120",
        "v9-mor-parquet-partition-file-h120",
    ],
)
def test_a_new_table_has_exactly_the_keys_that_hudi_writes(name: str, golden: Callable[[str], GoldenTable]) -> None:
    theirs = load_table_config(LocalStorage(golden(name).table))
    ours = new_table_config(
        name=theirs.name,
        record_key_fields=theirs.record_key_fields,
        partition_fields=theirs.partition_fields,
        ordering_fields=theirs.ordering_fields,
        table_type=theirs.table_type,
        merge_mode=theirs.merge_mode,
        hive_style_partitioning=theirs.hive_style_partitioning,
        url_encode_partitioning=theirs.url_encode_partitioning,
        drop_partition_columns=theirs.drop_partition_columns,
        partition_metafile_use_base_format=theirs.partition_metafile_use_base_format,
        cdc_enabled=theirs.cdc_enabled,
        version=theirs.version,
    )
    # Hudi 0.15 needs the old name, and others the class, of which Hudi 1.2.0 writes neither.
    generator = "org.apache.hudi.keygen.SimpleKeyGenerator"
    old = {"hoodie.table.precombine.field": "ts", "hoodie.table.keygenerator.class": generator}
    assert ours.properties == {**theirs.properties, **(old if theirs.version == 6 else {})}
    assert ours.key_generator_class == (generator if theirs.version == 6 else None)
    assert replace(ours, properties=theirs.properties, key_generator_class=None) == theirs


@pytest.mark.parametrize(("partitions", "name"), [([], "Nonpartitioned"), (["p"], "Simple"), (["p", "q"], "Complex")])
def test_a_table_of_version_6_names_the_class_of_its_key_generator(partitions: list[str], name: str) -> None:
    for version in (6, 8, 9):
        made = new_table_config(name="t", record_key_fields=["k"], partition_fields=partitions, version=version)
        expected = f"org.apache.hudi.keygen.{name}KeyGenerator" if version == 6 else None
        assert made.properties.get("hoodie.table.keygenerator.class") == expected
        assert made.properties["hoodie.table.keygenerator.type"] == {"Nonpartitioned": "NON_PARTITION"}.get(
            name, name.upper()
        )


def test_a_new_table_without_keys_or_ordering_uses_commit_time() -> None:
    made = new_table_config(name="t", record_key_fields=[], database="d", extra={"hoodie.x": "y"})
    assert made.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    assert (made.record_key_fields, made.ordering_fields, made.partition_fields) == ((), (), ())
    assert made.extra["hoodie.x"] == "y"
    assert made.database == "d"


@pytest.mark.parametrize(
    ("keys", "partitions", "kind", "is_complex"),
    [
        (["a"], [], KeyGenerator.NON_PARTITION, False),
        (["a", "b"], [], KeyGenerator.NON_PARTITION, True),
        (["a"], ["p"], KeyGenerator.SIMPLE, False),
        (["a", "b"], ["p"], KeyGenerator.COMPLEX, True),
        (["a"], ["p", "q"], KeyGenerator.COMPLEX, True),
    ],
)
def test_the_key_generator_follows_from_the_fields(
    keys: list[str], partitions: list[str], kind: KeyGenerator, is_complex: bool
) -> None:
    made = new_table_config(name="t", record_key_fields=keys, partition_fields=partitions)
    assert made.key_generator is kind
    assert made.uses_complex_keys is is_complex


def test_a_new_table_needs_a_name_and_fields_that_a_list_can_hold() -> None:
    with pytest.raises(OptionError, match="name: expected letters"):
        new_table_config(name="", record_key_fields=["a"])
    for field in ("", "a,b", "a:b"):
        with pytest.raises(OptionError, match="expected the name of a column"):
            new_table_config(name="t", record_key_fields=["a"], partition_fields=[field])


def test_below_version_9_payload_and_strategy_determine_the_merge_mode() -> None:
    made = new_table_config(name="t", record_key_fields=["k"], version=6, database="d")
    assert made.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    assert made.payload_class == "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
    assert (made.layout_version, made.timeline_folder) == (1, ".hoodie")
    mine = {"hoodie.compaction.payload.class": "com.example.Mine"}
    custom = new_table_config(name="t", record_key_fields=["k"], version=8, merge_mode=MergeMode.CUSTOM, extra=mine)
    assert (custom.merge_mode, custom.payload_class) == (MergeMode.CUSTOM, "com.example.Mine")


@pytest.mark.parametrize("version", [5, 7, 10])
def test_a_new_table_of_another_version_is_refused(version: int) -> None:
    with pytest.raises(OptionError, match=f"expected a table version of 6, 8, 9, found {version}"):
        new_table_config(name="t", record_key_fields=["k"], version=version)


def test_several_ordering_fields_need_version_9() -> None:
    with pytest.raises(OptionError, match="ordering: expected one column in table version 8, found a, b"):
        new_table_config(name="t", record_key_fields=["k"], ordering_fields=["a", "b"], version=8)
