"""Tries the wheel, and runs the fast tests, with each version of Python that is found: ``python -m tools.pythons``.

Each version has two environments: an empty one for the wheel, and one with all extras for the tests, which are those of
the checkout.  What is printed at the end is the table of docs/install.md.  ``--python`` is that of ``tools.package``;
everything else is given to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.package import ROOT, PackageError, build, check_contents, chosen_interpreters, environment, install, smoke

EXTRAS = "all,bench,demo,testing"
BESIDES = ("pytest", "pytest-cov", "pytest-xdist", "hudi==0.5.0", "moto[glue,server]", "s3fs")
"""What the fast tests import beside the package's extras."""


def run_tests(wheel: Path, python: Path, folder: Path, arguments: Sequence[str]) -> str:
    """Run the fast tests in a new environment with *wheel*; how many have passed, failed and been skipped.

    Raises:
        PackageError: the environment cannot be made, or a test has failed.
    """
    inside = environment(python, folder / "tests")
    install(inside, f"{wheel}[{EXTRAS}]", *BESIDES)
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    command = [str(inside), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    line = ""
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            print(line, end="", file=sys.stderr, flush=True)
    if running.returncode:
        raise PackageError(f"{' '.join(command[:3])} ended with {running.returncode}: {summary(line)}")
    return summary(line)


def summary(line: str) -> str:
    """What the last *line* of pytest counts, such as ``7 passed, 1 skipped``."""
    counts: list[str] = re.findall(r"\d+ (?:passed|failed|skipped|errors?)", line)
    return ", ".join(counts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the wheel, try it with each Python, and print the table; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.pythons", description=__doc__)
    parser.add_argument("--python", action="append", help="a version, or a path; may be repeated")
    parsed, for_pytest = parser.parse_known_args(arguments)
    rows, is_sound = [], True
    with tempfile.TemporaryDirectory() as scratch:
        try:
            sdist, wheel = build(Path(scratch))
            check_contents(sdist, wheel)
        except PackageError as error:
            print(error, file=sys.stderr)
            return 1
        for number, (name, python) in enumerate(chosen_interpreters(parsed.python).items()):
            folder = Path(scratch, f"try-{number}")
            folder.mkdir()
            row = [name]
            try:
                row += [smoke(wheel, python, folder)]
                row += [run_tests(wheel, python, folder, for_pytest)]
            except PackageError as error:
                print(f"Python {name}: {error}", file=sys.stderr)
                row += ["does not work"]
                is_sound = False
            rows.append(f"| {' | '.join(row)} |")
            print(rows[-1], file=sys.stderr, flush=True)
    print("| Python | wheel alone | fast tests |", "|---|---|---|", *rows, sep="\n")
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
