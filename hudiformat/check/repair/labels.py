"""Repair times that count milliseconds under the label of microseconds, as Hudi 0.14.1 to 1.0 wrote them.

Where all files count milliseconds, the column gets that label, in a commit without rows: no number changes, and Hudi's
readers show other moments from then on.  Where some files count milliseconds and others microseconds, the numbers of
the former are multiplied.  In both cases the file groups are written anew, one at a time, each in a commit of its own:
so readers are right that take the labels of files.

Source: TimestampLogicalTypeClassifier, SchemaRepair of hudi-parquet, Hudi 1.2.1; docs/repair.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.types as pat

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.check.verify.finding import TableFinding, TableFindingKind
from hudiformat.check.verify.label_check import explain_times, mislabelled_columns
from hudiformat.codec.avro.schema import avro_to_arrow
from hudiformat.codec.avro.types import Leaf, format_avro_types, parse_avro_types, walk_columns
from hudiformat.codec.log.batches import record_batches
from hudiformat.codec.log.block import LogBlock
from hudiformat.codec.log.build import data_block
from hudiformat.codec.log.frame import BlockType, HeaderKey
from hudiformat.file_group.finer_times import to_times_of
from hudiformat.file_group.judged_times import JudgedTimes, judge_base_file, judge_block, time_columns
from hudiformat.file_group.partitions import list_partitions
from hudiformat.file_group.slices import FileSlice
from hudiformat.naming.file_names import WriteToken, join_path
from hudiformat.schema.table_schema import TableSchema
from hudiformat.schema.time_labels import relabel
from hudiformat.services.compaction import merge_into_base_file
from hudiformat.table.options.values import Operation
from hudiformat.table.schema_files import schema_history
from hudiformat.table.state import TableState
from hudiformat.table.support import refuse_unwritable
from hudiformat.table.times import judge_table
from hudiformat.timeline.config_files import META_FOLDER
from hudiformat.write.commit.transaction import attempts
from hudiformat.write.evolve import relabel_times
from hudiformat.write.index.tagging import Tagger

_MILLIS, _UTC_MILLIS = "timestamp-millis", pa.timestamp("ms", "UTC")
_TOKEN = WriteToken(0, 0, 0)


def plan_labels(
    state: TableState, findings: Sequence[TableFinding], timeout: WriterTimeout, *, labels: bool
) -> Iterator[Job]:
    """Yield the jobs for columns whose times contradict their labels, and for base files that are labelled otherwise.

    Of a table without such findings nothing is read, unless *labels* asks for the labels of all base files.
    """
    if not labels and not any(one.kind is TableFindingKind.LABEL for one in findings):
        return
    schema = state.schema.arrow
    columns: dict[str, list[_Judged]] = defaultdict(list)
    for file_slice, path, judged in judge_table(state, time_columns(schema)):
        columns[judged.column].append(_Judged(file_slice, path, judged))
    reason = None if state.options.concurrency.has_other_writers else timeout.of_writers(state)
    changed: list[str] = []
    scaled: dict[tuple[str, str], set[str]] = defaultdict(set)
    for column, found in columns.items():
        wrong = [one for one in found if one.times.contradicts]
        if not wrong:
            continue
        why_not = _why_not(state, column, found)
        if why_not is not None:
            step = RepairStep(RepairKind.LABEL, wrong[0].path, f"the times of {column} stay", wrong[0].why)
            yield Job.refused(step, why_not)
        elif any(one.times.own for one in found):
            for one in wrong:
                scaled[one.group].add(column)
        else:
            changed.append(column)
            what = f"the column {column} becomes {_MILLIS}, in a commit without rows"
            step = RepairStep(RepairKind.LABEL, META_FOLDER, what, f"{wrong[0].path}: {wrong[0].why}")
            run = partial(_relabel, state, column)
            yield Job(step, run, partial(refuse_unwritable, state)) if reason is None else Job.refused(step, reason)
    yield from _rewritings(state, _relabelled(state.schema, changed), scaled, reason)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The times of a column in the file at ``path`` of a slice."""

    file_slice: FileSlice
    path: str
    times: JudgedTimes

    @property
    def group(self) -> tuple[str, str]:
        return self.file_slice.partition_path, self.file_slice.file_id

    @property
    def why(self) -> str:
        return explain_times(self.times)


def _why_not(state: TableState, column: str, found: Sequence[_Judged]) -> str | None:
    """Return why the times of *column* cannot be told or changed; None if they can."""
    mixed = next((one for one in found if one.times.is_mixed), None)
    if mixed is not None:
        return f"{mixed.path} has times in both units, and what the others count is not known: write them again"
    kind = dict(walk_columns(parse_avro_types(state.schema.avro)))[column].kind
    if not isinstance(kind, Leaf) or kind.word != "timestamp":
        return f"no version of Hudi writes such numbers in a column of type {kind}: write them again"
    if column in state.config.partition_fields:
        return "partition paths are made of the column, and would be others: write the rows to a new table"
    return _why_not_some(state, column, found) if any(one.times.own for one in found) else None


def _why_not_some(state: TableState, column: str, found: Sequence[_Judged]) -> str | None:
    """Return why the times of some files only cannot be multiplied; None if they can."""
    silent = next((one for one in found if one.times.tells_nothing), None)
    if silent is not None:
        offset = silent.times.offset
        where = silent.path if offset is None else f"the block at byte {offset} of {silent.path}"
        return f"other files count microseconds, and the times in {where} do not tell what they count: write them again"
    if column.partition(".")[0] in state.config.ordering_fields:
        return "rows are ordered by the column, and which of two rows wins was decided by its numbers: write them again"
    return None


def _rewritings(
    state: TableState, schema: pa.Schema, scaled: dict[tuple[str, str], set[str]], reason: str | None
) -> Iterator[Job]:
    """Yield a job for each file group with times to multiply, or with a base file of other labels than *schema*."""
    for partition, _ in list_partitions(state.storage):
        for one in state.slices(partition):
            key = partition, one.file_id
            columns, labelled = scaled.get(key, set()), mislabelled_columns(state.storage, one, schema)
            if not columns and not labelled:
                continue
            path = join_path(partition, one.file_names[0])
            if columns:
                what = f"the file group is written anew, and its times of {', '.join(sorted(columns))} in microseconds"
                why = "these count milliseconds, and those of other files microseconds"
            else:
                what = "the file group is written anew, with the labels of the table"
                why = f"its base file labels {', '.join(labelled)} otherwise, which not all readers correct"
            step = RepairStep(RepairKind.LABEL, path, what, why)
            if key in state.busy_groups:
                yield Job.refused(step, "a pending compaction or clustering is going to rewrite it: run that first")
            elif reason is not None:
                yield Job.refused(step, reason)
            else:
                yield Job(step, partial(_rewrite, state, one, frozenset(columns)), partial(refuse_unwritable, state))


def _relabel(state: TableState, column: str, _taken: RepairFolder) -> None:
    relabel_times(state.context.state(), {column: _MILLIS})


def _relabelled(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    record = relabel(parse_avro_types(schema.avro), dict.fromkeys(columns, _MILLIS))
    return replace(schema, avro=format_avro_types(record)).arrow


def _rewrite(state: TableState, judged: FileSlice, columns: frozenset[str], _taken: RepairFolder) -> None:
    """Write a file group anew in a commit, from the slice that it has when the commit begins."""
    for write in attempts(state.context.state(), Operation.UPSERT, in_tasks=False):
        with write:
            slices = Tagger(state.storage, write.plan).partition(judged.partition_path).slices
            source = next((one for one in slices if one.file_id == judged.file_id), None)
            if source is None:  # it was replaced meanwhile
                return
            times = _CountedInMillis.of(state, source, columns) if columns else None
            merge = partial(merge_into_base_file, state.context.merger, times=times)
            write.commit(list(merge(source, write.plan, state.storage, _TOKEN)))


@dataclass(frozen=True, slots=True)
class _CountedInMillis:
    """Times of ``columns`` that count milliseconds under the label of microseconds, as :class:`StoredTimes`.

    All times of a base file in ``paths`` do; of a log block those of a column whose numbers say so.
    """

    columns: frozenset[str]
    paths: frozenset[str]

    @classmethod
    def of(cls, state: TableState, source: FileSlice, columns: frozenset[str]) -> _CountedInMillis:
        if source.base_file is None:
            return cls(columns, frozenset())
        path = join_path(source.partition_path, str(source.base_file.name))
        judged = judge_base_file(state.storage, path, time_columns(state.schema.arrow), history=schema_history(state))
        is_wrong = any(one.contradicts for one in judged if one.column in columns)
        return cls(columns, frozenset({path}) if is_wrong else frozenset())

    def schema_of(self, path: str, schema: pa.Schema) -> pa.Schema | None:
        """Return *schema* with the unit that the times of the base file at *path* count."""
        stored = _in_millis(schema, self.columns) if path in self.paths else schema
        return None if stored.equals(schema) else stored

    def convert(self, block: LogBlock, query: pa.Schema) -> LogBlock:  # noqa: ARG002 - part of the protocol
        """Return a log block with times in microseconds.

        Raises:
            DecodeError: the block is damaged.
        """
        if HeaderKey.SCHEMA not in block.header:
            return block
        written = avro_to_arrow(block.schema)
        judged = judge_block(block, time_columns(written))
        columns = frozenset(one.column for one in judged if one.contradicts and one.column in self.columns)
        if not columns:
            return block
        stored = _in_millis(written, columns)
        rows = [to_times_of(one, written) for one in record_batches([block], schema=stored, relabel=True)]
        made = data_block(pa.Table.from_batches(rows, written), instant=block.instant or "", schema=block.schema)
        return block._replace(type=BlockType.AVRO_DATA, content=made.content)


def _in_millis(schema: pa.Schema, columns: frozenset[str]) -> pa.Schema:
    """Return *schema* with the columns at these dotted paths in milliseconds."""
    fields = [one.with_type(_with_millis(one.type, one.name, columns)) for one in schema]
    return pa.schema(fields, metadata=schema.metadata)


def _with_millis(kind: pa.DataType, path: str, columns: frozenset[str]) -> pa.DataType:
    if pat.is_struct(kind):
        return pa.struct([one.with_type(_with_millis(one.type, f"{path}.{one.name}", columns)) for one in kind])
    if pat.is_map(kind):
        return pa.map_(
            kind.key_field, kind.item_field.with_type(_with_millis(kind.item_type, f"{path}.value", columns))
        )
    if pat.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_millis(kind.value_type, f"{path}.element", columns)))
    return _UTC_MILLIS if path in columns else kind
