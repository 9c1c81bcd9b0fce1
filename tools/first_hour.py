"""docs/first-hour.md: the first hour with hudiformat, as it happens: ``python -m tools.first_hour`` writes it.

It builds the wheel, installs it into an empty environment, takes every step there, and writes down what each printed.
The tests run the page again, and compare all but numbers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tools.package import ROOT, PackageError, build, environment, run

PAGE = ROOT / "docs" / "first-hour.md"
EXTRAS = ("pandas", "polars", "duckdb")


@dataclass(frozen=True)
class Step:
    """A step: words, and either Python or commands; Python keeps its names from step to step."""

    words: str
    python: str = ""
    commands: tuple[str, ...] = ()


STEPS = (
    Step(
        "## A table from pandas\n\n"
        "The record key is the flight, and of two reports of a flight the one with the higher `updated` counts.",
        python="""\
import hudiformat as hf
import pandas as pd

flights = pd.DataFrame(
    {
        "flight": ["UA1", "UA2", "DL7", "AA3"],
        "updated": [1, 1, 1, 1],
        "delay": [0, 12, -3, 45],
        "month": ["01", "01", "02", "02"],
    }
)
table = hf.create_table(
    "flights",
    name="flights",
    schema=flights,
    record_key="flight",
    ordering="updated",
    partition_by="month",
    table_type="MERGE_ON_READ",
)
print(table.upsert(flights).num_writes, "rows written")
""",
    ),
    Step(
        "The next report goes to a log file, because the table is merge-on-read.",
        python="""\
newer = pd.DataFrame({"flight": ["UA2"], "updated": [2], "delay": [20], "month": ["01"]})
commit = table.upsert(newer)
print(table.to_pandas(columns=["flight", "delay"]).sort_values("flight").to_string(index=False))
""",
    ),
    Step(
        "## Questions\n\nIn DuckDB:",
        python="""\
import duckdb

delays = table.scan(columns=["month", "delay"])
print(duckdb.sql("select month, max(delay) as worst from delays group by month order by month").fetchall())
""",
    ),
    Step(
        "In Polars:",
        python="""\
import polars as pl

frame = table.to_polars(columns=["flight", "delay"])
print(frame.filter(pl.col("delay") > 10).sort("delay").rows())
""",
    ),
    Step(
        "## Look at it\n\nWhat happened, and which files there are:",
        commands=("hudiformat history flights", "hudiformat slices flights"),
    ),
    Step(
        "What takes room, and what is to be done:",
        commands=("hudiformat stats flights", "hudiformat maintain flights --dry-run"),
    ),
    Step("Is anything wrong?", commands=("hudiformat verify flights",)),
    Step("All of it on one page, for a browser:", commands=("hudiformat report flights -o report.html",)),
    Step(
        "## A broken log file\n\nA copy that was interrupted: the end of the log file is missing.",
        python="""\
from pathlib import Path

[log] = Path("flights").rglob(f".*_{commit.instant}.log.*")
log.write_bytes(log.read_bytes()[:-100])
Path("broken.log").write_bytes(log.read_bytes())
""",
    ),
    Step("The table and the file both say so:", commands=("hudiformat verify flights", "hudiformat blocks broken.log")),
    Step(
        "What is intact goes to a new file, and what is lost is listed:",
        commands=("hudiformat salvage broken.log -o intact.log",),
    ),
    Step(
        "The new file takes the old one's place, and the lost rows are written again.",
        python="""\
import os

os.replace("intact.log", log)
table = hf.open_table("flights")
table.upsert(newer)
print(table.verify(), table.snapshot(columns=["flight", "delay"], filter="flight = 'UA2'").to_pylist())
""",
    ),
    Step(
        "## And on\n\nLog files become base files, and the table is as new:",
        commands=("hudiformat compact flights", "hudiformat verify flights"),
    ),
)
HEAD = """# The first hour

From an empty environment to a table, two queries and a repaired log file. Everything below has happened:
`python -m tools.first_hour` installed the wheel, took each step, and wrote this page. A test takes the steps again.

<!-- numbers differ from run to run -->

```text
$ python -m venv environment
$ . environment/bin/activate
$ pip install 'hudiformat[cli]' pandas polars duckdb
INSTALLED
```

"""
TAIL = """
Next: [the tutorials](tutorials/dataframes.md), [the concepts](concepts.md), and
[what Hudi does with this table](how-to/hand-over.md).
"""


class Session:
    """A Python in the environment: it gets code, and gives back what the code prints."""

    LOOP = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(json.loads(line), names)
    print(json.dumps(out.getvalue()), flush=True)
"""

    def __init__(self, python: Path, folder: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([python, "-c", self.LOOP], cwd=folder, stdin=pipe, stdout=pipe, text=True)

    def run(self, code: str) -> str:
        """Run code in the names that are there; what it prints.

        Raises:
            PackageError: there is nothing to write to.
        """
        given, printed = self._process.stdin, self._process.stdout
        if given is None or printed is None:
            raise PackageError("the session has no pipes")
        given.write(json.dumps(code) + "\n")
        given.flush()
        return str(json.loads(printed.readline()))

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def transcript(python: Path, folder: Path, installed: str) -> str:
    """The page, with what each step prints in *folder*, by the environment of *python*."""
    session = Session(python, folder)
    parts = [HEAD.replace("INSTALLED", installed)]
    for step in STEPS:
        parts.append(f"{step.words}\n\n")
        if step.python:
            printed = session.run(step.python)
            parts.append(f"```python\n{step.python}```\n\n")
            parts += [f"```output\n{printed}```\n\n"] if printed else []
        else:
            lines = [f"$ {line}\n{command(python, folder, line)}" for line in step.commands]
            parts.append(f"```console\n{''.join(lines)}```\n\n")
    session.close()
    return "".join(parts).rstrip("\n") + "\n" + TAIL


def command(python: Path, folder: Path, line: str) -> str:
    """What a command prints; 0 and 1 are fine.

    Raises:
        PackageError: it ended with another code.
    """
    program, *arguments = line.split()
    environ = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(python.parent / program), *arguments],
        cwd=folder,
        env=environ,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode not in (0, 1):
        raise PackageError(f"{line} ended with {done.returncode}: {done.stdout}")
    return "".join(f"{text.rstrip()}\n" for text in done.stdout.splitlines())


def main() -> None:
    """Build, install, take the steps, and write the page."""
    with tempfile.TemporaryDirectory() as scratch:
        _, wheel = build(Path(scratch, "dist"))
        python = environment(Path(sys.executable), Path(scratch, "environment"))
        printed = run([sys.executable, "-m", "pip", "--python", python, "install", f"{wheel}[cli]", *EXTRAS])
        [installed] = [line for line in printed.splitlines() if line.startswith("Successfully installed")]
        folder = Path(scratch, "hour")
        folder.mkdir()
        PAGE.write_text(transcript(python, folder, textwrap.fill(installed, 110)), "utf-8")


if __name__ == "__main__":
    main()
