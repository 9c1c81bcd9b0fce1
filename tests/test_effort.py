"""What tests say of how much they try, they all say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.effort import is_in_part

FILES = [path for path in sorted(Path(__file__).parent.rglob("*.py")) if "suppress_health_check" in path.read_text()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(Path(__file__).parent)))
def test_no_test_fails_as_a_draw_takes_long_on_a_busy_machine(path: Path) -> None:
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    lists = [given.value for call in calls for given in call.keywords if given.arg == "suppress_health_check"]
    for one in map(ast.unparse, lists):
        assert "BUSY" in one or "too_slow" in one or one == "list(HealthCheck)"


def test_each_test_is_in_one_part() -> None:
    parts = [[place for place in range(8) if is_in_part(place, part)] for part in ("1/3", "2/3", "3/3")]
    assert parts == [[0, 3, 6], [1, 4, 7], [2, 5]]


@pytest.mark.parametrize("part", ["0/3", "4/3", "x/3", "2"])
def test_a_part_that_is_none_is_an_error(part: str) -> None:
    with pytest.raises(ValueError, match="expected a part|invalid literal"):
        is_in_part(0, part)
