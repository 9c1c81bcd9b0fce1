"""The facts of a report as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from hudiformat.report.facts import Histogram
from tests.report.support import empty_facts


def test_facts_are_plain_json(tmp_path: Path) -> None:
    facts = empty_facts(tmp_path)
    found = json.loads(json.dumps(facts.as_json(), allow_nan=False))
    assert found["identity"]["record_key"] == ["k"]
    assert found["advice"] == [{"headline": "Nothing to do", "command": ""}]
    assert found["layout"]["partitions"]["paths"] == found["layout"]["groups"]["file_ids"] == []
    assert found["findings"] == {"counts": {}, "first": []}


def test_arrays_become_lists(tmp_path: Path) -> None:
    facts = empty_facts(tmp_path)
    assert isinstance(facts.layout.histogram, Histogram)
    assert isinstance(facts.layout.histogram.edges, np.ndarray)
    assert facts.as_json()["layout"]["histogram"] == {"edges": [], "files": [], "bytes": []}
