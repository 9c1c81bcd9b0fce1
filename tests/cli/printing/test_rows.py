"""Rows are printed as a table."""

from __future__ import annotations

import pytest

from hudiformat.cli.rows import Row, print_rows


def test_the_first_rows_determine_the_widths(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = [{"id": 1, "text": "a"}, {"id": 200, "text": None}]
    assert print_rows(iter(rows)) == 2
    assert capsys.readouterr().out.splitlines() == ["id   text", "1    a", "200  null"]


def test_rows_beyond_the_measured_ones_are_printed_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_rows({"n": number} for number in range(250)) == 250
    assert len(capsys.readouterr().out.splitlines()) == 251


def test_a_mark_is_in_front_of_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(iter([{"id": 1}]), mark="DELETE", indent="  ")
    assert capsys.readouterr().out.splitlines() == ["          id", "  DELETE  1"]


def test_no_rows_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_rows(iter([])) == 0
    assert capsys.readouterr().out == ""
