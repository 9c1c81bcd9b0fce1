"""The page of the command line is what the commands say of themselves."""

from __future__ import annotations

from tools.cli_page import PAGE, page


def test_the_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.cli_page"
