"""Change the properties of a table, those that its files do not depend on.

Hudi checks neither keys nor values (``table update-configs`` and ``delete-configs`` of hudi-cli); a table whose files
and properties contradict each other loses rows.

Source: HoodieTableConfig.update and delete, Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timezone
from enum import Enum

from hudiformat.errors import CommitError, OptionError, suggest_names
from hudiformat.table.options.answers import hudi_keys
from hudiformat.table.options.keys import FACT_KEYS, PERSISTED_KEYS, TABLE_KEYS
from hudiformat.table.options.parsers import member_of, parse_boolean
from hudiformat.table.options.values import CdcMode
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.config_files import PROPERTIES_FILE, config_from_properties, update_table_config
from hudiformat.timeline.table_config import CHECKSUM_KEY, TableConfig, TableType, table_checksum
from hudiformat.write.commit.changing import hold_table_lock

_NAME, _TYPE = "hoodie.table.name", "hoodie.table.type"


def _parse_name(key: str, value: str) -> str:
    if not value.strip():
        raise OptionError(f"{key}: expected a name, found {value!r}", option=key)
    return value


_CHANGEABLE: Mapping[str, Callable[[str, str], object]] = {
    _NAME: _parse_name,
    "hoodie.database.name": lambda _key, value: value,
    _TYPE: member_of(TableType),
    "hoodie.table.cdc.enabled": parse_boolean,
    "hoodie.table.cdc.supplemental.logging.mode": member_of(CdcMode),
    "hoodie.partition.metafile.use.base.format": parse_boolean,
}
"""The properties of Hudi's that may change, and what parses their values."""
_INSTEAD = {
    "hoodie.table.version": "call change_version, which changes the files too",
    "hoodie.timeline.layout.version": "call change_version, which changes the files too",
    "hoodie.table.metadata.partitions": "call create_index or drop_index, which change the files too",
    "hoodie.table.create.schema": "call evolve",
}


def change_properties(context: TableContext, changes: Mapping[str, str], removed: Collection[str] = ()) -> TableConfig:
    """Set the properties *changes*, take out those that are *removed*, and return the new configuration.

    Raises:
        OptionError: a property does not exist or cannot change, or a value is not one of its.
        CommitError: the table cannot have the other type, as it has log files.
        UnsupportedFeatureError: the table could not be written any more.
        LockError: another writer keeps the table's lock.
    """
    for key in removed:
        _check(key, None)
    asked: dict[str, str | None] = {key: _checked(key, str(value)) for key, value in changes.items()}
    asked.update(dict.fromkeys(removed))
    with hold_table_lock(context) as owning:
        state = owning.state()
        for key in removed:
            _expect(key, state.config)
        _check_result(state, asked)
        owning.confirm()
        return update_table_config(state.storage, asked, saved_at=datetime.now(timezone.utc))


def _checked(key: str, value: str) -> str:
    """Check a property that is to be set, and return its value as Hudi spells it."""
    _check(key, value)
    found = _CHANGEABLE[key](key, value) if key in _CHANGEABLE else value
    if isinstance(found, bool):
        return str(found).lower()
    return str(found.value if isinstance(found, Enum) else found)


def _check(key: str, value: str | None) -> None:
    """Check a property that is to be set, or with the value None taken out."""
    if key in _CHANGEABLE:
        if value is None and key in (_NAME, _TYPE):
            raise OptionError(
                f"{key}: expected a property that a table can be without, found one that it needs; set another value",
                option=key,
            )
        return
    own = {name for name, known in hudi_keys().items() if known.group == "HoodieTableConfig"}
    if key in own | {*TABLE_KEYS, *FACT_KEYS, *PERSISTED_KEYS, CHECKSUM_KEY}:
        raise OptionError(
            f"{key}: expected a property that can change ({', '.join(_CHANGEABLE)}), found one that the table's files "
            f"depend on; {_INSTEAD.get(key, 'create another table and write the rows there')}",
            option=key,
        )
    if value is None or not key.startswith(("hoodie.", "hudiformat.")):
        return
    if key in hudi_keys():
        message = "expected a property of a table, found an option of its writers; pass it in options="
        raise OptionError(f"{key}: {message}", option=key)
    hint = suggest_names(key, _CHANGEABLE)
    raise OptionError(f"unknown option {key!r}{hint or '; see docs/options.md'}", option=key, is_unknown=True)


def _expect(key: str, config: TableConfig) -> None:
    if key not in config.properties:
        hint = suggest_names(key, config.properties) or " (hudiformat doctor lists them)"
        raise OptionError(
            f"{key}: expected a property of the table, found none of that name; name one that it has{hint}", option=key
        )


def _check_result(state: TableState, asked: Mapping[str, str | None]) -> None:
    """Check that the table with the changes can be read and written."""
    root = state.storage.root
    properties = {key: value for key, value in {**state.config.properties, **asked}.items() if value is not None}
    properties[CHECKSUM_KEY] = str(table_checksum(properties[_NAME], properties.get("hoodie.database.name", "")))
    config = config_from_properties(properties, path=f"{root}/{PROPERTIES_FILE}")
    refuse_unwritable(TableState(state.context, config, state.timeline))
    if config.table_type is state.config.table_type:
        return
    if state.timeline.pending:
        raise CommitError(f"{root}: the type cannot change while {state.timeline.pending[0]} is pending", path=root)
    if config.table_type is TableType.COPY_ON_WRITE and any(one.log_files for one in state.slices()):
        raise CommitError(
            f"{root}: a copy-on-write table has no log files, and this one has some: compact it first", path=root
        )
