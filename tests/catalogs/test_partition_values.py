"""Partition paths become values as Hudi's extractors say; what they do not tell is an error by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat import CatalogError, UnsupportedFeatureError
from hudiformat.catalogs.partition_values import PartitionValues, extractor_of
from hudiformat.table.options.sync import Extractor
from tests.tables import edit, new_table

KEY = "hoodie.datasource.hive_sync.partition_extractor_class"


def values(extractor: Extractor, path: str, *fields: str, hive_style: bool = False) -> tuple[str, ...]:
    return PartitionValues(fields or ("p",), extractor, hive_style).of(path)


@pytest.mark.parametrize(
    ("extractor", "fields", "path", "expected"),
    [
        (Extractor.SINGLE_PART, "p", "x", ("x",)),
        (Extractor.SINGLE_PART, "p", "2026/01/31", ("2026-01-31",)),
        (Extractor.HIVE_STYLE, "p", "p=x", ("x",)),
        (Extractor.HIVE_STYLE, "p", "p=a=b", ("a=b",)),  # Hudi fails
        (Extractor.HIVE_STYLE, "p", "p=__HIVE_DEFAULT_PARTITION__", ("__HIVE_DEFAULT_PARTITION__",)),
        (Extractor.MULTI_PART, "p,q", "x/1", ("x", "1")),
        (Extractor.MULTI_PART, "p,q", "p=x/q=1", ("x", "1")),
        (Extractor.MULTI_PART, "p,q", "a=b/c", ("a=b", "c")),  # Hudi drops what is before the =
        (Extractor.DAY, "p", "2026/01/31", ("2026-01-31",)),
        (Extractor.DAY, "p", "2026/1/3", ("2026-01-03",)),
        (Extractor.DAY, "year,month,day", "year=2026/month=01/day=31", None),
        (Extractor.HOUR, "p", "2026/01/31/05", ("2026-01-31-05",)),
        (Extractor.NONE, "p", "x", ()),
        (Extractor.SINGLE_PART, "p", "", None),
        (Extractor.HIVE_STYLE, "p", "x", None),
        (Extractor.HIVE_STYLE, "p", "p=", None),
        (Extractor.MULTI_PART, "p,q", "x", None),
        (Extractor.MULTI_PART, "p", "x/y", None),
        (Extractor.DAY, "p", "2026/01", None),
        (Extractor.DAY, "p", "2026/13/01", None),
        (Extractor.DAY, "p", "a/b/c", None),
        (Extractor.HOUR, "p", "2026/01/31", None),
    ],
)
def test_each_class_has_its_rule(
    extractor: Extractor, fields: str, path: str, expected: tuple[str, ...] | None
) -> None:
    names = tuple(fields.split(","))
    if expected is not None:
        assert values(extractor, path, *names) == expected
        return
    with pytest.raises(CatalogError, match=f"the partition path {path!r}: expected .*{extractor.value}; name another"):
        values(extractor, path, *names)


def test_hive_style_folders_are_named_whatever_the_name() -> None:
    assert values(Extractor.MULTI_PART, "a=1/b=2", "p", "q", hive_style=True) == ("1", "2")
    assert values(Extractor.DAY, "year=2026/month=1/day=31", hive_style=True) == ("2026-01-31",)


def test_two_paths_with_the_same_values_are_an_error() -> None:
    rule = PartitionValues(("p",), Extractor.SINGLE_PART, hive_style=False)
    with pytest.raises(CatalogError, match="expected different values of p for each partition path, found a-b for"):
        rule.by_values(["a/b", "a-b"])


def test_an_unknown_class_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(UnsupportedFeatureError, match=f"{KEY}: expected one of .*MultiPartKeys.*, found X"):
        hf.open_table(tmp_path / "t", options={KEY: "X"})


@pytest.mark.parametrize(
    "case",
    [
        ([], False, None, (), Extractor.NONE),
        (["p"], False, None, ("p",), Extractor.SINGLE_PART),
        (["p"], True, None, ("p",), Extractor.HIVE_STYLE),
        (["p", "ts"], True, None, ("p", "ts"), Extractor.MULTI_PART),
        (["p"], False, Extractor.DAY.value, ("p",), Extractor.DAY),
        (["p"], False, Extractor.NONE.value, ("p",), Extractor.SINGLE_PART),
        (["p"], False, "com.example.Own", ("p",), Extractor.SINGLE_PART),
        (["p"], False, Extractor.DAY.value, ("year", "month"), Extractor.MULTI_PART),
        (["p"], False, Extractor.DAY.value, (), Extractor.NONE),
    ],
)
def test_the_class_is_that_of_the_table_or_the_one_that_hudi_infers(
    case: tuple[list[str], bool, str | None, tuple[str, ...], Extractor], tmp_path: Path
) -> None:
    partition_by, hive_style, named, fields, expected = case
    style = {"hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower()}
    new_table(tmp_path / "t", partition_by=partition_by, record_key=["k", "v"], options=style)
    if named is not None:
        edit(tmp_path / "t", "hoodie.table.partition_extractor_class", named)
    config = hf.open_table(tmp_path / "t").config
    assert extractor_of(config, None, fields) is expected
    assert extractor_of(config, Extractor.HOUR, fields) is Extractor.HOUR


def test_a_table_that_is_synced_without_partitions_has_no_values() -> None:
    rule = PartitionValues((), Extractor.NONE, hive_style=False)
    assert rule.of("a/b") == ()
    assert rule.by_values(["a", "b"]) == {}


def test_slash_separated_dates_are_days(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    edit(tmp_path / "t", "hoodie.datasource.write.slash.separated.date.partitioning", "true")
    assert extractor_of(hf.open_table(tmp_path / "t").config, None, ("d",)) is Extractor.DAY
