"""The pages whose examples need real Hudi: it runs them in its own Spark session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hudi import RealHudi
from tests.documents import pages_that_need, run_page


@pytest.mark.parametrize("name", pages_that_need("hudi"))
def test_the_examples_of_a_page_run_with_hudi(
    name: str, hudi: RealHudi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(name, needs=("hudi",), hudi=hudi)
