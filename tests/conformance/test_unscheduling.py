"""A file group is taken out of a planned compaction: what Hudi leaves on the timeline is what hudiformat leaves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat.timeline.timeline import instant_path
from tests.conformance.hudi import RealHudi
from tests.services.test_unscheduling import plan_of, planned

ADMIN = """
context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(spark.sparkContext._jsc)
admin = jvm.org.apache.hudi.client.CompactionAdminClient(context, {path!r})
group = jvm.org.apache.hudi.common.model.HoodieFileGroupId({partition!r}, {file_id!r})
if {whole}:
    admin.unscheduleCompactionPlan({instant!r}, True, 1, False)
else:
    admin.unscheduleCompactionFileId(group, True, False)
result = None
"""


@pytest.mark.unmeasured
def test_hudi_and_hudiformat_leave_the_same(hudi: RealHudi, tmp_path: Path) -> None:
    table, instant = planned(tmp_path / "ours")
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    theirs = hf.open_table(tmp_path / "theirs")
    operation = (plan_of(table).operations or ())[0]
    group = {"partition": operation.partition_path, "file_id": operation.file_id}
    asked = {"path": theirs.path, "instant": instant.time, **group}
    hudi.eval_(ADMIN.format(whole=False, **asked))
    table.unschedule_compaction(instant, **group)
    assert plan_of(table) == plan_of(theirs)
    assert len(plan_of(table).operations or ()) == 1
    hudi.eval_(ADMIN.format(whole=True, **asked))
    table.unschedule_compaction(instant)
    for one in (table, theirs):
        assert one.timeline.pending == ()
        assert not (tmp_path / one.path / instant_path(one.config, instant)).exists()
