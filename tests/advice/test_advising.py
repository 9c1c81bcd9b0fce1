"""What advise says of sound tables, in which order it says what it finds, and what it does not look at."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat.advice.advising import advise_on
from hudiformat.advice.facts import gather_facts
from hudiformat.advice.rules import searching, services
from hudiformat.advice.rules.searching import grid, why_not_searched
from hudiformat.api.reading import context_of
from hudiformat.cli.app import run
from hudiformat.services.deciding import Decision, Service
from tests.advice.support import LIMITS, SMALL, make, rows_of
from tests.tables import NAMES, GoldenTable, new_table, rows

SERVICES = {"compaction", "clustering", "clean", "metadata"}


def advice(finding: str, severity: hf.Severity, *effects: hf.Effect) -> hf.Advice:
    return hf.Advice(severity=severity, finding=finding, verb="Do", found="it", reason="Why.", effects=effects)


@pytest.mark.parametrize("name", [name for name in NAMES if "damaged" not in name and "inflight" not in name])
def test_of_tables_that_hudi_wrote_only_services_are_due(golden: Callable[[str], GoldenTable], name: str) -> None:
    table = hf.open_table(golden(name).table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = table.advise(commits=10)
    assert {one.severity for one in found} <= {hf.Severity.LOW}
    due = {one.finding for one in found}
    assert due <= {f"{service}-due" for service in SERVICES} | {"pending-compaction", "pending-clustering"}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_a_table_that_was_just_made_is_sound(tmp_path: Path, table_type: str, index: str) -> None:
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "16", "hoodie.compact.inline": "true"}
    faulty = make(tmp_path / "t", lambda table, _: table, commits=0, options=options, table_type=table_type)
    assert faulty.table().advise() == []
    for number in range(3):
        faulty.table().upsert(rows_of(number * 40, 50))
    assert faulty.table().advise() == []


def test_a_table_that_is_filled_and_served_is_sound(tmp_path: Path) -> None:
    options = {**LIMITS, "hoodie.copyonwrite.record.size.estimate": "60"}
    faulty = make(tmp_path / "t", lambda t, n: t.insert(rows_of(n * 400, 400)), commits=10, options=options)
    assert faulty.table().advise(commits=40) == []


def test_the_gravest_comes_first_and_of_equal_ones_that_with_the_largest_effect() -> None:
    low, high = advice("low", hf.Severity.LOW, hf.Effect("file_groups", 1000, 1)), advice("high", hf.Severity.HIGH)
    small = advice("small", hf.Severity.MEDIUM, hf.Effect("file_groups", 6, 3))
    large = advice("large", hf.Severity.MEDIUM, hf.Effect("file_groups", 3, 30))
    ordered = sorted([low, small, large, high], key=lambda one: one.order)
    assert [one.finding for one in ordered] == ["high", "large", "small", "low"]


def test_effects_are_read_by_people() -> None:
    assert str(hf.Effect("file_groups", 1460, 48)) == "file groups 1,460 -> 48"
    text = "bytes written by commits and services 2.0 MB -> 500 kB after 200 more commits"
    assert str(hf.Effect("written_bytes", 2_000_000, 500_000, 200)) == text


def test_of_more_than_five_findings_the_others_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t")
    found = [advice(str(number), hf.Severity.LOW) for number in range(7)]
    monkeypatch.setattr("hudiformat.advice.advising.RULES", [lambda _, one=one: one for one in found])
    said = advise_on(gather_facts(context_of(table).state()))
    assert len(said) == 5
    assert said.not_examined[-1] == "2 findings of less effect, not shown"


def test_settings_that_a_finding_changes_already_are_not_advised_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = make(tmp_path / "t", lambda t, n: t.insert(rows_of(n * 9, 9)), commits=5)
    facts = gather_facts(context_of(faulty.table()).state())
    better = replace(advice("better-settings", hf.Severity.MEDIUM), properties={"a": "1"})
    monkeypatch.setattr("hudiformat.advice.advising.advise_settings", lambda _: better)
    assert [one.finding for one in advise_on(facts)] == ["better-settings"]
    other = replace(advice("other", hf.Severity.MEDIUM), properties={"a": "2"})
    monkeypatch.setattr("hudiformat.advice.advising.RULES", [lambda _: other])
    assert [one.finding for one in advise_on(facts)] == ["other"]


def test_without_commits_of_rows_no_settings_are_searched(tmp_path: Path) -> None:
    found = new_table(tmp_path / "t").advise()
    assert found.headline == "Nothing to do"
    assert found.not_examined[-1].endswith("no commit on the active timeline says how large a row is")


def test_tables_that_are_too_large_are_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = make(tmp_path / "t", lambda t, n: t.insert(rows_of(n * 9, 9)), commits=5)
    facts = gather_facts(context_of(faulty.table()).state())
    monkeypatch.setattr(searching, "MOST_GROUPS", 0)
    assert "more than 0 file groups" in why_not_searched(facts)


def test_settings_that_are_not_simulated_are_not_searched(tmp_path: Path) -> None:
    faulty = make(tmp_path / "t", lambda t, n: t.insert(rows_of(n * 9, 9)), commits=5)
    table = faulty.table({"hoodie.partition.ttl.inline": "true", "hoodie.partition.ttl.strategy.days.retain": "3"})
    assert any("partition TTL" in one for one in table.advise().not_examined)


def test_buckets_that_no_option_names_are_neither_clustered_nor_searched(golden_flink: Path) -> None:
    facts = gather_facts(context_of(hf.open_table(golden_flink)).state())
    assert facts.unnamed_buckets == ("hoodie.index.type=BUCKET",)
    assert facts.has_buckets
    assert "-o hoodie.index.type=BUCKET" in why_not_searched(facts)
    assert all("hoodie.clustering.inline" not in one for one in grid(facts))
    with pytest.raises(hf.UnsupportedFeatureError, match="pass hoodie.index.type=BUCKET, and the number of buckets"):
        hf.open_table(golden_flink).simulate(commits=5)
    named = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    assert hf.open_table(golden_flink).simulate(commits=5, options=named).summary["file_groups"] == 4 * 3


def test_archived_commits_are_not_looked_at(golden: Callable[[str], GoldenTable]) -> None:
    found = hf.open_table(golden("v9-mor-archived-h120").table).advise()
    assert any(one.startswith("archived commits, before ") for one in found.not_examined)


@pytest.mark.parametrize("commits", [0, 100_001])
def test_a_number_of_commits_is_checked(tmp_path: Path, commits: int) -> None:
    with pytest.raises(hf.ArgumentError, match="commits: expected 1 to 100,000"):
        new_table(tmp_path / "t").advise(commits=commits)


def test_a_plan_that_is_being_run_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(tmp_path / "t")
    for step in range(2):
        table.upsert(rows(("a", step, "x", step)))
    table.schedule_compaction()
    assert [one.finding for one in table.advise()] == ["pending-compaction"]
    monkeypatch.setattr(services, "is_running", lambda *_: True)
    monkeypatch.setattr("hudiformat.services.deciding.is_running", lambda *_: True)
    assert table.advise() == []


def test_large_logs_are_compacted_before_it_is_due(tmp_path: Path) -> None:
    options = {**SMALL, "hoodie.parquet.max.file.size": "50000"}
    faulty = make(tmp_path / "t", lambda t, n: t.upsert(rows_of(0, 200, seed=n)), commits=3, options=options,
                  table_type="MERGE_ON_READ")  # fmt: skip
    assert [one.finding for one in faulty.table().advise()] == ["large-logs"]


def test_clusterings_that_are_due_are_advised(tmp_path: Path) -> None:
    faulty = make(tmp_path / "t", lambda t, n: t.bulk_insert(rows_of(n * 9, 9)), commits=4)
    found = faulty.table({"hoodie.clustering.async.enabled": "true"}).advise()
    assert [one.finding for one in found] == ["clustering-due"]
    assert run(shlex.split(found[0].command)[1:]) == 0
    assert len(faulty.table().file_slices()) == 1


def test_a_table_without_record_keys_has_no_command_that_copies_it(tmp_path: Path) -> None:
    def write(table: hf.Table, number: int) -> None:
        table.insert(rows_of(number * 60, 60, partitions=12))

    faulty = make(tmp_path / "t", write, commits=5, record_key=(), partition_by=("p",))
    (first, *_) = faulty.table().advise()
    assert (first.finding, first.command, first.into) == ("micro-partitions", "", "")


def test_partition_fields_are_left_out_from_the_last_on(tmp_path: Path) -> None:
    def write(table: hf.Table, number: int) -> None:
        found = rows_of(number * 120, 120, partitions=24)
        regions = [f"r{int(day[1:]) % 2}" for day in found["p"].to_pylist()]
        table.insert(found.set_column(2, "v", [regions]))

    faulty = make(tmp_path / "t", write, commits=5, partition_by=("v", "p"))
    (first, *_) = faulty.table().advise()
    assert first.verb == "Partition by v alone"
    assert "--partition-by v " in first.command
    assert first.effects[0].after == 2


def test_the_command_prints_all_of_an_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {**LIMITS, "hoodie.parquet.small.file.limit": "0"}
    make(tmp_path / "t", lambda t, n: t.insert(rows_of(n * 50, 50)), commits=9, options=options)
    command = ["advise", "t", "-o", "hoodie.parquet.small.file.limit=0", "-o", "hoodie.parquet.max.file.size=120000"]
    assert run(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1. Cluster: 9 of 9 file groups are below 100 kB")
    assert lines[0].endswith("(high, unfilled-small-files)")
    assert "   file groups 9 -> 1" in lines
    assert "   set hoodie.parquet.small.file.limit=100000" in lines
    assert any(line.startswith("   run hudiformat cluster -o ") for line in lines)
    assert any(line.startswith("   once: about ") for line in lines)
    assert lines[-1].startswith("not examined: ")
    assert [run([*command, "--fail-on", "high"]), run(["advise", "t", "--fail-on", "high"])] == [1, 0]
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    *found, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert found[0]["finding"] == "unfilled-small-files"
    assert found[0]["effects"][0] == {"measure": "file_groups", "before": 9, "after": 1, "commits": 0}
    assert list(last) == ["not_examined"]


def test_the_command_says_that_there_is_nothing_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_table(tmp_path / "t")
    assert run(["advise", str(tmp_path / "t"), "--fail-on", "low"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Nothing to do"


def test_writes_that_died_are_rolled_back_the_newest_first(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE")
    table.insert(rows(("a", 1, "x", 1)))
    timeline = tmp_path / "t" / table.config.timeline_folder
    times = [str(int(table.timeline.latest_instant_time or "0") + step) for step in (1000, 2000)]
    for time in times:
        for suffix in ("commit.requested", "inflight"):
            (timeline / f"{time}.{suffix}").touch()
    (first,) = hf.open_table(tmp_path / "t").advise()
    assert (first.finding, first.severity) == ("dead-writes", hf.Severity.HIGH)
    assert [command.split()[-1] for command in first.command.split(" && ")] == times[::-1]
    for command in first.command.split(" && "):
        assert run(shlex.split(command)[1:]) == 0
    assert table.advise() == []


def test_a_service_that_cannot_be_decided_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decide(_state: object, service: Service) -> Decision:
        if service is Service.CLEANING:
            raise hf.CorruptTableError("a plan is damaged")
        return Decision(service is Service.ARCHIVING, "so many commits")

    monkeypatch.setattr("hudiformat.advice.facts.decide", decide)
    assert [one.finding for one in new_table(tmp_path / "t").advise()] == ["archive-due"]


def test_what_a_clean_would_not_halve_is_not_advised(tmp_path: Path) -> None:
    options = {"hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": "9"}
    faulty = make(tmp_path / "t", lambda t, n: t.upsert(rows_of(0, 300, seed=n)), commits=8, options=options)
    assert faulty.table().advise() == []


def test_few_updates_of_files_that_cannot_be_read_are_taken_as_assumed(tmp_path: Path) -> None:
    options = {"hoodie.copyonwrite.record.size.estimate": "60"}

    def write(table: hf.Table, number: int) -> None:
        table.upsert(rows_of(0, 2000 if number == 0 else 20, seed=number))

    faulty = make(tmp_path / "t", write, commits=7, options=options)
    assert [one.finding for one in faulty.table().advise()] == ["rewrites-for-few-rows"]
    (base,) = [one.base_file for one in faulty.table().file_slices()]
    assert base is not None
    (tmp_path / "t" / str(base.name)).write_bytes(b"PAR1" + bytes(base.size - 8) + b"PAR1")
    assert [one.finding for one in faulty.table().advise()] == ["rewrites-for-few-rows"]
