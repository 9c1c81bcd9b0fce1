"""Damaged log files are replaced by what can be read of them."""

from __future__ import annotations

from pathlib import Path

from hudiformat import RepairKind, StepState, Table
from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.logs import plan_logs
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job
from hudiformat.codec.log.verify import verify_log
from tests.check.repair.breaking import age
from tests.cli.support import DATA, DELETES, EVOLVED, HIDDEN, UNDECODABLE
from tests.tables import new_table, rows

PATH = "x/.a_1.log.1_0-0-0"


def planned(table: Table, data: bytes) -> Job:
    file = Path(table.path, PATH)
    file.write_bytes(data)
    age(Path(table.path))
    return job_of(table)


def job_of(table: Table) -> Job:
    (job,) = plan_logs(table._context.state(), [(PATH, "why")], WriterTimeout(table._context.storage, 600))
    return job


def made(path: Path, version: int = 9) -> Table:
    table = new_table(path, version=version)
    table.upsert(rows(("a", 1, "x", 1)))
    return table


def test_blocks_that_can_be_read_stay_as_they_are(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    job = planned(table, DATA + UNDECODABLE + EVOLVED + DELETES[:-3])
    assert job.step.kind is RepairKind.LOG
    assert job.step.lost.startswith("the AVRO_DATA block of 5: ")
    assert "(torn tail)" in job.step.lost
    taken = RepairFolder(table._context.storage, "1")
    assert job.carry_out(taken).state is StepState.DONE
    assert Path(table.path, PATH).read_bytes() == DATA + EVOLVED
    assert verify_log(Path(table.path, PATH)) == []
    assert len(taken.files) == 1


def test_blocks_that_queries_skip_come_back(tmp_path: Path) -> None:
    job = planned(made(tmp_path / "t"), HIDDEN)
    assert "queries see 1 of them again" in job.step.what


def test_a_block_with_odd_lengths_is_written_anew(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    odd = bytearray(DATA)
    odd[6:14] = (int.from_bytes(odd[6:14], "big") + (1 << 32)).to_bytes(8, "big")
    file = Path(table.path, PATH)
    file.write_bytes(bytes(odd))
    kinds = [finding.kind.value for finding in verify_log(file)]
    job = planned(table, bytes(odd))
    job.carry_out(RepairFolder(table._context.storage, "1"))
    assert kinds != []
    assert verify_log(file) == []


def test_a_log_file_that_somebody_may_be_writing_is_left_alone(tmp_path: Path) -> None:
    table = made(tmp_path / "t", version=6)
    planned(table, DATA[:-1])
    Path(table.path, PATH).write_bytes(DATA[:-1])
    assert "was written" in job_of(table).step.reason
    age(Path(table.path))
    Path(table.path, ".hoodie/99990101000000000.deltacommit.requested").touch()
    assert "has begun" in job_of(table).step.reason
