"""The loads of Lake Loader: their rows, and the table and the plot of what they took.  No figure is asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import lake_loader, lake_results
from benchmarks.lake_loader import LOADS, Load, prepare, rounds_of

pytestmark = pytest.mark.unmeasured


def rounds(load: Load, count: int) -> list[tuple[int, lake_loader.Numbers, lake_loader.Numbers]]:
    return list(rounds_of(load, count, np.random.default_rng(1)))


@pytest.mark.parametrize("name", sorted(LOADS))
def test_updates_find_their_rows_and_all_other_keys_are_new(name: str) -> None:
    load = LOADS[name].scaled(0.02)
    there: dict[int, int] = {}
    for number, ids, days in rounds(load, 3):
        known = [(one, day) for one, day in zip(ids.tolist(), days.tolist(), strict=True) if one in there]
        assert len(set(ids.tolist())) == len(ids)
        assert all(there[one] == day for one, day in known)
        assert bool(known) == bool(number and load.updates)
        there |= dict(zip(ids.tolist(), days.tolist(), strict=True))
    assert max(there.values()) == load.days - 1


def test_updates_are_of_the_newest_days_and_new_rows_of_the_newest_two() -> None:
    load = LOADS["fact"]
    _, ids, days = rounds(load, 1)[1]
    old = days[ids < load.rows]
    assert len(old) == load.batch // 4
    assert old.min() >= load.days - 90
    assert np.count_nonzero(old == load.days - 1) > len(old) // 2
    assert np.bincount(days[ids >= load.rows])[-2:].tolist() == [3750, 3750]


def test_a_load_is_written_with_its_columns_and_widths(tmp_path: Path) -> None:
    load = LOADS["fact"].scaled(0.001)
    prepare(load, 1, tmp_path)
    rows = pq.read_table(tmp_path / "round-000")
    assert rows.num_columns == 40
    assert rows.num_rows == 1000
    texts = rows.drop_columns(["id", "ts", "p", "v"]).slice(0, 1)
    assert 900 < sum(len(text) for column in texts.columns for text in column.to_pylist()) <= 1024
    assert (tmp_path / "round-001").exists()
    assert rows.schema.field("c0").type == pa.string()


def taken(answer: int) -> dict[str, Any]:
    rounds = [{"seconds": seconds, "files": 3, "bytes": 2_000_000} for seconds in (4.0, 1.0, 3.0)]
    queries = {name: {"seconds": 0.5, "answer": answer} for name in ("count", "sum")}
    return {"rounds": rounds, "peak_mb": 1500.0, "queries": queries}


def test_results_are_a_table_and_a_plot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lake_loader, "measured", lambda *_: taken(7))
    assert lake_loader.main(["--load", "dim", "--scale", "0.0001", "--rounds", "2", "--json", f"{tmp_path}/out"]) == 0
    found = json.loads((tmp_path / "out").read_text())
    lines = lake_results.markdown(found)
    assert lines[2] == "| dim | hudiformat | 4.0 | 2.00 | 8.0 | 3 | 2 | 1.5 | 0.50 | 0.50 |"
    assert len(lines) == 5
    assert "\n".join(lines) in lake_results.section(found)
    assert lake_results.section(None) == ""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    lake_results.draw_rounds(figure.subplots(), found)


def test_an_engine_that_fails_has_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = {"failed": "of memory"}
    monkeypatch.setattr(lake_loader, "measured", lambda engine, *_: failed if engine == "delta" else taken(7))
    assert lake_loader.main(["--load", "dim", "--scale", "0.0001", "--rounds", "1", "--json", f"{tmp_path}/out"]) == 0
    found = json.loads((tmp_path / "out").read_text())
    assert lake_results.markdown(found)[-1].startswith("| dim | Delta Lake 3.3.2 | ended because of memory |")
    lake_results.draw_rounds(pytest.importorskip("matplotlib.figure").Figure().subplots(), found)


def test_engines_with_different_answers_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake_loader, "measured", lambda engine, *_: taken(len(engine)))
    with pytest.raises(AssertionError, match="the engines have different answers"):
        lake_loader.main(["--load", "events", "--scale", "0.0001", "--rounds", "1"])
