"""docs/compatibility.md: what the tests assert for each version; ``python -m tools.compatibility_page`` writes it.

A cell of the page names a test.  ``test_compatibility_page.py`` asserts that pytest collects it, and that it runs when
the page says so; the tests themselves assert the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
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
_TURNS = f"{_C}test_change_data.py::test_hudi_and_hudiformat_write_in_turn"
_INDEXES = f"{_C}test_metadata_indexes.py::"
_SCHEMA = f"{_C}test_schema_changes.py::"

CHANGE_DATA = {
    "partial": "`PartialUpdateAvroPayload`",
    "non-defaults": "`OverwriteNonDefaultsWithLatestAvroPayload`",
    "dms": "`AWSDmsAvroPayload`",
    "mysql": "`MySqlDebeziumAvroPayload`",
    "postgres": "`PostgresDebeziumAvroPayload`",
    "marker": "`hoodie.payload.delete.field` and `.marker`",
}
"""The kinds of tests/change_data.py, and what a reader knows them by."""

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
    *(
        Feature(
            f"{name}: writes in turn, {kept.lower().replace('_', '-')}",
            often(
                _TURNS,
                **{f"v{version}": f"{kind}-{kept}-{version}-theirs" for version in versions},
                long=versions,
            ),
        )
        for kind, name in CHANGE_DATA.items()
        for kept, versions in (
            ("COPY_ON_WRITE", (6, 8, 9)),
            ("MERGE_ON_READ", (9,) if kind == "postgres" else (6, 8, 9)),
        )
    ),
    *(
        Feature(name, often(f"{_C}{test}::test_both_write_in_turns", **ids, long=(6, 9)))
        for name, test, ids in (
            (
                "times in partition paths (key generators TIMESTAMP and CUSTOM)",
                "test_timed_paths.py",
                {"v6": "text-6-ours-Custom-MERGE_ON_READ", "v9": "millis-9-ours-TimestampBased-COPY_ON_WRITE"},
            ),
            (
                "tables without meta fields, copy-on-write",
                "test_virtual_keys.py",
                {"v6": "hudi-6-COPY_ON_WRITE-GLOBAL_SIMPLE", "v9": "hudi-9-COPY_ON_WRITE-SIMPLE"},
            ),
            (
                "tables without meta fields, merge-on-read",
                "test_virtual_keys.py",
                {"v6": "hudi-6-MERGE_ON_READ-SIMPLE", "v9": "hudi-9-MERGE_ON_READ-BUCKET"},
            ),
            (
                "dropped partition columns, copy-on-write",
                "test_dropped_columns.py",
                {"v6": "hudi-6-q-false", "v9": "hudi-9-p,q-true"},
            ),
            (
                "record keys and partition paths of fields of structs",
                "test_nested_keys.py",
                {"v6": "hudi-6-COPY_ON_WRITE-st.k-st.p-true", "v9": "hudi-9-MERGE_ON_READ-st.k-st.p,st.deep.n-true"},
            ),
            (
                "dates with slashes in partition paths",
                "test_slash_dates.py",
                {"v6": "hudi-6-COPY_ON_WRITE", "v9": "hudi-9-MERGE_ON_READ"},
            ),
        )
    ),
    Feature(
        "new rows go where Hudi puts them",
        often(f"{_C}test_sizing.py::test_new_rows_go_where_hudi_puts_them", v9="MERGE_ON_READ", long=(9,)),
    ),
    Feature(
        "vectors and blobs: writes in turn, copy-on-write",
        often(
            f"{_C}test_custom_types.py::test_both_write_in_turns",
            v6="COPY_ON_WRITE-6-avro",
            v9="COPY_ON_WRITE-9-avro",
            long=(9,),
        ),
    ),
    Feature(
        "vectors and blobs: writes in turn, merge-on-read",
        often(
            f"{_C}test_custom_types.py::test_both_write_in_turns",
            v6="MERGE_ON_READ-6-parquet",
            v8="MERGE_ON_READ-8-avro",
            v9="MERGE_ON_READ-9-avro",
            long=(6, 8, 9),
        ),
    ),
    Feature(
        "tables that Hudi bootstraps, METADATA_ONLY",
        often(f"{_C}test_bootstrap.py::test_tables_that_hudi_bootstraps", v9="True-metadata-COPY_ON_WRITE", long=(9,)),
    ),
    Feature(
        "Parquet files that hudiformat adopts without a copy",
        often(f"{_C}test_bootstrap.py::test_files_that_are_adopted", v9="true-True-MERGE_ON_READ"),
    ),
    Feature(
        "Hudi reads the changes (CDC) that hudiformat logs",
        often(f"{_BOTH}test_hudi_reads_the_changes_that_were_logged_here", v9=""),
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


def page() -> str:
    """The page."""
    counts = archived_by()
    older = [f"| {hudi} | {version} | {word(claim)} | {counts[hudi]} |\n" for hudi, (version, claim) in OLDER.items()]
    return "".join([_HEAD, *older, _LIVE_HEAD, table(LIVE), _ARCHIVED_HEAD, table(ARCHIVED)])


def claims() -> list[Claim]:
    """All claims of the page."""
    found = [claim for feature in (*LIVE, *ARCHIVED) for claim in feature.claims.values()]
    return found + [claim for _, claim in OLDER.values()]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
