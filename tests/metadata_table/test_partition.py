"""Which blocks make up a partition of the metadata table, and every way in which one is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hudiformat.codec.log.block import encode_block
from hudiformat.codec.log.build import data_block as any_block
from hudiformat.codec.log.build import rollback_block
from hudiformat.errors import (
    CorruptBlockError,
    CorruptTableError,
    HudiFormatError,
    TruncatedBlockError,
    UnsupportedFeatureError,
)
from tests.metadata_table.tables import ALL, FIRST, T1, T2, T3, MadeTable, data_block, version_6


def test_version_6_checks_the_instant_of_each_block(tmp_path: Path) -> None:
    made = version_6(tmp_path)
    made.log(FIRST, data_block(T2, {"p": {"b": 2}}), data_block(T3, {"p": {"c": 3}}), version=2)
    made.complete(T3)
    made.complete(T3, own=True)
    assert made.listed() == {"p": {"a": 1, "c": 3}}
    made.complete(T2)
    made.instant(made.own, f"{T2}.deltacommit.inflight")
    assert made.listed() == {"p": {"a": 1, "c": 3}}
    made.complete(T2, own=True)
    assert made.listed() == {"p": {"a": 1, "b": 2, "c": 3}}


def test_version_6_rolls_back_by_a_block(tmp_path: Path) -> None:
    made = version_6(tmp_path)
    made.log(FIRST, data_block(T2, {"p": {"b": 2}}), version=2)
    made.log(FIRST, encode_block(rollback_block(instant=T3, target=T2)), version=3)
    for time in (T2, T3):
        made.complete(time, own=True)
    assert made.listed() == {"p": {"a": 1}}


def no_properties(table: MadeTable) -> None:
    (table.own / ".hoodie" / "hoodie.properties").unlink()


def damaged_properties(table: MadeTable) -> None:
    (table.own / ".hoodie" / "hoodie.properties").write_text("hoodie.table.version=9")


def no_files(table: MadeTable) -> None:
    for path in table.files.iterdir():
        path.unlink()


def base_file_of_parquet(table: MadeTable) -> None:
    next(table.files.glob("*.hfile")).rename(table.files / f"files-0000-0_0-0-0_{FIRST}.parquet")


def base_file_without_schema(table: MadeTable) -> None:
    table.base(T2, {ALL: {}}, info={})


def base_file_that_breaks_off(table: MadeTable) -> None:
    path = table.base(T2, {ALL: {}})
    path.write_bytes(path.read_bytes()[:-1000])


def corrupt_block(table: MadeTable) -> None:
    table.log(T2, b"#HUDI#junk")
    table.complete(T2, own=True)


def block_of_avro(table: MadeTable) -> None:
    table.log(T2, encode_block(any_block(pa.record_batch({"key": ["p"]}), instant=T2)))
    table.complete(T2, own=True)


def no_list_of_partitions(table: MadeTable) -> None:
    table.base(T2, {"p": {"a": 1}})


def damaged_rollback(table: MadeTable) -> None:
    table.complete(T3, "rollback", data=b"no Avro")


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (no_properties, CorruptTableError, "there is no .hoodie/hoodie.properties, nor its backup"),
        (damaged_properties, CorruptTableError, "hoodie.table.name is missing"),
        (no_files, CorruptTableError, "metadata/files: expected a file slice, found none"),
        (base_file_of_parquet, UnsupportedFeatureError, r"\.parquet: expected an HFile"),
        (base_file_without_schema, CorruptTableError, "expected a schema in its file info"),
        (base_file_that_breaks_off, TruncatedBlockError, "an HFile ends with 4096 bytes"),
        (corrupt_block, CorruptBlockError, r"\.log\.1_0-0-0: "),
        (block_of_avro, UnsupportedFeatureError, "expected blocks of type HFILE_DATA, found AVRO_DATA"),
        (no_list_of_partitions, CorruptTableError, "expected the key __all_partitions__"),
        (damaged_rollback, CorruptTableError, "expected an Avro file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_damage_is_named(
    table: MadeTable, damage: Callable[[MadeTable], None], error: type[HudiFormatError], message: str
) -> None:
    assert table.listed() == {"p": {"a": 1}}
    damage(table)
    with pytest.raises(error, match=message):
        table.listing().partitions()


def test_log_files_after_a_pending_compaction_of_version_6_belong_to_the_slice_before_it(tmp_path: Path) -> None:
    made = version_6(tmp_path)
    assert made.listed() == {"p": {"a": 1}}
    made.instant(made.own, f"{T1}001.compaction.requested")
    assert made.listed() == {"p": {"a": 1}}
    made.log(f"{T1}001", data_block(T2, {ALL: {"p": 0}, "p": {"b": 2}}))
    made.complete(T2, own=True)
    made.complete(T2)
    assert made.listed() == {"p": {"a": 1, "b": 2}}
