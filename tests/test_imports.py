"""Every module of the package can be imported, in a process that has imported none, and says nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

NEED_A_PACKAGE = {"hudiformat.daft": "daft", "hudiformat.ray": "ray"}
"""Modules that import a package which is not among the development dependencies."""
PACKAGE = Path(__file__).parent.parent / "hudiformat"


def test_every_module_is_imported_without_a_word() -> None:
    """Their definitions are measured here, whatever tests of them are measured."""
    paths = [path.relative_to(PACKAGE.parent).with_suffix("") for path in sorted(PACKAGE.rglob("*.py"))]
    names = [".".join(path.parts) for path in paths if path.name != "__main__"]
    assert len(names) > 400
    names = [name for name in names if find_spec(NEED_A_PACKAGE.get(name, "sys"))]
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
