"""Convert the properties of a table to another table version, as Hudi does when it upgrades or downgrades a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.merging.rule import PAYLOADS, SEQUENCE
from hudiformat.table.options.merging import payload_properties
from hudiformat.timeline.config_files import VERSION_WITH_COMPLETION_TIMES, config_from_properties
from hudiformat.timeline.table_config import (
    TYPED_PARTITION_FIELDS,
    KeyGenerator,
    MergeMode,
    TableConfig,
    TableType,
)

Properties: TypeAlias = dict[str, str]

_VERSION = "hoodie.table.version"
_LAYOUT = "hoodie.timeline.layout.version"
_INITIAL_VERSION = "hoodie.table.initial.version"
_MERGE_MODE = "hoodie.record.merge.mode"
_STRATEGY = "hoodie.record.merge.strategy.id"
_OLD_STRATEGY = "hoodie.compaction.record.merger.strategy"
_PAYLOAD = "hoodie.compaction.payload.class"
_LEGACY_PAYLOAD = "hoodie.table.legacy.payload.class"
_PARTIAL_UPDATES = "hoodie.table.partial.update.mode"
_ORDERING = "hoodie.table.ordering.fields"
_PRECOMBINE = "hoodie.table.precombine.field"
_PARTITION_FIELDS = "hoodie.table.partition.fields"
_GENERATOR = "hoodie.table.keygenerator.type"
_GENERATOR_CLASS = "hoodie.table.keygenerator.class"
_BOOTSTRAP_INDEX_TYPE, _BOOTSTRAP_INDEX_CLASS = "hoodie.bootstrap.index.type", "hoodie.bootstrap.index.class"
BOOTSTRAP_INDEX = "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex"

_MODEL = "org.apache.hudi.common.model."
_EVENT_TIME, _COMMIT_TIME = f"{_MODEL}DefaultHoodieRecordPayload", f"{_MODEL}OverwriteWithLatestAvroPayload"
_EVENT_TIME_TOO = f"{_MODEL}EventTimeAvroPayload"
_MODE_OF = {
    _EVENT_TIME: MergeMode.EVENT_TIME_ORDERING,
    _EVENT_TIME_TOO: MergeMode.EVENT_TIME_ORDERING,
    _COMMIT_TIME: MergeMode.COMMIT_TIME_ORDERING,
    **{name: payload.mode for name, payload in PAYLOADS.items()},
}
"""The merge mode that replaces a payload class in table version 9.  Source: EightToNineUpgradeHandler."""
_STRATEGY_OF = {
    MergeMode.EVENT_TIME_ORDERING: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    MergeMode.COMMIT_TIME_ORDERING: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
}
_NEWEST = 9
_BY_PAYLOAD = "00000000-0000-0000-0000-000000000000"
"""The id of the merge strategy that merges by a payload class."""


def config_of_version(config: TableConfig, version: int, *, path: str) -> TableConfig:
    """Return the configuration of a table after a change to another table *version*: 6, 8 or 9.

    Two things differ from Hudi, because rows would change there.  A table that merges by commit time gets the payload
    class for it in version 6. Hudi writes none, and its readers then merge by event time.  If the table is upgraded
    again, it merges by commit time still, because its initial version shows that it was newer before.

    Raises:
        UnsupportedFeatureError: the key generator or the payload class has no counterpart in that version.

    Source: UpgradeDowngrade and its handlers from SixToSeven to EightToNine and back, Hudi 1.2.0.
    """
    _refuse_keys(config)
    is_older = config.version < VERSION_WITH_COMPLETION_TIMES
    while config.version != version:
        step = _UP if version > config.version else _DOWN
        following, change = step[config.version]
        properties = change(config)
        properties |= {_VERSION: str(following), _LAYOUT: "1" if following < VERSION_WITH_COMPLETION_TIMES else "2"}
        if is_older and following == _NEWEST:
            properties.pop(_STRATEGY, None)  # Hudi writes only the older name if it upgrades both steps at once
        config = config_from_properties(properties, path=path)
    return config


def config_of_other_layout(config: TableConfig, *, path: str) -> TableConfig:
    """Return a configuration that locates the timeline as in the other timeline layout."""
    version, layout = ("8", "2") if config.layout_version == 1 else ("6", "1")
    return config_from_properties({**config.properties, _VERSION: version, _LAYOUT: layout}, path=path)


def _refuse_keys(config: TableConfig) -> None:
    """Refuse record keys whose form depends on the version of Hudi that wrote them, as Hudi does."""
    if config.key_generator is KeyGenerator.COMPLEX and len(config.record_key_fields) == 1:
        raise UnsupportedFeatureError(
            f"table {config.name}: expected keys that all releases of Hudi write alike, found "
            "those of the complex key generator with one field, 'a:1' in some and '1' in "
            f"others; stay at version {config.version}, or copy the rows into a new table",
            feature="another table version for complex keys of one field",
        )
    is_old = config.version < VERSION_WITH_COMPLETION_TIMES
    if is_old and config.key_generator is KeyGenerator.CUSTOM and None in config.partition_types:
        raise UnsupportedFeatureError(
            f"table {config.name}: expected the types of its partition fields, which a custom "
            f"key generator has from table version 8 on, found none in version 6; give {TYPED_PARTITION_FIELDS} "
            "as an option, such as city:simple,ts:timestamp",
            feature="upgrade of tables with a custom key generator",
        )


def _from_6_to_8(config: TableConfig) -> Properties:
    properties = dict(config.properties)
    payload = config.payload_class
    properties |= {"hoodie.timeline.path": properties.get("hoodie.timeline.path", "timeline")}
    if payload is not None and payload not in (_EVENT_TIME, _EVENT_TIME_TOO, _COMMIT_TIME):
        properties |= {_PAYLOAD: payload, _MERGE_MODE: MergeMode.CUSTOM.value, **_strategy(_BY_PAYLOAD)}
    else:
        mode = _mode_of_version_6(config)
        properties |= {
            _PAYLOAD: _EVENT_TIME if mode is MergeMode.EVENT_TIME_ORDERING else _COMMIT_TIME,
            _MERGE_MODE: mode.value,
            **_strategy(_STRATEGY_OF[mode]),
        }
    properties[_INITIAL_VERSION] = str(config.version)
    if config.key_generator not in (None, KeyGenerator.OTHER):
        properties[_GENERATOR] = config.key_generator.name if config.key_generator else ""
    if config.bootstrap_base_path is not None:
        properties |= {_BOOTSTRAP_INDEX_TYPE: "HFILE"}
    if config.key_generator is KeyGenerator.CUSTOM:
        properties.pop(TYPED_PARTITION_FIELDS, None)
        properties[_PARTITION_FIELDS] = _typed_fields(config)
    return properties


def _typed_fields(config: TableConfig) -> str:
    pairs = zip(config.partition_fields, config.partition_types, strict=True)
    return ",".join(f"{name}:{kind.upper()}" for name, kind in pairs if kind is not None)


def _mode_of_version_6(config: TableConfig) -> MergeMode:
    """Return the merge mode of a table of version 6.

    It is event time for a merge-on-read table with an ordering field.  Otherwise the payload class determines it; so it
    does for a table that was newer before and whose payload class merges by commit time.
    """
    was_newer = config.properties.get(_INITIAL_VERSION) in ("8", "9")
    if was_newer and config.payload_class == _COMMIT_TIME:
        return MergeMode.COMMIT_TIME_ORDERING
    if config.table_type is TableType.MERGE_ON_READ and config.ordering_fields:
        return MergeMode.EVENT_TIME_ORDERING
    return config.merge_mode


def _from_8_to_9(config: TableConfig) -> Properties:
    properties = dict(config.properties)
    payload = config.payload_class
    if config.merge_mode is not MergeMode.CUSTOM or payload in _MODE_OF:
        properties.pop(_STRATEGY, None)
    if payload in _MODE_OF:
        properties |= {_LEGACY_PAYLOAD: payload or "", _MERGE_MODE: _MODE_OF[payload or ""].value}
        properties.pop(_PAYLOAD, None)
    found = PAYLOADS.get(payload or "")
    if found is not None:
        properties |= {**payload_properties(found), **_strategy(_STRATEGY_OF[found.mode])}
    renamed = _rename_property(properties, _PRECOMBINE, _ORDERING, config)
    return renamed | ({_ORDERING: ",".join(found.ordering_fields)} if found and found.ordering_fields else {})


def _from_9_to_8(config: TableConfig) -> Properties:
    properties = dict(config.properties)
    legacy = config.legacy_payload_class
    found = PAYLOADS.get(legacy or "")
    if config.partial_update_mode is not (found and found.partial_mode):
        raise UnsupportedFeatureError(
            f"table {config.name}: expected no {_PARTIAL_UPDATES} before table version 9, where a payload class says "
            f"it, found {config.properties.get(_PARTIAL_UPDATES)}; stay at version 9",
            feature="downgrade of tables with a partial update mode",
        )
    if config.merge_mode is not MergeMode.CUSTOM:
        properties |= _strategy(_STRATEGY_OF[config.merge_mode])
    if legacy in _MODE_OF:
        properties[_PAYLOAD] = properties.pop(_LEGACY_PAYLOAD)
    if found is not None:
        properties |= {_MERGE_MODE: MergeMode.CUSTOM.value, **_strategy(_BY_PAYLOAD)}
        for key in payload_properties(found):
            properties.pop(key, None)
        if len(found.ordering_fields) > 1:
            properties.pop(_ORDERING, None)
            return properties | {_PRECOMBINE: SEQUENCE}
    if len(config.ordering_fields) > 1:
        raise UnsupportedFeatureError(
            f"table {config.name}: expected one ordering field before version 9, found "
            f"{', '.join(config.ordering_fields)}; stay at version 9",
            feature="downgrade of tables with several ordering fields",
        )
    return _rename_property(properties, _ORDERING, _PRECOMBINE, config)


def _from_8_to_6(config: TableConfig) -> Properties:
    properties = dict(config.properties)
    if config.payload_class is None:
        if config.merge_mode is MergeMode.CUSTOM:
            raise UnsupportedFeatureError(
                f"table {config.name}: expected a payload class for a custom merge mode before "
                f"table version 8, found none; stay at version {config.version}",
                feature="downgrade of tables with a custom merge mode",
            )
        if config.merge_mode is MergeMode.COMMIT_TIME_ORDERING:
            properties[_PAYLOAD] = _COMMIT_TIME
    for key in (_MERGE_MODE, _STRATEGY):
        properties.pop(key, None)
    if config.key_generator is not None and config.key_generator is not KeyGenerator.OTHER:
        properties.setdefault(_GENERATOR_CLASS, f"org.apache.hudi.keygen.{config.key_generator.value}")
    if config.bootstrap_base_path is not None:
        properties.pop(_BOOTSTRAP_INDEX_TYPE, None)
        properties.setdefault(_BOOTSTRAP_INDEX_CLASS, BOOTSTRAP_INDEX)
    if config.key_generator is KeyGenerator.CUSTOM:  # Hudi forgets the types
        properties |= {TYPED_PARTITION_FIELDS: _typed_fields(config)}
        properties[_PARTITION_FIELDS] = ",".join(config.partition_fields)
    return properties


def _strategy(identity: str) -> Mapping[str, str]:
    return {_STRATEGY: identity, _OLD_STRATEGY: identity}  # Hudi also writes the older name of the key


def _rename_property(properties: Properties, old: str, new: str, config: TableConfig) -> Properties:
    if config.ordering_fields:
        properties[new] = ",".join(config.ordering_fields)
        properties.pop(old, None)
    return properties


_Change: TypeAlias = Callable[[TableConfig], Properties]
_UP: Mapping[int, tuple[int, _Change]] = {6: (8, _from_6_to_8), 8: (9, _from_8_to_9)}
_DOWN: Mapping[int, tuple[int, _Change]] = {9: (8, _from_9_to_8), 8: (6, _from_8_to_6)}
