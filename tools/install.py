"""Installs the project with some of its extras into the environment of the Python that runs this.

    .venv/bin/python tools/install.py dev

uv does it, in a third of the time that pip takes.  Where uv cannot be had, or fails, pip does it.  Only the standard
library: this runs before anything is installed.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile")
"""Python compiles what it imports: all that is installed would take half a minute."""
UNCOMPRESSED = "--build-option=--compression=stored"
"""PySpark is built where it is installed: its jars, 300 MB, need not be compressed once more on the way."""
UV = (
    *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable),
    *("--config-settings-package", f"pyspark:{UNCOMPRESSED}"),
)
NAMES = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS"}
"""uv does not read the configuration of pip: what says where packages come from, and uv's variable for it."""
FILES = ("global", "user", "site", ":env:")
"""Where pip is configured; the last counts most."""


def main(extras: list[str]) -> int:
    """Install; the exit code of pip where it had to."""
    project = ["--editable", f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)]
    if subprocess.run([*PIP, "uv"], check=False).returncode == 0:
        if subprocess.run([*UV, *project], check=False, env=uv_environ()).returncode == 0:
            return 0
        print("uv could not install the project: pip tries", file=sys.stderr)
    return subprocess.run([*PIP, *project], check=False).returncode


@cache
def uv_environ() -> dict[str, str]:
    """The environment of this process, in which uv knows what pip's configuration says of places."""
    listed = [sys.executable, "-m", "pip", "config", "list"]
    return variables(subprocess.run(listed, check=False, capture_output=True, text=True).stdout) | os.environ


def variables(listed: str) -> dict[str, str]:
    """The variables of uv that say what pip's configuration, as ``pip config list`` prints it, says of places."""
    found: dict[str, str] = {}
    lines = [line.partition("=") for line in listed.splitlines()]
    for place in FILES:
        for key, _, value in lines:
            of, _, name = key.rpartition(".")
            if of in (place, f"{place}.install") and name in NAMES:
                between = "," if name == "find-links" else " "
                found[NAMES[name]] = between.join(str(ast.literal_eval(value)).split())
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
