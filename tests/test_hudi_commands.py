"""The page about Hudi's commands names commands, options and methods that exist."""

from __future__ import annotations

import re
from pathlib import Path

import click

import hudiformat as hf
from hudiformat.cli.app import app

PAGE = Path(hf.__file__).parents[1] / "docs" / "hudi-cli.md"
TEXT = PAGE.read_text("utf-8")
CODE = re.compile(r"`(hudiformat [^`]+)`")


def command_of(words: list[str]) -> click.Command:
    """The command that the words after ``hudiformat`` name."""
    context = click.Context(app, info_name="hudiformat")
    found: click.Command | None = app.get_command(context, words[0])
    if isinstance(found, click.Group):
        found = found.get_command(context, words[1])
    assert found is not None, words
    return found


def test_every_command_that_is_named_exists_and_has_the_options() -> None:
    named = [code.split()[1:] for code in CODE.findall(TEXT) if not code.endswith("--help")]
    assert len(named) > 50
    for words in named:
        options = {name for parameter in command_of(words).params for name in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, words


def test_options_beside_a_command_are_its() -> None:
    for command, option in re.findall(r"`hudiformat ([a-z]+)[^`]*`, with `(--[a-z-]+)`", TEXT):
        assert option in {name for parameter in command_of([command]).params for name in parameter.opts}, command


def test_every_method_that_is_named_exists() -> None:
    methods = set(re.findall(r"`table\.(\w+)\(", TEXT))
    assert methods
    assert all(hasattr(hf.Table, name) for name in methods)


def test_no_command_is_left_out() -> None:
    named = {code.split()[1] for code in CODE.findall(TEXT)}
    ours_alone = {"advise", "plan", "simulate", "salvage", "sql", "store"}
    assert set(app.list_commands(click.Context(app))) - named == ours_alone
