"""Workers share the work of compiling the modules of tests, whose assertions pytest rewrites, on a fresh clone.

Each worker collects all tests, and all of them begin at once: without this each would compile every module, for 25
seconds of a core.  Here each compiles its share first, and finds those of the others compiled by then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent


def compile_share(number: int, count: int) -> None:
    """Compile the modules of tests that are not, as the worker *number*, from 0 on, of *count*."""
    for path in list(_uncompiled())[number::count]:
        for finder in sys.meta_path:
            if type(finder).__name__ != "AssertionRewritingHook":
                continue
            name = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
            spec = finder.find_spec(name, [str(path.parent)])
            if spec is None or spec.loader is None:
                continue
            with suppress(Exception, pytest.skip.Exception):  # what is wrong with it the collection says
                spec.loader.exec_module(module_from_spec(spec))


def _uncompiled() -> Iterator[Path]:
    cache = Path(sys.pycache_prefix) if sys.pycache_prefix else None
    for path in sorted(FOLDER.rglob("test_*.py")):
        folder = path.parent / "__pycache__" if cache is None else cache.joinpath(*path.parent.parts[1:])
        if not any(folder.glob(f"{path.stem}.*-pytest-*.pyc")):
            yield path


def worker_of(config: pytest.Config) -> tuple[int, int] | None:
    """Return the number of this process among the workers of pytest-xdist, and their count; None if it is none."""
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    return None if given is None else (int(given["workerid"].removeprefix("gw")), int(given["workercount"]))
