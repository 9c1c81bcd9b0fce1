"""What sizing would do with new rows, without writing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.index.global_index import route
from hudiformat.index.lookup import NEW, PartitionIndex
from hudiformat.options.enums import Operation
from hudiformat.query.slice_reader import refuse_unreadable
from hudiformat.sizing import PartitionPlan
from hudiformat.table.schema import RowKeys
from hudiformat.table.state import TableContext
from hudiformat.transaction.begin import write_plan
from hudiformat.transaction.plan import WritePlan
from hudiformat.write.write import combined, fitted_rows

_NO_INSTANT = "0"


def plan_inserts(context: TableContext, inserts: Any) -> tuple[PartitionPlan, ...]:
    """Where *inserts* would go, rows or numbers of rows by partition path.

    Raises:
        UnsupportedFeatureError: the table has a bucket index, or cannot be written.
        SchemaError, DataError: the rows cannot be written.
    """
    refuse_unreadable(context.config)
    plan = write_plan(context, Operation.UPSERT, context.schema(), _NO_INSTANT)
    if plan.sizing is None:
        raise UnsupportedFeatureError(
            f"{context.storage.root}: a bucket index places rows by the hash of their keys, there is nothing to plan",
            feature="sizing with a bucket index",
        )
    counts = inserts if isinstance(inserts, Mapping) else _new_rows(context, plan, inserts)
    return tuple(
        plan.sizing.plan(path, counts[path], plan.sizing.small_files(path, _index(context, plan, path).slices))
        for path in sorted(counts)
    )


def _new_rows(context: TableContext, plan: WritePlan, data: Any) -> dict[str, int]:
    """How many rows of an upsert of *data* are new, by partition path."""
    rows = fitted_rows(context, Operation.UPSERT, data)
    if plan.combines:
        rows = combined(plan, rows)
    if plan.looks_everywhere:
        routes = route(plan, context.storage, rows)
        return Counter(routes.paths.filter(routes.groups.is_null()).to_pylist())
    keys = RowKeys.of(plan.config)
    record_keys, paths = keys.record_keys(rows), keys.partition_paths(rows)
    counts = {}
    for path in paths.unique().to_pylist():
        tags = _index(context, plan, path).tag(record_keys.filter(pc.equal(paths, path)))
        counts[path] = int(np.count_nonzero(tags.codes == NEW))
    return counts


def _index(context: TableContext, plan: WritePlan, path: str) -> PartitionIndex:
    return PartitionIndex(context.storage, plan, path)
