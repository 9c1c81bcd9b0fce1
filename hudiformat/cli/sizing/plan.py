"""``hudiformat plan``: the file groups that new rows would go to, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hudiformat.api.table import Table as HudiTable
from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json, print_line, print_warnings
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.sizing.spark import PartitionPlan
from hudiformat.table.options.values import SizingEngine

_COLUMNS = (
    Column("file id", 38),
    Column("size", 12, right=True),
    Column("room", 10, right=True),
    Column("takes", 10, right=True),
    Column("why"),
)
_EPILOG = """\b
Examples:
  hudiformat plan --inserts 300000 TABLE
  hudiformat plan --partition 2026/01 --engine flink TABLE
  hudiformat plan -o hoodie.parquet.small.file.limit=0 --json TABLE | jq .new_groups
"""

_MOST = 10**11
"""The largest number of new rows of a partition: a plan of a million file groups takes seconds."""


@click.command(epilog=_EPILOG)
@click.argument("table", type=click.Path())
@click.option("--inserts", type=click.IntRange(0, _MOST), default=1, show_default=True, help="New rows per partition.")
@click.option("--partition", metavar="PATH", help='Only this partition path; "" in a table without partitions.')
@click.option(
    "--engine",
    type=click.Choice([engine.value for engine in SizingEngine]),
    default=SizingEngine.SPARK.value,
    show_default=True,
    help="Whose rules.",
)
@click.option("-o", "--option", "options", metavar="KEY=VALUE", multiple=True, help="An option of the writer's.")
@json_option
def plan(table: str, *, inserts: int, partition: str | None, engine: str, options: Sequence[str], as_json: bool) -> int:
    """Say where the new rows of a write to a TABLE would go: small file groups first, then new ones.

    For each file group: how large it is in bytes, for how many average rows it has room, how many it takes, and why.
    Sizes count log files by hoodie.logfile.to.parquet.compression.ratio.  Nothing is written.
    """
    opened = open_table(table, options={**dict(map(key_and_value, options)), "hudiformat.sizing": engine})
    with print_warnings():
        paths = [partition] if partition is not None else _partitions(opened)
    for planned in opened.plan_inserts(dict.fromkeys(paths, inserts)):
        if as_json:
            print_json(_as_json(planned))
        else:
            _print_plan(planned)
    return 0


def _partitions(table: HudiTable) -> list[str]:
    return sorted({item.partition_path for item in table.file_slices()})


def _print_plan(planned: PartitionPlan) -> None:
    print_line(f"partition {planned.partition_path!r}: {planned.inserts} new rows", bold=True)
    average = planned.record_size
    source = "the configured estimate" if average.instant is None else f"of commit {average.instant}"
    print_line(f"  a row has {average.size} bytes, {source}; a new file group takes {planned.records_per_group}")
    for instant, reason in average.passed_over:
        print_line(f"  not of commit {instant}: {reason}")
    rows = Table(*_COLUMNS, indent="  ")
    for group in planned.groups:
        rows.row(group.file_id, group.size, group.room, group.records, group.verdict.value)
    for bucket in planned.buckets:
        if bucket.file_id is None:
            rows.row("new", None, planned.records_per_group, bucket.records, "what is left")


def _as_json(planned: PartitionPlan) -> dict[str, Any]:
    average = planned.record_size
    return {
        "partition": planned.partition_path,
        "inserts": planned.inserts,
        "record_size": average.size,
        "record_size_of": average.instant,
        "passed_over": [{"instant": instant, "reason": reason} for instant, reason in average.passed_over],
        "records_per_group": planned.records_per_group,
        "groups": [
            {
                "file_id": group.file_id,
                "instant": group.instant,
                "size": group.size,
                "room": group.room,
                "records": group.records,
                "verdict": group.verdict.name,
                "reason": group.verdict.value,
            }
            for group in planned.groups
        ],
        "new_groups": [bucket.records for bucket in planned.buckets if bucket.file_id is None],
    }
