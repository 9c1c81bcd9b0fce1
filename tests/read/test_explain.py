"""What a scan reads, what it leaves out, and by what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudiformat import Table, open_table
from tests.metadata_tables import add_secondary_index, indexed_table
from tests.tables import GoldenTable, content, new_table, rows


def explained(table: Table, **query: Any) -> tuple[int, dict[str, int]]:
    explanation = table.scan(**query).explain()
    return len(explanation.read), explanation.left_out


def test_a_scan_explains_what_it_reads(golden: Callable[[str], GoldenTable]) -> None:
    table = open_table(golden("v9-mor-metadata-table-h120").table)
    total = len(table.file_slices())
    assert explained(table) == (total, {})
    name, key = pc.field("p"), pc.field("k")
    assert explained(table, filter=name == "north")[1]["partition path"] > 0
    read, left_out = explained(table, filter=key == "key-0030")
    assert read + sum(left_out.values()) == total
    assert left_out["column_stats"] > 0
    nothing = table.scan(filter=pc.field("ts") > 10**9).explain()
    assert nothing.read == []
    off = open_table(table.path, options={"hoodie.enable.data.skipping": "false"})
    assert explained(off, filter=pc.field("ts") > 10**9, with_logs=False) == (0, {"footer": total})


def test_row_groups_that_are_left_out_are_explained(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    table.bulk_insert(rows(*((f"k{number:06}", 1, "x", number) for number in range(20000))))
    (base,) = (tmp_path / "t" / "x").glob("*.parquet")
    pq.write_table(pq.read_table(base, partitioning=None), base, row_group_size=5000)
    (one,) = table.scan(filter=pc.field("k") == "k000003").explain().slices
    assert one.left_out_by is None
    assert one.row_groups == 1
    assert (one.row_groups_in or 0) > 1
    (gone,) = table.scan(filter=pc.field("k") == "other").explain().slices
    assert (gone.left_out_by, gone.row_groups) == ("footer", 0)


def test_a_secondary_index_leaves_out_what_does_not_have_the_value(tmp_path: Path) -> None:
    options = {"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.index.column.stats.enable": "false"}
    indexed_table(tmp_path / "t", options=options)
    name = add_secondary_index(tmp_path / "t", "v")
    unique = {"hoodie.index.type": "GLOBAL_SIMPLE"}
    table = open_table(tmp_path / "t", options=unique)
    table.insert(rows(("a", 1, "x", 1), ("b", 1, "y", 2), ("c", 1, "z", 3)))
    table.upsert(rows(("a", 2, "x", 2)))
    value = pc.field("v")
    assert explained(table, filter=value == 2) == (2, {name: 1})
    assert explained(table, filter=value == 1) == (0, {name: 3})
    assert explained(table, filter=value.isin([1, 3])) == (1, {name: 2})
    assert content(table, filter=value == 2) == [("a", 2, "x", 2), ("b", 1, "y", 2)]
    # What was, and what base files alone have, is not in the index.
    first = table.timeline.completed[0].time
    assert explained(table, filter=value == 1, as_of=first)[0] == 1
    assert explained(table, filter=value == 1, with_logs=False) == (1, {"footer": 2})
    # Without a global index a key may be in several partitions.
    assert explained(open_table(tmp_path / "t"), filter=value == 2)[1] == {"footer": 1}


def test_statistics_of_partitions_leave_out_whole_ones(tmp_path: Path) -> None:
    table = indexed_table(tmp_path / "t")
    table.bulk_insert(rows(*(("a", 1, "x", 1), ("b", 1, "y", 2), ("c", 1, "z", None))))
    table.bulk_insert(rows(("d", 1, "x", 5), ("e", 2, "y", 9)))
    value = pc.field("v")
    # Of base files alone no column is taken for one of nulls.
    assert explained(table, filter=value == 10) == (0, {"partition_stats": 4, "footer": 1})
    assert explained(table, filter=value == 1) == (1, {"partition_stats": 2, "column_stats": 1, "footer": 1})
    either = (value > 5) | (pc.field("ts") == 7)
    assert explained(table, filter=either) == (1, {"partition_stats": 2, "column_stats": 1, "footer": 1})
    assert explained(table, filter=value.is_null())[1].get("partition_stats") is None
    table.upsert(rows(("d", 2, "x", 7)))
    assert content(table, filter=value == 7) == [("d", 2, "x", 7)]
    assert explained(table, filter=value == 8)[1]["partition_stats"] == 2
    first = table.timeline.completed[0].time
    assert "partition_stats" not in explained(table, filter=value == 8, as_of=first)[1]
    off = open_table(table.path, options={"hoodie.enable.data.skipping": "false"})
    assert explained(off, filter=value == 7, with_logs=False)[1].keys() == {"footer"}
