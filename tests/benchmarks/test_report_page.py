"""The benchmark of the report's page runs; its figures mean nothing here."""

from __future__ import annotations

import pytest

from benchmarks import report_page
from tools.browser import Browser

pytestmark = pytest.mark.unmeasured


def test_the_page_is_made_and_opened(browser: Browser, capsys: pytest.CaptureFixture[str]) -> None:
    assert report_page.main(["--groups", "50", "--partitions", "3", "--rounds", "1"]) == 0
    assert "50 file groups in 3 partitions" in capsys.readouterr().out
