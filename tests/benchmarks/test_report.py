from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import instructions, report, timing
from benchmarks.__main__ import main
from benchmarks.results import Comparison, Growth, Limit, Results

pytestmark = pytest.mark.unmeasured


def results() -> Results:
    return Results(
        conditions={"Machine": "a quiet one"},
        comparisons=[
            Comparison("mixed", "encode", "Java", "rows/s", 3e6, 2e6, target=1.4, peak_mb=12.3, peer_peak_mb=1_234),
            Comparison("mixed", "decode", "Java", "rows/s", 990.0, 2e3, target=2),
            Comparison("wide", "decode", "Java", "rows/s", 99.0, 50.0),
        ],
        limits=[
            Limit("growth", "memory", 301, "MB", 300),
            Limit("workers", "two", 1.7, "x of one", 1.6, at_least=True),
        ],
        growth=[Growth("read", 1_000, 400, 1.2), Growth("read", 10_000, 300, 3.4)],
        missing={"Java": "none here"},
    )


def test_a_ratio_that_is_reached_is_met() -> None:
    assert [(item.ratio, item.met) for item in results().comparisons] == [(1.5, True), (0.495, False), (1.98, None)]


def test_a_limit_holds_from_above_or_from_below() -> None:
    assert [item.met for item in results().limits] == [False, True]
    assert Limit("growth", "memory", 300, "MB", 300).met
    assert not Limit("workers", "two", 1.5, "x", 1.6, at_least=True).met
    assert Limit("growth", "memory", 300, "MB").met is None


def test_the_tables_are_markdown() -> None:
    text = report.tables(results())
    assert "- Machine: a quiet one\n" in text
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    assert ["mixed", "encode", "3 M rows/s", "Java", "2 M", "1.50 x", "1.4 x", "met", "12", "1,234"] in cells
    assert ["mixed", "decode", "990 rows/s", "Java", "2 k", "0.49 x", "2 x", "**not met**", "", ""] in cells
    assert ["growth", "memory", "301 MB", "≤ 300", "**not met**"] in cells
    assert ["workers", "two", "1.7 x of one", "≥ 1.6", "met"] in cells
    assert ["read", "10,000", "300", "3"] in cells
    assert text.endswith("- Missing: Java. none here\n")


def test_tables_of_which_there_is_nothing_are_left_out() -> None:
    assert report.tables(Results({"Machine": "any"})) == "- Machine: any\n"


def test_json_has_the_ratios_and_verdicts() -> None:
    found = json.loads(json.dumps(results().as_json()))
    assert found["comparisons"][0]["ratio"] == 1.5
    assert found["comparisons"][0]["met"] is True
    assert found["limits"][0]["met"] is False
    assert found["growth"][0] == {"operation": "read", "rows": 1_000, "nanoseconds": 400, "peak_mb": 1.2}


@pytest.mark.slow
@pytest.mark.parametrize("found", [results(), Results({})], ids=["all", "nothing"])
def test_a_plot_is_drawn(tmp_path: Path, found: Results) -> None:
    report.plot(found, tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    assert text.rstrip().endswith("</svg>")


def test_contenders_take_turns_and_the_best_counts() -> None:
    turns: list[str] = []
    speeds = {"a": iter([1.0, 5.0, 3.0]), "b": iter([2.0, 1.0, 1.0])}

    def contender(name: str) -> timing.Speed:
        def once() -> float:
            turns.append(name)
            return next(speeds[name])

        return once

    best = timing.interleaved({"a": contender("a"), "b": contender("b")}, rounds=3)
    assert best == {"a": 5.0, "b": 2.0}
    assert turns == ["a", "b"] * 3


def test_what_comes_before_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def passes(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr("benchmarks.timing.time.perf_counter", lambda: now)
    assert timing.timed(lambda: passes(2), 10, before=lambda: passes(7))() == 5


def test_the_peak_of_memory_is_that_of_the_action_alone() -> None:
    held = bytearray(b"x") * 40_000_000
    peak = timing.peak_mb(lambda: bytearray(b"x") * 80_000_000)
    assert len(held) == 40_000_000
    assert peak is not None
    assert 70 <= peak <= 90


def test_an_entry_that_proc_does_not_have() -> None:
    with pytest.raises(OSError, match="has no VmNothing"):
        timing.resident_mb("VmNothing")


def test_instructions_are_read_from_perf() -> None:
    assert instructions.parse_count("# started\n\n123456,,instructions:u,999,100.00,,\n") == 123456


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<not supported>,,instructions:u,0,100.00,,\n", "perf says <not supported>"),
        ("Error: no permission\n", "perf says Error: no permission"),
    ],
)
def test_a_machine_that_does_not_count_says_so(text: str, reason: str) -> None:
    with pytest.raises(instructions.NoCounterError, match=reason):
        instructions.parse_count(text)


@pytest.mark.slow
def test_the_command_prints_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str], threads: None) -> None:
    files = {kind: tmp_path / f"out.{kind}" for kind in ("json", "markdown", "plot")}
    files["plot"] = tmp_path / "out.png"
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    code = main(["--quick", "--no-java", "--rows", "500", "--case", "parquet", "--folder", str(tmp_path), *options])
    printed = capsys.readouterr().out
    assert code == 0
    assert files["markdown"].read_text("utf-8").strip() == printed.strip()
    assert "- Rows: 500 mixed ones, other cases in proportion; the best of 2 rounds" in printed
    assert {item["case"] for item in json.loads(files["json"].read_text())["comparisons"]} == {"parquet"}
    assert files["plot"].read_bytes().startswith(b"\x89PNG")
