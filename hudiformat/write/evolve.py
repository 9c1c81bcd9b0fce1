"""Change the columns of a table without writing rows: a commit that has no files and carries the new schema.

Source: BaseHoodieWriteClient.commitTableChange, AlterHoodieTableAddColumnsCommand, Hudi 1.2.0;
spec/schema-evolution.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hudiformat.errors import UnsupportedFeatureError
from hudiformat.file_group.merging.rule import rule_of_rows
from hudiformat.schema.column_changes import ColumnChanges
from hudiformat.schema.evolution import SCHEMA_ON_READ
from hudiformat.schema.internal_schema import InternalSchema
from hudiformat.schema.table_schema import SchemaChange, TableSchema
from hudiformat.schema.time_labels import relabel
from hudiformat.table.options.values import Operation
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.write.commit.transaction import Committed, begin_write
from hudiformat.write.write import refuse_new_kinds


def evolve_table(state: TableState, *, changes: ColumnChanges) -> Committed:
    """Change the columns of a table in one commit, and return the commit and the state of the table after it.

    Raises:
        SchemaError: a column does not exist, or cannot be changed as asked; nothing is written.
        UnsupportedFeatureError: a rename or a drop in a table that keeps no internal schema.
        CommitError: the change did not become visible.
    """
    refuse_unwritable(state)
    history = schema_history(state)
    by_ids = history is not None or state.options.evolution.schema_on_read
    if changes.needs_ids and not by_ids:
        raise UnsupportedFeatureError(
            f"{state.storage.root}: expected a table that keeps an internal schema, where "
            "columns can be renamed and dropped, found one that does not; open the table with "
            f"{SCHEMA_ON_READ}=true (Hudi's readers need it too), or write the rows to a new "
            "column",
            feature="renaming and dropping columns without an internal schema",
        )
    known = InternalSchema.first(state.schema.avro_with_meta) if history is None else history.query
    new = changes.on(known, by_ids=by_ids, kept=_protected_columns(state))
    return _commit_columns(state, new, by_ids=by_ids)


def relabel_times(state: TableState, labels: Mapping[str, str]) -> Committed:
    """Give columns of times, by their dotted paths, the labels that tell what their numbers count; no file is written.

    Raises:
        SchemaError: a column is no time, or its label cannot change so; nothing is written.
        CommitError: the change did not become visible.
    """
    refuse_unwritable(state)
    history = schema_history(state)
    known = InternalSchema.first(state.schema.avro_with_meta) if history is None else history.query
    new = replace(known, record=relabel(known.record, labels))
    return _commit_columns(state, new, by_ids=history is not None)


def _commit_columns(state: TableState, new: InternalSchema, *, by_ids: bool) -> Committed:
    schema = TableSchema.of_commit(new.avro(state.schema.record_name))
    refuse_new_kinds(state, schema, by_ids=by_ids)
    change = SchemaChange(state.schema, schema)
    with begin_write(state.context, Operation.ALTER_SCHEMA, state, in_tasks=False, change=change) as write:
        write.commit((), internal=new if by_ids else None)
    return write.result


def _protected_columns(state: TableState) -> tuple[str, ...]:
    """Return the columns that must stay: those of record keys, partition paths, ordering, buckets and delete flags."""
    config, schema = state.config, state.schema
    own = (*config.record_key_fields, *config.partition_fields, *config.ordering_fields, *state.options.hash_fields)
    return (*own, *rule_of_rows(config, schema).delete_columns)
