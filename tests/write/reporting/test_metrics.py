"""Metrics of commits and services, by Hudi's names."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hudiformat import OptionError, UnsupportedFeatureError, open_table
from hudiformat.table.options.reporting import GatewayOptions
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.write.reporting.metrics import PushGatewayReporter, commit_values, prometheus_text
from tests.http_server import keep_requests
from tests.tables import Clock, content, new_table, rows

ON = {"hoodie.metrics.on": "true"}
ROW = rows(("a", 1, "x", 1))


def values(path: Path) -> dict[str, int]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: int(value) for name, value in (line.split() for line in lines)}


def test_a_text_file_has_the_newest_values_of_each_action(tmp_path: Path) -> None:
    file = tmp_path / "hudi.prom"
    options = {
        **ON,
        "hudiformat.metrics.textfile": str(file),
        "hoodie.metricscompaction.log.blocks.on": "true",
        "hoodie.clean.commits.retained": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    }
    table = new_table(tmp_path / "t", options={**options, "hoodie.table.timeline.timezone": "UTC"})
    table.bulk_insert(ROW)
    table.upsert(rows(("a", 2, "x", 2)))
    table.compact()
    first = values(file)
    assert first["t_deltacommit_totalUpdateRecordsWritten"] == 1
    assert first["t_compaction_totalLogFilesCompacted"] == 1
    assert first["t_compaction_totalLogFilesSize"] > 0
    assert first["t_compaction_totalCorruptedLogBlocks"] == 0
    assert first["t_compaction_pendingCompactionInstantCount"] == 0
    assert first["t_commit_latestCompletedCompactionInstant"] == int(table.timeline.completed_writes[-1].time)
    assert 0 <= first["t_deltacommit_commitTime"] - 1709208000000 < 10_000  # 2024-02-29 12:00 UTC
    for number in range(3, 9):
        table.upsert(rows(("a", number, "x", number)))
        table.compact()
    last = values(file)
    assert last["t_clean_numFilesDeleted"] > 0
    assert last["t_archive_numInstantsArchived"] > 0
    table.rollback(table.timeline.completed_writes[-1])
    assert values(file)["t_rollback_numFilesDeleted"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"t", "hudi.prom"}


def test_a_gateway_gets_all_values_after_each_commit(tmp_path: Path) -> None:
    with keep_requests() as server:
        gateway = {
            "host": "127.0.0.1",
            "port": str(server.port),
            "job.name": "nightly",
            "report.labels": "env:a/b,team:data lake,empty:",
            "random.job.name.suffix": "false",
            "delete.on.shutdown": "false",
        }
        options = {f"hoodie.metrics.pushgateway.{key}": value for key, value in gateway.items()}
        kind = {
            "hoodie.metrics.reporter.type": "PROMETHEUS_PUSHGATEWAY",
            "hoodie.metrics.reporter.metricsname.prefix": "",
        }
        new_table(tmp_path / "t", options={**ON, **kind, **options}).insert(ROW)
    [request] = server.requests
    assert request.path == "/metrics/job/nightly/env@base64/YS9i/team/data+lake/empty@base64/="
    assert request.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE deltacommit_totalFilesInsert gauge\ndeltacommit_totalFilesInsert 1\n" in request.body


def test_what_a_process_has_pushed_is_deleted_under_its_own_job(caplog: pytest.LogCaptureFixture) -> None:
    with keep_requests() as server:
        options = GatewayOptions(host="127.0.0.1", port=server.port, job="j", is_cleared=False)
        first, second = PushGatewayReporter(options), PushGatewayReporter(options)
        first.report({"a.b": 1})
        first.clear()
    assert first.url != second.url
    assert [(one.method, one.path) for one in server.requests] == [
        (method, first.url.removeprefix(server.url)) for method in ("POST", "DELETE")
    ]
    first.clear()
    assert "could not be deleted" in caplog.text


def test_a_gateway_on_the_port_of_https_is_spoken_to_so() -> None:
    assert PushGatewayReporter(GatewayOptions(port=443, is_cleared=False)).url.startswith("https://localhost:443/")


def test_the_log_has_a_line_for_each_value(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hudiformat.metrics")
    new_table(tmp_path / "t", options={**ON, "hoodie.metrics.reporter.type": "slf4j"}).insert(ROW)
    assert "type=GAUGE, name=t.deltacommit.totalRecordsWritten, value=1" in caplog.messages


def test_metrics_that_go_nowhere_are_a_line_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {**ON, "hudiformat.metrics.textfile": str(tmp_path / "missing" / "hudi.prom")}
    table = new_table(tmp_path / "t", options=options)
    table.insert(ROW)
    assert content(table) == [("a", 1, "x", 1)]
    assert "the metrics could not be reported" in caplog.text


def test_nothing_is_kept_when_metrics_are_off(tmp_path: Path) -> None:
    file = tmp_path / "hudi.prom"
    new_table(tmp_path / "t", options={"hudiformat.metrics.textfile": str(file)}, clock=Clock()).insert(ROW)
    assert not file.exists()


def test_event_times_give_latency_and_freshness() -> None:
    stats = (WriteStat(min_event_time=100, max_event_time=300), WriteStat(min_event_time=200), WriteStat())
    found = commit_values(CommitMetadata("UPSERT", {"": stats}), committed_ms=1000, duration_ms=50)
    assert (found["commitLatencyInMs"], found["commitFreshnessInMs"]) == (950, 750)


def test_names_of_prometheus_have_underscores_for_other_characters() -> None:
    assert prometheus_text({"1-t.a:b": 5}) == b"# HELP __t_a:b 1-t.a:b\n# TYPE __t_a:b gauge\n__t_a:b 5\n"


def test_metrics_need_a_reporter_that_there_is(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    with pytest.raises(OptionError, match="expected PROMETHEUS_PUSHGATEWAY, SLF4J, or a file .* GRAPHITE"):
        open_table(tmp_path / "t", options=ON)
    with pytest.raises(UnsupportedFeatureError, match="found datadog"):
        open_table(tmp_path / "t", options={**ON, "hoodie.metrics.reporter.type": "datadog"})
    with pytest.raises(OptionError, match="each name once"):
        open_table(tmp_path / "t", options={"hoodie.metrics.pushgateway.report.labels": "a:1,a:2"})
