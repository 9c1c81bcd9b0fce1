"""What Polars finds in a lazy frame is what it finds in the rows, whichever part of a predicate is pushed down."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

import hudiformat as hf
from hudiformat.api.lazy import SnapshotRows, _source, frame_of
from hudiformat.api.reading import context_of
from hudiformat.conditions.filters import match_rows
from hudiformat.conditions.polars_predicates import implied_by_predicate
from hudiformat.polars import scan_hudi
from hudiformat.read.plan import take_snapshot
from hudiformat.read.scan import Batches
from tests.effort import BUSY, examples
from tests.requests import RecordingStorage, data_files
from tests.tables import rows, table_to_merge

UTC = dt.timezone.utc
NOON = dt.datetime(2024, 1, 31, 12)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [-5, 0, 1, 2, 2**31 - 1]),
    "l": (pa.int64(), [-(2**63), -1, 0, 2**53, 2**53 + 1]),
    "f": (pa.float64(), [-0.0, 0.0, 0.1, 2.5, float("nan"), float("inf"), float("-inf")]),
    "g": (pa.float32(), [-0.0, 0.10000000149011612, 2.5, float("nan")]),
    "s": (pa.string(), ["", "a", "ab", "b", "ä", "\U0001f600"]),
    "y": (pa.binary(), [b"", b"a", b"\xff"]),
    "b": (pa.bool_(), [True, False]),
    "d": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 1, 31), dt.date(2024, 2, 29)]),
    "t": (pa.timestamp("us"), [NOON, NOON + dt.timedelta(microseconds=1), dt.datetime(1969, 1, 1)]),
    "z": (pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=UTC), dt.datetime(1969, 1, 1, tzinfo=UTC)]),
    "ms": (pa.timestamp("ms"), [NOON, NOON + dt.timedelta(milliseconds=1)]),
    "o": (pa.time64("us"), [dt.time(0), dt.time(3, 4, 5, 6)]),
    "m": (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("1.25"), Decimal("99999999.99")]),
}
LITERALS: dict[str, list[Any]] = {
    "i": [1.5, 3, -(2**40)],
    "l": [2**53 + 1, 0.5],
    "f": [1, 0.1],
    "g": [0.1, 2],
    "ms": [NOON + dt.timedelta(microseconds=1)],
    "d": [NOON],
    "m": [Decimal("1.255"), 1, 1.25],
}
"""Further values to compare with: those that a column nearly has, or cannot have."""
LONGEST = max(len(values) for _, values in VALUES.values()) + 1
SOME = pa.table(
    {
        name: pa.array([values[n % len(values)] if n else None for n in range(LONGEST)], kind)
        for name, (kind, values) in VALUES.items()
    }
    | {
        "x": pa.array(
            [None if n == 1 else {"n": n if n % 2 else None} for n in range(LONGEST)], pa.struct([("n", pa.int64())])
        )
    }
)


class Rows:
    """Rows that a lazy frame reads as a table's, and note the filters."""

    def __init__(self, found: pa.Table) -> None:
        self.found = found
        self.asked: list[tuple[Sequence[str], pc.Expression | None]] = []

    @property
    def schema(self) -> pa.Schema:
        return self.found.schema

    def divide(self, columns: Sequence[str], filter: pc.Expression | None) -> tuple[Sequence[str], Batches]:
        self.asked.append((columns, filter))
        kept = self.found if filter is None else self.found.filter(match_rows(self.found, filter))
        chosen = kept.select(columns)
        return [], (batch for batch in chosen.to_batches(max_chunksize=3))


def literals(name: str) -> st.SearchStrategy[Any]:
    return st.sampled_from([*VALUES[name][1], *LITERALS.get(name, [])])


OPERATORS: list[Callable[[pl.Expr, Any], pl.Expr]] = [
    pl.Expr.eq, pl.Expr.ne, pl.Expr.lt, pl.Expr.le, pl.Expr.gt, pl.Expr.ge, pl.Expr.eq_missing, pl.Expr.ne_missing,
    lambda column, value: pl.lit(value) < column,
    lambda column, value: pl.lit(value).eq(column),
]  # fmt: skip


@st.composite
def leaves(draw: st.DrawFn) -> pl.Expr:
    name = draw(st.sampled_from(list(VALUES)))
    column = pl.col(name)
    kind = draw(st.integers(0, 9))
    if kind <= 4:
        return draw(st.sampled_from(OPERATORS))(column, draw(literals(name)))
    own = st.sampled_from(VALUES[name][1])
    if kind == 5:
        values = draw(st.lists(own | st.none(), min_size=1, max_size=3))
        return column.is_in(values, nulls_equal=draw(st.booleans()))
    if kind == 6:
        return column.is_between(draw(own), draw(own), closed=draw(st.sampled_from(["both", "left", "right", "none"])))
    if kind == 7:
        return draw(st.sampled_from([column.is_null(), column.is_not_null()]))
    return draw(
        st.sampled_from(
            [
                pl.col("b"),
                pl.col("f").is_nan(),
                pl.col("g").is_not_nan(),
                pl.col("s").str.starts_with("a"),
                pl.col("s").str.starts_with(""),
                pl.col("x").struct.field("n") >= 3,
                pl.col("x").struct.field("n").is_null(),
                pl.col("i") + 1 > 1,
                pl.col("i") < pl.col("l"),
                pl.col("s").str.contains("b$"),
                pl.col("i").cast(pl.Float64) > 0,
                pl.col("l") > pl.lit(None),
                pl.lit(value=True),
                pl.col("b") ^ pl.col("f").is_nan(),
            ]
        )
    )


def joined(parts: st.SearchStrategy[pl.Expr]) -> st.SearchStrategy[pl.Expr]:
    two = st.tuples(parts, parts)
    return parts.map(pl.Expr.not_) | two.map(lambda both: both[0] & both[1]) | two.map(lambda both: both[0] | both[1])


predicates = st.recursive(leaves(), joined, max_leaves=4)


@given(predicate=predicates)
@settings(max_examples=examples(1000), suppress_health_check=BUSY, deadline=None)
def test_a_lazy_frame_finds_what_polars_finds_in_the_rows(predicate: pl.Expr) -> None:
    lazy = frame_of(Rows(SOME))
    try:
        expected = pl.DataFrame(SOME).filter(predicate)
    except pl.exceptions.PolarsError:
        return
    implied = implied_by_predicate(predicate, SOME.schema)
    if implied is not None:
        assert_frame_equal(pl.DataFrame(SOME.filter(match_rows(SOME, implied))).filter(predicate), expected)
    assert_frame_equal(lazy.filter(predicate).collect(), expected)
    assert lazy.filter(predicate).select(pl.len()).collect().item() == expected.height
    limited = lazy.head(4).filter(predicate).collect()
    assert_frame_equal(limited, pl.DataFrame(SOME).head(4).filter(predicate))
    assert_frame_equal(lazy.filter(predicate).head(2).select("s").collect(), expected.head(2).select("s"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[hf.Table]:
    """Tables of which Polars scans the files, of which it gets the files of partitions, and whose rows are replaced."""
    kinds: list[dict[str, Any]] = [{}, {"partition_by": "p"}, {"table_type": "MERGE_ON_READ"}]
    keys = pa.array(range(LONGEST))
    found = SOME.append_column("k", keys).append_column("p", pa.array(["xy"[n % 2] for n in range(LONGEST)]))
    made = []
    for number, kind in enumerate(kinds):
        path = tmp_path_factory.mktemp("lazy") / str(number)
        table = hf.create_table(path, name="t", schema=found.schema, record_key="k", **kind)
        table.insert(found.slice(0, 5))
        table.insert(found.slice(5))
        if number == len(kinds) - 1:
            table.upsert(found.slice(0, 2))
        made.append(table)
    return made


def test_polars_scans_the_files_that_need_no_merging(tables: list[hf.Table]) -> None:
    whole, parted, merged = (table.lazy().explain() for table in tables)
    assert "Parquet SCAN" in whole
    assert "Parquet" not in parted
    assert "is_in" in merged
    assert "PYTHON SCAN" not in merged
    source = _source(SnapshotRows(take_snapshot(context_of(tables[1]))))
    assert [frame.height for frame in source(["k"], pl.col("p") == "x", None, None) if frame.height] == [4]
    assert [frame.height for frame in source(["k"], None, 3, None)] == [3]


def test_a_sum_that_overflows_leaves_out_no_rows(tables: list[hf.Table]) -> None:
    predicate = pl.col("i") + 1 > 1
    expected = tables[0].to_polars().filter(predicate)["k"].to_list()
    assert expected
    assert [table.lazy().filter(predicate).sort("k").collect()["k"].to_list() for table in tables] == [expected] * 3


@given(predicate=predicates)
@settings(max_examples=examples(200), suppress_health_check=BUSY, deadline=None)
def test_a_lazy_frame_finds_what_polars_finds_in_the_tables_rows(tables: list[hf.Table], predicate: pl.Expr) -> None:
    for table in tables:
        rows = table.to_polars()
        try:
            expected = rows.filter(predicate)
        except pl.exceptions.PolarsError:
            return
        lazy = table.lazy()
        assert_frame_equal(lazy.filter(predicate).sort("k").collect(), expected.sort("k"))
        assert lazy.head(3).filter(predicate).select("s").collect().height <= 3


PUSHED: list[tuple[pl.Expr, str]] = [
    ((pl.col("s") == "a") & (pl.col("i") > 1), '((s == "a") and (i > 1))'),
    (~((pl.col("s") == "a") | (pl.col("i") > 1)), '((s != "a") and (i <= 1))'),
    ((pl.col("s") == "a") & (pl.col("i") + 1 > 1), '(s == "a")'),
    (pl.col("f") > 1.0, "((f > 1) or is_nan(f))"),
    (pl.lit(1) < pl.col("i"), "(i > 1)"),
    (pl.col("i").is_between(1, 2, closed="left"), "((i >= 1) and (i < 2))"),
    (~pl.col("i").is_between(1, 2), "((i < 1) or (i > 2))"),
    (pl.col("d") >= dt.date(2024, 1, 31), "(d >= 2024-01-31)"),
    (pl.col("t") == NOON, "(t == 2024-01-31 12:00:00.000000)"),
    (pl.col("z") == NOON.replace(tzinfo=UTC), "(z == 2024-01-31 12:00:00.000000Z)"),
    (pl.col("m") < Decimal("1.25"), "(m < 1.25)"),
    (pl.col("o") < dt.time(1), "(o < 01:00:00.000000)"),
    (pl.col("y") == b"a", '(y == "61")'),
    (pl.col("s").str.starts_with("ab"), '((s >= "ab") and (s < "ac"))'),
    (pl.col("s").eq_missing("a"), '(s == "a")'),
    (pl.col("s").ne_missing("a"), '((s != "a") or is_null(s, {nan_is_null=false}))'),
    (pl.col("x").struct.field("n") == 3, "(FieldRef.Nested(FieldRef.Name(x) FieldRef.Name(n)) == 3)"),
    (pl.any_horizontal("b", pl.col("i") > 1), "((b == true) or (i > 1))"),
    (~pl.col("b"), "(b == false)"),
    (pl.lit(value=True).alias("x"), "true"),
    (pl.col("s").ne_missing(pl.lit(None)), "is_valid(s)"),
    (~pl.col("s").eq_missing(pl.lit(None)), "is_valid(s)"),
    (pl.col("s") > pl.lit(None, pl.String), "false"),
    (~pl.col("f").is_nan(), "invert(is_nan(f))"),
    (pl.col("f").is_not_nan(), "invert(is_nan(f))"),
    (~pl.all_horizontal("b", pl.col("i") > 1), "((b == false) or (i <= 1))"),
    (pl.col("s").str.starts_with("\U0010ffff"), '(s >= "\U0010ffff")'),
    (pl.col("s").is_not_null(), "is_valid(s)"),
]  # fmt: skip


POLARS = tuple(int(number) for number in pl.__version__.split(".")[:2])
recent = pytest.mark.skipif(POLARS < (1, 34), reason="this Polars pushes less down, and has no batches of lazy frames")


@recent
def test_what_is_pushed_down() -> None:
    for predicate, expected in PUSHED:
        assert str(implied_by_predicate(predicate, SOME.schema)) == expected, predicate
    for values, nulls in (["a", "b"], False), (["a", None], True):
        found = str(implied_by_predicate(pl.col("s").is_in(values, nulls_equal=nulls), SOME.schema))
        assert "is_in(s" in found
        assert ("is_null" in found) == nulls


@pytest.mark.parametrize(
    "predicate",
    [
        pl.col("i") + 1 > 2,
        pl.col("s").str.contains("a"),
        (pl.col("i") > 1) | (pl.col("i") + 1 > 2),
        pl.col("i").map_batches(lambda values: values > 1, return_dtype=pl.Boolean),
        pl.col("f") > float("inf"),
        pl.col("i") > 1.5,
    ],
    ids=str,
)
def test_what_is_left_to_polars(predicate: pl.Expr) -> None:
    table = Rows(SOME)
    frame_of(table).filter(predicate).collect()
    assert table.asked[-1][1] is None


def test_a_predicate_that_is_too_deep_is_left_to_polars() -> None:
    predicate = pl.col("i") == 0
    for number in range(400):
        predicate = (predicate | (pl.col("i") == number)).not_()
    assert implied_by_predicate(predicate, SOME.schema) is None
    assert implied_by_predicate(pl.col("gone") == 1, SOME.schema) is None


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    return table_to_merge(tmp_path / "t")


def test_a_filter_on_a_partition_opens_the_files_of_that_partition_alone(table: hf.Table) -> None:
    storage = RecordingStorage(hf.open_storage(table.path))
    lazy = scan_hudi(storage)
    storage.clear()
    assert sorted(lazy.filter(pl.col("p") == "y").select("k").collect()["k"]) == ["b", "c"]
    found = data_files(storage.requests)
    assert found
    assert {path.partition("/")[0] for path in found} == {"y"}
    storage.clear()
    assert lazy.filter(pl.col("p").is_in(["x"]) & (pl.col("v") + 0 > 1)).collect().height == 1
    assert {path.partition("/")[0] for path in data_files(storage.requests)} == {"x"}


def test_a_lazy_frame_is_of_the_moment_when_it_was_made_or_of_an_earlier_one(table: hf.Table) -> None:
    first = table.timeline.completed[0]
    then, now = scan_hudi(table.path, as_of=first), scan_hudi(table.path)
    table.upsert(rows(("d", 3, "x", 4)))
    assert now.select(pl.len()).collect().item() == 3
    assert scan_hudi(table.path).select(pl.len()).collect().item() == 4
    assert then.filter(pl.col("k") == "a").collect()["v"].to_list() == [1]
    assert table.lazy(first).collect().height == 2
    assert now.head(1).collect().height == 1
    assert now.collect(engine="streaming").height == 3
    assert now.collect().columns == table.to_polars().columns


def test_the_function_that_polars_calls() -> None:
    source = _source(Rows(SOME))
    assert [frame.height for frame in source(["i"], None, 5, None)] == [3, 2]
    [first, *_] = source(["i"], pl.col("s") == "a", None, None)
    assert (first.columns, first.height) == (["i"], 2)


def test_columns_that_change_later_do_not_change_in_a_lazy_frame(table: hf.Table) -> None:
    lazy = table.lazy()
    table.evolve(widen={"v": pa.int64()})
    assert lazy.select("v").collect().schema == {"v": pl.Int32}
    assert table.lazy().select("v").collect().schema == {"v": pl.Int64}


def test_a_folder_without_a_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(hf.NotATableError):
        scan_hudi(tmp_path)
    with pytest.raises(hf.ArgumentError, match="path: expected a path"):
        scan_hudi(3)  # type: ignore[arg-type]  # it is only refused


def test_without_polars_what_to_install_is_said(table: hf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars.io.plugins", None)
    with pytest.raises(hf.UnsupportedFeatureError, match=r"pip install 'hudiformat\[polars\]'"):
        table.lazy()


@pytest.mark.skipif("is_pure" not in signature(register_io_source).parameters, reason="this Polars reads twice")
def test_a_join_of_a_frame_with_itself_reads_the_rows_once() -> None:
    found = Rows(SOME)
    lazy = frame_of(found).select("l", "i")
    assert lazy.join(lazy, on="l").collect().height > SOME.num_rows
    assert len(found.asked) == 1


@recent
def test_a_lazy_frame_is_written_by_batches(table: hf.Table) -> None:
    frame = pl.LazyFrame(rows(("d", 1, "x", 1), ("e", 1, "x", 2), ("a", 3, "x", 3)))
    table.upsert(frame.filter(pl.col("k") != "e").with_columns(pl.col("v") + 1))
    assert sorted(table.to_polars(columns=["k", "v"]).rows()) == [("a", 4), ("b", 2), ("c", 3), ("d", 2)]
    before = table.history().num_rows
    table.upsert(frame.filter(pl.col("k") == "?"))
    assert (table.count(), table.history().num_rows) == (4, before + 1)
    table.delete(frame.head(1))
    assert table.count() == 3
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="gone"):
        table.upsert(frame.filter(pl.col("gone") == 1))


def test_a_lazy_frame_without_batches_is_refused(table: hf.Table) -> None:
    class Older:
        def collect_schema(self) -> None: ...

    with pytest.raises(hf.DataError, match=r"found Older; pass frame\.collect\(\), or install Polars 1\.34"):
        table.upsert(Older())  # type: ignore[arg-type]  # it is only refused
