"""Operations that a table cannot have are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hudiformat import UnsupportedFeatureError
from hudiformat.options import Operation
from hudiformat.transaction.refusals import refuse_operation
from tests.tables import new_table

BUCKETS = {"hoodie.index.type": "BUCKET"}
NON_BLOCKING = {
    **BUCKETS,
    "hoodie.write.concurrency.mode": "non_blocking_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}


@pytest.mark.parametrize(
    ("options", "operation", "feature"),
    [
        (NON_BLOCKING, Operation.INSERT_OVERWRITE, "INSERT_OVERWRITE without blocking other writers"),
        (
            {**BUCKETS, "hoodie.datasource.insert.dup.policy": "drop"},
            Operation.INSERT,
            "insert policies with a bucket index",
        ),
        (
            {**BUCKETS, "hoodie.index.bucket.engine": "CONSISTENT_HASHING"},
            Operation.DELETE_PARTITION,
            "DELETE_PARTITION with consistent hashing",
        ),
    ],
)
def test_each_is_refused_by_name(
    tmp_path: Path, options: Mapping[str, str], operation: Operation, feature: str
) -> None:
    state = new_table(tmp_path / "t", options=dict(options)).context.state()
    refuse_operation(state, Operation.UPSERT)
    with pytest.raises(UnsupportedFeatureError) as caught:
        refuse_operation(state, operation)
    assert (caught.value.feature or "").upper() == feature.upper()
