"""The services that run with a write, as far as the options ask for them.

Before a write the services of the metadata table run; after it compaction, clustering, partition TTL, cleaning and
archiving.

Source: BaseHoodieWriteClient.postCommit, runTableServicesInline, initTable, Hudi 1.2.0.
"""

from __future__ import annotations

from hudiformat.errors import CorruptTableError, warn
from hudiformat.metadata_table.kinds.files import FILES
from hudiformat.services.cleaning import clean
from hudiformat.services.clustering import cluster, schedule_clustering
from hudiformat.services.compaction import compact
from hudiformat.services.deciding import archive_table, compaction_by_count, since_clustering
from hudiformat.services.indexing import build_metadata_table, lacks_indexes
from hudiformat.services.metadata_services import serve_metadata_table
from hudiformat.table.state import TableContext, TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.timeline.table_config import TableType
from hudiformat.timeline.timeline import Action
from hudiformat.write.commit.transaction import Commit, Committed
from hudiformat.write.expiring import expire_partitions


def before_write(context: TableContext) -> TableState:
    """Run the services of the metadata table that are due, and return the state that a write then begins with.

    They run before a write, as in Hudi: Hudi can roll a write back only if the metadata table has not been compacted
    since, so a compaction right after the write would take that possibility from everybody.  A failure here is only a
    warning.

    Raises:
        UnsupportedFeatureError: the table cannot be written.
    """
    state = context.state_with_schema()
    refuse_unwritable(state)
    if FILES not in state.config.metadata_partitions:
        return state
    try:
        served = serve_metadata_table(state)
    except CorruptTableError:  # the write finds this, too, and drops the metadata table with a warning
        served = True
    except Exception as error:  # noqa: BLE001 - the write does not depend on the services
        warn(f"{state.storage.root}: a service of the metadata table failed, and is tried again later: {error}")
        served = True
    return context.state_with_schema() if served else state


def after_write(written: Committed) -> Commit:
    """Run the services that are due after a write, and return its commit.

    The write is committed by then, so a failure here is only a warning, and the service is tried again after the next
    write.
    """
    commit, state = written
    try:
        _serve(state)
    except Exception as error:  # noqa: BLE001 - any error would make callers repeat the write and double its rows
        warn(f"{state.storage.root}: the write is committed, but a service after it failed: {error}")
    return commit


def _serve(state: TableState) -> None:
    context, options = state.context, state.options.services
    is_mor = state.config.table_type is TableType.MERGE_ON_READ
    if options.compact_inline and is_mor and compaction_by_count(state).is_due:
        state = context.state() if compact(context, state) else state  # a compaction has changed the table
    state = _cluster_if_due(state)
    if state.options.expiry.inline:
        expired = expire_partitions(state)
        state = state if expired is None else expired[1]
    is_clean_pending = any(pending.action is Action.CLEAN for pending in state.timeline.pending)
    may_clean = is_clean_pending or options.may_clean(len(state.timeline.completed_writes))
    if options.clean_automatic and may_clean and clean(context, state):
        state = context.state()
    if state.options.metadata_enable and lacks_indexes(state):
        build_metadata_table(state)
    if options.archive_automatic and len(state.timeline.completed_writes) > options.archive_max_commits:
        archive_table(context)


def _cluster_if_due(state: TableState) -> TableState:
    """Run or plan a clustering if one is due, and return the state of the table after it."""
    options = state.options.clustering
    if not (options.inline or options.schedule_inline):
        return state
    every = options.inline_commits if options.inline else options.async_commits
    if since_clustering(state) < every:
        return state
    if options.inline:
        cluster(state.context, state)
    else:
        schedule_clustering(state.context)
    return state.context.state()
