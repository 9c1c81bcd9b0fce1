"""Runs the fast tests with the oldest dependencies that are allowed: ``python -m tools.oldest``.

``tools/oldest.txt`` has their versions.  The environment is made anew each time, with the oldest Python that is found.
What is left out in it, because its oldest version is newer than the rest allows, is skipped by the tests themselves.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.package import ROOT, PackageError, environment, install, interpreters, run

CONSTRAINTS = ROOT / "tools" / "oldest.txt"


def versions() -> dict[str, str]:
    """The versions by the names of the packages."""
    return dict(re.findall(r"^([\w-]+)==([\w.]+)$", CONSTRAINTS.read_text("utf-8"), re.MULTILINE))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environment, and run pytest there with *arguments*; its exit code."""
    oldest = next(iter(interpreters().values()))
    with tempfile.TemporaryDirectory() as scratch:
        try:
            python = environment(oldest, Path(scratch, "environment"))
            install(python, "--constraint", CONSTRAINTS, *versions())
        except PackageError as error:
            print(error, file=sys.stderr)
            return 1
        print(
            f"Python {run([python, '--version']).split()[-1]}, {', '.join(map('=='.join, versions().items()))}",
            flush=True,
        )
        given = sys.argv[1:] if arguments is None else arguments
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(scratch, "bytecode"))}
        return subprocess.run([python, "-m", "pytest", *given], cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
