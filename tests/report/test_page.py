"""The page: one file, in which what the table says is text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from hudiformat import Table
from hudiformat.report.page import embed_json, page_of
from tests.report.hostile import PARTITION, QUOTES, SCRIPT
from tests.report.support import empty_facts, facts_of

HOSTILE = ["</script><img src=x onerror=alert(1)>", "<!--", "&lt;", "\u2028\u2029", "{{data}}", "\ud800", "\x00\x1b\\"]


class _Read(HTMLParser):
    """The elements of a page with their attributes, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements[-1:] and self.elements[-1][0] in ("script", "style"):
            self.texts.append((self.elements[-1][0], data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def page(hostile: Table) -> str:
    return page_of(facts_of(hostile))


@pytest.mark.parametrize("text", HOSTILE)
def test_embedded_texts_come_back_and_end_nothing(text: str) -> None:
    found = embed_json({text: [text]})
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", found)
    found.encode()
    assert json.loads(found) == {text: [text]}


def test_hostile_names_add_no_element(page: str, tmp_path: Path) -> None:
    plain = page_of(empty_facts(tmp_path))
    assert _Read(page).elements[6:] == _Read(plain).elements[6:]
    for text in (SCRIPT, PARTITION, QUOTES, "<svg"):
        assert text not in page


def test_what_the_table_says_is_in_the_facts(page: str, hostile: Table) -> None:
    (text,) = re.findall(r'<script type="application/json" id="facts">(.*)</script>\n<script>', page)
    facts = json.loads(text)
    assert facts["identity"]["name"] == SCRIPT
    assert facts["identity"]["path"] == hostile.path
    assert {PARTITION, QUOTES} < set(facts["layout"]["partitions"]["paths"])


def test_the_policy_lets_only_the_script_and_the_style_of_the_page_run(page: str) -> None:
    read = _Read(page)
    (policy,) = [one["content"] or "" for one in read.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert "unsafe" not in policy
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        text = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives[directive] == f"'sha256-{digest}'"


def test_the_page_refers_to_nothing_else(page: str) -> None:
    read = _Read(page)
    links = [value for _, attributes in read.elements for name, value in attributes.items() if name in ("src", "href")]
    assert set(links) == {"data:,", "#main"}
    assert "@import" not in page
    assert not re.search(r"url\(", page)


def test_the_script_makes_no_html_of_texts() -> None:
    folder = resources.files("hudiformat.report") / "page"
    for asset in folder.iterdir():
        text = asset.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)
        assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|https?://(?!www\.w3\.org)", text)


def test_each_section_has_a_heading(page: str) -> None:
    read = _Read(page)
    ids = {attributes.get("id") for _, attributes in read.elements}
    sections = read.all("section")
    assert len(sections) == 9
    assert {one["aria-labelledby"] for one in sections} <= ids
    assert [tag for tag, _ in read.elements if tag in ("h1", "h2")] == ["h1", *["h2"] * len(sections)]


def test_the_same_facts_give_the_same_page(tmp_path: Path) -> None:
    facts = empty_facts(tmp_path)
    assert page_of(facts) == page_of(facts)
