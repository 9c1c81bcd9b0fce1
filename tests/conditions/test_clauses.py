from __future__ import annotations

import pickle

import pytest

from hudiformat.conditions.clauses import Clause, Delete, Insert, Update


@pytest.mark.parametrize("clause", [Update({"v": 1}, "source.v > 1"), Delete(), Insert(condition="source.v > 1")])
def test_clauses_are_values(clause: Clause) -> None:
    assert pickle.loads(pickle.dumps(clause)) == clause
    assert clause != Update()
