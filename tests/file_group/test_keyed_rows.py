"""Rows of a slice as indexes of single records have them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from hudiformat.file_group.keyed_rows import keyed_rows
from hudiformat.table.options.values import Operation
from hudiformat.write.commit.plan import write_plan
from tests.tables import new_table, rows


def test_rows_of_some_keys_or_of_all_have_their_keys_and_the_columns(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "x", 2)))
    table.upsert(rows(("b", 2, "x", 3)))
    state = table._context.state()
    reader = write_plan(state, Operation.UPSERT, "20300101000000000").slice_reader()
    [one] = state.slices()
    key = "_hoodie_record_key"
    assert keyed_rows(reader, state.storage, one, ["v"]).to_pylist() == [{key: "a", "v": 1}, {key: "b", "v": 3}]
    assert keyed_rows(reader, state.storage, one, keys=pa.array(["b", "c"])).to_pylist() == [{key: "b"}]
    nothing = keyed_rows(reader, state.storage, None, ["v"], keys=pa.array(["b"]))
    assert (nothing.num_rows, nothing.schema.names) == (0, [key, "v"])
