"""The example of orders, killed in the middle and started again too, has every order once, and the right totals."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow.dataset import dataset

import hudiformat as hf
from tests.effort import only_long
from tests.spark.killable import leave_first_offset_unfinished, running, wait_for, wait_for_a_commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark.sql.streaming.datasource")

from examples.orders.pipeline import run

pytestmark = [pytest.mark.spark, pytest.mark.unmeasured]

FILES = 12
STATES = ["Placed", " PAID", "sent ", "cancelled"]


def reports(dice: random.Random) -> Iterator[dict[str, Any]]:
    """What arrives: orders in their states, some out of order, and lines that are no orders."""
    for number in range(120):
        placed = f"2026-0{1 + number % 3}-1{number % 5} 08:00:00"
        for state in STATES[: dice.randint(1, 4)]:
            hour = 9 + dice.randrange(10)
            yield {
                "order_id": f"o{number}",
                "placed": placed,
                "updated": f"2026-04-01 {hour:02}:{dice.randrange(60):02}:{number % 60:02}.{dice.randrange(10**6):06}",
                "status": state,
                "amount": dice.randrange(10_000) / 100,
            }
    yield {"order_id": None, "placed": placed, "updated": placed, "status": "placed", "amount": 1}
    yield {"order_id": "bad", "placed": placed, "updated": placed, "status": "placed", "amount": -1}


def arrive(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """A file appears whole."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(folder / f"{number:03}.json")


def cleaned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [row for row in rows if row["order_id"] is not None and row["amount"] >= 0]
    return [{**row, "status": row["status"].strip().lower(), "day": row["placed"][:10]} for row in kept]


def parts_of(dice: random.Random, files: int) -> list[list[dict[str, Any]]]:
    """The reports, as they arrive in so many files."""
    rows = list(reports(dice))
    dice.shuffle(rows)
    return [rows[number::files] for number in range(files)]


@only_long
def test_the_pipeline_takes_what_has_arrived(spark: SparkSession, tmp_path: Path) -> None:
    parts = parts_of(random.Random(1), 4)
    for number, part in enumerate(parts):
        arrive(tmp_path / "arriving", number, part)
    spark.streams.resetTerminated()  # else errors of earlier queries are raised
    run(spark, str(tmp_path), once=True)
    spark.conf.unset("spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart")
    assert_right(tmp_path, cleaned([row for part in parts for row in part]))


@only_long
def test_the_pipeline_goes_on_after_it_is_killed(java: Path, tmp_path: Path) -> None:
    dice = random.Random()
    parts = parts_of(dice, FILES)
    for number, part in enumerate(parts[: FILES // 2]):
        arrive(tmp_path / "arriving", number, part)
    for name in ("orders", "files", "totals", "compactions"):
        leave_first_offset_unfinished(tmp_path / "checkpoints" / name)
    log = tmp_path / "log"
    with running(java, ["-m", "examples.orders", str(tmp_path)], log) as pipeline:
        wait_for((tmp_path / "orders/.hoodie/hoodie.properties").exists, pipeline)
        orders = hf.open_table(tmp_path / "orders")
        wait_for_a_commit(orders, pipeline)
        for number, part in enumerate(parts[FILES // 2 :], FILES // 2):
            arrive(tmp_path / "arriving", number, part)
        time.sleep(dice.uniform(0, 10))
        assert pipeline.poll() is None, log.read_text()[-5000:]
    with running(java, ["-m", "examples.orders", str(tmp_path), "--once"], log) as pipeline:
        assert pipeline.wait(240) == 0, log.read_text()[-5000:]
    assert_right(tmp_path, cleaned([row for part in parts for row in part]))


def assert_right(folder: Path, reported: list[dict[str, Any]]) -> None:
    newest: dict[str, dict[str, Any]] = {}
    for row in sorted(reported, key=lambda one: str(one["updated"])):
        newest[row["order_id"]] = row
    orders = hf.open_table(folder / "orders")
    found = orders.snapshot(columns=["order_id", "status", "amount", "day"]).to_pylist()
    assert sorted(map(tuple_of, found)) == sorted(map(tuple_of, newest.values()))
    assert any(one.action.value == "commit" for one in orders.timeline.completed)  # a compaction
    assert orders.verify() == []
    totals = hf.open_table(folder / "totals").snapshot(columns=["day", "orders", "cancelled", "amount"]).to_pylist()
    assert {row["day"]: row for row in totals} == dict(totals_of(newest))
    assert len(totals) == len({row["day"] for row in totals})
    files = dataset(folder / "files", partitioning="hive").to_table().to_pylist()
    assert Counter(map(tuple_of, files)) == Counter(map(tuple_of, reported))


def tuple_of(row: Mapping[str, Any]) -> tuple[str, str, Decimal, str]:
    return row["order_id"], row["status"], Decimal(f"{row['amount']:.2f}"), str(row["day"])


def totals_of(newest: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for day in {row["day"] for row in newest.values()}:
        rows = [row for row in newest.values() if row["day"] == day]
        cancelled = sum(row["status"] == "cancelled" for row in rows)
        amount = sum(Decimal(f"{row['amount']:.2f}") for row in rows)
        yield day, {"day": day, "orders": len(rows), "cancelled": cancelled, "amount": amount}
