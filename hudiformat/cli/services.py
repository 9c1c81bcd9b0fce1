"""``hudiformat compact``, ``cluster``, ``clean``, ``rollback``, ``savepoint`` and ``restore``."""

from __future__ import annotations

from collections.abc import Callable

import click

from hudiformat.api.reading import context_of
from hudiformat.api.table import Table as HudiTable
from hudiformat.api.table import open_table
from hudiformat.cli.printing import Column, Table, print_json, print_line, print_warnings
from hudiformat.cli.results import print_commit
from hudiformat.cli.source import json_option, key_and_value
from hudiformat.naming.file_names import base_name
from hudiformat.services.clustering_plan import SORT_COLUMNS
from hudiformat.services.service_result import ServiceResult
from hudiformat.timeline.cleans import CleanMetadata
from hudiformat.timeline.contents import read_content
from hudiformat.timeline.rollbacks import RollbackMetadata
from hudiformat.timeline.timeline import Instant
from hudiformat.write.commit.transaction import Commit

_DELETED = (Column("partition", 16), Column("deleted file"))

_table = click.argument("table", type=click.Path())
_options = click.option(
    "-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="One of Hudi's options; may be repeated."
)


@click.command()
@_table
@_options
@click.option("--schedule", is_flag=True, help="Plan only, for whoever runs the compaction later.")
@json_option
def compact(table: str, *, options: tuple[str, ...], schedule: bool, as_json: bool) -> int:
    """Merge the log files of a merge-on-read TABLE into new base files.

    Compactions that are planned are run; where there are none, one is planned first.
    """
    opened = _open(table, options)
    plan = opened.schedule_compaction if schedule else None
    return _plan_or_run(plan, opened.compact, "nothing to compact", as_json=as_json)


@click.command()
@_table
@_options
@click.option("--sort", metavar="COLUMNS", help="Sort the rows by these columns, with commas between them.")
@click.option(
    "--layout",
    type=click.Choice(["linear", "z-order", "hilbert"]),
    help="Sort by the columns one after the other, or along a curve through all of them.",
)
@click.option("--schedule", is_flag=True, help="Plan only, for whoever runs the clustering later.")
@json_option
def cluster(
    table: str, *, options: tuple[str, ...], sort: str | None, layout: str | None, schedule: bool, as_json: bool
) -> int:
    """Rewrite the small file groups of a TABLE into larger ones.

    Clusterings that are planned are run; where there are none, one is planned first.  Which files are small, and how
    large the new ones become, is set by hoodie.clustering.plan.strategy.small.file.limit and .target.file.max.bytes.
    """
    asked = {SORT_COLUMNS: sort, "hoodie.layout.optimize.strategy": layout}
    opened = _open(table, (*options, *(f"{key}={value}" for key, value in asked.items() if value)))
    plan = opened.schedule_clustering if schedule else None
    return _plan_or_run(plan, opened.cluster, "nothing to cluster", as_json=as_json)


def _plan_or_run(
    plan: Callable[[], ServiceResult[Instant]] | None,
    run: Callable[[], ServiceResult[Commit]],
    nothing: str,
    *,
    as_json: bool,
) -> int:
    """Plan a service by *plan*, or run it by *run* if *plan* is None, and print the result."""
    with print_warnings():  # such as a metadata table that is dropped
        if plan is not None:
            _print_instant(plan(), "planned", nothing, as_json=as_json)
            return 0
        commits = run()
    if not commits:
        _print_instant(commits, "", nothing, as_json=as_json)
    for commit in commits:
        print_commit(commit, as_json=as_json)
    return 0


@click.command()
@_table
@_options
@json_option
def clean(table: str, *, options: tuple[str, ...], as_json: bool) -> int:
    """Delete files of a TABLE that hoodie.clean.policy no longer keeps."""
    opened = _open(table, options)
    with print_warnings():
        completed = opened.clean()
    if not completed:
        _print_instant(completed, "", "nothing to clean", as_json=as_json)
        return 0
    content = read_content(context_of(opened).storage, opened.config, completed[-1])
    partitions = content.partition_metadata if isinstance(content, CleanMetadata) else {}
    files = {path: partition.success_delete_files for path, partition in partitions.items()}
    _print_deleted(completed[-1], files, as_json=as_json)
    return 0


@click.command()
@_table
@click.argument("instant")
@_options
@json_option
def rollback(table: str, instant: str, *, options: tuple[str, ...], as_json: bool) -> int:
    """Take the write INSTANT, the newest one, out of a TABLE again."""
    opened = _open(table, options)
    with print_warnings():
        completed = opened.rollback(instant)
    content = read_content(context_of(opened).storage, opened.config, completed[-1])
    partitions = content.partition_metadata if isinstance(content, RollbackMetadata) else {}
    files = {path: partition.success_delete_files for path, partition in partitions.items()}
    _print_deleted(completed[-1], files, as_json=as_json)
    return 0


@click.command()
@_table
@click.argument("instant")
@_options
@click.option("--user", default="", metavar="NAME", help="Who asks for it; stays in the savepoint.")
@click.option("--comment", default="", metavar="TEXT", help="What it is for; stays in the savepoint.")
@click.option("--delete", is_flag=True, help="Let the files be cleaned again.")
@json_option
def savepoint(
    table: str, instant: str, *, options: tuple[str, ...], user: str, comment: str, delete: bool, as_json: bool
) -> int:
    """Keep the files of the commit INSTANT of a TABLE from being cleaned."""
    opened = _open(table, options)
    with print_warnings():
        if delete:
            opened.delete_savepoint(instant)
        else:
            opened.savepoint(instant, user=user, comment=comment)
    _say(instant, "no longer kept" if delete else "kept", as_json=as_json)
    return 0


@click.command()
@_table
@click.argument("instant")
@_options
@json_option
def restore(table: str, instant: str, *, options: tuple[str, ...], as_json: bool) -> int:
    """Roll back every write of a TABLE that was completed after the commit INSTANT."""
    opened = _open(table, options)
    with print_warnings():
        completed = opened.restore(instant)
    _say(completed.time, f"restored to {instant}", as_json=as_json)
    return 0


def _say(instant: str, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"instant": instant})
    else:
        print_line(f"{instant}: {what}")


def _open(table: str, options: tuple[str, ...]) -> HudiTable:
    return open_table(table, options=dict(map(key_and_value, options)))


def _print_instant(result: ServiceResult[object], what: str, otherwise: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"instant": result.instant if result else None})
    else:
        print_line(f"{what}: {result.instant}" if result else otherwise)


def _print_deleted(instant: Instant, files: dict[str, tuple[str, ...]], *, as_json: bool) -> None:
    if as_json:
        print_json({"instant": instant.time, "deleted": {path: list(names) for path, names in files.items()}})
        return
    print_line(f"{instant.time} {instant.action.value}")
    printed_table = Table(*_DELETED)
    for path, names in files.items():
        for name in names:
            printed_table.row(path, base_name(name))
