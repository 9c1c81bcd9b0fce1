"""Every section of the benchmarks runs, at a size at which figures mean nothing: none is asserted."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hudiformat as hf
from benchmarks import java, ours, sections, slice_sections, slices, upserts
from benchmarks.cases import DATA_CASES, DELETES, MIXED, SMALL, Case
from benchmarks.java import BEST, DEFAULT, Jvm, NoJavaPeerError, Setting
from benchmarks.results import Results
from benchmarks.suite import TARGETS, Run
from tests.conformance.hudi import NoHudiError
from tests.effort import LONG, only_long

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

IN_PYTHON = {
    "decode": {"fastavro", "Parquet (pyarrow)"},
    "decode, jit": {"fastavro", "Parquet (pyarrow)"},
    "encode, jit": {"fastavro"},
    "write, jit": {"Parquet (pyarrow)"},
    "encode": {"fastavro"},
    "write": {"Parquet (pyarrow)"},
}


QUICK_CASES = [case for case in DATA_CASES if case.format == "avro" and (LONG or case.name != "very wide")]
OF_SLICES = (
    "read", "read, 1% in logs", "read, 10% in logs", "first read in a process", "read narrow rows", "base only"
)  # fmt: skip


def small_run(folder: Path, *settings: Setting) -> Run:
    return Run(Results({}), folder, scale=0.0005, rounds=1, sizes=(1_000,), settings=settings)


def peers(run: Run) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for item in run.results.comparisons:
        assert item.ours > 0
        assert item.theirs > 0
        found.setdefault(item.measure, set()).add(item.peer)
    return found


@only_long  # it compiles kernels
@pytest.mark.parametrize("case", QUICK_CASES, ids=lambda case: case.name)
def test_rows_are_measured_against_the_peers_in_python(tmp_path: Path, case: Case) -> None:
    run = small_run(tmp_path)
    sections.SECTIONS[case.name](run)
    assert peers(run) == IN_PYTHON


def test_parquet_blocks_have_no_peer_in_fastavro(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    sections.SECTIONS["parquet"](run)
    assert peers(run) == {"decode": {"Parquet (pyarrow)"}, "write": {"Parquet (pyarrow)"}}


def test_the_mixed_rows_have_fifteen_columns_and_206_bytes(tmp_path: Path) -> None:
    rows = ours.prepare(MIXED, 1_000)
    assert rows.table.num_columns == 15
    assert 200 <= ours.encode(rows.blocks) / rows.count <= 212


def test_small_blocks_are_of_a_kilobyte(tmp_path: Path) -> None:
    blocks = list(ours.prepare(SMALL, 500).blocks())
    path = ours.written(lambda: blocks, tmp_path / "small")
    assert ours.scan(path) == len(blocks) == 100
    assert 900 <= path.stat().st_size / 100 <= 1_100
    assert ours.decode_together(path) == ours.decode(path) == 500


def test_a_case_whose_rows_come_back_changed_is_no_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ours.prepare(MIXED, 100)
    monkeypatch.setattr(ours, "written", lambda _, folder: _other_file(other, folder))
    with pytest.raises(AssertionError, match="the rows of narrow come back changed"):
        sections.SECTIONS["narrow"](small_run(tmp_path))


def _other_file(rows: ours.Rows, folder: Path) -> Path:
    ours.empty(folder)
    return ours.write(rows.blocks, folder)


@pytest.mark.parametrize("name", ["small", "deletes"])
def test_sections_whose_only_peer_is_java_run_without_it(tmp_path: Path, name: str) -> None:
    run = small_run(tmp_path)
    sections.SECTIONS[name](run)
    assert peers(run) == {}


@only_long
def test_one_column_is_measured_against_all_ten(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    sections.SECTIONS["columns"](run)
    for mean, worst in (run.results.limits[:2], run.results.limits[2:]):
        assert (mean.target, worst.target) == (30, 45)
        assert 0 < mean.value <= worst.value


@only_long
def test_two_workers_are_measured_against_one(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    sections.SECTIONS["workers"](run)
    assert [item.measure for item in run.results.limits] == ["encode, two workers", "decode, two workers"]
    assert all(item.value > 0 for item in run.results.limits)


@only_long
def test_growth_is_measured_in_processes_of_its_own(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    sections.SECTIONS["growth"](run)
    assert [(item.operation, item.rows) for item in run.results.growth] == [("write", 1_000), ("read", 1_000)]
    assert all(item.nanoseconds > 0 for item in run.results.growth)
    assert all(item.target is None for item in run.results.limits)  # the targets are those of a file of 2 GB


def test_slices_are_read_by_hudi_rs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_this_process(self: slices.Measured) -> float:
        *_, reader, path = self._words
        return float(slices.readers()[reader](path).num_rows)

    monkeypatch.setattr(slices.Measured, "__call__", in_this_process)
    run = small_run(tmp_path)
    sections.SECTIONS["slice"](run)
    found = {measure: {peer.split()[0] for peer in names} for measure, names in peers(run).items()}
    assert found == {name: {"Parquet" if name == "base only" else "hudi"} for name in OF_SLICES}
    for share, updated in (("1%", 5), ("10%", 50)):
        instants = hf.open_table(tmp_path / share).snapshot()["_hoodie_commit_time"].to_pylist()
        assert len(instants) - instants.count(min(instants)) == updated
    assert [(item.operation, item.rows) for item in run.results.growth] == [
        (f"merge, {name}", count) for name in ("log files", "blocks") for count in slice_sections.FEW_PIECES
    ]
    assert 8 <= len(list((tmp_path / "log files-10").glob(".*.log.*"))) <= 12
    assert len(list((tmp_path / "blocks-10").glob(".*.log.*"))) == 1
    assert [item.measure.removesuffix(", memory").partition(", cost")[0] for item in run.results.limits] == [
        "read", "first read in a process", "read, 1% in logs", "read, 10% in logs", "read narrow rows", "log files",
        "blocks",
    ]  # fmt: skip


def test_upserts_are_measured_as_they_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made_up(self: upserts.Measured) -> float:
        self.peak_mb = 7.0
        return {10**5: 2e6, 10**6: 1e6}[int(self._words[-1])]

    monkeypatch.setattr(upserts.Measured, "__call__", made_up)
    run = replace(small_run(tmp_path), sizes=(1_000, 10**5, 10**6))
    sections.SECTIONS["upsert"](run)
    logs = [item for item in run.results.limits if item.measure.startswith(upserts.LOGS)]
    assert [(item.value, item.target, item.met) for item in logs] == [
        (1e6, 1e6, True),
        (7, 500, True),
        (100, 15, False),
    ]
    assert {item.target for item in run.results.limits if item.unit == "rows/s"} == {1e6, 0.5e6}
    assert [(item.rows, item.nanoseconds) for item in run.results.growth] == [(10**5, 500), (10**6, 1_000)] * 3


def test_small_upserts_have_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upserts.Measured, "__call__", lambda self: float(self._words[-1]))
    run = small_run(tmp_path)
    sections.SECTIONS["upsert"](run)
    assert [(item.value, item.target) for item in run.results.limits] == [(1_000, None), (0, None)] * 3


@only_long
def test_an_upsert_in_a_process_of_its_own_tells_its_time_and_memory(tmp_path: Path) -> None:
    measured = upserts.Measured(upserts.LOGS, tmp_path, 200)
    assert measured() > 0
    assert measured.peak_mb > 0


@pytest.mark.parametrize("kind", upserts.KINDS)
def test_an_upsert_replaces_every_row(tmp_path: Path, kind: str, threads: None) -> None:
    before = os.sched_getaffinity(0)
    found = upserts.main(kind, str(tmp_path), "200")
    os.sched_setaffinity(0, before)
    table = hf.open_table(tmp_path / "upserts")
    rows = table.snapshot()
    assert found["rows"] == rows.num_rows == 200
    assert found["seconds"] > 0
    assert len(set(rows["_hoodie_commit_time"].to_pylist())) == 1
    assert len(table.file_slices()) == (4 if kind == upserts.LOGS else 1)


@only_long
def test_a_process_of_its_own_tells_its_time_and_memory(tmp_path: Path) -> None:
    measured = slices.Measured("hudiformat", slices.make_table(tmp_path / "t", MIXED, 200))
    assert measured() > 0
    assert measured.peak_mb > 0


def test_every_reader_gives_the_rows_of_the_newest_writes(tmp_path: Path) -> None:
    path = slices.make_table(tmp_path / "t", MIXED, 200)
    found = [read(str(path)).select(["id", "large", "note"]).sort_by("id") for read in slices.readers().values()]
    assert found[0] == found[1].cast(found[0].schema)
    assert len(list(path.glob(".*.log.*"))) == slices.LOG_FILES


def test_a_reader_tells_its_time_and_memory(tmp_path: Path, threads: None) -> None:
    before = os.sched_getaffinity(0)
    found = slices.main("hudiformat", str(slices.make_table(tmp_path / "t", MIXED, 200)))
    os.sched_setaffinity(0, before)
    assert found["rows"] == 200
    assert found["seconds"] > 0


def test_without_hudi_rs_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hudi", None)
    run = small_run(tmp_path)
    slice_sections._merged(run, "read", tmp_path)
    assert run.results.comparisons == []
    assert "hudi" in run.results.missing["The package hudi"]


@only_long
@pytest.mark.hudi
def test_slices_are_read_on_spark(tmp_path: Path) -> None:
    run = small_run(tmp_path, DEFAULT)
    path = slices.make_table(tmp_path / "t", MIXED, 200)
    slice_sections._with_spark(run, path, 200)
    [found] = run.results.comparisons
    assert found.peer == "Hudi 1.2.0 on Spark, two cores"
    assert found.theirs > 0
    assert (found.peer_peak_mb or 0) > 100


def test_without_hudi_on_spark_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> None:
        raise NoHudiError("there is no Java 17 or 21")

    monkeypatch.setattr("benchmarks.spark_tables.RealHudi", nowhere)
    run = small_run(tmp_path, DEFAULT)
    slice_sections._with_spark(run, tmp_path, 1)
    assert run.results.missing == {"Hudi on Spark": "there is no Java 17 or 21"}


def test_without_java_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "java_home", lambda: None)
    run = small_run(tmp_path, DEFAULT, BEST)
    sections.SECTIONS["deletes"](run)
    assert run.results.comparisons == []
    assert run.results.missing == {"Java": "there is no Java 17 or 21: run tools/java.py"}


def test_every_target_is_that_of_a_section() -> None:
    measured = {(case.name, measure) for case in DATA_CASES for measure in IN_PYTHON}
    measured |= {(name, f"decode, views{jit}") for name in sections.WITH_VIEWS for jit in ("", ", jit")}
    measured |= {(SMALL.name, measure) for measure in ("scan", "decode", "append", "encode")}
    measured |= {(SMALL.name, f"encode, {way}") for way in ("jit", "cuts")}
    measured |= {(DELETES.name, measure) for measure in ("encode", "decode")}
    measured |= {("slice", measure) for measure in OF_SLICES}
    measured |= {("spark", measure) for measure in sections.SPARK_MEASURES}
    assert {(case, measure) for case, measure, _ in TARGETS} <= measured


@only_long
@pytest.mark.hudi
@pytest.mark.parametrize("name", ["small", *(["mixed", "nested", "parquet", "deletes"] if LONG else [])])
def test_java_writes_and_reads_the_same_rows(
    tmp_path: Path, java: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.java._WARM_RUNS", 1)
    monkeypatch.setattr("benchmarks.java._WARM_SECONDS", 0)
    settings = [quick(one) for one in ([DEFAULT, BEST] if name == "mixed" else [BEST])]  # each is a JVM of its own
    run = small_run(tmp_path, *settings)
    sections.SECTIONS[name](run)
    assert run.results.missing == {}
    assert all(found >= {setting.name for setting in settings} for found in peers(run).values())
    for setting in settings if name != "deletes" else ():
        source = tmp_path / ("many" if name == "small" else "ours")
        assert records(tmp_path / setting.name) == records(source)


def quick(setting: Setting) -> Setting:
    """*setting* without the second compiler, which has nothing to gain here."""
    return replace(setting, flags=(*setting.flags, "-XX:TieredStopAtLevel=1"))


def records(folder: Path) -> list[dict[str, Any]]:
    with hf.LogReader(folder / ours.NAME) as reader:
        # Java's maps have an order of their own
        rows: list[dict[str, Any]] = reader.to_arrow().to_pylist(maps_as_pydicts="strict")
    return rows


@only_long
@pytest.mark.hudi
def test_what_java_cannot_do_says_so(tmp_path: Path, java: Path) -> None:
    with Jvm(quick(DEFAULT)) as vm:
        with pytest.raises(NoJavaPeerError, match="load: .*HoodieIOException: Exception creating input stream"):
            vm.ask("load", tmp_path / "none")
        with pytest.raises(NoJavaPeerError, match="fly: java.lang.IllegalArgumentException: fly"):
            vm.ask("fly")
