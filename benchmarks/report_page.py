"""The time to make a report of 20,000 file groups, and to open its page: ``python -m benchmarks.report_page``.

The file groups are made up: 200 partitions of a hundred, every third with log files.  Gathering is timed by itself in
``benchmarks.listing``, which lists as many files.  ``loaded`` is from the navigation to the end of the page's script,
``painted`` to the first frame with it, by the browser's own clock.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import hudiformat as hf
from hudiformat.api.reading import context_of
from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.report.facts import TableFacts
from hudiformat.report.gathering import gather
from hudiformat.report.layout import layout_of
from hudiformat.report.page import page_of
from tools.browser import Browser
from tools.chromium import installed_chromium

GROUPS, PARTITIONS = 20_000, 200
_MIB = 1 << 20
_SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string())])


def made_up_slices(groups: int, partitions: int) -> Iterator[FileSlice]:
    """So many file slices, from a fixed seed; sizes are spread as those of a table that many small inserts fill."""
    chance = random.Random(7)
    weights = [chance.paretovariate(1.2) for _ in range(partitions)]
    for number, partition in enumerate(chance.choices(range(partitions), weights, k=groups)):
        instant = f"202601{1 + number % 28:02d}120000000"
        file_id = f"{chance.getrandbits(128):032x}-0"
        base = f"{file_id}_0-1-2_{instant}.parquet"
        log = f".{file_id}_{instant}.log.1_0-1-2"
        size = int(min(chance.lognormvariate(17, 1.2), 140 * _MIB))
        logs = (LogFile(hf.LogFileName.parse(log), size // 3),) if number % 3 == 0 else ()
        path = f"2026/{1 + partition // 28:02d}/{1 + partition % 28:02d}"
        yield FileSlice(path, file_id, instant, BaseFile(hf.BaseFileName.parse(base), size), logs)


def large_facts(folder: Path, groups: int, partitions: int) -> TableFacts:
    """The facts of a small table in *folder*, with a large layout."""
    options = {"hudiformat.sync": "false"}
    table = hf.create_table(folder, name="large", schema=_SCHEMA, record_key=["k"], partition_by=["p"], options=options)
    table.upsert(pa.table({"k": ["a"], "p": ["x"]}))
    slices = list(made_up_slices(groups, partitions))
    stored = sum(one.size for one in slices)
    layout = layout_of(slices, stored_files=len(slices), stored_bytes=stored, small_file_limit=100 * _MIB)
    return replace(gather(context_of(table)), layout=layout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the page, open it some times, and print the seconds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--groups", type=int, default=GROUPS, help="file groups (%(default)s)")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help="partitions (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts (%(default)s)")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # processes of Chromium may still write there
        folder = Path(name)
        facts = large_facts(folder / "table", asked.groups, asked.partitions)
        began = time.perf_counter()
        page = page_of(facts)
        made = time.perf_counter() - began
        (folder / "report.html").write_text(page, encoding="utf-8")
        with Browser(installed_chromium(), folder / "browser") as browser:
            times = [loading(browser, folder / "report.html") for _ in range(asked.rounds)]
            nodes = browser.run("document.querySelectorAll('*').length")
    table = Table(title=f"a page of {asked.groups:,} file groups in {asked.partitions:,} partitions")
    for heading in ("page, MB", "made, s", "loaded, s", "painted, s", "elements"):
        table.add_column(heading, justify="right")
    loaded, painted = (min(one) for one in zip(*times, strict=True))
    size = f"{len(page.encode()) / 1e6:.2f}"
    table.add_row(size, f"{made:.2f}", f"{loaded:.2f}", f"{painted:.2f}", f"{nodes:,}")
    Console().print(table)
    return 0


def loading(browser: Browser, page: Path) -> tuple[float, float]:
    """Seconds until the page was loaded, and until a frame of it was painted."""
    browser.open(page)
    loaded = browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd")
    painted = browser.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now()")
    return loaded / 1000, max(loaded, painted) / 1000


if __name__ == "__main__":
    raise SystemExit(main())
