"""Tell the values of partition columns from a partition path, by the rules of Hudi's extractors.  Pure.

Where Hudi would fail, or give two folders one value, the values are told if the table's properties allow it, else it is
an error.

Source: the subclasses of org.apache.hudi.sync.common.model.PartitionValueExtractor, Hudi 1.2.0; spec/catalogs.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hudiformat.errors import CatalogError
from hudiformat.table.options.sync import EXTRACTOR, TABLE_EXTRACTOR, Extractor
from hudiformat.timeline.table_config import TableConfig

_DAY, _HOUR = 3, 4


@dataclass(frozen=True, slots=True)
class PartitionValues:
    """The rules for the partition paths of a table: *fields* are the catalog's partition columns.

    With *hive_style* the folders are ``name=value``.
    """

    fields: tuple[str, ...]
    extractor: Extractor
    hive_style: bool

    def of(self, path: str) -> tuple[str, ...]:
        """Return a value for each field, or none if the extractor is for tables without partitions.

        Raises:
            CatalogError: the path does not tell as many values.
        """
        if self.extractor is Extractor.NONE:
            return ()
        values = self._values(path)
        if len(values) != len(self.fields) or not all(values):
            raise self._unreadable(path, f"{len(self.fields)} values, one for each of {', '.join(self.fields)}")
        return values

    def by_values(self, paths: Iterable[str]) -> dict[tuple[str, ...], str]:
        """Return the paths by their values; paths without values are left out.

        Raises:
            CatalogError: as for :meth:`of`, or two paths have the same values.
        """
        found: dict[tuple[str, ...], str] = {}
        for path in paths:
            values = self.of(path)
            if values and found.setdefault(values, path) != path:
                raise CatalogError(
                    f"expected different values of {', '.join(self.fields)} for each partition path, found "
                    f"{', '.join(values)} for both {found[values]} and {path}; choose another {EXTRACTOR}"
                )
        return found

    def _values(self, path: str) -> tuple[str, ...]:
        if self.extractor is Extractor.SINGLE_PART:
            return (path.replace("/", "-"),)
        if self.extractor is Extractor.HIVE_STYLE:
            _, separator, value = path.partition("=")
            return (value,) if separator else ()
        folders = [self._value(folder) for folder in path.split("/")] if path else []
        if self.extractor is Extractor.MULTI_PART:
            return tuple(folders)
        return self._time(path, folders)

    def _value(self, folder: str) -> str:
        name, separator, value = folder.partition("=")
        is_named = separator and (self.hive_style or name in self.fields)
        return value if is_named else folder

    def _time(self, path: str, folders: Sequence[str]) -> tuple[str, ...]:
        is_day = self.extractor is Extractor.DAY
        form, shown = ("yyyy/mm/dd", "%Y-%m-%d") if is_day else ("yyyy/mm/dd/hh", "%Y-%m-%d-%H")
        if len(folders) != (_DAY if is_day else _HOUR):
            raise self._unreadable(path, form)
        try:
            numbers = [int(folder) for folder in folders]
            time = datetime(*numbers)  # type: ignore[arg-type]  # noqa: DTZ001 - a text becomes a text
        except ValueError:
            raise self._unreadable(path, form) from None
        return (time.strftime(shown),)

    def _unreadable(self, path: str, expected: str) -> CatalogError:
        return CatalogError(
            f"the partition path {path!r}: expected {expected}, by {self.extractor.value}; name another class with "
            f"{EXTRACTOR}, or other columns with hoodie.datasource.hive_sync.partition_fields"
        )


def extractor_of(config: TableConfig, asked: Extractor | None, fields: Sequence[str]) -> Extractor:
    """Return the extractor that was *asked* for, or that of the table's properties, or the one that Hudi infers.

    Source: HoodieTableConfigUtils.inferPartitionValueExtractorClass, Hudi 1.2.0.
    """
    if asked is not None:
        return asked
    named = config.properties.get(TABLE_EXTRACTOR)
    # A table may have been created for another sync, which had no partition fields, or others.
    if named in {one.value for one in Extractor} and tuple(fields) == config.partition_fields:
        found = Extractor(named)
        if found is not Extractor.NONE or not fields:
            return found
    if not fields:
        return Extractor.NONE
    if len(fields) > 1:
        return Extractor.MULTI_PART
    if config.hive_style_partitioning:
        return Extractor.HIVE_STYLE
    return Extractor.DAY if config.slash_separated_dates else Extractor.SINGLE_PART
