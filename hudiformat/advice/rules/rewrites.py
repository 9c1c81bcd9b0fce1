"""The rule about copy-on-write tables whose file groups are rewritten for a few rows again and again."""

from __future__ import annotations

from dataclasses import replace

from hudiformat.advice.advice import Advice, Effect, Severity
from hudiformat.advice.commands import copy_into_new
from hudiformat.advice.facts import Facts
from hudiformat.advice.playing import MOST_GROUPS, Player
from hudiformat.advice.rules.buckets import LEAST_COMMITS
from hudiformat.codec.avro.encode import encode_records
from hudiformat.errors import HudiFormatError, UnsupportedFeatureError
from hudiformat.file_group.base_file.read import scan_base_file
from hudiformat.numbers import format_count, size_text
from hudiformat.simulation.workload import Workload
from hudiformat.timeline.table_config import TableType

REWRITES = 10
"""Bytes written for each byte that came.  With merge-on-read and Hudi's default of a compaction each five commits, it
is about a fifth of that, and the bytes of the log files."""
MOST_UPDATES = 0.5
"""The share of updates from which on the commits are updates in the main; new rows fill small files in either type."""
LARGE = 2
_SAMPLE_ROWS = 1000
_BLOCK_HEADER = 300


def advise_merge_on_read(facts: Facts) -> Advice | None:
    """Advise a merge-on-read table if commits of few updates rewrite most of a copy-on-write table."""
    workload, history = facts.workload, facts.history
    if facts.is_mor or workload is None or not facts.knows_sizes or len(history.rows) < LEAST_COMMITS:
        return None
    came, written = sum(history.rows) * workload.row_bytes, sum(history.written)
    if workload.updates < MOST_UPDATES or written < REWRITES * came or len(facts.slices) > MOST_GROUPS:
        return None
    try:
        player = Player(facts, _with_log_sizes(facts, workload))
        before = int(player.play().summary["written_bytes"])
        compacting = {"hoodie.compact.inline": "true"}
        after = player.play(compacting, table_type=TableType.MERGE_ON_READ).summary
    except UnsupportedFeatureError:
        return None
    effect = Effect("written_bytes", before, int(after["written_bytes"]), facts.commits)
    if effect.before < LARGE * effect.after:
        return None
    copied = copy_into_new(facts, table_type=TableType.MERGE_ON_READ)
    each = written // len(history.rows)
    return Advice(
        severity=Severity.HIGH if written >= REWRITES * REWRITES * came else Severity.MEDIUM,
        finding="rewrites-for-few-rows",
        verb="Make the table merge-on-read",
        found=f"a commit of {format_count(workload.rows, 'row')} rewrites {size_text(each)}, "
        f"{written / max(came, 1):.0f} bytes for each byte that came",
        reason="A copy-on-write table rewrites each file in which a row changes; a merge-on-read table writes changes "
        "to log files, and rewrites files in compactions.",
        effects=(effect, Effect("files_read", facts.columns.files_read, int(after["read_files"]), facts.commits)),
        properties=compacting,
        command="" if copied is None else copied.command,
        into="" if copied is None else copied.into,
        cost_bytes=sum(one.size for one in facts.slices),
    )


def _with_log_sizes(facts: Facts, workload: Workload) -> Workload:
    """Return the workload with the bytes that rows take in log files, measured by rows of the largest base file.

    If it cannot be read, they are as assumed: ``verify`` says why.
    """
    state = facts.state
    schema = state.schema_of_files
    largest = max((one for one in facts.slices if one.base_file is not None), key=lambda one: one.size)
    path = largest.base_path if largest.base_file is not None else ""
    try:
        rows = next(scan_base_file(state.storage, path, schema.arrow_with_meta, batch_rows=_SAMPLE_ROWS), None)
        if rows is None or not rows.num_rows:
            return workload
        size = len(encode_records(rows, schema.avro_with_meta)) / rows.num_rows
    except HudiFormatError:
        return workload
    return replace(workload, log_row_bytes=size, block_bytes=_BLOCK_HEADER + len(schema.avro_with_meta))
