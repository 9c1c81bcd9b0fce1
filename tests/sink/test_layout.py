"""The hidden folders of a sink."""

from __future__ import annotations

import pickle

import pytest

from hudiformat.errors import OptionError
from hudiformat.sink.layout import Layout, StagedFile, TaskCommit, plan_name


@pytest.mark.parametrize("name", ["", "a/b", ".hidden"])
def test_a_sink_s_name_is_that_of_a_folder(name: str) -> None:
    with pytest.raises(OptionError, match="expected the name of a sink"):
        Layout(name)


def test_everything_hidden_is_in_a_folder_that_begins_with_a_dot() -> None:
    layout = Layout("query")
    assert layout.staged("a.parquet") == ".hudiformat-sink/query/staging/a.parquet.inprogress"
    assert layout.plan(7) == f".hudiformat-sink/query/journal/{7:020d}.plan"
    assert layout.done(7) == f".hudiformat-sink/query/journal/{7:020d}.done"
    assert plan_name(9) < plan_name(10)
    assert layout.ending_published(7) == f"{layout.ending(7)}-published" == f"{layout.journal}/{7:020d}.end-published"
    assert layout.merged("7-end", 2) == ".hudiformat-sink/query/staging/merged-7-end-2.inprogress"


def test_messages_can_be_pickled() -> None:
    message = TaskCommit(1, 0, 2, (StagedFile("p", "name", "path", 5, 1),), 9)
    assert pickle.loads(pickle.dumps(message)) == message
