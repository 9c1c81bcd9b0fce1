"""The page of compatibility says what tests assert, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.conformance.hudi import ROOT
from tests.effort import only_long
from tools.compatibility_page import PAGE, claims, page


def test_the_page_is_what_the_matrix_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tools.compatibility_page"


def collected(**long: str) -> set[str]:
    files = sorted({claim.test.split("::")[0] for claim in claims()})
    command = [sys.executable, "-m", "tests.conformance.collected", *files]
    effort = ("HUDIFORMAT_LONG", "HUDIFORMAT_PART")
    environ = {key: value for key, value in os.environ.items() if key not in effort} | long
    run = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return set(json.loads(run.stdout))


@only_long
@pytest.mark.slow
def test_each_cell_has_a_test_that_runs_when_the_page_says_so() -> None:
    always, in_long_runs = collected(), collected(HUDIFORMAT_LONG="1")
    assert {claim.test for claim in claims()} <= in_long_runs
    assert {claim.test for claim in claims() if not claim.long} <= always
    assert not {claim.test for claim in claims() if claim.long} & always
