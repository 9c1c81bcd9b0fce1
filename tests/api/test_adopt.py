"""Parquet files that are there become a table, with a copy of their rows and without one."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.api import adopt as adopting
from hudiformat.errors import (
    CorruptTableError,
    HudiFormatError,
    OptionError,
    TableExistsError,
    UnsupportedFeatureError,
)
from hudiformat.write.adopting import keys
from tests.tables import Clock, tree

BASE_PATH = "hoodie.bootstrap.base.path"
NESTED = pa.struct([("x", pa.int64()), ("tags", pa.list_(pa.string()))])


def some_rows(prefix: str, count: int = 5, **columns: pa.Array) -> pa.Table:
    made = {
        "id": pa.array([f"{prefix}{number}" for number in range(count)]),
        "v": pa.array(range(count), pa.int64()),
        "ts": pa.array([1] * count, pa.int64()),
        "at": pa.array([datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)] * count, pa.timestamp("us", "UTC")),
        "nest": pa.array([{"x": number, "tags": [str(number)]} for number in range(count)], NESTED),
    }
    return pa.table({**made, **columns})


def write_files(root: Path, folders: list[str], **changes: Any) -> None:
    for number, folder in enumerate(folders):
        (root / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(some_rows(f"{number}-", **changes), root / folder / "part-0.snappy.parquet", row_group_size=2)
        (root / folder / "_SUCCESS").touch()


def reopened(root: Path, **options: str) -> hf.Table:
    return hf.open_table(root / "_hudi", options={BASE_PATH: str(root), "hudiformat.sync": "false", **options})


def values(table: hf.Table, *names: str, **query: Any) -> list[tuple[Any, ...]]:
    found = table.snapshot(columns=list(names), **query)
    return sorted(zip(*(found[name].to_pylist() for name in names), strict=True), key=repr)


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_files_stay_and_are_written_on_in_log_files_and_new_base_files(
    tmp_path: Path, version: int, table_type: str
) -> None:
    write_files(tmp_path, ["day=2024-01-01", "day=2024-01-02"])
    before = tree(tmp_path)
    clock = Clock()
    table = hf.adopt(
        tmp_path,
        record_key="id",
        partition_by="day",
        ordering="ts",
        copy=False,
        table_type=table_type,
        version=version,
        options={"hudiformat.sync": "false"},
        clock=clock,
    )
    assert table.path == str(tmp_path / "_hudi")
    own = pa.concat_tables(some_rows(f"{number}-") for number in (0, 1)).to_pylist()
    found = table.snapshot().to_pylist()
    assert [{name: row[name] for name in own[0]} for row in sorted(found, key=lambda row: str(row["id"]))] == own
    assert {row["_hoodie_commit_time"] for row in found} == {"00000000000001"}
    assert table.verify() == []
    first = table.upsert(some_rows("0-", 2, v=pa.array([70, 71]), ts=pa.array([2, 2]), day=days(1, 2)))
    table.upsert(some_rows("2-", 1, day=days(2, 1)))
    table.delete(pa.table({"id": ["1-4"], "day": days(2, 1)}))
    expected = sorted([("0-0", 70), ("0-1", 71), *(("0-" + str(n), n) for n in (2, 3, 4)), ("2-0", 0)])
    expected = sorted([*expected, *((f"1-{n}", n) for n in range(4))])
    assert values(table, "id", "v") == expected
    assert table.incremental(first).num_rows == 1
    assert len(values(table, "id", as_of="00000000000001")) == 10
    if table_type == "MERGE_ON_READ":
        table.compact()
    table.cluster()
    table.clean()
    assert values(table, "id", "v") == expected
    assert {day for (day,) in values(table, "day", filter="id = '2-0'")} == {"2024-01-02"}
    assert table.verify() == []
    assert {path: before[path] for path in before} == {path: tree(tmp_path)[path] for path in before}


def days(day: int, count: int) -> pa.Array:
    return pa.array([f"2024-01-{day:02d}"] * count)


def test_a_stored_partition_value_is_in_the_files_that_take_the_place_of_a_source_file(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    table = hf.adopt(tmp_path, record_key="id", partition_by="p", ordering="ts")
    table.upsert(some_rows("0-", 1, ts=pa.array([2]), p=pa.array(["x"])))
    assert values(reopened(tmp_path), "p") == [("x",)] * 5
    newest = max((tmp_path / "_hudi" / "p=x").glob("*.parquet"), key=lambda path: path.name.rpartition("_")[2])
    assert pq.read_table(newest, partitioning=None)["p"].to_pylist() == ["x"] * 5


@pytest.mark.parametrize(
    ("folders", "by", "names"),
    [
        (["x", "y"], ["p"], ["x", "y"]),
        (["y=2024/m=1", "y=2024/m=2"], ["y", "m"], ["y=2024/m=1", "y=2024/m=2"]),
        ([""], [], [""]),
        (["p=a%3Ab", "p=__HIVE_DEFAULT_PARTITION__"], ["p"], ["p=__HIVE_DEFAULT_PARTITION__", "p=a%3Ab"]),
    ],
)
def test_folders_of_every_form_are_partitions(
    tmp_path: Path, folders: list[str], by: list[str], names: list[str]
) -> None:
    write_files(tmp_path, folders)
    key = "id" if len(by) < 2 else ["id", "v"]
    planned = hf.plan_adoption(tmp_path, record_key=key, partition_by=by)
    assert (planned.partitions, planned.files, planned.copied_because) == (tuple(names), len(folders), None)
    planned.check()
    assert not (tmp_path / "_hudi").exists()
    table = hf.adopt(tmp_path, record_key=key, partition_by=by)
    assert table.count() == 5 * len(folders)
    assert table.snapshot(columns=["v"], filter="v >= 3").num_rows == 2 * len(folders)
    assert table.partitions() == names
    told = {row[0] for row in values(table, "p")} if by == ["p"] else set()
    assert told <= {"x", "y", "a:b", None}
    assert table.verify() == []


def test_a_metadata_table_lists_the_skeleton_files_and_has_statistics_of_the_rows(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x", "p=y"])
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    table = hf.adopt(tmp_path, record_key="id", partition_by="p", options=options)
    assert table.config.metadata_partitions == ("column_stats", "files", "partition_stats")
    explained = table.scan(filter="id = '0-3'").explain()
    assert len([one for one in explained.slices if one.left_out_by is None]) == 1
    table.upsert(some_rows("0-", 1, p=pa.array(["x"])))
    assert table.verify() == []


def test_columns_that_only_some_files_have_are_null_in_the_others(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    write_files(tmp_path, ["p=y"], more=pa.array([1] * 5))
    for path in tmp_path.rglob("p=y/*.parquet"):
        pq.write_table(some_rows("1-", more=pa.array([1] * 5)), path)
    table = hf.adopt(tmp_path, record_key="id", partition_by="p")
    assert values(table, "p", "more") == [("x", None)] * 5 + [("y", 1)] * 5


def test_rows_without_a_key_get_one(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x", "p=y"])
    table = hf.adopt(tmp_path, record_key=[], partition_by="p")
    assert len(set(values(table, "_hoodie_record_key"))) == 10


def test_a_source_file_is_read_only_where_the_user_has_named_its_folder(tmp_path: Path) -> None:
    write_files(tmp_path / "files", ["p=x"])
    hf.adopt(tmp_path / "files", record_key="id", partition_by="p", into=str(tmp_path / "table"))
    with pytest.raises(UnsupportedFeatureError, match=r"open the table with the option hoodie.bootstrap.base.path="):
        hf.open_table(tmp_path / "table").snapshot()
    assert hf.open_table(tmp_path / "table").history().num_rows == 1
    (tmp_path / "files").rename(tmp_path / "moved")
    moved = hf.open_table(tmp_path / "table", options={BASE_PATH: str(tmp_path / "moved")})
    assert moved.count() == moved.snapshot().num_rows == 5
    plain = hf.create_table(tmp_path / "plain", name="t", schema=pa.schema([("k", pa.string())]), record_key="k")
    with pytest.raises(OptionError, match="the table was not bootstrapped"):
        hf.open_table(plain.path, options={BASE_PATH: str(tmp_path)})


def test_a_source_file_that_was_changed_is_an_error(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    hf.adopt(tmp_path, record_key="id", partition_by="p")
    pq.write_table(some_rows("0-", 6), tmp_path / "p=x" / "part-0.snappy.parquet")
    with pytest.raises(CorruptTableError, match=r"and 5 rows with which the table was bootstrapped, found one of"):
        reopened(tmp_path).snapshot()
    (tmp_path / "p=x" / "part-0.snappy.parquet").unlink()
    with pytest.raises(HudiFormatError, match="part-0.snappy.parquet"):
        reopened(tmp_path).snapshot()


def test_a_table_that_has_lost_its_index_or_the_property_that_names_its_files_is_an_error(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    hf.adopt(tmp_path, record_key="id", partition_by="p")
    properties = tmp_path / "_hudi" / ".hoodie" / "hoodie.properties"
    text = properties.read_text()
    properties.write_text("\n".join(line for line in text.splitlines() if "bootstrap.base.path" not in line))
    with pytest.raises(CorruptTableError, match="found one with meta fields only, and no source file"):
        hf.open_table(tmp_path / "_hudi").snapshot()
    properties.write_text(text)
    for path in tmp_path.rglob(".fileids/*.hfile"):
        path.unlink()
    with pytest.raises(CorruptTableError, match="expected an index that names its source file"):
        reopened(tmp_path).snapshot()


UNSIGNED = {"u": pa.array([1, 2, 3, 4, 2**31], pa.uint32())}
MILLISECONDS = {"m": pa.array([datetime(2024, 1, 1)] * 5, pa.timestamp("ms"))}


@pytest.mark.parametrize("columns", [UNSIGNED, MILLISECONDS])
def test_rows_that_hudi_could_not_read_where_they_are_are_copied(tmp_path: Path, columns: dict[str, pa.Array]) -> None:
    write_files(tmp_path, ["p=x"], **columns)
    (name,) = columns
    with pytest.raises(
        UnsupportedFeatureError, match=rf"its column {name} is of type .*, which a table of Hudi has not"
    ):
        hf.plan_adoption(tmp_path, record_key="id", partition_by="p", copy=False)
    planned = hf.plan_adoption(tmp_path, record_key="id", partition_by="p")
    assert planned.copied_because is not None
    table = planned.run()
    assert sorted(value for (value,) in values(hf.open_table(table.path), name)) == sorted(columns[name].to_pylist())


def test_rows_are_copied_if_that_is_asked_for(tmp_path: Path) -> None:
    write_files(tmp_path / "files", ["p=x", "p=y"])
    done: list[int] = []
    planned = hf.plan_adoption(
        tmp_path / "files", record_key="id", partition_by="p", copy=True, into=str(tmp_path / "table")
    )
    planned.run(done.append)
    assert done[-1] == planned.size
    table = hf.open_table(tmp_path / "table")
    assert (table.count(), table.config.bootstrap_base_path, table.verify()) == (10, None, [])
    assert table.partitions() == ["p=x", "p=y"]


def refused(path: Path, **changes: Any) -> str:
    before = {name: data for name, data in tree(path).items() if not name.startswith("_hudi")}
    arguments: dict[str, Any] = {"record_key": "id", "partition_by": "p", **changes}
    with pytest.raises(HudiFormatError) as caught:
        hf.adopt(path, **arguments)
    left = {name: data for name, data in tree(path).items() if not name.startswith("_hudi")}
    assert left == before
    assert not (path / "_hudi" / ".hoodie" / "hoodie.properties").exists()
    return f"{type(caught.value).__name__}: {caught.value}"


def test_keys_that_occur_twice_in_a_partition_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, ["p=x", "p=y"])
    pq.write_table(some_rows("0-", 2), tmp_path / "p=x" / "part-1.parquet")
    pq.write_table(some_rows("1-", 2), tmp_path / "p=x" / "part-2.parquet")  # the same keys as in another partition
    expected = "found 2 keys in several rows, such as '0-0' in 'p=x', '0-1' in 'p=x'; name more columns"
    assert expected in refused(tmp_path)
    monkeypatch.setattr(keys, "_ROWS_TOGETHER", 3)
    assert "found 2 keys in several rows, such as '0-" in refused(tmp_path)


def test_a_null_key_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"], id=pa.array(["a", None, "c", "d", "e"]))
    assert "DataError: record key id: null or empty in 1 of 5 rows" in refused(tmp_path)


def test_a_column_of_two_types_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    write_files(tmp_path, ["p=y"], v=pa.array(["a"] * 5))
    assert "SchemaError" in refused(tmp_path)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ([], r"found it in 1; partition_by=['p'] would fit its folders"),
        (["q"], "expected folders of q, found p; give partition_by= in the order of the folders"),
        (["p", "q"], "expected a file in 2 folders, one for each partition column, found it in 1"),
    ],
)
def test_folders_that_do_not_fit_the_partition_columns_are_refused(
    tmp_path: Path, by: list[str], expected: str
) -> None:
    write_files(tmp_path, ["p=x"])
    assert expected in refused(tmp_path, partition_by=by)


def test_rows_in_the_folder_of_another_partition_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, ["x"], p=pa.array(["x", "x", "y", "x", "x"]))
    assert "expected rows of the partition 'x', found rows whose p belong to 'y'" in refused(tmp_path)


def test_folders_of_two_styles_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x", "y"])
    assert "expected folders that are all named like p=value, or none" in refused(tmp_path)


def test_files_that_are_no_plain_parquet_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path).startswith("StorageError")
    write_files(tmp_path, ["p=x"])
    (tmp_path / "p=x" / "more.csv").write_text("id\n1\n")
    assert "expected Parquet files whose names end in .parquet" in refused(tmp_path)
    (tmp_path / "p=x" / "more.csv").rename(tmp_path / "p=x" / "more.parquet")
    assert refused(tmp_path).startswith("CorruptTableError")
    pq.write_table(some_rows("9-", 1, _hoodie_commit_time=pa.array(["1"])), tmp_path / "p=x" / "more.parquet")
    assert "found the column _hoodie_commit_time" in refused(tmp_path)


def test_a_folder_that_is_no_place_for_a_table_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    assert refused(tmp_path, into=str(tmp_path / "p=x")).startswith("OptionError: into:")
    (tmp_path / "_hudi").mkdir()
    (tmp_path / "_hudi" / "a file").touch()
    assert "expected an empty folder for the table, found a file in it" in refused(tmp_path)
    (tmp_path / "_hudi" / "a file").unlink()
    hf.adopt(tmp_path, record_key="id", partition_by="p")
    with pytest.raises(TableExistsError):
        hf.adopt(tmp_path, record_key="id", partition_by="p")


def test_a_record_index_of_rows_that_stay_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    options = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
    assert "expected no record index for rows that are not copied" in refused(tmp_path, options=options)
    table = hf.adopt(tmp_path, record_key="id", partition_by="p")
    with pytest.raises(UnsupportedFeatureError, match="record index"):
        table.create_index("record_index")
    table = hf.adopt(tmp_path, record_key="id", partition_by="p", options=options, copy=True, into=f"{tmp_path}/_copy")
    assert "record_index" in table.config.metadata_partitions


def test_a_stopped_adoption_leaves_no_table_and_the_next_one_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, ["p=x", "p=y"])
    with monkeypatch.context() as patch:
        patch.setattr(adopting, "encode_bootstrap_index", lambda *_args, **_options: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hf.adopt(tmp_path, record_key="id", partition_by="p")
    with pytest.raises(HudiFormatError):
        hf.open_table(tmp_path / "_hudi")
    table = hf.adopt(tmp_path, record_key="id", partition_by="p")
    assert (table.count(), table.verify()) == (10, [])
    assert len(list((tmp_path / "_hudi").rglob("*_00000000000001.parquet"))) == 2


def test_partition_columns_that_only_paths_have_are_texts_and_in_a_copy_what_their_values_are(tmp_path: Path) -> None:
    write_files(tmp_path, ["n=1/d=2024-01-05/t=01", "n=20000000000/d=2024-02-05/t=2"])
    key, by = ["id", "v"], ["n", "d", "t"]
    table = hf.adopt(tmp_path, record_key=key, partition_by=by)
    assert values(table, *by, filter="n = '1'") == [("1", "2024-01-05", "01")] * 5
    copied = hf.adopt(tmp_path, record_key=key, partition_by=by, copy=True, into=str(tmp_path / "_copy"))
    assert [copied.schema.field(name).type for name in by] == [pa.int64(), pa.date32(), pa.string()]
    assert values(copied, *by, filter="n = 1") == [(1, date(2024, 1, 5), "01")] * 5
    assert copied.partitions() == table.partitions()


@pytest.mark.parametrize(("version", "to"), [(6, 9), (9, 6)])
def test_an_adopted_table_changes_its_version(tmp_path: Path, version: int, to: int) -> None:
    write_files(tmp_path, ["p=x"])
    table = hf.adopt(tmp_path, record_key="id", partition_by="p", ordering="ts", version=version)
    table.upsert(some_rows("0-", 1, v=pa.array([9]), ts=pa.array([2]), p=pa.array(["x"])))
    before = values(table, "id", "v", "p")
    table.change_version(to)
    table = reopened(tmp_path)
    assert (table.config.version, values(table, "id", "v", "p"), table.verify()) == (to, before, [])
    key = f"hoodie.bootstrap.index.{'type' if to == 9 else 'class'}"
    assert key in table.config.properties


def test_a_repair_does_not_take_rows_of_source_files_for_lost(tmp_path: Path) -> None:
    write_files(tmp_path, ["p=x"])
    table = hf.adopt(tmp_path, record_key="id", partition_by="p", ordering="ts", table_type="MERGE_ON_READ")
    assert hf.repair_table(table.path, apply=True).steps == ()
    (tmp_path / "elsewhere").mkdir()
    lost = {BASE_PATH: str(tmp_path / "elsewhere")}
    assert len(hf.open_table(table.path, options=lost).verify()) == 1
    with pytest.raises(UnsupportedFeatureError, match="to repair a file group, found a base file of a bootstrap"):
        hf.repair_table(table.path, apply=True, options=lost)
    assert reopened(tmp_path).count() == 5
