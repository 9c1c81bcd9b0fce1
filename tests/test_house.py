"""The figures about the structure of the package count what they say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import hudiformat
from tools import house

MODULE = '''"""A module."""

# A reason.
class Upkeep:
    def load(self) -> int:
        """Return one."""
        return 1  # a trap


def settle_rows() -> None:
    class Joined: ...


def settlement() -> None: ...
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module in a package of its own."""
    package = tmp_path / "hudiformat"
    package.mkdir()
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "PACKAGE", package)
    path = package / "rows.py"
    path.write_text(MODULE)
    return path


def test_functions_have_their_lengths(module: Path) -> None:
    found = [(length, name) for length, _, name in house.functions_of(module)]
    assert found == [(2, "settle_rows"), (1, "settlement"), (3, "load")]


def test_private_words_are_found_in_names_of_functions_and_classes_and_not_in_parts_of_words(module: Path) -> None:
    assert sorted(house.private_names(module)) == ["rows.py:Joined", "rows.py:Upkeep", "rows.py:settle_rows"]


def test_private_words_are_found_in_names_of_modules(module: Path) -> None:
    path = module.with_name("told.py")
    path.write_text("")
    assert list(house.private_names(path)) == ["told.py:told"]


@pytest.mark.parametrize(
    ("ignored", "extended", "is_on"),
    [(["D105"], ["D401"], True), (["D401"], ["D401"], False), (["D105"], ["D100"], False)],
)
def test_a_rule_is_on_where_it_is_chosen_and_not_left_out(
    module: Path, ignored: list[str], extended: list[str], *, is_on: bool
) -> None:
    left_out = "".join(f"    {json.dumps(rule)},\n" for rule in ignored)
    (module.parents[1] / "pyproject.toml").write_text(
        f"[tool.ruff.lint]\nextend-select = {json.dumps(extended)}\nignore = [\n{left_out}]\n"
    )
    assert house.is_rule_on("D401") is is_on


def test_any_is_found_in_signatures_of_public_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Public:
        def take(self, rows: object, options: dict[str, Any]) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - found by its name

        @property
        def found(self) -> Any: ...  # type: ignore[name-defined]  # noqa: F821 - found by its name

        def _private(self, rows: Any) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - found by its name

    for member in (Public.take, Public.__dict__["found"].fget, Public._private):
        member.__module__ = "hudiformat.public"
    monkeypatch.setattr(hudiformat, "__all__", ["Public"])
    monkeypatch.setattr(hudiformat, "Public", Public, raising=False)
    assert sorted(house.public_any()) == ["Public.found(return)", "Public.take(options)"]


def test_the_figures_of_a_package_are_printed_as_json(
    module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (module.parents[1] / "pyproject.toml").write_text('[tool.ruff.lint]\nextend-select = ["D401"]\nignore = [\n]\n')
    monkeypatch.setattr(sys, "argv", ["house", "--json"])
    house.main()
    found = json.loads(capsys.readouterr().out)
    assert found["modules"] == 1
    assert found["lines of the package"] == len(MODULE.splitlines())
    assert found["longest function"] == "3 lines, rows.py:load"
    assert found["names with private words"] == 3
    assert found["imperative docstrings (D401)"] == "on"
