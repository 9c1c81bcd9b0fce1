"""Plans of compactions, of this version and of older ones."""

from __future__ import annotations

import pytest

from hudiformat.errors import CorruptTableError
from hudiformat.timeline.plans import CompactionOperation, CompactionPlan, decode_compaction_plan
from hudiformat.timeline.records import encode_record_file

PATH = ".hoodie/1.compaction.requested"
LOG, BASE = ".a_1.log.1_0-1-1", "a_0-1-1_1.parquet"


def test_file_names_come_without_the_folders_of_old_plans() -> None:
    old = CompactionOperation("1", (f"/t/p/{LOG}", LOG), f"/t/p/{BASE}", "a", "p")
    found = decode_compaction_plan(encode_record_file(CompactionPlan((old,), version=1)), path=PATH)
    assert found.operations == (CompactionOperation("1", (LOG, LOG), BASE, "a", "p"),)


def test_a_slice_may_lack_a_base_file_and_a_plan_its_operations() -> None:
    logs = CompactionOperation("1", (LOG,), None, "a", "p")
    assert decode_compaction_plan(encode_record_file(CompactionPlan((logs,))), path=PATH).operations == (logs,)
    assert decode_compaction_plan(encode_record_file(CompactionPlan(None)), path=PATH).operations == ()


def test_what_is_no_avro_file_is_refused() -> None:
    with pytest.raises(CorruptTableError, match="expected an Avro file") as caught:
        decode_compaction_plan(b"{}", path=PATH)
    assert caught.value.path == PATH
