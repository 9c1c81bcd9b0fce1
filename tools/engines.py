"""Runs the tests of Daft and Ray in an environment of their own: ``python -m tools.engines``.

Each takes 200 MB, and Daft works with no newest pyarrow, so that they are not where the other tests run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.package import ROOT, PackageError, environment, install

PACKAGES = ("daft", "ray[data]", "pytest", "pytest-xdist", "pytest-cov", "hypothesis", "javaproperties", "pyroaring")


def main() -> int:
    """Make the environment, and run pytest there; its exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            python = environment(Path(sys.executable), Path(scratch, "environment"))
            install(python, *PACKAGES, "fastavro", "sqlglot", "click", "rich")
        except PackageError as error:
            print(error, file=sys.stderr)
            return 1
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(scratch, "bytecode"))}
        environ.pop("HUDIFORMAT_PART", None)  # all of them, whatever part of the other tests is run
        command = [str(python), "-m", "pytest", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider", "tests/engines"]
        return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
