"""Generate keys for the rows of a data frame if the table has no record key columns: see ``transaction.made_keys``."""

from __future__ import annotations

from pyspark.sql import DataFrame, functions

from hudiformat.schema.table_schema import KEY_META_NAMES
from hudiformat.spark.write.lookup.tagging import quote
from hudiformat.table.options.values import Operation
from hudiformat.table.state import TableState
from hudiformat.write.made_keys import keeps_keys, new_prefix


def with_made_keys(df: DataFrame, state: TableState, operation: Operation) -> DataFrame:
    """Add generated keys to the rows of *df* if the table has no record key columns.

    Raises:
        DataError: the rows of a delete have no meta fields that identify them.
    """
    if state.config.record_key_fields:
        return df
    keeps = keeps_keys(state.config, operation, df.columns)
    there = {name for name in KEY_META_NAMES if keeps and name in df.columns}
    known, path = (
        functions.col(name).cast("string") if name in there else functions.lit(None).cast("string")
        for name in KEY_META_NAMES
    )
    # The numbers are unique among all partitions of the frame; they may differ when the frame is evaluated again.
    made = functions.concat_ws(
        "_", functions.lit(new_prefix(state.next_instant)), functions.monotonically_increasing_id()
    )
    own = [functions.col(quote(name)) for name in df.columns if name not in KEY_META_NAMES]
    keys = functions.coalesce(known, made).alias(KEY_META_NAMES[0])
    return df.select(*own, keys, functions.when(known.isNotNull(), path).alias(KEY_META_NAMES[1]))
