"""``python -m benchmarks.peers``: does the same things with each library, and writes the table of what came of them.

Every "yes" of the table has run: its seconds are those of the faster of two runs, and its lines those of the method
in this folder.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.apart import NAME, outcomes_apart, paimon_environment
from benchmarks.peers.delta import DeltaLake
from benchmarks.peers.features import CHANGED, FEATURES, ROWS, Peer
from benchmarks.peers.iceberg import Iceberg
from benchmarks.peers.ours import HudiFormat
from benchmarks.peers.rs import HudiRs
from benchmarks.peers.running import Outcome, outcome

PEERS: tuple[type[Peer], ...] = (HudiFormat, DeltaLake, Iceberg, HudiRs)
PAGE = Path(__file__).with_name("README.md")
README, COMPARISON = PAGE.parents[2] / "README.md", PAGE.parents[2] / "docs" / "comparison.md"
MARK, MARK_END = "<!-- made by python -m benchmarks.peers -->", "<!-- end -->"

Outcomes = dict[str, dict[str, Outcome | None]]


def table(outcomes: Outcomes, versions: Mapping[str, str]) -> str:
    """The outcomes as Markdown; a column for each library."""
    head = [f"{name} {of}" for name, of in versions.items()]
    lines = [f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for feature in FEATURES:
        cells = (outcomes[feature.name][name] for name in versions)
        lines.append(f"| {feature.title} | {' | '.join(str(cell) if cell else 'no' for cell in cells)} |")
    return "\n".join(lines) + "\n"


def page(outcomes: Outcomes, versions: Mapping[str, str], today: str) -> str:
    """The page with the table."""
    return f"""# Compared with peers

What can be done to a table from Python, without Spark and without a JVM. `python -m benchmarks.peers` ran on {today}
(Python {platform.python_version()}, two cores) and wrote this page. Each "yes" has run, and what came of it was
compared: on a table of {ROWS:,} rows in ten partitions, with changes of {CHANGED:,} rows. Seconds are those of
the faster of two runs; take them as an order of size. Lines are those of the method in this folder. "no" means that the
library has no call for it; a way around it may exist.

{table(outcomes, versions)}
- **hudi-rs** reads; its tables are made by hudiformat here, which also looks up the time of their commits.
- **deltalake** writes deletes and updates by rewriting files, **pyiceberg** too; hudiformat does so in copy-on-write
  tables, and writes log files in merge-on-read ones.
- **pypaimon** works with pyarrow below 20 alone, and ran in an environment of its own. Tables with primary keys are
  merge-on-read; updates, merges and single columns are for tables without, whose rows have numbers.
- **hudiformat**'s upsert by key needs no join: an index finds the file groups.
- An Iceberg table has a catalog, which gives branches, tags and commits over several tables; a Hudi or Delta table is
  a folder.
- Not compared: what each format offers with Spark, Flink, Trino and others, where Delta, Iceberg and Hudi all have
  more; encryption; access control.
"""


SHORT = (
    "create",
    "upsert",
    "delete",
    "update",
    "partial",
    "merge",
    "travel",
    "changed",
    "cdc",
    "rename_column",
    "compact",
    "restore",
    "writers",
    "verify",
    "simulate",
    "log_merge",
    "lazy",
    "branch",
    "constraint",
    "adopt",
)
"""The features in the README's table: among them all that hudiformat does not have and another has."""


def short_table(text: str, names: Sequence[str]) -> str:
    """The table of the page with yes and no alone, of the features in *names*."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    by_title = {line.split(" | ")[0].removeprefix("| "): line for line in lines}
    chosen = [by_title[feature.title] for feature in FEATURES if feature.name in names]
    rule = "|---" * (lines[0].count("|") - 1) + "|"
    return "\n".join([lines[0], rule, *(re.sub(r"yes: [^|]* \|", "yes |", line) for line in chosen)]) + "\n"


def replace_tables(text: str) -> None:
    """Put the table, with yes and no alone, where README.md and docs/comparison.md have it."""
    for path, names in ((README, SHORT), (COMPARISON, [feature.name for feature in FEATURES])):
        before, mark, rest = path.read_text("utf-8").partition(f"{MARK}\n")
        _, end, after = rest.partition(f"{MARK_END}\n")
        path.write_text(f"{before}{mark}{short_table(text, names)}{end}{after}", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, or the features that *arguments* name, and write the page where all have run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("features", nargs="*", help="only these, and no page")
    only = parser.parse_args(arguments).features
    warnings.simplefilter("ignore")
    chosen = [feature for feature in FEATURES if not only or feature.name in only]
    versions = {peer.name: version(peer.package) for peer in PEERS}
    with paimon_environment() as python:
        versions[NAME], apart = outcomes_apart(python, [feature.name for feature in chosen])
    outcomes: Outcomes = {}
    for feature in chosen:
        found = {peer.name: outcome(peer, feature) for peer in PEERS} | {NAME: apart[feature.name]}
        outcomes[feature.name] = found
        print(f"{feature.title}: " + "; ".join(f"{name} {what or 'no'}" for name, what in found.items()), flush=True)
    if not only:
        text = page(outcomes, versions, f"{datetime.now(timezone.utc):%Y-%m-%d}")
        PAGE.write_text(text, "utf-8")
        replace_tables(text)
    return int(any(what and what.problem for row in outcomes.values() for what in row.values()))


if __name__ == "__main__":
    sys.exit(main())
