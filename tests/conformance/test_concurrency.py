"""Writers of ours and of Hudi on one table at the same time, and each taking away what the other left."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.naming import WriteToken
from hudiformat.table import Operation, WriteTask
from hudiformat.table.begin import start_write
from hudiformat.timeline import Action
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.conformance.test_timeline import ASK

COMMITS = 3
SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("p", pa.string())])
SHARED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.client.num_retries": "600",
}
READ_ROLLBACK = (
    ASK.replace("{", "{{").replace("}", "}}")
    + """
timeline = client({path!r}).getActiveTimeline()
instant = timeline.getRollbackTimeline().lastInstant().get()
said = timeline.readRollbackMetadata(instant)
result = {{
    "rollback": instant.requestedTime(),
    "rolled back": list(said.getCommitsRollback()),
    "deleted": said.getTotalFilesDeleted(),
}}
"""
)
RETRIES = {"hoodie.write.num.retries.on.conflict.failures": "50"}
HUDI = {
    "hoodie.table.name": "shared",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.metadata.enable": "false",
    **SHARED,
}


def rows(writer: str, step: int) -> pa.Table:
    """A row that only this writer has, a new one, and one that both writers fight for."""
    ids = [f"{writer}-own", f"{writer}-{step}", "fought for"]
    return pa.table({"id": ids, "ts": [step] * 3, "p": [writer, writer, "x"]}, schema=SCHEMA)


def write_until_it_commits(hudi: RealHudi, path: Path, step: int, *, tries: int = 50) -> None:
    try:
        hudi.write(rows("hudi", step), path, HUDI)
    except RealHudiError as error:
        if "HoodieWriteConflictException" not in error.trace or not tries:
            raise
        write_until_it_commits(hudi, path, step, tries=tries - 1)


@pytest.mark.hudi
def test_writers_of_both_kinds_lose_and_double_nothing(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "table"
    hf.create_table(path, name="shared", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    table = hf.open_table(path, options={**SHARED, **RETRIES, "hoodie.metadata.enable": "false"})
    table.upsert(rows("ours", 0))
    hudi.write(rows("hudi", 0), path, HUDI)
    failures: list[BaseException] = []

    def hudi_writes() -> None:
        try:
            for step in range(1, COMMITS):
                write_until_it_commits(hudi, path, step)
        except BaseException as error:  # noqa: BLE001 - the other thread has to hear of it
            failures.append(error)

    thread = threading.Thread(target=hudi_writes)
    thread.start()
    for step in range(1, COMMITS):
        table.upsert(rows("ours", step))
    thread.join()
    assert not failures
    expected = {f"{writer}-{name}" for writer in ("ours", "hudi") for name in ("own", *map(str, range(COMMITS)))}
    for found in (table.snapshot(columns=["id", "ts"]), hudi.read(path)):
        ids = found["id"].to_pylist()
        assert sorted(ids) == sorted({*expected, "fought for"})
        newest = dict(zip(ids, found["ts"].to_pylist(), strict=True))
        assert (newest["ours-own"], newest["hudi-own"], newest["fought for"]) == (COMMITS - 1,) * 3


@pytest.mark.hudi
def test_hudi_reads_the_rollback_of_a_writer_that_died(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "table"
    hf.create_table(path, name="shared", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    table = hf.open_table(path)
    table.upsert(rows("ours", 0))
    dead = start_write(table.context, Operation.UPSERT)
    with WriteTask(dead.plan, WriteToken(0, 0, 0)) as task:
        task.write(rows("ours", 1).combine_chunks().to_batches()[0])
        task.finish()
    table.upsert(rows("ours", 2))
    (rollback,) = [done for done in table.timeline.completed if done.action is Action.ROLLBACK]
    assert hudi.eval_(READ_ROLLBACK.format(path=str(path))) == {
        "rollback": rollback.time,
        "rolled back": [dead.plan.instant],
        "deleted": 2,  # the base file that took in a new row, and the log file of the other group
    }
    hudi.write(rows("hudi", 0), path, {**HUDI, "hoodie.metadata.enable": "true"})
    assert sorted(hudi.read(path)["id"].to_pylist()) == sorted(table.snapshot()["id"].to_pylist())
