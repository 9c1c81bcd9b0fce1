"""What values show in notebooks: tables of escaped texts, without scripts, in the colours of the notebook."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

import hudiformat as hf
from hudiformat.advice.advice import Advice, AdviceList, Severity
from hudiformat.codec.log.build import data_block
from hudiformat.notebook import Bar, Rows, Size, show
from hudiformat.storage.protocol import Capabilities
from tests.requests import RecordingStorage, data_files
from tests.tables import new_table, rows

HOSTILE = "<script>alert(1)</script>&'\""


class Remote(RecordingStorage):
    """A storage that is not local."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, map=False)


class Tags(HTMLParser):
    """The tags and the text of a page, all closed in their order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "title"}
        # JupyterLab's sanitizer takes other functions out of notebooks that somebody else has run.
        assert set(re.findall(r"([\w-]+)\(", dict(attrs).get("style") or "")) <= {"rgba"}
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def text_of(value: object) -> str:
    found = Tags(value._repr_html_())  # type: ignore[attr-defined]  # it has one, or the test fails
    assert set(found.tags) <= {"div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    return found.text


@pytest.fixture
def table(tmp_path: Path) -> hf.Table:
    made = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    made.upsert(rows(("a", 1, "x", 1), ("b", 1, HOSTILE, 2)))
    made.upsert(rows(("a", 2, "x", 10)))
    return made


def test_a_table_shows_its_properties_commits_and_partitions_and_opens_no_data_file(table: hf.Table) -> None:
    storage = RecordingStorage(hf.open_storage(table.path))
    text = text_of(hf.open_table(storage))
    assert data_files(storage.requests) == []
    for shown in ("Table t", "MERGE_ON_READ", "record key", "int32", table.timeline.completed[-1].time, HOSTILE):
        assert shown in text
    empty = new_table(Path(table.path).with_name("empty"))
    assert "newest commits" not in text_of(empty)
    assert "partitions" not in text_of(hf.open_table(Remote(hf.open_storage(table.path))))


def test_commits_scans_plans_and_results(table: hf.Table) -> None:
    commit = table.upsert(rows(("c", 1, HOSTILE, 1)))
    text = text_of(commit)
    assert f"Commit {commit.instant}" in text
    assert HOSTILE in text
    assert "int32" in text_of(table.scan())
    assert "left out by partition path" in text_of(table.scan(filter="p = 'x'").explain())
    [plan] = table.plan_inserts({HOSTILE: 10})
    assert HOSTILE in text_of(plan)
    planned = table.schedule_compaction()
    assert planned.instant in text_of(planned)
    assert "requested" in text_of(planned)
    assert "nothing to do" in text_of(table.schedule_compaction())
    compacted = table.compact()
    assert "files written" in text_of(compacted)
    assert "What maintain would do" in text_of(table.maintain(dry_run=True))


def test_advice_shows_what_to_do_and_why(table: hf.Table) -> None:
    assert "nothing to do" in text_of(AdviceList())
    advice = Advice(severity=Severity.LOW, finding="x", verb=HOSTILE, found="f", reason="r", command="hudiformat c")
    text = text_of(AdviceList([advice], not_examined=("rows",)))
    assert all(shown in text for shown in (f"{HOSTILE}: f", "hudiformat c", "not examined", "rows"))


def test_what_cannot_be_looked_at_shows_the_error(table: hf.Table, tmp_path: Path) -> None:
    reader = hf.LogReader(b"")
    reader.close()
    assert "closed" in text_of(reader)
    shutil.rmtree(table.path)
    assert "Table t\nerror" in text_of(table)


def test_many_slices_and_columns_make_a_small_text(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.string()), *((f"c{number}", pa.int64()) for number in range(300))])
    wide = hf.create_table(tmp_path / "wide", name="wide", schema=columns, record_key="id")
    many = new_table(tmp_path / "many")
    commit = many.bulk_insert(rows(*((f"k{number}", 1, f"p{number:03}", number) for number in range(150))))
    for value in (wide, wide.scan(), many, commit, many.scan().explain()):
        assert len(value._repr_html_()) < 50_000
        assert re.search(r"and \d{3} more", text_of(value))


def test_findings_and_repairs(table: hf.Table) -> None:
    sound = table.verify()
    assert sound == []
    assert "none" in text_of(sound)
    [file, *_] = [name for name in table.files("x") if ".log." in name]
    Path(table.path, file).write_bytes(b"#HUDI#" + bytes(100))
    found = table.verify()
    assert len(found) >= 1
    assert file in text_of(found)
    assert "Plan of a repair" in text_of(table.repair())


def test_a_log_reader_shows_its_first_blocks(tmp_path: Path) -> None:
    with hf.LogWriter(tmp_path, hf.LogFileName.parse(".f_1.log.1_0-0-0"), sync=False) as writer:
        for number in range(25):
            writer.append(data_block(rows(("a", number, "x", 1)).to_batches()[0], instant=f"{number:017}"))
    with hf.LogReader(writer.path) as reader:
        text = text_of(reader)
    assert "the first 20 are shown" in text
    assert f"{19:017}" in text
    assert f"{20:017}" not in text


def test_texts_are_escaped_numbers_are_read_and_rows_are_bounded() -> None:
    html = show(
        HOSTILE, {HOSTILE: HOSTILE, "none": None}, Rows((HOSTILE, "n"), [(HOSTILE, 1234)] * 30, HOSTILE, more=5)
    )
    assert "<script" not in html
    text = Tags(html).text
    assert text.count("1,234") == 20
    assert "and 15 more" in text
    assert "none" not in text
    assert Tags(show("x", {"long": "y" * 1000})).text.count("y") == 299
    assert str(Size(1_234_567)) == "1.2 MB"
    html = show("x", {}, Rows(("b",), [(Bar((100, 1), 100),)]))
    assert re.findall(r"width:(\d+)px", html) == ["160", "2"]
    assert 'title="100 B + 1 B"' in html
