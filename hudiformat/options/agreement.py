"""Checking that a write's options agree with the table's properties.

Hudi's users pass the table's name, type, keys and so on with every write.
Source: HoodieWriterUtils.validateTableConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hudiformat.errors import OptionError
from hudiformat.options.keys import PERSISTED_KEYS, parse_write_options
from hudiformat.options.values import SUPPORTED_INDEX_TYPES, IndexType, WriteOptions
from hudiformat.timeline import TableConfig

_INDEX_TYPE = "hoodie.index.type"


def options_of(config: TableConfig, options: Mapping[str, str]) -> WriteOptions:
    """What *options* ask for, and what the table's properties keep for all its writers.

    The properties may name an index that is not supported yet: the table can be read all the same.

    Raises:
        OptionError: an unknown option, a bad value, or an option that contradicts the table.
        UnsupportedFeatureError: a value that Hudi has and hudiformat does not support.
    """
    asked = _without_facts(config, options)
    index = asked.get(_INDEX_TYPE, "").upper()
    if config.properties.get(_INDEX_TYPE) is None or index in {one.value for one in SUPPORTED_INDEX_TYPES}:
        return parse_write_options(asked)
    del asked[_INDEX_TYPE]
    return replace(parse_write_options(asked), index_type=_index_type(index))


def _index_type(word: str) -> IndexType:
    known = {one.value: one for one in IndexType}
    return known.get(word, IndexType.UNKNOWN)


def _without_facts(config: TableConfig, options: Mapping[str, str]) -> dict[str, str]:
    facts = _facts(config)
    kept = {key: config.properties[key] for key in PERSISTED_KEYS if key in config.properties}
    for key, value in {**facts, **kept}.items():
        if key in options and _normal(options[key]) != _normal(value):
            raise OptionError(
                f"{key} is {value!r} in the table's properties, and cannot be {str(options[key])!r}", option=key
            )
    return {**{key: value for key, value in options.items() if key not in facts}, **kept}


def _facts(config: TableConfig) -> dict[str, str]:
    ordering = ",".join(config.ordering_fields)
    return {
        "hoodie.table.name": config.name,
        "hoodie.datasource.write.table.name": config.name,
        "hoodie.datasource.write.table.type": config.table_type.value,
        "hoodie.write.table.version": str(config.version),
        "hoodie.datasource.write.recordkey.field": ",".join(config.record_key_fields),
        "hoodie.datasource.write.partitionpath.field": ",".join(config.partition_fields),
        "hoodie.table.ordering.fields": ordering,
        "hoodie.table.precombine.field": ordering,
        "hoodie.datasource.write.precombine.field": ordering,
        "hoodie.record.merge.mode": config.merge_mode.value,
        "hoodie.datasource.write.hive_style_partitioning": str(config.hive_style_partitioning),
        "hoodie.datasource.write.partitionpath.urlencode": str(config.url_encode_partitioning),
        "hoodie.table.timeline.timezone": config.timeline_zone.value,
    }


def _normal(value: object) -> str:
    return str(value).replace(" ", "").lower()
