"""What Hudi and hudiformat tell of the same writes: the message of the callback, and the metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.hudi import RealHudi
from tests.http_server import KeptRequests, keep_requests
from tests.tables import new_table, rows

SAME = (
    "totalPartitionsWritten",
    "totalFilesInsert",
    "totalFilesUpdate",
    "totalRecordsWritten",
    "totalUpdateRecordsWritten",
    "totalInsertRecordsWritten",
    "totalRecordsDeleted",
)
"""Metrics that do not depend on sizes and times."""
WRITES = (rows(("a", 1, "x", 1), ("b", 1, "y", 2)), rows(("a", 2, "x", 3)))


def told(server: KeptRequests) -> dict[str, str]:
    return {
        "hoodie.write.commit.callback.on": "true",
        "hoodie.write.commit.callback.http.url": f"{server.url}/hook",
        "hoodie.write.commit.callback.http.custom.headers": "X-A:1; X-B : two",
        "hoodie.metrics.on": "true",
        "hoodie.metrics.reporter.type": "PROMETHEUS_PUSHGATEWAY",
        "hoodie.metrics.pushgateway.host": "127.0.0.1",
        "hoodie.metrics.pushgateway.port": str(server.port),
        "hoodie.metrics.pushgateway.job.name": "job",
        "hoodie.metrics.pushgateway.random.job.name.suffix": "false",
        "hoodie.metrics.pushgateway.report.labels": "env:a/b,x:y z",
    }


def messages(server: KeptRequests) -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in server.requests if one.path == "/hook"]


def labels(server: KeptRequests) -> set[str]:
    """The parts of the gateway's path: Hudi sends labels in the order of a hash map."""
    [path] = {one.path for one in server.requests if one.path != "/hook"}
    parts = path.removeprefix("/metrics/job/job/").split("/")
    return {f"{name}/{value}" for name, value in zip(parts[::2], parts[1::2], strict=True)}


def gauges(server: KeptRequests, table: str) -> dict[str, float]:
    """The newest values; tables of one process share a gateway."""
    found: dict[str, float] = {}
    for request in server.requests:
        if request.method == "POST" and request.path != "/hook":
            lines = (line.rpartition(" ") for line in request.body.splitlines() if not line.startswith("#"))
            found.update({name.removeprefix(f"{table}_"): float(value) for name, _, value in lines})
    return found


def stats_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The statistics without what depends on names, sizes and times."""
    own = ("fileId", "path", "prevCommit", "totalWriteBytes", "fileSizeInBytes", "runtimeStats", "prevBaseFile")
    varying = (*own, "baseFile", "logFiles", "logOffset")
    return sorted(
        ({key: value for key, value in stat.items() if key not in varying} for stat in message["hoodieWriteStat"]),
        key=lambda stat: str(stat["partitionPath"]),
    )


@pytest.mark.unmeasured
def test_both_tell_the_same(hudi: RealHudi, tmp_path: Path) -> None:
    keys = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "k",
        "hoodie.datasource.write.partitionpath.field": "p",
    }
    with keep_requests() as theirs, keep_requests() as ours:
        table = new_table(tmp_path / "ours", table_type="COPY_ON_WRITE", options=told(ours))
        for data in WRITES:
            hudi.write(data, tmp_path / "theirs", {**keys, **told(theirs)})
            table.upsert(data)
    for one, other in zip(messages(theirs), messages(ours), strict=True):
        assert one.keys() == other.keys()
        assert [one[key] for key in ("tableName", "commitActionType", "extraMetadata")] == [
            other[key] for key in ("tableName", "commitActionType", "extraMetadata")
        ]
        assert [stat.keys() for stat in one["hoodieWriteStat"]] == [stat.keys() for stat in other["hoodieWriteStat"]]
        assert stats_of(one) == stats_of(other)
    known = ("HUDI-CALLBACK-KEY", "Content-Type", "X-A", "X-B")
    expected = ["hudi_write_commit_http_callback", "application/json; charset=UTF-8", "1", "two"]
    for server in (theirs, ours):
        [first, _] = [one for one in server.requests if one.path == "/hook"]
        assert [first.headers[key] for key in known] == expected
    assert labels(theirs) == labels(ours)
    hudis, own = gauges(theirs, "t"), gauges(ours, "t")
    assert own.keys() - hudis.keys() == set()
    assert {name: hudis[f"commit_{name}"] for name in SAME} == {name: own[f"commit_{name}"] for name in SAME}
