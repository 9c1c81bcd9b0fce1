"""Writers of ours and of Hudi on one table at the same time, and each taking away what the other left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat.naming.file_names import WriteToken, fixed_bucket_file_id
from hudiformat.table.options.locks import LockProvider
from hudiformat.table.options.values import Operation
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import begin_write
from hudiformat.write.write import WriteTask
from tests import racing
from tests.conformance.hudi import RealHudi, RealHudiError
from tests.conformance.java_locks import options_of
from tests.conformance.test_timeline import ASK
from tests.effort import LONG, only_long
from tests.racing import SCHEMA, SHARED, rows

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
HUDI = {
    "hoodie.table.name": "shared",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.rollback.avoid.duplicate.plan": "true",  # else two writers roll back the same failed write, and one fails
    "hoodie.metadata.enable": "false",
    **SHARED,
}

MET_ANOTHER = (
    "HoodieWriteConflictException",
    "due to heartbeat by concurrent writer/job",
    "is not present as pending or already completed in the active timeline",
)
"""What Hudi says of another writer: of its rows, and of a compaction that both of Hudi's writers want to run.

Under the lock Hudi asks for the heartbeat of the other, who runs it now, and then for the compaction among the pending
ones, where it is no more once the other has run it (``BaseHoodieTableServiceClient.compact``).
"""
SERVICE_COMMITS = int(os.environ.get("HUDIFORMAT_COMMITS", "40"))
"""Of each writer under the lock of a service."""


def commits(hudi: RealHudi, path: Path, step: int, writer: str = "hudi", options: Mapping[str, str] = HUDI) -> bool:
    """Whether Hudi's write went through; False where it met another one."""
    try:
        hudi.write(rows(writer, step), path, dict(options))
    except RealHudiError as error:
        if not any(answer in error.trace for answer in MET_ANOTHER):
            raise
        return False
    return True


@pytest.mark.hudi
@pytest.mark.parametrize("count", [3, *([1] if LONG else [])])
def test_writers_of_both_kinds_lose_and_double_nothing(hudi: RealHudi, tmp_path: Path, count: int) -> None:
    path = tmp_path / "table"
    table = racing.new_table(path)
    # Hudi does not see that another writer has added the same key in another file group: the row is there before.
    table.upsert(rows("", -1).slice(2))
    ours = [f"ours{number}" for number in range(count)]
    processes = racing.start_writers(path, ours)
    for step in range(racing.COMMITS):
        while not commits(hudi, path, step):
            pass
    assert [process.wait(timeout=7200) for process in processes] == [0] * count
    for found in (table.snapshot(), hudi.read(path)):
        racing.check(found, [*ours, "hudi"])


@only_long
@pytest.mark.hudi
@pytest.mark.servers
@pytest.mark.parametrize(
    "provider",
    [
        LockProvider.ZOOKEEPER,
        LockProvider.ZOOKEEPER_IMPLICIT,
        LockProvider.HIVE_METASTORE,
        LockProvider.FILE_SYSTEM,
    ],
)
def test_two_writers_of_each_kind_lose_and_double_nothing_by_a_service(
    provider: LockProvider, hudi: RealHudi, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "table"
    lock = {**SHARED, **options_of(provider, request)}
    table = racing.new_table(path, lock)
    table.upsert(rows("", -1).slice(2))
    ours, theirs = ["ours0", "ours1"], ["hudi0", "hudi1"]

    def write(session: RealHudi, writer: str) -> None:
        for step in range(SERVICE_COMMITS):
            while not commits(session, path, step, writer, {**HUDI, **lock}):
                pass

    with RealHudi() as second, ThreadPoolExecutor(len(theirs)) as pool:
        processes = racing.start_writers(path, ours, lock, SERVICE_COMMITS)
        done = [pool.submit(write, *one) for one in zip((hudi, second), theirs, strict=True)]
        assert [process.wait(timeout=7200) for process in processes] == [0] * len(ours)
        for one in done:
            one.result()
    for found in (table.snapshot(), hudi.read(path)):
        racing.check(found, [*ours, *theirs], SERVICE_COMMITS)
    assert table.verify() == []


@only_long
@pytest.mark.hudi
def test_hudi_reads_the_rollback_of_a_writer_that_died(hudi: RealHudi, tmp_path: Path) -> None:
    path = tmp_path / "table"
    hf.create_table(path, name="shared", schema=SCHEMA, record_key=["id"], ordering=["ts"], partition_by=["p"])
    table = hf.open_table(path)
    table.upsert(rows("ours", 0))
    dead = begin_write(table._context, Operation.UPSERT)
    with WriteTask(dead.plan, WriteToken(0, 0, 0)) as task:
        task.write_batch(rows("ours", 1).combine_chunks().to_batches()[0])
        task.finish()
    table.upsert(rows("ours", 2))
    dead._heartbeat.stop()
    (rollback,) = [done for done in table.timeline.completed if done.action is Action.ROLLBACK]
    assert hudi.eval_(READ_ROLLBACK.format(path=str(path))) == {
        "rollback": rollback.time,
        "rolled back": [dead.plan.instant],
        "deleted": 2,  # the base file that took in a new row, and the log file of the other group
    }
    hudi.write(rows("hudi", 0), path, {**HUDI, "hoodie.metadata.enable": "true"})
    assert sorted(hudi.read(path)["id"].to_pylist()) == sorted(table.snapshot()["id"].to_pylist())


@pytest.mark.hudi
def test_writers_that_do_not_block_name_a_bucket_as_hudi_does(hudi: RealHudi) -> None:
    numbers = [0, 7, 4095, 99_999_999]
    names = "jvm.org.apache.hudi.index.bucket.BucketIdentifier.newBucketFileIdForNBCC"
    assert hudi.eval_(f"result = [{names}(n) for n in {numbers}]") == [fixed_bucket_file_id(n) for n in numbers]
