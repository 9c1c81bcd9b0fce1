"""Show where sizing would put new rows, without writing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.base_file.format import refuse_unreadable
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableContext, TableState
from hudiformat.write.commit.plan import WritePlan, write_plan
from hudiformat.write.duplicates import combine_keyed
from hudiformat.write.index.global_index import locate_everywhere
from hudiformat.write.index.tagging import Tagger
from hudiformat.write.rows import NEW, group_by_value
from hudiformat.write.write import prepare

_NO_INSTANT = "0"


def plan_inserts(context: TableContext, inserts: Any) -> tuple[PartitionPlan, ...]:
    """Return where *inserts* would go; they are rows, or numbers of rows by partition path.

    Raises:
        UnsupportedFeatureError: the table has a bucket index, or cannot be written.
        SchemaError, DataError: the rows cannot be written.
    """
    state = context.state()
    refuse_unreadable(state.config)
    plan = write_plan(state, Operation.UPSERT, _NO_INSTANT)
    if plan.sizing is None:
        raise UnsupportedFeatureError(
            f"{context.storage.root}: expected an index without buckets, found a bucket index, "
            "which assigns rows by the hash of their keys; leave the plan out",
            feature="sizing with a bucket index",
        )
    tagger = Tagger(context.storage, plan)
    counts = inserts if isinstance(inserts, Mapping) else _new_rows(state, plan, tagger, inserts)
    return tuple(
        plan.sizing.plan(path, counts[path], plan.sizing.small_files(path, tagger.partition(path).slices))
        for path in sorted(counts)
    )


def _new_rows(state: TableState, plan: WritePlan, tagger: Tagger, data: Any) -> dict[str, int]:
    """Return how many rows of an upsert of *data* are new, by partition path."""
    rows, _ = prepare(state, Operation.UPSERT, data)
    rows = combine_keyed(plan, rows)
    if plan.looks_everywhere:
        routes = locate_everywhere(plan, state.storage, rows)
        return Counter(routes.rows.paths.filter(routes.groups.is_null()).to_pylist())
    counts = dict.fromkeys(rows.paths.unique().to_pylist(), 0)
    for path, indices in group_by_value(rows.paths):
        found = tagger.partition(path).locate_keys(rows.keys.take(pa.array(indices)))
        counts[path] = int(np.count_nonzero(found.codes == NEW))
    return counts
