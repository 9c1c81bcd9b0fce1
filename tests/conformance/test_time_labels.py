"""Real Hudi shows the moments that were meant, in tables whose labels of times hudiformat has repaired or changed."""

from __future__ import annotations

from pathlib import Path

import pytest

import hudiformat as hf
from hudiformat.schema.time_labels import TIME_LABELS
from tests.conformance.hudi import RealHudi
from tests.foreign.foreign_tables import names, unpack
from tests.rows import assert_same_rows

pytestmark = pytest.mark.hudi
OWN = ["k", "o", "ts", "s"]


@pytest.mark.parametrize("name", [name for name in names("wrong-labels-") if name != "wrong-labels-some-mor6-h0150"])
def test_hudi_reads_a_repaired_table(name: str, tmp_path: Path, hudi: RealHudi) -> None:
    foreign = unpack(name, tmp_path)
    hf.open_table(foreign.path).repair(apply=True, dead_after=0)
    table = hf.open_table(foreign.path)
    assert table.verify(labels=True) == []
    theirs = hudi.read(foreign.path)
    assert_same_rows(table.snapshot(columns=OWN), theirs.select(OWN), key=("k",))
    shown = dict(zip(theirs["k"].to_pylist(), theirs["ts"].to_pylist(), strict=True))
    assert (shown["a"].year, shown["c"].year, shown["d"]) == (2024, 9999, None)


@pytest.mark.parametrize("name", ["wrong-labels-cow6-h0150", "wrong-labels-mor8-h102"])
def test_hudi_reads_a_table_whose_label_a_write_has_changed(name: str, tmp_path: Path, hudi: RealHudi) -> None:
    """The files keep their labels, which Hudi corrects."""
    foreign = unpack(name, tmp_path)
    labels = {TIME_LABELS: "ts:timestamp-millis,s.ts:timestamp-millis"}
    table = hf.open_table(foreign.path, options=labels)
    repaired = unpack(name, tmp_path / "repaired")
    hf.open_table(repaired.path).repair(apply=True, dead_after=0)
    right = hf.open_table(repaired.path).snapshot(columns=["k", "o", "ts", "l", "s"])
    table.upsert(right.slice(0, 1))
    assert_same_rows(hf.open_table(foreign.path).snapshot(columns=OWN), right.select(OWN), key=("k",))
    assert_same_rows(hudi.read(foreign.path).select(OWN), right.select(OWN), key=("k",))
