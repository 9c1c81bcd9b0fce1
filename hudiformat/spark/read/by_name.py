"""Find a table by its name in Spark's own catalog, which may be a Hive Metastore.

Spark itself can neither describe nor read a table of Hudi's without Hudi's bundle, but it lists it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hudiformat.errors import NotATableError

_NAME = re.compile(r"(?:spark_catalog\.)?(?:(\w+)\.)?(\w+)")
_LOCATION = re.compile(r"^Location: (?:file:(?://)?)?(.+)$", re.MULTILINE)
_PROVIDER = re.compile(r"^Provider: (.+)$|^InputFormat: (?:org\.apache\.|com\.uber\.)(hudi|hoodie)\.", re.MULTILINE)
_READ_OPTIMIZED = re.compile(r"^Storage Properties: .*hoodie\.query\.as\.ro\.table=true", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table's path, and whether its name stands for its rows without log files."""

    path: str
    read_optimized: bool = False


def find_by_name(spark: SparkSession, path: str) -> NamedTable:
    """Return the table that has the name *path* in Spark's catalog; a folder of that name comes first.

    What cannot be the name of a table is a path.

    Raises:
        NotATableError: there is neither such a folder nor such a table, or it is not Hudi's.
    """
    name = _NAME.fullmatch(path)
    if name is None or Path(path).exists():
        return NamedTable(path)
    where = f" IN {name[1]}" if name[1] else ""
    try:
        listed = spark.sql(f"SHOW TABLE EXTENDED{where} LIKE '{name[2]}'").collect()
    except AnalysisException:  # there is no such database
        listed = []
    tables = {one["tableName"].lower(): one for one in listed if not one["isTemporary"]}
    found = tables.get(name[2].lower())
    if found is None:
        raise NotATableError(
            f"{path} is not a Hudi table: there is no such folder, and no table of that name in Spark's catalog",
            path=path,
        )
    text = found["information"]
    location, provider = _LOCATION.search(text), _PROVIDER.search(text)
    if location is None or provider is None or (provider[1] or "hudi").lower() != "hudi":
        kind = provider[1] if provider is not None else "another format"
        raise NotATableError(f"{path} in Spark's catalog: expected a table of Hudi's, found one of {kind}", path=path)
    return NamedTable(location[1], _READ_OPTIMIZED.search(text) is not None)
