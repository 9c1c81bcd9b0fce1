"""The properties of a table in another version: those that real Hudi 1.2.0 left, and where ours differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hudiformat import UnsupportedFeatureError
from hudiformat.table.new_table import new_table_config
from hudiformat.table.versions import config_of_other_layout, config_of_version
from hudiformat.timeline.config_files import config_from_properties
from hudiformat.timeline.table_config import KeyGenerator, MergeMode, TableConfig, TableType

HUDI: list[dict[str, Any]] = json.loads(Path(__file__).with_name("hudi_versions.json").read_text())
"""What Hudi's procedures ``upgrade_table`` and ``downgrade_table`` changed in the properties of golden tables."""
COMMIT_TIME = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
OTHERS = ("hoodie.table.metadata.partitions", "hoodie.table.checksum")
PATH = "hoodie.properties"


def changed(config: TableConfig, to: int) -> dict[str, str | None]:
    """The properties that differ in version *to*."""
    before, after = config.properties, config_of_version(config, to, path=PATH).properties
    keys = sorted({*before, *after})
    return {key: after.get(key) for key in keys if before.get(key) != after.get(key)}


def of_version(version: int, **changes: Any) -> TableConfig:
    arguments = {"name": "t", "record_key_fields": ["k"], "ordering_fields": ["ts"], "version": version, **changes}
    return new_table_config(**arguments)


@pytest.mark.parametrize("case", HUDI, ids=lambda case: f"{case['table']} {case['from']} to {case['to']}")
def test_the_properties_change_as_hudi_changes_them(case: dict[str, Any]) -> None:
    config = config_from_properties(case["before"], path=PATH)
    expected = {key: value for key, value in case["changed"].items() if key not in OTHERS}
    is_commit_time = config.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    if is_commit_time and case["to"] < 8:
        expected["hoodie.compaction.payload.class"] = COMMIT_TIME  # Hudi leaves none, and orders by event time then
    assert changed(config, case["to"]) == expected


@pytest.mark.parametrize("mode", [MergeMode.COMMIT_TIME_ORDERING, MergeMode.EVENT_TIME_ORDERING])
@pytest.mark.parametrize("table_type", list(TableType))
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("way", [(6, 8, 9), (9, 8, 6), (8, 6, 9), (9, 6, 8)])
def test_a_table_keeps_its_meaning_on_any_way(
    mode: MergeMode, table_type: TableType, version: int, way: tuple[int, ...]
) -> None:
    config = of_version(version, table_type=table_type, merge_mode=mode)
    is_old = version < 8 and mode is MergeMode.COMMIT_TIME_ORDERING and table_type is TableType.MERGE_ON_READ
    for to in way:
        following = config_of_version(config, to, path=PATH)
        assert following.version == to
        if not is_old:  # Hudi takes such a table for one that is ordered by event time
            assert following.merge_mode is mode
        for name in ("record_key_fields", "ordering_fields", "partition_fields", "key_generator", "table_type"):
            assert getattr(following, name) == getattr(config, name)
        config = following


def test_a_version_that_it_has_changes_nothing() -> None:
    assert config_of_version(of_version(8), 8, path=PATH) == of_version(8)


@pytest.mark.parametrize(
    ("config", "to", "reason"),
    [
        (
            of_version(9, key_generator=KeyGenerator.COMPLEX, partition_fields=["p"]),
            8,
            "with one field",
        ),
        (of_version(9, ordering_fields=["a", "b"]), 8, "one ordering field before version 9"),
        (
            of_version(9, extra={"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}),
            8,
            "partial.update.mode before",
        ),
        (of_version(6, key_generator=KeyGenerator.CUSTOM, partition_fields=["p"]), 8, "a custom key generator"),
        (
            of_version(8, merge_mode=MergeMode.CUSTOM, extra={"hoodie.record.merge.strategy.id": "mine"}),
            6,
            "expected a payload class for a custom merge mode",
        ),
    ],
)
def test_what_the_other_version_cannot_express_is_refused(config: TableConfig, to: int, reason: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=reason):
        config_of_version(config, to, path=PATH)


def test_payload_classes_become_merge_modes_in_version_9() -> None:
    model = "org.apache.hudi.common.model."
    partial = of_version(
        8,
        merge_mode=MergeMode.CUSTOM,
        extra={
            "hoodie.compaction.payload.class": f"{model}OverwriteNonDefaultsWithLatestAvroPayload",
            "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
        },
    )
    upgraded = config_of_version(partial, 9, path=PATH)
    assert upgraded.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    assert upgraded.partial_update_mode is not None
    assert config_of_version(upgraded, 8, path=PATH).payload_class == partial.payload_class
    mine = of_version(6, extra={"hoodie.compaction.payload.class": "mine"})
    upgraded = config_of_version(mine, 9, path=PATH)
    assert (upgraded.merge_mode, upgraded.payload_class) == (MergeMode.CUSTOM, "mine")
    assert config_of_version(upgraded, 6, path=PATH).payload_class == "mine"


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_other_layout_is_only_that(version: int) -> None:
    config = of_version(version)
    other = config_of_other_layout(config, path=PATH)
    assert other.layout_version != config.layout_version
    assert other.timeline_folder == (".hoodie/timeline" if version == 6 else ".hoodie")
