"""docs/compatibility.md: what the tests assert for each version; ``python -m tools.compatibility_page`` writes it.

A cell of the page names a test.  ``test_compatibility_page.py`` asserts that pytest collects it, and that it runs when
the page says so; the tests themselves assert the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "compatibility.md"
VERSIONS = (6, 8, 9)
HUDI_NAMES = {"h0150": "0.15.0", "h102": "1.0.2", "h111": "1.1.1", "h120": "1.2.0"}


@dataclass(frozen=True)
class Claim:
    """A test that says that something works, by its id; with *long* it runs with ``HUDIFORMAT_LONG=1`` alone."""

    test: str
    long: bool = False


@dataclass(frozen=True)
class Feature:
    """A line of the page: what works, and the claim for each table version; none where no test asserts it."""

    name: str
    claims: dict[int, Claim]


def often(test: str, *, long: tuple[int, ...] = (), **ids: str) -> dict[int, Claim]:
    """Claims by one test: the ids of its parameters as ``v6="..."``; those of *long* run in long runs alone."""
    found = {int(version[1:]): f"{test}[{parameters}]" if parameters else test for version, parameters in ids.items()}
    return {version: Claim(name, version in long) for version, name in found.items()}


_C = "tests/conformance/"
_GOLDEN = "tests/read/test_golden.py::test_every_answer_is_hudis"
_BOOTSTRAPPED = "tests/file_group/bootstrap/test_bootstrapped_tables.py::test_every_query_answers_as_hudi_does"
_BOTH = f"{_C}test_both_ways.py::"
_SERVICES = f"{_C}test_services.py::"
_TURNS = "tests/turns/test_turns.py::"
_INDEXES = f"{_C}test_metadata_indexes.py::"
_SCHEMA = f"{_C}test_schema_changes.py::"

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
_KINDS = f"{_TURNS}test_they_take_turns_on_tables_of_every_layout"
_CHANGES = f"{_TURNS}test_they_take_turns_on_tables_shaped_like_change_data"
_IN_ORC = f"{_TURNS}test_they_take_turns_on_change_data_in_orc"
_WITH_OLD = f"{_TURNS}test_hudi_0_15_and_hudiformat_take_turns"
_TYPES = f"{_C}test_custom_types.py::test_both_write_in_turns"
_BOOTSTRAPS = f"{_C}test_bootstrap.py::test_tables_that_hudi_bootstraps"
_OFTEN = {
    f"{_CHANGES}[partial-MERGE_ON_READ-9]",
    f"{_TYPES}[MERGE_ON_READ-6-parquet]",
    f"{_BOOTSTRAPS}[9-True-full-COPY_ON_WRITE]",
}
"""The sets that each run of CI draws."""


@dataclass(frozen=True)
class Refusal:
    """A test that shows that tables of a kind are not written, and why they are not."""

    test: str
    reason: str


@dataclass(frozen=True)
class TableKind:
    """A line of the matrix: a kind of table, and what holds for each type and version of such tables."""

    name: str
    cells: Mapping[tuple[str, int], Claim | Refusal]


def _claimed(test: str, ids: Mapping[tuple[str, int], str]) -> dict[tuple[str, int], Claim | Refusal]:
    return {cell: Claim(name := f"{test}[{one}]", name not in _OFTEN) for cell, one in ids.items()}


def _of_layout(layout: str, *types: str) -> dict[tuple[str, int], Claim | Refusal]:
    ids = {(kept, version): f"{layout}-{kept}-{version}-default" for kept in types for version in VERSIONS}
    return _claimed(_KINDS, ids)


def _of_change_data(
    test: str, kind: str, refused: Mapping[tuple[str, int], Refusal]
) -> dict[tuple[str, int], Claim | Refusal]:
    cells = product((COW, MOR), VERSIONS)
    return _claimed(test, {one: f"{kind}-{one[0]}-{one[1]}" for one in cells if one not in refused}) | dict(refused)


_PLACEHOLDERS = Refusal(
    "tests/write/test_change_data.py::test_a_table_whose_placeholders_hudi_shows_is_not_made",
    "Hudi 1.2.0 shows the placeholders of values that it should take from older records",
)
_NO_LOG_FILES = Refusal(
    "tests/conformance/test_registered_files.py::test_what_hudi_cannot_do_is_refused",
    "Hudi 1.2.0 cannot parse the names of log files of registered files; XTable makes copy-on-write tables alone",
)
_NOT_DROPPED = Refusal(
    "tests/write/test_dropped_columns.py::test_kinds_that_hudi_does_not_have_are_not_written"
    "[hoodie.table.type-MERGE_ON_READ-dropped partition columns of a MERGE_ON_READ table]",
    "Hudi 1.2.0 writes the columns into log files, and does not merge them with base files",
)
_CHANGE_DATA: dict[str, tuple[str, dict[tuple[str, int], Refusal]]] = {
    "partial": ("`PartialUpdateAvroPayload`", {}),
    "non-defaults": ("`OverwriteNonDefaultsWithLatestAvroPayload`", {}),
    "dms": ("`AWSDmsAvroPayload`", {}),
    "mysql": ("`MySqlDebeziumAvroPayload`", {}),
    "postgres": ("`PostgresDebeziumAvroPayload`", {(MOR, 6): _PLACEHOLDERS, (MOR, 8): _PLACEHOLDERS}),
    "marker": ("`hoodie.payload.delete.field` and `.marker`", {}),
    "marker by event time": ("the same with `EventTimeAvroPayload`", {}),
    "marker by commit time": ("the same with `OverwriteWithLatestAvroPayload`", {}),
}
MATRIX = (
    TableKind(
        "plain tables",
        {
            **_of_layout("plain", COW, MOR),
            **_claimed(
                f"{_TURNS}test_hudi_and_hudiformat_take_turns",
                {(kept, 9): f"plain-{kept}-9-default" for kept in (COW, MOR)},
            ),
        },
    ),
    *(
        TableKind(f"change data: {name}", _of_change_data(_CHANGES, kind, refused))
        for kind, (name, refused) in _CHANGE_DATA.items()
    ),
    TableKind("without meta fields", _of_layout("no meta fields", COW, MOR)),
    TableKind(
        "dropped partition columns",
        {**_of_layout("dropped columns", COW), **{(MOR, version): _NOT_DROPPED for version in VERSIONS}},
    ),
    TableKind("times in partition paths, key generator TIMESTAMP", _of_layout("times", COW, MOR)),
    TableKind("times in partition paths, key generator CUSTOM", _of_layout("custom times", COW, MOR)),
    TableKind("dates with slashes in partition paths", _of_layout("slashes", COW, MOR)),
    TableKind("record keys and partition paths of fields of structs", _of_layout("structs", COW, MOR)),
    TableKind("one record key field, key generator COMPLEX", _of_layout("one complex key", COW, MOR)),
    TableKind("partition metadata files in the format of base files", _of_layout("metadata files", COW, MOR)),
    TableKind("base files in ORC", _of_layout("orc", COW, MOR)),
    *(
        TableKind(f"base files in ORC, change data: {name}", _of_change_data(_IN_ORC, kind, refused))
        for kind, (name, refused) in _CHANGE_DATA.items()
    ),
    TableKind(
        "vectors and blobs",
        _claimed(
            _TYPES,
            {
                (COW, 6): "COPY_ON_WRITE-6-avro",
                (COW, 8): "COPY_ON_WRITE-8-avro",
                (COW, 9): "COPY_ON_WRITE-9-avro",
                (MOR, 6): "MERGE_ON_READ-6-parquet",
                (MOR, 8): "MERGE_ON_READ-8-avro",
                (MOR, 9): "MERGE_ON_READ-9-avro",
            },
        ),
    ),
    *(
        TableKind(
            f"bootstrapped by Hudi, {name}",
            _claimed(
                _BOOTSTRAPS,
                {(kept, version): f"{version}-True-{mode}-{kept}" for kept in (COW, MOR) for version in VERSIONS},
            ),
        )
        for name, mode in {"METADATA_ONLY": "metadata", "FULL_RECORD": "full", "partitions of each": "mixed"}.items()
    ),
    TableKind(
        "files of other formats that were registered, as XTable does it",
        {**_of_layout("registered", COW), **{(MOR, version): _NO_LOG_FILES for version in VERSIONS}},
    ),
)
"""The kinds of tables that Hudi 1.2.0 and hudiformat write in turn, by type and version."""

_OLD_LAYOUTS = {
    "plain": "plain tables",
    "no meta fields": "without meta fields",
    "times": "times in partition paths, key generator TIMESTAMP",
    "custom times": "times in partition paths, key generator CUSTOM",
    "structs": "record keys and partition paths of fields of structs",
}
OLD_TURNS = {
    (layout, kept): Claim(f"{_WITH_OLD}[{layout}-{kept}-6-default-0.15.0]", long=True)
    for layout in _OLD_LAYOUTS
    for kept in (COW, MOR)
    if (layout, kept) != ("times", COW)
}
"""The kinds of tables of version 6 that Hudi 0.15.0 and hudiformat write in turn; of the other one it reads none."""

LIVE = (
    Feature(
        "Hudi reads, and goes on writing, a merge-on-read table that hudiformat made",
        {
            **often(f"{_C}test_versions.py::test_hudi_goes_on_in_each_version_that_we_make", v8="MERGE_ON_READ"),
            **often(f"{_BOTH}test_hudi_goes_on_with_a_table_of_ours", v6="SIMPLE-6", v9="BUCKET-9", long=(6,)),
        },
    ),
    Feature(
        "the same with a copy-on-write table",
        {
            **often(
                f"{_C}test_versions.py::test_hudi_goes_on_in_each_version_that_we_make", v8="COPY_ON_WRITE", long=(8,)
            ),
            **often(f"{_BOTH}test_hudi_goes_on_with_a_copy_on_write_table_of_ours", v6="6", v9="9", long=(6, 9)),
        },
    ),
    Feature(
        "hudiformat reads, and goes on writing, a table that Hudi made",
        often(
            f"{_BOTH}test_we_go_on_with_a_table_of_hudis",
            v6="SIMPLE-false-6",
            v8="BLOOM-true-8",
            v9="BUCKET-true-9",
            long=(8, 9),
        ),
    ),
    Feature(
        "either changes the table's version, and the other goes on",
        often(
            f"{_C}test_versions.py::test_we_go_on_in_each_version_that_hudi_makes",
            v6="COPY_ON_WRITE",
            v8="COPY_ON_WRITE",
            v9="COPY_ON_WRITE",
            long=(6, 8, 9),
        ),
    ),
    Feature(
        "Hudi rolls back a write of hudiformat's that died",
        often(f"{_BOTH}test_hudi_takes_away_what_a_write_of_ours_left_behind", v6="6", v9="9", long=(6,)),
    ),
    Feature(
        "each runs the compaction that the other has planned",
        often(f"{_SERVICES}test_each_runs_what_the_other_has_planned", v6="6", v9="9", long=(9,)),
    ),
    Feature(
        "each runs the clustering that the other has planned",
        often(
            f"{_C}test_clustering.py::test_each_runs_the_clustering_that_the_other_has_planned",
            v6="6-COPY_ON_WRITE-LINEAR",
            v8="8-MERGE_ON_READ-HILBERT",
            v9="9-MERGE_ON_READ-ZORDER",
            long=(6, 8, 9),
        ),
    ),
    Feature("log compaction", often(f"{_SERVICES}test_hudi_reads_and_goes_on_with_compacted_logs", v9="")),
    Feature(
        "cleaning, savepoint and restore",
        often(f"{_SERVICES}test_hudi_reads_what_was_cleaned_and_restored_here", v6="6", v9="9", long=(6,)),
    ),
    Feature(
        "archiving does what Hudi's does",
        often(
            f"{_C}test_timeline.py::test_archiving_any_timeline_does_what_hudis_does",
            v6="6-MERGE_ON_READ",
            v9="9-MERGE_ON_READ",
            long=(6, 9),
        ),
    ),
    Feature(
        "partitions expire as in Hudi (TTL)",
        often(f"{_C}test_expiring.py::test_both_remove_the_same_after_a_write", v6="")
        | often(f"{_C}test_expiring.py::test_both_remove_the_same", v9="MERGE_ON_READ-KEEP_BY_TIME"),
    ),
    Feature(
        "insert overwrite, delete partitions",
        often(f"{_SERVICES}test_hudi_reads_and_goes_on_with_what_was_overwritten_here", v9=""),
    ),
    Feature(
        "changes of the schema",
        often(
            f"{_SCHEMA}test_hudi_reads_what_we_have_changed",
            v6="MERGE_ON_READ-6",
            v8="MERGE_ON_READ-8",
            v9="MERGE_ON_READ-9",
            long=(6, 8),
        ),
    ),
    Feature(
        "renamed and dropped columns",
        often(
            f"{_SCHEMA}test_hudi_reads_and_writes_columns_that_we_have_renamed",
            v6="MERGE_ON_READ-6",
            v8="MERGE_ON_READ-8",
            v9="MERGE_ON_READ-9",
            long=(6, 8),
        ),
    ),
    Feature(
        "metadata table with `files`, `column_stats`, `bloom_filters`, `record_index`",
        often(
            f"{_INDEXES}test_they_take_turns",
            v6="MERGE_ON_READ-6",
            v8="MERGE_ON_READ-8",
            v9="MERGE_ON_READ-9",
            long=(6, 8, 9),
        ),
    ),
    Feature(
        "secondary index",
        often(
            f"{_INDEXES}test_they_take_turns_with_a_secondary_index",
            v8="COPY_ON_WRITE-8",
            v9="MERGE_ON_READ-9",
            long=(8, 9),
        ),
    ),
    Feature(
        "record index of partitions",
        often(
            f"{_INDEXES}test_they_take_turns_with_a_partitioned_record_index",
            v8="MERGE_ON_READ-8",
            v9="MERGE_ON_READ-9",
            long=(8, 9),
        ),
    ),
    Feature(
        "indexes that are built later",
        often(
            f"{_C}test_building_indexes.py::test_hudi_goes_on_with_indexes_that_are_built",
            v8="COPY_ON_WRITE-8",
            v9="MERGE_ON_READ-9",
            long=(8, 9),
        ),
    ),
    Feature(
        "writers of both at the same time",
        often(f"{_C}test_concurrency.py::test_writers_of_both_kinds_lose_and_double_nothing", v9="3"),
    ),
    Feature(
        "buckets by rules, and resized",
        often(f"{_C}test_buckets.py::test_each_resizes_as_the_other_has_planned", v9="hudiformat"),
    ),
    Feature(
        "rows moved by a global index", often(f"{_BOTH}test_a_global_index_moves_rows_as_hudis_does", v9="", long=(9,))
    ),
    Feature(
        "MERGE INTO gives the same rows",
        often(f"{_C}test_merging.py::test_a_merge_is_hudis_merge_into", v9="COPY_ON_WRITE"),
    ),
    Feature(
        "partial updates",
        often(
            f"{_C}test_partial_updates.py::test_a_partial_update_is_what_hudis_merge_into_writes",
            v9="COMMIT_TIME_ORDERING",
        ),
    ),
    Feature(
        "new rows go where Hudi puts them",
        often(f"{_C}test_sizing.py::test_new_rows_go_where_hudi_puts_them", v9="MERGE_ON_READ", long=(9,)),
    ),
    Feature(
        "Parquet files that hudiformat adopts without a copy",
        often(f"{_C}test_bootstrap.py::test_files_that_are_adopted", v9="true-True-MERGE_ON_READ"),
    ),
    Feature(
        "Hudi reads the changes (CDC) that hudiformat logs",
        often(f"{_BOTH}test_hudi_reads_the_changes_that_were_logged_here", v9=""),
    ),
    *(
        Feature(
            f"change data (CDC) in the mode `{mode}`: both log and read the same",
            often(
                f"{_C}test_change_modes.py::test_both_log_and_read_the_same_changes",
                v6=f"{mode}-COPY_ON_WRITE-6",
                v8=f"{mode}-MERGE_ON_READ-8",
                v9=f"{mode}-MERGE_ON_READ-9",
                long=(6, 8) if mode == "OP_KEY_ONLY" else (6, 8, 9),
            ),
        )
        for mode in ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
    ),
)
"""What real Hudi 1.2.0 and hudiformat do to one table, in turn."""

ARCHIVED = (
    Feature(
        "snapshot, time travel, incremental",
        often(_GOLDEN, v6="v6-mor-avro-h0150", v8="v8-mor-avro-h102", v9="v9-mor-avro-h120"),
    ),
    Feature("change data (CDC)", often(_GOLDEN, v6="v6-cow-cdc-h0150", v8="v8-cow-cdc-h102", v9="v9-mor-cdc-h120")),
    Feature(
        "HFile blocks in logs",
        often(_GOLDEN, v6="v6-mor-hfilelog-h120", v8="v8-mor-hfilelog-h102", v9="v9-mor-hfilelog-plain-h120"),
    ),
    Feature(
        "base files in HFile, which Hudi writes on Spark and cannot read there",
        often(
            "tests/file_group/base_file/test_hfile.py::test_rows_are_those_that_hudi_was_given",
            v6="hfile-cow6-h0150",
            v9="hfile-mor9-h120",
        ),
    ),
    Feature(
        "base files in Lance",
        often("tests/file_group/base_file/test_lance.py::test_rows_are_those_that_hudi_shows", v9="lance-mor9-h120"),
    ),
    Feature("Parquet blocks in logs", often(_GOLDEN, v6="v6-mor-parquetlog-h0150", v9="v9-mor-parquetlog-h120")),
    Feature("a schema that has changed", often(_GOLDEN, v6="v6-mor-evolved-h0150", v9="v9-mor-evolved-h120")),
    Feature(
        "rolled-back writes",
        often(_GOLDEN, v6="v6-mor-rollback-call-h120", v8="v8-mor-rollback-call-h102", v9="v9-mor-failed-write-h120"),
    ),
    Feature("an archived timeline", often(_GOLDEN, v6="v6-mor-archived-h0150", v9="v9-mor-archived-h120")),
    Feature("a metadata table", often(_GOLDEN, v6="v6-cow-metadata-table-h0150", v9="v9-mor-metadata-table-h120")),
    Feature("damaged log files", often(_GOLDEN, v6="v6-mor-damaged-h0150", v9="v9-mor-damaged-h120")),
    Feature("partial updates", often(_GOLDEN, v6="v6-mor-partial-payload-h0150", v9="v9-mor-partial-update-h120")),
    Feature(
        "bootstrapped tables",
        often(_BOOTSTRAPPED, v6="bootstrapped-v6-mor-h0150", v9="bootstrapped-v9-cow-h120"),
    ),
    Feature(
        "files of other formats that were registered, as XTable does it",
        often(
            "tests/file_group/test_registered_files.py::test_rows_are_those_that_hudi_shows",
            v6="registered-cow6-h120",
            v8="registered-cow8-h120",
            v9="registered-cow9-h120",
        ),
    ),
    Feature(
        "tables that Flink wrote",
        often(
            "tests/read/test_flinks_answers.py::test_every_answer_is_flinks_and_sparks",
            v6="f-v6-mor-bucket-compacted",
            v8="f-v8-mor-state-stream",
            v9="f-v9-mor-changelog-stream",
            long=(6, 8, 9),
        ),
    ),
)
"""What hudiformat reads as the writer of an archived table does."""

OLDER = {
    "0.15.0": (
        6,
        Claim(
            f"{_C}test_versions.py::test_an_older_hudi_takes_its_table_and_hands_it_back[6-MERGE_ON_READ]", long=True
        ),
    ),
    "1.0.2": (
        8,
        Claim(
            f"{_C}test_versions.py::test_an_older_hudi_takes_its_table_and_hands_it_back[8-MERGE_ON_READ]", long=True
        ),
    ),
    "1.1.1": (
        9,
        Claim(
            f"{_C}test_versions.py::test_an_older_hudi_takes_its_table_and_hands_it_back[9-MERGE_ON_READ]", long=True
        ),
    ),
    "1.2.0": (9, Claim(f"{_BOTH}test_hudi_goes_on_with_a_table_of_ours[BUCKET-9]")),
}
"""Each Hudi that is run, the newest table version that it writes, and the test in which both take turns."""

_HEAD = """# Compatibility

What works with which version of Hudi and of the table. The page is generated from the conformance tests:
each cell stands for a test that runs, and `python -m tools.compatibility_page` writes it.

- **yes**: a test asserts it in each run of CI.
- **long**: a test asserts it in long runs (`HUDIFORMAT_LONG=1`).
- empty: no test asserts it for this version. It may work.

hudiformat reads and writes table versions 6, 8 and 9. Other versions are refused by name.

## Versions of Hudi

| Hudi | newest table version it writes | takes turns with hudiformat | archived tables of its, read as it reads them |
|---|---|---|---|
"""
_LIVE_HEAD = """
Of Hudi 1.2.1 Maven Central has the classes, and no bundle that Spark could run. Its table version, the version of
its log blocks and its schemas of the timeline are those of 1.2.0, by its classes; no test runs it. What is new in it is
in [version-10](../spec/version-10.md), with what is known of table version 10.

## In turn with Hudi 1.2.0, by table version

Real Hudi on Spark 3.5 and hudiformat work on one table.

"""
_MATRIX_HEAD = """
## Kinds of tables

Hudi 1.2.0 makes a table, and then it and hudiformat take 30 steps in turn: writes of all kinds, deletes, compactions,
log compactions, clusterings, cleans, rollbacks, savepoints and restores. After each step both read the expected rows,
and `verify` finds nothing. (Bootstrapped tables, and those with vectors and blobs: fewer kinds of steps.)

- **no**: refused by name, with the reason below; a test asserts it.

"""
_OLD_HEAD = """
The same 30 steps with Hudi 0.15.0, on tables of version 6. It fails on its own copy-on-write tables of times.

| | copy-on-write | merge-on-read | test |
|---|---|---|---|
"""
_ARCHIVED_HEAD = """
## Reading, by table version

Tables that real Hudi (0.15.0, 1.0.2, 1.1.1, 1.2.0) and Flink wrote are archived with what their writers answered to
queries; hudiformat gives the same answers.

"""


def archived_by() -> Counter[str]:
    """How many archived tables there are of each version of Hudi."""
    names = (archive.stem for archive in (ROOT / "tests" / "golden").glob("v*.zip"))
    found = (re.search(r"-(h\d+)(-|$)", name) for name in names)
    return Counter(HUDI_NAMES[match[1]] for match in found if match)


def word(claim: Claim | None) -> str:
    """What a cell says."""
    if claim is None:
        return ""
    return "long" if claim.long else "yes"


def table(features: tuple[Feature, ...]) -> str:
    """The lines of features as a table."""
    lines = ["| | " + " | ".join(str(version) for version in VERSIONS) + " | test |", "|---|---|---|---|---|"]
    for feature in features:
        cells = " | ".join(word(feature.claims.get(version)) for version in VERSIONS)
        files = sorted({claim.test.split("::")[0] for claim in feature.claims.values()})
        lines.append(f"| {feature.name} | {cells} | {', '.join(f'`{file}`' for file in files)} |")
    return "\n".join(lines) + "\n"


def matrix() -> str:
    """The lines of the kinds of tables, and the reasons of those that are refused."""
    columns = list(product((COW, MOR), VERSIONS))
    refusals = list(dict.fromkeys(one for kind in MATRIX for one in kind.cells.values() if isinstance(one, Refusal)))
    names = [f"{'copy-on-write' if kept == COW else 'merge-on-read'}, {version}" for kept, version in columns]
    lines = [f"| | {' | '.join(names)} | test |", "|---" * (len(names) + 2) + "|"]
    for kind in MATRIX:
        found = [kind.cells.get(one) for one in columns]
        cells = [f"no ({refusals.index(one) + 1})" if isinstance(one, Refusal) else word(one) for one in found]
        files = sorted({one.test.split("::")[0] for one in kind.cells.values()})
        lines.append(f"| {kind.name} | {' | '.join(cells)} | {', '.join(f'`{file}`' for file in files)} |")
    reasons = [f"{number}. {one.reason} (`{one.test}`)." for number, one in enumerate(refusals, 1)]
    return "\n".join([*lines, "", *reasons]) + "\n"


def old_turns() -> str:
    """The lines of the kinds of tables that an old Hudi takes turns on."""
    lines = []
    for layout, name in _OLD_LAYOUTS.items():
        cells = " | ".join(word(OLD_TURNS.get((layout, kept))) for kept in (COW, MOR))
        lines.append(f"| {name} | {cells} | `{_WITH_OLD.split('::', maxsplit=1)[0]}` |\n")
    return "".join(lines)


def page() -> str:
    """The page."""
    counts = archived_by()
    older = [f"| {hudi} | {version} | {word(claim)} | {counts[hudi]} |\n" for hudi, (version, claim) in OLDER.items()]
    return "".join(
        [
            _HEAD,
            *older,
            _LIVE_HEAD,
            table(LIVE),
            _MATRIX_HEAD,
            matrix(),
            _OLD_HEAD,
            old_turns(),
            _ARCHIVED_HEAD,
            table(ARCHIVED),
        ]
    )


def claims() -> list[Claim]:
    """All claims of the page."""
    found = [claim for feature in (*LIVE, *ARCHIVED) for claim in feature.claims.values()]
    cells = [one for kind in MATRIX for one in kind.cells.values()]
    found += [Claim(one.test) if isinstance(one, Refusal) else one for one in cells]
    return [*found, *OLD_TURNS.values(), *(claim for _, claim in OLDER.values())]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
