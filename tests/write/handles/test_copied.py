"""Putting whole base files together; tests/services/test_clustering.py has what becomes of the table."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hudiformat.errors import CorruptTableError
from hudiformat.file_group.base_file.copying import can_be_copied
from hudiformat.write.handles import clustered
from tests.tables import new_table, rows

OPTIONS = {"hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false"}


def test_a_file_that_cannot_be_finished_is_left_to_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustered, "can_be_copied", partial(can_be_copied, least_group=1))
    table = new_table(tmp_path / "t", table_type="COPY_ON_WRITE", options=OPTIONS)
    for number in range(3):
        table.insert(rows((f"k{number}", 1, "x", number)))
    with monkeypatch.context() as patch:
        patch.setattr("hudiformat.file_group.base_file.copying.footer_of", _fail)
        with pytest.raises(CorruptTableError, match="no footer"):
            table.cluster()
    assert table.snapshot().num_rows == 3
    (commit,) = table.cluster()
    assert commit.stats[0].num_writes == 3
    assert table.snapshot().num_rows == 3
    assert table.verify() == []


def _fail(*_: object, **__: object) -> None:
    raise CorruptTableError("no footer", path="x")
