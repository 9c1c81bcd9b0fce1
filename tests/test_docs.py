"""Every example of every page runs; what does not run is of a language that says so.

Examples that need Spark run in ``tests/spark/test_pages.py``, those with real Hudi in
``tests/conformance/test_pages.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import NEEDS, PAGES, RUNNING, SHOWN, Runner, blocks, check, pages_that_need, run_page

pytestmark = pytest.mark.unmeasured


@pytest.mark.parametrize("name", [name for name in PAGES if blocks(PAGES[name])])
def test_the_examples_of_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(name)


@pytest.mark.parametrize("name", pages_that_need("s3"))
def test_the_examples_with_an_object_store_run(
    name: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(name, needs=("s3",), bucket=bucket)


@pytest.mark.parametrize("name", PAGES)
def test_a_block_runs_or_its_language_says_that_it_does_not(name: str) -> None:
    for block in blocks(PAGES[name]):
        assert block.language in RUNNING + SHOWN, f"{name}:{block.line}: {block.language or 'a block without language'}"
        assert block.language != "text" or "import " not in block.code, f"{name}:{block.line} is Python"
    assert PAGES[name].read_text("utf-8").count("```") == 2 * len(blocks(PAGES[name]))


@pytest.mark.parametrize("name", PAGES)
def test_no_page_mixes_needs_so_that_an_example_never_runs(name: str) -> None:
    needs = {block.needs for block in blocks(PAGES[name])} - {""}
    assert len(needs) < 2 or needs == {"spark", "hudi"}
    assert needs <= NEEDS.keys()


def test_what_is_printed_is_compared() -> None:
    check("one 1\ntwo\n", "one ...\ntwo\n", "here")
    with pytest.raises(AssertionError, match="printed"):
        check("one\n", "two\n", "here")
    with pytest.raises(AssertionError, match="the examples have hudiformat"):
        Runner("page")._command("rm -r /")
