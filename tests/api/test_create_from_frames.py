"""A table takes its columns from a data frame, and says which options it does not keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hudiformat as hf

TIMES = pd.to_datetime(["2024-01-01T00:00:00.000001", None])
PANDAS = pd.DataFrame(
    {"k": ["a", "b"], "n": [1, 2], "t": TIMES, "z": TIMES.tz_localize("UTC"), "c": pd.Categorical(["x", "y"])},
    index=[3, 7],
)
POLARS = pl.from_pandas(PANDAS)
EXPECTED = pa.schema(
    [
        ("k", pa.string()),
        ("n", pa.int64()),
        ("t", pa.timestamp("us")),
        ("z", pa.timestamp("us", "UTC")),
        ("c", pa.string()),
    ]
)


class Columns:
    """Columns that are not pyarrow's own."""

    def __arrow_c_schema__(self) -> object:
        return EXPECTED.__arrow_c_schema__()


def make(path: Path, schema: Any, **more: Any) -> hf.Table:
    return hf.create_table(path, name="t", schema=schema, record_key="k", **more)


@pytest.mark.parametrize("given", [PANDAS, POLARS, POLARS.lazy(), Columns()], ids=lambda given: type(given).__name__)
def test_the_columns_of_a_frame_are_those_of_the_table(tmp_path: Path, given: Any) -> None:
    table = make(tmp_path / "t", given)
    assert table.schema == EXPECTED
    table.upsert(PANDAS)
    table.upsert(POLARS)
    assert table.count() == 2
    assert table.to_pandas(columns="t").sort_values("t")["t"].iloc[0] == TIMES[0]


def test_finer_times_than_microseconds_are_warned_of(tmp_path: Path) -> None:
    finer = PANDAS.assign(t=pd.to_datetime(["2024-01-01T00:00:00.000000001", None]))
    with pytest.warns(
        hf.HudiFormatWarning, match="schema: t will be stored in microseconds, and the data frame has finer"
    ):
        table = make(tmp_path / "t", finer)
    with pytest.raises(hf.DataError, match="column t: .*round its values first"):
        table.upsert(finer)
    assert table.schema.field("t").type == pa.timestamp("us")


def test_what_has_no_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hf.ArgumentError, match=r"schema: expected a pyarrow\.Schema or a data frame, found int 3"):
        make(tmp_path / "t", 3)
    with pytest.raises(hf.SchemaError, match=r"column t of type timestamp\[ns\] cannot be stored"):
        make(tmp_path / "t", pa.schema([("k", pa.string()), ("t", pa.timestamp("ns"))]))


OPTIONS = {
    "hoodie.parquet.compression.codec": "gzip",
    "hoodie.index.type": "BLOOM",
    "hoodie.metadata.enable": "true",
    "hoodie.parquet.max.file.size": "125829120",
}


def test_options_that_the_table_does_not_keep_are_named(tmp_path: Path) -> None:
    with pytest.warns(hf.HudiFormatWarning) as warned:
        make(tmp_path / "t", EXPECTED, options=OPTIONS)
    [message] = [str(one.message) for one in warned]
    assert "the table does not keep hoodie.parquet.compression.codec, which" in message
    assert "hf.open_table(path, options={'hoodie.parquet.compression.codec': 'gzip'})" in message


@pytest.mark.filterwarnings("error")
def test_options_that_it_keeps_are_not(tmp_path: Path) -> None:
    make(tmp_path / "t", EXPECTED, options={key: value for key, value in OPTIONS.items() if "codec" not in key})
