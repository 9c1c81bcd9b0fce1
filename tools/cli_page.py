"""docs/cli.md: the help of every command; ``python -m tools.cli_page`` writes it."""

from __future__ import annotations

from pathlib import Path

import click

from hudiformat.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
WIDTH = 100
_HEAD = """# Command line

`pip install 'hudiformat[cli]'` brings the command `hudiformat`, which is also `python -m hudiformat`. A TABLE is a path
or a URI such as `s3://bucket/table`. This page is what `--help` says; `python -m tools.cli_page` writes it.

With `--json` every command prints JSON Lines: one object per block, record or finding, as soon as it is known.
`NO_COLOR` is honoured. Shells complete commands and options after
`eval "$(_HUDIFORMAT_COMPLETE=bash_source hudiformat)"`.
"""


def help_of(command: click.Command, name: str, parent: click.Context | None = None) -> str:
    """What ``--help`` prints."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def page() -> str:
    """The page."""
    root = click.Context(app, info_name="hudiformat")
    parts = [_HEAD, f"\n```text\n{help_of(app, 'hudiformat')}\n```\n"]
    for name in app.list_commands(root):
        command = app.get_command(root, name)
        if command is None:
            raise LookupError(name)
        parts.append(f"\n## {name}\n\n```text\n{help_of(command, name, root)}\n```\n")
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=root)
            parts += [
                f"\n### {name} {below}\n\n```text\n{help_of(one, below, inner)}\n```\n"
                for below, one in command.commands.items()
            ]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
