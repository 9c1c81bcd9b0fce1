"""The site of the documentation builds without a warning, and its links are those of the pages in the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import only_long
from tools import site
from tools.figures import PICTURE, RESULTS, picture, rate

pytestmark = pytest.mark.unmeasured

ROOT = site.ROOT


def test_every_page_is_in_the_navigation() -> None:
    """What is not there the strict build refuses, in long runs."""
    named = (ROOT / "mkdocs.yml").read_text()
    pages = [*(ROOT / "spec").glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    paths = [str(path.relative_to(ROOT)).removeprefix("docs/") for path in pages]
    assert len(paths) > 40
    assert [path for path in paths if f" {path}\n" not in named] == []


@only_long
@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    build = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stdout + build.stderr
    for path in tmp_path.rglob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(
            r'<(?:script|img)[^>]+src="(?:https?:)?//|<link[^>]+rel="stylesheet"[^>]+"https?:', text
        ), path
        assert ":meth:" not in text, path
    assert (tmp_path / "spec" / "log-block" / "index.html").exists()


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("spark.md", "../spec/spark.md", "spec/spark.md"),
        ("how-to/codec.md", "../../spec/vectors/README.md", "../spec/vectors/README.md"),
        ("how-to/codec.md", "../stream-files.md#options", "../stream-files.md#options"),
        ("spec/sink.md", "../docs/stream-files.md", "../stream-files.md"),
        ("spec/storage.md", "../SECURITY.md", "../security.md"),
        ("security.md", "docs/spark.md", "spark.md"),
        ("spark.md", "../examples/orders", f"{site.REPOSITORY}/tree/main/examples/orders"),
        ("spark.md", "../Makefile", f"{site.REPOSITORY}/blob/main/Makefile"),
        ("spark.md", "https://example.org/x", "https://example.org/x"),
        ("spark.md", "#here", "#here"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(page: str, link: str, expected: str) -> None:
    assert site.with_links(f"a [b]({link}) c", page) == f"a [b]({expected}) c"


def test_what_looks_like_a_link_in_code_stays() -> None:
    code = "```python\nrows[0](nowhere)\n```\n"
    assert site.with_links(code, "spark.md") == code


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="a page links to nowhere.md"):
        site.with_links("[x](../nowhere.md)", "spark.md")


def test_the_picture_shows_the_results() -> None:
    assert PICTURE.read_text("utf-8") == picture(RESULTS.read_text("utf-8")), "run python -m tools.figures"


def test_rates_have_units() -> None:
    assert [rate(text) for text in ("1.7 M rows/s", "563 k", "46.5")] == [1.7e6, 563e3, 46.5]
    with pytest.raises(ValueError, match="expected a rate"):
        rate("fast")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_at_the_top_of_the_repository_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)\s#]+)\)", (ROOT / name).read_text("utf-8"))
    assert [link for link in links if not re.match("https?:", link) and not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_figures_in_words_are_in_the_results(name: str) -> None:
    results = RESULTS.read_text("utf-8")
    text = (ROOT / name).read_text("utf-8")
    assert "| hudi-rs | 1.5 to 11 |" in text
    assert "| 1.53 / 2.58 / 10.9 x |" in results
    assert "| Hudi on Spark; Delta Lake | 2.9 to 4.5, 1.5 to 3.1; 0.5 to 0.8, 0.3 to 2.1 |" in text
    assert "| Hudi on Spark | 2.4 to 3.5, 6.2 to 8.3, 3.1 to 4.4 |" in text
    assert "| Hudi on Spark | 2.4 / 7.1 / 4.4 x; 3.5 / 8.3 / 3.5 x; 3.2 / 6.2 / 3.1 x; 3.3 / 6.4 / 3.9 x |" in results
