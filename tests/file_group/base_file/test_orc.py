"""Base files in ORC: what is read, what is written, and what is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from hudiformat import Table, create_table, open_table
from hudiformat.errors import CorruptTableError, DataError, OptionError, SchemaError, UnsupportedFeatureError
from hudiformat.file_group.base_file.filters import HIGHEST
from hudiformat.file_group.base_file.format import format_of
from hudiformat.file_group.base_file.orc import OrcBaseFile
from hudiformat.storage.local import LocalStorage
from tests.foreign import foreign_tables

ORC = {"hoodie.table.base.file.format": "ORC"}
NOON = dt.datetime(2024, 7, 1, 12, 0, 0, 345_678, tzinfo=dt.timezone.utc)
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("o", pa.int64()),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("ok", pa.bool_()),
        ("amount", pa.decimal128(30, 5)),
        ("day", pa.date32()),
        ("millis", pa.timestamp("ms", "UTC")),
        ("at", pa.timestamp("us", "UTC")),
        ("time", pa.time64("us")),
        ("bytes", pa.binary()),
        ("fixed", pa.binary(3)),
        ("inner", pa.struct([("at", pa.timestamp("us", "UTC")), ("times", pa.list_(pa.time64("us")))])),
        ("l", pa.list_(pa.struct([("fixed", pa.binary(2))]))),
        ("m", pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
    ]
)


def rows(numbers: range, *, order: int = 0) -> pa.Table:
    found = []
    for number in numbers:
        at = NOON + dt.timedelta(days=number)
        values: Mapping[str, object] = {
            "k": f"k{number:06d}",
            "o": order,
            "i": number,
            "f": number / 2,
            "d": number / 3,
            "ok": number % 2 == 0,
            "amount": Decimal(number) / 100_000,
            "day": dt.date(1500, 1, 1) + dt.timedelta(days=number),
            "millis": at.replace(microsecond=345_000),
            "at": at,
            "time": dt.time(1, 2, 3, number % 1000),
            "bytes": bytes(range(number % 5)),
            "fixed": b"abc",
            "inner": {"at": at, "times": [dt.time(4, 5, 6, 7)] * (number % 3)},
            "l": [{"fixed": b"xy"}] * (number % 2),
            "m": [("x", at)],
        }
        is_null = number % 5 == 4
        found.append({name: None if is_null and name not in ("k", "o") else one for name, one in values.items()})
    return pa.Table.from_pylist(found, SCHEMA)


def new_table(path: Path, schema: pa.Schema = SCHEMA, **options: str) -> Table:
    return create_table(
        path,
        name="t",
        schema=schema,
        record_key="k",
        ordering="o",
        table_type="COPY_ON_WRITE",
        options={**ORC, **{key.replace("__", "."): value for key, value in options.items()}},
    )


def base_paths(table: Table) -> list[str]:
    return [str(one.base_file.name) for one in table.file_slices() if one.base_file is not None]


def sorted_rows(table: Table) -> pa.Table:
    return table.snapshot().sort_by("k")


@pytest.mark.parametrize("name", foreign_tables.names("orc"))
def test_tables_of_hudi_have_the_rows_that_hudi_reads(name: str, tmp_path: Path) -> None:
    """Also if the JVM that wrote them, and the one that read them, was in New York."""
    found = foreign_tables.unpack(name, tmp_path)
    table = open_table(found.path)
    expected = found.rows("snapshot").sort_by("k")
    assert sorted_rows(table).select(expected.column_names).to_pylist() == expected.to_pylist()
    assert table.verify() == []


def test_all_types_are_read_as_they_were_written(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(range(20)))
    table.upsert(rows(range(15, 25), order=1))
    expected = pa.concat_tables([rows(range(15)), rows(range(15, 25), order=1)])
    assert sorted_rows(table).select(SCHEMA.names).equals(expected)
    assert table.verify() == []
    assert {name.rpartition(".")[2] for name in base_paths(table)} == {"orc"}


def test_the_footer_has_what_hudi_s_has(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(range(20)))
    file = orc.ORCFile(tmp_path / "t" / base_paths(table)[0])
    texts = {name.decode(): text.decode() for name, text in (file.metadata or {}).items()}
    assert set(texts) == {
        "orc.avro.schema",
        "org.apache.hudi.bloomfilter",
        "hoodie_min_record_key",
        "hoodie_max_record_key",
    }
    assert texts["hoodie_max_record_key"] == "k000019"
    kinds = {field.name: field.type for field in file.schema}
    assert (kinds["time"], kinds["fixed"], kinds["at"]) == (pa.int64(), pa.binary(), pa.timestamp("ns"))


@pytest.mark.parametrize("codec", ["zlib", "snappy", "zstd", "none"])
def test_files_have_the_compression_of_the_option(codec: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", hoodie__orc__compression__codec=codec)
    table.insert(rows(range(20)))
    found = orc.ORCFile(tmp_path / "t" / base_paths(table)[0]).compression
    assert found.lower().replace("uncompressed", "none") == codec
    assert sorted_rows(table).num_rows == 20


def test_an_empty_file_has_its_columns_and_its_texts(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(range(3)))
    table.delete(where="o = 0")
    assert table.count() == 0
    assert table.snapshot(columns=["k", "at"]).schema == pa.schema([SCHEMA.field("k"), SCHEMA.field("at")])
    assert table.verify() == []


def test_large_files_are_read_stripe_by_stripe_and_in_batches(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", hoodie__parquet__max__file__size="4000000")
    table.insert(rows(range(60_000)))
    storage = LocalStorage(tmp_path / "t")
    path = max(base_paths(table), key=lambda one: (tmp_path / "t" / one).stat().st_size)
    with format_of(path).open(storage, path) as file:
        assert isinstance(file, OrcBaseFile)
        assert len(file.group_rows) > 1
        batches = list(file.batches(["k", "at"], batch_rows=1000))
        assert max(one.num_rows for one in batches) == 1000
        assert sum(one.num_rows for one in batches) == sum(file.group_rows)
        assert [one.num_rows for one in file.batches([], groups=[0], batch_rows=1 << 30)] == [file.group_rows[0]]
        assert file.highest(0, SCHEMA.field("i")) == HIGHEST
        assert file.statistics(SCHEMA, ["i", "none"]) == ({}, ("i",))
    assert table.count() == 60_000
    assert table.snapshot(filter="i = 777", columns=["k"])["k"].to_pylist() == ["k000777"]


def test_rows_are_clustered(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", hoodie__parquet__small__file__limit="0")
    table.insert(rows(range(10)))
    table.insert(rows(range(10, 20)))
    table.cluster()
    assert len(base_paths(table)) == 1
    assert sorted_rows(table).select(SCHEMA.names).equals(rows(range(20)))


def test_an_old_file_is_read_under_a_wider_schema(tmp_path: Path) -> None:
    narrow = pa.schema([("k", pa.string()), ("o", pa.int64()), ("i", pa.int32())])
    table = new_table(tmp_path / "t", narrow, hoodie__parquet__small__file__limit="0")
    table.insert(pa.table({"k": ["a"], "o": [1], "i": [7]}, schema=narrow))
    wide = narrow.set(2, pa.field("i", pa.int64()))
    table.insert(pa.table({"k": ["b"], "o": [1], "i": [1 << 40]}, schema=wide))
    assert sorted_rows(table)["i"].to_pylist() == [7, 1 << 40]


# Time zones


def write_in(zone: str, path: Path, moments: list[str]) -> None:
    """A file of another writer, with *moments* by clocks of *zone*, a name of three letters."""
    sink = pa.BufferOutputStream()
    values = pa.array([dt.datetime.fromisoformat(one) for one in moments], pa.timestamp("us"))
    with orc.ORCWriter(sink, compression="uncompressed") as writer:
        writer.write(pa.table({"t": values}))
    path.write_bytes(sink.getvalue().to_pybytes().replace(b"GMT", zone.encode()))


def times_in(path: Path) -> list[dt.datetime]:
    with format_of(path.name).open(LocalStorage(path.parent), path.name) as file:
        assert file.schema.field("t").type == pa.timestamp("us", "UTC")
        return [one.as_py() for batch in file.batches(["t"], batch_rows=10) for one in batch.column("t")]


def test_timestamps_are_read_by_the_clocks_of_the_writer(tmp_path: Path) -> None:
    """Timestamps are stored as seconds from 2015 began in the zone: from 23:00 of the day before, by UTC."""
    write_in("CET", tmp_path / "a.orc", ["2024-01-01T11:00", "2024-07-01T11:00"])
    assert times_in(tmp_path / "a.orc") == [
        dt.datetime(2024, 1, 1, 10, tzinfo=dt.timezone.utc),
        dt.datetime(2024, 7, 1, 10, tzinfo=dt.timezone.utc),
    ]


def test_an_hour_that_the_clocks_repeat_is_refused_by_name(tmp_path: Path) -> None:
    write_in("CET", tmp_path / "a.orc", ["2024-10-27T01:30"])
    with pytest.raises(UnsupportedFeatureError, match="column t: expected timestamps that clocks of CET, .* once"):
        times_in(tmp_path / "a.orc")


def test_timestamps_beyond_nanoseconds_are_refused_by_name_and_the_file_is_not_called_damaged(tmp_path: Path) -> None:
    write_in("GMT", tmp_path / "a.orc", ["2263-01-01T00:00"])
    with pytest.raises(UnsupportedFeatureError, match="expected timestamps from 1677-09-22 to 2262-04-11"):
        times_in(tmp_path / "a.orc")


@pytest.mark.parametrize("moment", ["2262-04-12T00:00:00+00:00", "1677-09-21T00:00:00+00:00"])
def test_timestamps_beyond_nanoseconds_are_not_written(moment: str, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("o", pa.int64()), ("l", pa.list_(pa.timestamp("us", "UTC")))])
    table = new_table(tmp_path / "t", schema)
    row = {"k": ["a"], "o": [1], "l": [[dt.datetime.fromisoformat(moment)]]}
    with pytest.raises(DataError, match="column l: expected timestamps from 1677-09-22 to 2262-04-11"):
        table.insert(pa.table(row, schema=schema))
    assert table.count() == 0


@pytest.mark.parametrize("nested", ["at", "inner", "m"])
def test_fractions_of_seconds_before_1970_are_not_written(nested: str, tmp_path: Path) -> None:
    kinds = {
        "at": pa.timestamp("ms", "UTC"),
        "inner": pa.struct([("x", pa.timestamp("us", "UTC"))]),
        "m": pa.map_(pa.string(), pa.timestamp("us", "UTC")),
    }
    at = dt.datetime(1969, 12, 31, 23, 59, 59, 1000, tzinfo=dt.timezone.utc)
    schema = pa.schema([("k", pa.string()), ("o", pa.int64()), (nested, kinds[nested])])
    values = {"at": [at, None], "inner": [{"x": at}, None], "m": [[("x", at)], None]}
    table = new_table(tmp_path / "t", schema)
    with pytest.raises(DataError, match=f"column {nested}.*: expected timestamps of whole seconds before 1970"):
        table.insert(pa.table({"k": ["a", "b"], "o": [1, 1], nested: values[nested]}, schema=schema))
    whole = at.replace(microsecond=0)
    values = {"at": [whole, None], "inner": [{"x": whole}, None], "m": [[("x", whole)], None]}
    table.insert(pa.table({"k": ["a", "b"], "o": [1, 1], nested: values[nested]}, schema=schema))
    assert sorted_rows(table)[nested].to_pylist() == values[nested]


# Refusals


LOCAL = pa.schema([("k", pa.string()), ("o", pa.int64()), ("s", pa.struct([("at", pa.timestamp("us"))]))])


def test_local_timestamps_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match="the column s: .*found local timestamps in base files of format ORC"
    ):
        new_table(tmp_path / "t", LOCAL)
    assert not (tmp_path / "t").exists()
    table = new_table(tmp_path / "u", LOCAL.remove(2))
    with pytest.raises(UnsupportedFeatureError, match="local timestamps in base files of format ORC"):
        table.insert(pa.table({"k": ["a"], "o": [1], "s": [{"at": NOON.replace(tzinfo=None)}]}, schema=LOCAL))
    with pytest.raises(UnsupportedFeatureError, match="local timestamps in base files of format ORC"):
        table.evolve(add={"s": LOCAL.field("s").type})
    assert table.history().num_rows == 0


def test_a_table_of_hudi_with_local_timestamps_is_not_written(tmp_path: Path) -> None:
    table = create_table(tmp_path / "t", name="t", schema=LOCAL, record_key="k", table_type="COPY_ON_WRITE")
    properties = tmp_path / "t/.hoodie/hoodie.properties"
    properties.write_text(properties.read_text().replace("base.file.format=PARQUET", "base.file.format=ORC"))
    with pytest.raises(UnsupportedFeatureError, match="local timestamps in base files of format ORC"):
        open_table(tmp_path / "t").insert(pa.table({"k": ["a"], "o": [1], "s": [None]}, schema=LOCAL))
    assert table.count() == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"hoodie.table.base.file.format": "HFILE"},
            UnsupportedFeatureError,
            "expected one of PARQUET, ORC, found HFILE",
        ),
        ({"hoodie.base.file.format": "csv"}, OptionError, "expected one of PARQUET, ORC, found csv"),
        ({**ORC, "hoodie.base.file.format": "parquet"}, OptionError, "found ORC and parquet"),
    ],
)
def test_other_formats_are_refused(
    options: dict[str, str], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        create_table(tmp_path / "t", name="t", schema=SCHEMA, record_key="k", options=options)
    assert not (tmp_path / "t").exists()


def test_a_write_cannot_ask_for_another_format_than_the_table_has(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    open_table(tmp_path / "t", options={"hoodie.base.file.format": "orc"})
    with pytest.raises(OptionError, match="expected 'ORC', as in the table's properties, found 'PARQUET'"):
        open_table(tmp_path / "t", options={"hoodie.base.file.format": "PARQUET"}).insert(rows(range(1)))


@pytest.mark.parametrize("cut", [10, 200])
def test_a_damaged_file_is_named(cut: int, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.insert(rows(range(20)))
    path = tmp_path / "t" / base_paths(table)[0]
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(CorruptTableError, match=f"{path.name}: not a readable base file"):
        table.snapshot()
    assert any(path.name in str(one.path) for one in table.verify())


def test_damage_within_a_stripe_is_named(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", hoodie__orc__compression__codec="zlib")
    table.insert(rows(range(2000)))
    path = tmp_path / "t" / base_paths(table)[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 400] = b"\xff" * 400
    path.write_bytes(data)
    with pytest.raises((CorruptTableError, SchemaError, DataError), match=path.name):
        table.snapshot()
