"""The values of a plan."""

from __future__ import annotations

from pathlib import Path

from hudiformat import HudiFormatError, Repair, RepairKind, RepairStep, StepState
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job
from hudiformat.storage.local import LocalStorage

STEP = RepairStep(RepairKind.LOG, "x/.a.log", "is replaced", "it is damaged")


def test_steps_and_repairs_show_what_counts() -> None:
    lost = RepairStep(RepairKind.FILES, "x", "is removed", "gone", "all rows", StepState.DONE)
    assert repr(STEP) == "<RepairStep planned log x/.a.log: is replaced>"
    assert repr(lost) == "<RepairStep done files x: is removed; lost: all rows>"
    assert repr(Repair.of("/t", (STEP,), applied=False)) == "<Repair of /t: steps: 1 planned>"
    done = Repair.of("/t", (STEP, lost), applied=True, taken_away=".hoodie/.repair/1")
    assert repr(done) == "<Repair of /t: steps: 1 planned, 1 done; files in .hoodie/.repair/1>"
    assert done.left == (STEP,)


def test_a_job_is_done_refused_or_fails(tmp_path: Path) -> None:
    taken = RepairFolder(LocalStorage(tmp_path), "1")
    ran: list[RepairFolder] = []

    def fail(_taken: RepairFolder) -> None:
        raise HudiFormatError("no")

    assert Job(STEP, ran.append).carry_out(taken).state is StepState.DONE
    assert ran == [taken]
    refused = Job.refused(STEP, "alive").carry_out(taken)
    assert (refused.state, refused.reason) == (StepState.REFUSED, "alive")
    failed = Job(STEP, fail).carry_out(taken)
    assert (failed.state, failed.reason) == (StepState.FAILED, "no")


def test_the_page_about_repairs_names_every_kind_of_step() -> None:
    page = (Path(__file__).parents[3] / "docs/repair.md").read_text()
    rows = [line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(kind.value for kind in RepairKind)
