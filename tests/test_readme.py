"""What the README shows runs, in its order."""

from __future__ import annotations

import logging
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hudiformat as hf
from hudiformat.cli import run as command_line
from tests.cli.support import DAMAGED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = Path(__file__).parent.parent / "README.md"


def examples(section: str) -> list[str]:
    """The Python code under a heading."""
    text = re.split(r"^#+ ", README.read_text("utf-8"), flags=re.MULTILINE)
    (found,) = (part for part in text if part.startswith(f"{section}\n"))
    code = re.findall(r"```python\n(.*?)```", found, re.DOTALL)
    assert code
    return code


def run(codes: list[str], names: dict[str, Any]) -> dict[str, Any]:
    for code in codes:
        exec(compile(code, str(README), "exec"), names)  # noqa: S102 - the README is ours
    return names


def test_the_table_example_runs(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    names = run(examples("Tables"), {"path": tmp_path / "t"})
    assert names["by_month"] == [("01", 7.0)]
    assert names["frame"].rows() == [("01", 7)]
    assert names["longest"].select(["flight", "delay"]).to_pylist() == [{"flight": "UA1", "delay": 7}]
    assert names["table"].snapshot(columns=["delay"])["delay"].to_pylist() == [7]
    assert names["table"].snapshot(as_of=names["commit"].instant)["delay"].to_pylist() == [0]


def test_the_log_file_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(
        examples("Log files"), {"folder": tmp_path, "batch": pa.RecordBatch.from_pydict({"id": ["a"], "n": [1]})}
    )
    assert "AVRO_DATA" in capsys.readouterr().out
    assert names["block"] is not None
    assert names["rows"].to_pydict() == {"n": [1]}


def test_the_command_line_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("damaged.log").write_bytes(DAMAGED)
    [transcript] = re.findall(r"```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    for example in re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]:
        line, _, expected = example.partition("\n")
        program, *arguments = shlex.split(line)
        assert program == "hudiformat"
        assert command_line(arguments) == 1  # each of them meets the damage
        out, err = capsys.readouterr()
        assert out + err == expected.rstrip("\n") + "\n"


def test_the_example_of_the_file_sink_runs(tmp_path: Path) -> None:
    tasks = [pa.RecordBatch.from_pydict({"n": [n], "day": ["1"]}) for n in range(3)]
    names = run(examples("Streams into plain files"), {"hf": hf, "path": tmp_path, "tasks": tasks})
    assert names["commit"].partitions == ("day=1",)
    assert pq.read_table(tmp_path)["n"].to_pylist() == [0, 1, 2]
    assert {path.name.split("-")[0] for path in (tmp_path / "day=1").iterdir()} == {"compacted", "_SUCCESS"}


def test_the_example_of_the_strategies_runs() -> None:
    def our_reader(data: bytes) -> list[tuple[hf.BlockType, int | None, int | None]]:
        return [(block.type, block.offset, block.size) for block in reversed(hf.LogReader(data))][::-1]

    names = run(examples("Other implementations"), {"our_reader": our_reader})
    names["test_our_reader_survives_damage_and_agrees"]()


def test_the_spark_example_runs(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("ts", pa.int64())])
    table = hf.create_table(tmp_path / "t", name="t", schema=schema, record_key=["id"], ordering=["ts"])
    instant = table.insert(pa.table({"id": ["a"], "ts": [1]}, schema=schema)).instant
    df = spark.createDataFrame([("a", 2), ("b", 2)], "id string, ts bigint")
    spark.createDataFrame([("c", 3)], "id string, ts bigint").write.parquet(str(tmp_path / "in"))
    places = {"folder": str(tmp_path / "in"), "checkpoint": str(tmp_path / "checkpoint"), "path": table.path}
    run(examples("PySpark"), {"spark": spark, "df": df, "instant": instant, "output": str(tmp_path / "out"), **places})
    assert sorted(table.snapshot(columns=["id", "ts"]).to_pylist(), key=str) == [
        {"id": "a", "ts": 4},
        {"id": "b", "ts": 4},
        {"id": "c", "ts": 3},
    ]
    assert [path.name for path in (tmp_path / "out").glob("*/_SUCCESS")] == ["_SUCCESS"]


def test_the_page_on_spark_runs(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (README.parent / "docs" / "spark.md").read_text("utf-8")
    trips = [("t1", 1, 30.0, "chennai"), ("t2", 1, 0.5, "chennai"), ("t3", 1, 20.0, "sao_paulo")]
    df = spark.createDataFrame(trips, "uuid string, ts bigint, fare double, city string")
    spark.createDataFrame([("t5", 1, 2.0, "paris")], df.schema).write.parquet(str(tmp_path / "in"))
    places = {name: str(tmp_path / name) for name in ("checkpoint", "in", "trips")}
    names = {"path": places["trips"], "folder": places["in"], "checkpoint": places["checkpoint"]}
    names["output"] = str(tmp_path / "out")
    run(re.findall(r"```python\n(.*?)```", page, re.DOTALL), {"spark": spark, "df": df, **names})
    rows = hf.open_table(places["trips"]).snapshot(columns=["uuid", "fare", "city"]).to_pylist()
    # Those of one city were set to 0 and deleted, another was dropped, the stream has brought a third.
    assert rows == [{"uuid": "t5", "fare": 2.0, "city": "paris"}]
    assert [path.name for path in (tmp_path / "out").glob("city=paris/_SUCCESS")] == ["_SUCCESS"]
    assert "t9" not in capsys.readouterr().err
    logging.getLogger("hudiformat").setLevel(logging.NOTSET)
