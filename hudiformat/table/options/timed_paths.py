"""The options that say how the TIMESTAMP and the CUSTOM key generator make partition paths of times.

Hudi keeps them in the properties of a table only in part: none for the CUSTOM key generator, and Hudi 0.15 does not
keep the type.  So every writer may give them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from hudiformat.errors import OptionError
from hudiformat.naming.timed_partitions import (
    DELIMITER,
    INPUT,
    INPUT_ZONE,
    OUTPUT,
    OUTPUT_ZONE,
    PARSER,
    TYPE,
    UNIT,
    ZONE,
)
from hudiformat.table.options.local_zone import local_zone
from hudiformat.table.options.parsers import Keys, parse_boolean, parse_text
from hudiformat.timeline.table_config import TableConfig

PARTITION_KEYS = ("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields")
PARTITION_TYPES = ("simple", "timestamp")
SLASHES = "hoodie.datasource.write.slash.separated.date.partitioning"


@dataclass(frozen=True, slots=True)
class TimedPathOptions:
    """The values of ``hoodie.keygen.timebased.*`` and of the class that reads dates; None if an option was not given.

    ``partition_types`` are the types of the partition fields, as ``r:SIMPLE,p:TIMESTAMP`` says them.  ``slash_dates``:
    the dates in the paths of the only partition column are written with slashes, ``2024/02/29``.

    Source: TimestampKeyGeneratorConfig, Hudi 1.2.0.
    """

    timestamp_type: str | None = None
    scalar_unit: str | None = None
    input_format: str | None = None
    input_delimiter: str | None = None
    zone: str | None = None
    input_zone: str | None = None
    output_format: str | None = None
    output_zone: str | None = None
    parser: str | None = None
    partition_types: tuple[str, ...] = ()
    slash_dates: bool | None = None

    @property
    def properties(self) -> dict[str, str]:
        """The options that were given, by their keys."""
        values = {key: getattr(self, name) for key, (name, _) in TIMED_PATH_KEYS.items()}
        return {key: value for key, value in values.items() if value is not None}

    def complete(self, config: TableConfig) -> TableConfig:
        """Return *config* with what its properties do not say about its paths: these options, and the zone."""
        if not config.has_timed_paths:
            slashes = config.slash_separated_dates if self.slash_dates is None else self.slash_dates
            return replace(config, slash_separated_dates=slashes)
        types = config.partition_types
        if set(types) == {None} and len(self.partition_types) == len(types):
            types = self.partition_types
        properties = {**self.properties, **config.properties}
        return replace(config, properties=properties, partition_types=types, here=local_zone())


TIMED_PATH_KEYS: Keys = {
    key: (field.name, parse_text)
    for key, field in zip(
        (TYPE, UNIT, INPUT, DELIMITER, ZONE, INPUT_ZONE, OUTPUT, OUTPUT_ZONE, PARSER),
        fields(TimedPathOptions),
        strict=False,
    )
}


PATH_KEYS: Keys = {**TIMED_PATH_KEYS, SLASHES: ("slash_dates", parse_boolean)}
"""All keys that set an option of this module."""


def split_partition_fields(key: str, names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns in *names* such as ``p:TIMESTAMP``, and their types; no types if none has one.

    Raises:
        OptionError: some have a type and some have none, or a type is not known.
    """
    pairs = [name.partition(":") for name in names]
    types = tuple(kind.strip().lower() for _, _, kind in pairs)
    if any(types) and not set(types) <= set(PARTITION_TYPES):
        raise OptionError(
            f"{key}: expected columns alone, or each with one of the types {', '.join(PARTITION_TYPES)}, such as "
            f"city:simple,ts:timestamp, found {','.join(names)!r}",
            option=key,
        )
    return tuple(name.strip() for name, _, _ in pairs), types if any(types) else ()


def partition_types_of(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the types of partition fields that *options* name; none if they name none.

    Raises:
        OptionError: as for :func:`split_partition_fields`.
    """
    for key in PARTITION_KEYS:
        if ":" in str(options.get(key, "")):
            return split_partition_fields(key, [one for one in str(options[key]).split(",") if one.strip()])[1]
    return ()
