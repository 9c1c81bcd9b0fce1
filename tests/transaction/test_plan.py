"""What a write is going to do, as its tasks are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hudiformat import open_table
from hudiformat.options.values import Operation
from hudiformat.sizing import Verdict
from hudiformat.transaction.plan import sizing_profile

SEEING = {"hoodie.index.type": "INMEMORY"}


def test_groups_in_a_pending_compaction_are_not_filled(own_golden: Callable[[str], Path]) -> None:
    path = own_golden("v9-mor-compaction-pending-h120")
    table = open_table(path, options={**SEEING, "hoodie.metadata.enable": "false"})
    waiting = sizing_profile(table.context.state(), Operation.UPSERT).in_compaction
    assert waiting
    for partition, file_id in waiting:
        (plan,) = table.plan_inserts({partition: 5})
        assert {group.file_id: group.verdict for group in plan.groups}[file_id] is Verdict.IN_COMPACTION
        assert file_id not in {bucket.file_id for bucket in plan.buckets}
