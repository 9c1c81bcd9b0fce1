"""Check that a write's options agree with the table's properties.

Hudi's users pass the table's name, type, keys and so on with every write.
Source: HoodieWriterUtils.validateTableConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hudiformat.errors import OptionError
from hudiformat.table.options.answers import current_name
from hudiformat.table.options.keys import (
    BOOTSTRAP_BASE_PATH,
    FACT_KEYS,
    PERSISTED_KEYS,
    TABLE_KEYS,
    parse_write_options,
)
from hudiformat.table.options.merging import MERGING_KEYS, refuse_other_merging
from hudiformat.table.options.timed_paths import (
    PARTITION_KEYS,
    SLASHES,
    TIMED_PATH_KEYS,
    partition_types_of,
)
from hudiformat.table.options.values import SUPPORTED_INDEX_TYPES, IndexType, WriteOptions
from hudiformat.timeline.table_config import TableConfig

_INDEX_TYPE = "hoodie.index.type"


def options_of(config: TableConfig, options: Mapping[str, str]) -> WriteOptions:
    """Parse *options*, and add the options that the table's properties set for all its writers.

    The properties may name an index that is not supported yet, because the table can be read all the same.

    Raises:
        OptionError: an option is unknown, has a bad value, or contradicts the table.
        UnsupportedFeatureError: Hudi knows the value, but hudiformat does not support it.
    """
    if BOOTSTRAP_BASE_PATH in options and config.bootstrap_base_path is None:
        raise OptionError(
            f"{BOOTSTRAP_BASE_PATH}: expected no such option, as the table was not bootstrapped, found "
            f"{options[BOOTSTRAP_BASE_PATH]!r}; leave it out, or make a table of these files with hf.adopt",
            option=BOOTSTRAP_BASE_PATH,
        )
    asked = _drop_table_facts(config, options)
    index = asked.get(_INDEX_TYPE, "").upper()
    if config.properties.get(_INDEX_TYPE) is None or index in {one.value for one in SUPPORTED_INDEX_TYPES}:
        parsed = parse_write_options(asked)
    else:
        del asked[_INDEX_TYPE]
        parsed = replace(parse_write_options(asked), index_type=_index_type(index))
    types = partition_types_of(options)
    return replace(parsed, timed_paths=replace(parsed.timed_paths, partition_types=types)) if types else parsed


def _index_type(word: str) -> IndexType:
    known = {one.value: one for one in IndexType}
    return known.get(word, IndexType.UNKNOWN)


def _drop_table_facts(config: TableConfig, options: Mapping[str, str]) -> dict[str, str]:
    options = {key if key in FACT_KEYS or key in TABLE_KEYS else current_name(key): options[key] for key in options}
    refuse_other_merging(config, options)
    options = {key: value for key, value in options.items() if key not in MERGING_KEYS}
    own = config.properties
    named = {*PERSISTED_KEYS, BOOTSTRAP_BASE_PATH}
    options = {key: value for key, value in options.items() if key in named or own.get(key) != str(value)}
    facts = _facts(config)
    kept = {key: config.properties[key] for key in PERSISTED_KEYS if key in config.properties}
    for key, value in {**facts, **kept}.items():
        if key in options and not _agree(key, str(options[key]), value):
            raise OptionError(
                f"{key}: expected {value!r}, as in the table's properties, found "
                f"{str(options[key])!r}; leave the option out",
                option=key,
            )
    chosen = {key: value for key, value in options.items() if key not in facts}
    return {**kept, **chosen}


def _facts(config: TableConfig) -> dict[str, str]:
    ordering = ",".join(config.ordering_fields)
    return {
        "hoodie.table.name": config.name,
        "hoodie.datasource.write.table.name": config.name,
        "hoodie.datasource.write.table.type": config.table_type.value,
        "hoodie.write.table.version": str(config.version),
        "hoodie.datasource.write.recordkey.field": ",".join(config.record_key_fields),
        "hoodie.table.recordkey.fields": ",".join(config.record_key_fields),
        "hoodie.table.type": config.table_type.value,
        "hoodie.timeline.layout.version": str(config.layout_version),
        "hoodie.payload.ordering.field": ordering,
        **_generators(config),
        **dict.fromkeys(PARTITION_KEYS, _partition_fields(config)),
        **{key: config.properties[key] for key in (*TIMED_PATH_KEYS, SLASHES) if key in config.properties},
        "hoodie.table.ordering.fields": ordering,
        "hoodie.table.precombine.field": ordering,
        "hoodie.datasource.write.precombine.field": ordering,
        "hoodie.datasource.write.hive_style_partitioning": str(config.hive_style_partitioning),
        "hoodie.datasource.write.partitionpath.urlencode": str(config.url_encode_partitioning),
        "hoodie.table.timeline.timezone": config.timeline_zone.value,
        **dict.fromkeys(("hoodie.table.base.file.format", "hoodie.base.file.format"), config.base_file_format),
        "hoodie.datasource.write.drop.partition.columns": str(config.drop_partition_columns),
        "hoodie.populate.meta.fields": str(config.populate_meta_fields),
        "hoodie.partition.metafile.use.base.format": str(config.partition_metafile_use_base_format),
    }


def _partition_fields(config: TableConfig) -> str:
    pairs = zip(config.partition_fields, config.partition_types, strict=True)
    return ",".join(name if kind is None else f"{name}:{kind}" for name, kind in pairs)


def _generators(config: TableConfig) -> dict[str, str]:
    if config.key_generator is None:
        return {}
    name = config.key_generator_class or config.key_generator.value
    return {
        **dict.fromkeys(("hoodie.table.keygenerator.class", "hoodie.datasource.write.keygenerator.class"), name),
        **dict.fromkeys(
            ("hoodie.table.keygenerator.type", "hoodie.datasource.write.keygenerator.type"), config.key_generator.name
        ),
    }


_FAMILIES = (
    {"SIMPLE", "BLOOM", "RECORD_LEVEL_INDEX"},
    {"GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX"},
)
"""Indexes that find the same keys: a table may change between those of one set."""


def _agree(key: str, asked: str, own: str) -> bool:
    if key == _INDEX_TYPE and any({asked.upper(), own.upper()} <= family for family in _FAMILIES):
        return True
    if key in TIMED_PATH_KEYS:  # letters of a pattern mean other things in capitals
        return asked.strip() == own.strip()
    if key in PARTITION_KEYS and (":" in asked) != (":" in own):  # the properties of version 6 have no types
        asked, own = (",".join(one.partition(":")[0] for one in text.split(",")) for text in (asked, own))
    return _normal(asked) == _normal(own)


def _normal(value: object) -> str:
    """Return a value in the form in which values are compared.

    Spaces, a class's package, the ``:simple`` of a partition column and the Avro in a class name are dropped.
    """
    text = str(value).replace(" ", "").lower().replace(":simple", "")
    return text.rpartition(".")[2].replace("avrokeygenerator", "keygenerator").removesuffix("_avro")
