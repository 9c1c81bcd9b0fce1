"""Ray reads tables by a task for each file group, and writes data sets in one commit; it runs where Ray is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.documents import pages_that_need, run_page
from tests.tables import content, new_table, rows

ray = pytest.importorskip("ray", reason="pip install 'ray[data]'", exc_type=ImportError)
pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", object_store_memory=100 << 20)
    yield
    ray.shutdown()


def doubled(batch: pa.Table) -> pa.Table:
    return batch.set_column(batch.schema.get_field_index("v"), "v", pc.multiply(batch["v"], 2).cast(pa.int32()))


def test_merged_rows_are_read_and_written_in_one_commit(tmp_path: Path) -> None:
    from hudiformat.ray import read_hudi, write_hudi

    table = new_table(tmp_path / "t", options={"hoodie.index.type": "INMEMORY"})
    table.upsert(rows(("a", 1, "x", 1), ("b", 1, "y", 2)))
    table.upsert(rows(("c", 2, "y", 3), ("a", 2, "x", 10)))
    found = read_hudi(table.path, columns=["k", "v"])
    assert sorted((row["k"], row["v"]) for row in found.take_all()) == [("a", 10), ("b", 2), ("c", 3)]
    assert read_hudi(table.path, columns="k", filter="p = 'x'").take_all() == [{"k": "a"}]
    before = table.history().num_rows
    changed = read_hudi(table.path, columns=["k", "ts", "p", "v"]).map_batches(doubled, batch_format="pyarrow")
    assert write_hudi(changed, table.path).num_writes == 3
    assert content(table) == [("a", 2, "x", 20), ("b", 1, "y", 4), ("c", 2, "y", 6)]
    assert table.history().num_rows == before + 1


@pytest.mark.parametrize("name", pages_that_need("ray"))
def test_the_examples_of_the_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(name, needs=("ray",))
