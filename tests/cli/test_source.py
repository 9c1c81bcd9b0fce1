"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from hudiformat.cli.log.blocks import blocks
from hudiformat.cli.source import key_and_value, open_log, split
from hudiformat.errors import StorageError
from tests.cli.support import DATA


def test_an_option_is_split_at_its_first_equals_sign() -> None:
    assert key_and_value("hoodie.a=b=c") == ("hoodie.a", "b=c")
    assert key_and_value("hoodie.a=") == ("hoodie.a", "")
    with pytest.raises(click.UsageError, match="-o hoodie.a: expected KEY=VALUE"):
        key_and_value("hoodie.a")


def test_column_names_are_distinct_and_in_order() -> None:
    context, option = click.Context(blocks), blocks.params[0]
    assert split(context, option, "b,a,b") == ["b", "a"]
    assert split(context, option, None) is None


def test_only_a_file_is_a_log_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a folder: expected a log file"):
        open_log(str(tmp_path))
    with pytest.raises(StorageError, match="cannot read"):
        open_log(str(tmp_path / "none"))
    (tmp_path / "log").write_bytes(DATA)
    assert [block.instant for block in open_log(str(tmp_path / "log"))] == ["20260101000000001"]
