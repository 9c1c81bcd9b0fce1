"""Table configurations are read, written and changed as by Hudi, and refused where Hudi would fail."""

from __future__ import annotations

import contextlib
import pickle
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudiformat.errors import (
    CorruptTableError,
    HudiFormatError,
    NotATableError,
    UnsupportedFeatureError,
)
from hudiformat.storage.local import LocalStorage
from hudiformat.table.new_table import new_table_config
from hudiformat.timeline.config_files import (
    format_table_config,
    load_table_config,
    parse_table_config,
    recover_table_config,
    update_table_config,
)
from hudiformat.timeline.table_config import (
    KeyGenerator,
    MergeMode,
    PartialUpdateMode,
    TableConfig,
    TableType,
    TimelineZone,
    format_properties,
    table_checksum,
)

SAVED = datetime(2024, 2, 29, 12, 0, 0, 7_000, timezone.utc)
PATH = "/table/.hoodie/hoodie.properties"
V9 = {
    "hoodie.table.name": "t",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "9",
    "hoodie.timeline.layout.version": "2",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
}
V6 = {**V9, "hoodie.table.version": "6", "hoodie.timeline.layout.version": "1"}
del V6["hoodie.record.merge.mode"]


def config(base: dict[str, str], **changes: str | None) -> TableConfig:
    properties = {**base, **{f"hoodie.{key.replace('__', '.')}": value for key, value in changes.items()}}
    present = {key: value for key, value in properties.items() if value is not None}
    return parse_table_config(format_properties(present, saved_at=SAVED), path=PATH)


def test_the_example_of_the_specification() -> None:
    text = (Path(__file__).parents[2] / "spec" / "table-properties.md").read_text()
    example = text.split("```properties\n", 1)[1].split("```", 1)[0]
    parsed = parse_table_config(example, path=PATH)
    made = new_table_config(
        name="flights",
        record_key_fields=["flight_id"],
        partition_fields=["month"],
        ordering_fields=["ts"],
        timeline_zone=TimelineZone.UTC,
    )
    assert parsed == made
    assert format_table_config(made, saved_at=SAVED).decode() == example


def test_the_golden_tables_have_the_configuration_they_were_made_with(
    golden_tables: dict[str, Path], manifests: dict[str, Any]
) -> None:
    for name, folder in golden_tables.items():
        loaded = load_table_config(LocalStorage(folder / "table"))
        manifest = manifests[name]
        options = manifest["write_options"]
        assert loaded.name == options["hoodie.table.name"]
        assert loaded.version == manifest["table_version"]
        assert loaded.table_type.value == manifest["table_type"]
        assert list(loaded.record_key_fields) == manifest["record_key_fields"]
        if loaded.key_generator is not KeyGenerator.TIMESTAMP:  # there the manifest names the column as Hudi shows it
            assert list(loaded.partition_fields) == manifest["partition_fields"]
        assert ",".join(loaded.ordering_fields) == options["hoodie.datasource.write.precombine.field"]
        assert loaded.cdc_enabled is ("cdc" in manifest["features"])
        again = parse_table_config(format_table_config(loaded, saved_at=SAVED), path=PATH)
        assert again == loaded
        assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_defaults_are_hudis() -> None:
    found = config(V9)
    assert found.table_type is TableType.MERGE_ON_READ
    assert config(V9, table__type=None).table_type is TableType.COPY_ON_WRITE
    assert found.populate_meta_fields
    assert not found.hive_style_partitioning
    assert found.timeline_zone is TimelineZone.LOCAL
    assert (found.timeline_folder, found.history_folder) == (".hoodie/timeline", ".hoodie/timeline/history")
    assert (config(V6).timeline_folder, config(V6).history_folder) == (".hoodie", ".hoodie/archived")
    assert found.key_generator is None
    assert hash(found) == hash(config(V9))


def test_partition_fields_of_the_custom_key_generator_lose_their_types() -> None:
    found = config(V9, table__partition__fields="p:simple,ts:TIMESTAMP,q", table__keygenerator__type="CUSTOM_AVRO")
    assert found.partition_fields == ("p", "ts", "q")
    assert found.partition_types == ("simple", "timestamp", None)
    assert found.key_generator is KeyGenerator.CUSTOM


def test_the_class_of_a_key_generator_takes_precedence_over_its_type() -> None:
    found = config(V9, table__keygenerator__class="org.apache.hudi.keygen.ComplexAvroKeyGenerator")
    assert found.key_generator is KeyGenerator.COMPLEX
    theirs = config(V9, table__keygenerator__class="com.example.Mine", table__keygenerator__type="SIMPLE")
    assert (theirs.key_generator, theirs.key_generator_class) == (KeyGenerator.OTHER, "com.example.Mine")
    assert config(V9, table__keygenerator__type="SPARK_SQL_UUID").key_generator is KeyGenerator.OTHER


COMMIT, EVENT, CUSTOM = MergeMode.COMMIT_TIME_ORDERING, MergeMode.EVENT_TIME_ORDERING, MergeMode.CUSTOM
MODEL = "org.apache.hudi.common.model."
PAYLOAD = "compaction__payload__class"


@pytest.mark.parametrize(
    ("base", "properties", "expected"),
    [
        (V9, {"record__merge__mode": "COMMIT_TIME_ORDERING", "table__ordering__fields": "ts"}, COMMIT),
        (V9, {"record__merge__mode": "CUSTOM", PAYLOAD: f"{MODEL}DefaultHoodieRecordPayload"}, CUSTOM),
        (V9, {"record__merge__mode": None, "table__ordering__fields": "ts"}, EVENT),
        (V9, {"record__merge__mode": None}, COMMIT),
        (V9, {"record__merge__mode": None, "record__merge__strategy__id": "some"}, CUSTOM),
        (V6, {PAYLOAD: f"{MODEL}OverwriteWithLatestAvroPayload", "record__merge__strategy__id": "some"}, COMMIT),
        (V6, {PAYLOAD: f"{MODEL}EventTimeAvroPayload"}, EVENT),
        (V6, {PAYLOAD: "com.uber.hoodie.common.model.DefaultHoodieRecordPayload"}, EVENT),
        (V6, {PAYLOAD: f"{MODEL}PartialUpdateAvroPayload", "table__precombine__field": "ts"}, CUSTOM),
        (V6, {}, EVENT),
        (V6, {"record__merge__mode": "COMMIT_TIME_ORDERING", "table__precombine__field": "ts"}, COMMIT),
    ],
)
def test_the_merge_mode_is_the_one_that_hudi_takes(
    base: dict[str, str], properties: dict[str, str | None], expected: MergeMode
) -> None:
    assert config(base, **properties).merge_mode is expected


def test_the_other_merge_properties_are_kept() -> None:
    found = config(
        V9,
        table__partial__update__mode="FILL_UNAVAILABLE",
        record__merge__property__a__b="c",
        table__legacy__payload__class="X",
        unheard__of="kept",
    )
    assert found.partial_update_mode is PartialUpdateMode.FILL_UNAVAILABLE
    assert found.merge_properties == {"a.b": "c"}
    assert found.legacy_payload_class == "X"
    assert found.extra == {"hoodie.unheard.of": "kept"}
    assert b"hoodie.unheard.of=kept" in format_table_config(found, saved_at=SAVED)
    assert config(V6, table__partial__update__mode="FILL_UNAVAILABLE").partial_update_mode is None


@pytest.mark.parametrize("key", ["table.name", "table.version", "timeline.layout.version"])
def test_a_missing_property_is_named(key: str) -> None:
    with pytest.raises(CorruptTableError, match=f"{PATH}: the property hoodie.{key} is missing"):
        config(V9, **{key.replace(".", "__"): None}, table__recordkey__fields="k")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("table.version", "nine", "a number"),
        ("table.version", "9" * 5000, "a number"),
        ("table.type", "MOR", "COPY_ON_WRITE or MERGE_ON_READ"),
        ("record.merge.mode", "NEWEST", "COMMIT_TIME_ORDERING or"),
        ("table.timeline.timezone", "CET", "LOCAL or UTC"),
    ],
)
def test_the_error_of_an_invalid_value_has_what_was_expected(key: str, value: str, expected: str) -> None:
    with pytest.raises(CorruptTableError, match=f"expected {expected}.*for hoodie.{key}"):
        config(V9, **{key.replace(".", "__"): value})


@pytest.mark.parametrize("checksum", ["1", "x", ""])
def test_a_wrong_checksum_is_refused(checksum: str) -> None:
    with pytest.raises(CorruptTableError, match=r"expected hoodie\.table\.checksum \d+, found"):
        config(V9, table__checksum=checksum)


def test_a_layout_that_does_not_go_with_the_version_is_refused() -> None:
    with pytest.raises(CorruptTableError, match="table version 9 with timeline layout 1"):
        config(V9, timeline__layout__version="1")


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        ("0", "upgrade it to version 6"),
        ("5", "upgrade it to version 6"),
        ("7", "halfway through an upgrade"),
        ("10", "newer Apache Hudi"),
        ("11", "newer Apache Hudi"),
    ],
)
def test_other_table_versions_are_refused_by_name_with_advice(version: str, advice: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"found version {version}; .*{advice}") as caught:
        config(V9, table__version=version)
    assert caught.value.feature == f"table version {version}"


def test_another_table_format_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match="hoodie.table.format: expected native, .*, found 'iceberg'"):
        config(V9, table__format="iceberg")


def test_a_broken_escape_is_damage() -> None:
    with pytest.raises(CorruptTableError, match="not a Java properties file"):
        parse_table_config(b"a=\\u12", path=PATH)


def test_the_backup_is_read_while_the_file_is_missing_or_damaged(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    made = new_table_config(name="t", record_key_fields=["a"])
    storage.create(".hoodie/hoodie.properties.backup", format_table_config(made, saved_at=SAVED))
    assert load_table_config(storage) == made
    storage.create(".hoodie/hoodie.properties", b"")
    assert load_table_config(storage) == made
    storage.create(".hoodie/hoodie.properties", format_table_config(made, saved_at=SAVED), overwrite=True)
    storage.delete(".hoodie/hoodie.properties.backup")
    assert load_table_config(storage) == made


def test_damage_without_a_backup_is_named(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create(".hoodie/hoodie.properties", b"hoodie.table.name=t\nhoodie.table.checksum=1\n")
    with pytest.raises(CorruptTableError, match=r"hoodie\.properties: expected hoodie\.table\.checksum"):
        load_table_config(storage)


def test_a_folder_without_hoodie_is_not_a_table_and_one_with_it_is_damaged(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    with pytest.raises(NotATableError, match="is not a Hudi table"):
        load_table_config(storage)
    (tmp_path / ".hoodie" / "timeline").mkdir(parents=True)
    (tmp_path / ".hoodie" / ".hudiformat-1").touch()  # a creation that was stopped
    with pytest.raises(NotATableError, match="is not a Hudi table"):
        load_table_config(storage)
    (tmp_path / ".hoodie" / "timeline" / "1.commit.requested").touch()
    with pytest.raises(CorruptTableError, match=r"there is no \.hoodie/hoodie\.properties"):
        load_table_config(storage)


@given(st.binary())
def test_any_bytes_are_a_configuration_or_refused(junk: bytes) -> None:
    for text in (junk, format_properties(V9, saved_at=SAVED) + junk):
        with contextlib.suppress(HudiFormatError):
            parse_table_config(text, path=PATH)


def stored(tmp_path: Path, **files: str) -> LocalStorage:
    """A table whose ``.hoodie`` has these files, with properties that differ in the key ``hoodie.x``."""
    storage = LocalStorage(tmp_path)
    for name, value in files.items():
        text = format_properties({**V9, "hoodie.x": value, "hoodie.table.checksum": CHECKSUM}, saved_at=SAVED)
        storage.create(f".hoodie/hoodie.properties{'.backup' if name == 'backup' else ''}", text if value else b"a")
    return storage


CHECKSUM = str(table_checksum("t"))


def test_properties_are_changed_and_removed(tmp_path: Path) -> None:
    storage = stored(tmp_path, properties="1")
    changed = update_table_config(storage, {"hoodie.x": None, "hoodie.y": "2", "hoodie.gone": None}, saved_at=SAVED)
    assert changed.extra == {"hoodie.y": "2"}
    assert load_table_config(storage) == changed


def test_the_checksum_follows_the_name(tmp_path: Path) -> None:
    changed = update_table_config(stored(tmp_path, properties="1"), {"hoodie.table.name": "u"}, saved_at=SAVED)
    assert changed.properties["hoodie.table.checksum"] == str(table_checksum("u"))


def test_changes_that_make_no_table_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    storage = stored(tmp_path, properties="1")
    with pytest.raises(CorruptTableError, match=r"hoodie\.table\.name is missing"):
        update_table_config(storage, {"hoodie.table.name": None}, saved_at=SAVED)
    assert load_table_config(storage).extra == {"hoodie.x": "1"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"properties": "new", "backup": "old"}, "new"),
        ({"properties": "", "backup": "old"}, "old"),
        ({"backup": "old"}, "old"),
        ({"properties": "new", "backup": ""}, "new"),
    ],
    ids=["both sound", "cut off", "missing", "backup cut off"],
)
def test_the_leftovers_of_a_crashed_writer_are_repaired(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    storage = stored(tmp_path, **files)
    recover_table_config(storage)
    assert [info.name for info in storage.list(".hoodie")] == ["hoodie.properties"]
    assert load_table_config(storage).extra == {"hoodie.x": expected}


def test_two_damaged_files_are_kept(tmp_path: Path) -> None:
    storage = stored(tmp_path, properties="", backup="")
    with pytest.raises(CorruptTableError, match="backup: the property hoodie.table.name is missing"):
        update_table_config(storage, {}, saved_at=SAVED)
    assert len(storage.list(".hoodie")) == 2
