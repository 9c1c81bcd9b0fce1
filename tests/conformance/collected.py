"""The ids of the tests that would run: ``python -m tests.conformance.collected tests/read`` prints them as JSON."""

from __future__ import annotations

import json
import sys

import pytest


class _Ids:
    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.found = [item.nodeid for item in session.items if not is_skipped(item)]


def is_skipped(item: pytest.Item) -> bool:
    """Whether a condition that is a value, as ``not LONG``, skips the test."""
    return any(mark.args and mark.args[0] is True for mark in item.iter_markers("skipif"))


def main(arguments: list[str]) -> int:
    """Print the ids of the tests in the files or folders that *arguments* name."""
    ids, out = _Ids(), sys.stdout
    sys.stdout = sys.stderr
    code = pytest.main(["-n0", "-q", "--collect-only", "-m", "", *arguments], plugins=[ids])
    json.dump(ids.found, out)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
