"""The package that is published: what is in it, and that it works where nothing else is."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.effort import only_long
from tools import engines, oldest, package, pythons

pytestmark = pytest.mark.unmeasured

# What the repository holds at its top: its rooms, and the files that tools look for there.
ROOMS = {"benchmarks", "changes", "docs", "examples", "hudiformat", "spec", "tests", "tools"}
PAGES = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "CODE_OF_CONDUCT.md"}
FOR_TOOLS = {
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    ".readthedocs.yaml",
    "Makefile",
    "mkdocs.yml",
    "stubs",
}
PROJECT = (package.ROOT / "pyproject.toml").read_text("utf-8")


@only_long
@pytest.mark.slow
def test_the_wheel_is_whole_and_works_in_an_empty_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "dist"
    assert package.main(["--python", sys.executable, "--keep", str(kept)]) == 0, capsys.readouterr().err
    assert sorted(path.suffix for path in kept.iterdir()) == [".gz", ".whl"]
    assert "nothing else" in capsys.readouterr().out


def test_the_table_of_pythons_has_what_pytest_counts() -> None:
    assert (
        pythons.summary("== 1 failed, 7 passed, 2 skipped, 3 deselected in 9.11s ==") == "1 failed, 7 passed, 2 skipped"
    )
    assert pythons.summary("") == ""


def test_the_interpreters_are_those_that_are_asked_for() -> None:
    assert package.chosen_interpreters([sys.executable]) == {sys.executable: Path(sys.executable)}
    assert package.chosen_interpreters(None) == package.interpreters()


@pytest.mark.skipif(
    os.environ.get("CI") != "true" and not (package.ROOT / ".git").exists(), reason="this is no checkout by git"
)
def test_nothing_strays_at_the_top_of_the_repository() -> None:
    listed = package.run(["git", "-C", package.ROOT, "ls-files", "--cached", "--others", "--exclude-standard"])
    assert {line.split("/")[0] for line in listed.splitlines()} == ROOMS | PAGES | FOR_TOOLS | {"pyproject.toml"}


def sound() -> set[str]:
    return {
        path.relative_to(package.ROOT).as_posix() for path in (package.ROOT / "hudiformat").rglob("*.py")
    } | package.NEEDED


def test_a_stray_file_is_named() -> None:
    with pytest.raises(package.PackageError, match="do not belong there: tests/golden/README.md"):
        package.check_names(sound() | {"tests/golden/README.md", "PKG-INFO"}, sound())
    with pytest.raises(package.PackageError, match="do not belong there: hudiformat/a.pyc"):
        package.check_names(sound(), sound() | {"hudiformat/a.pyc"})


def test_a_missing_file_is_named() -> None:
    package.check_names(sound(), sound())
    with pytest.raises(package.PackageError, match=r"are missing: hudiformat/py\.typed"):
        package.check_names(sound(), sound() - {"hudiformat/py.typed"})


def test_a_link_of_the_repository_is_no_link_of_an_index() -> None:
    package.check_links("[a](https://example.org) [b](#here)")
    with pytest.raises(package.PackageError, match=r"cannot follow: docs/spark\.md"):
        package.check_links("[a](docs/spark.md)")


def test_a_command_that_fails_says_what_it_printed() -> None:
    with pytest.raises(package.PackageError, match="failed:\nno"):
        package.run([sys.executable, "-c", "import sys; print('no'); sys.exit(3)"])


def test_something_that_is_no_interpreter_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python").chmod(0o755)
    assert package.version_of(tmp_path / "python") == ""
    assert package.version_of(Path(sys.executable)) == f"3.{sys.version_info.minor}"


def test_the_oldest_versions_are_those_that_the_project_allows() -> None:
    found = re.findall(r'"([\w-]+)(?:\[[\w,-]+\])?[>=]=([\d.]+)', PROJECT)
    lowest = dict(reversed(found))  # what users install stands before what developers do
    for name, version in oldest.versions().items():
        assert version == lowest[name] or version.startswith(f"{lowest[name]}."), name
    required = re.search(r"^dependencies = \[(.*?)^\]", PROJECT, re.MULTILINE | re.DOTALL)
    assert required
    assert set(re.findall(r'"([\w-]+)>=', required[1])) <= oldest.versions().keys()


def test_the_page_about_installing_has_a_row_for_each_extra() -> None:
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^dev = ", PROJECT, re.MULTILINE | re.DOTALL)
    assert extras
    of_users = set(re.findall(r"^(\w+) = \[", extras[1], re.MULTILINE)) - {"demo", "bench", "docs"}
    page = (package.ROOT / "docs" / "install.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == of_users


def test_classifiers_name_the_versions_from_the_first_that_is_allowed() -> None:
    classifiers = re.findall(r"Python :: 3\.(\d+)", PROJECT)
    first = re.search(r'requires-python = ">=3\.(\d+)"', PROJECT)
    assert first, "without an upper bound: an index would show an older release for a newer Python"
    assert classifiers == [str(minor) for minor in range(int(first[1]), int(first[1]) + len(classifiers))]


def test_each_file_of_changes_has_a_kind_that_the_change_log_knows() -> None:
    kinds = re.findall(r'^directory = "(\w+)"$', PROJECT.partition("[[tool.towncrier.type]]")[2], re.MULTILINE)
    named = re.compile(rf"(\+[\w-]+|\d+)\.({'|'.join(kinds)})\.md|README\.md")
    assert [path.name for path in (package.ROOT / "changes").iterdir() if not named.fullmatch(path.name)] == []


@only_long  # half a minute, most of it to install 350 MB
@pytest.mark.slow
def test_daft_and_ray_read_and_write_tables_in_an_environment_of_their_own() -> None:
    assert engines.main() == 0
