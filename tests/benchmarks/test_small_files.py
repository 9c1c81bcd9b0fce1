"""The month of flights in small batches, full files, and the large table that is listed, each at a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import full_files, listing, small_files
from tests.effort import only_long

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]


@only_long
def test_the_table_of_small_files_compares_the_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "sizes.png"
    assert small_files.main(["--batches", "2", "--limit", "60", "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("file groups after 2 inserts; 1 full files", "without", "Flink's way"))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_small_files_are_filled(tmp_path: Path) -> None:
    rows = small_files.flights(1).slice(0, 400)
    groups = {
        name: [len(sizes) for sizes in small_files.insert_batches(tmp_path / name, variant, rows, batches=4)]
        for name, variant in small_files.VARIANTS.items()
    }
    assert groups.pop("without") == [1, 2, 3, 4]
    assert set(map(tuple, groups.values())) == {(1, 1, 1, 1)}


@only_long
def test_planned_groups_are_full_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert full_files.main(["--full", "2000000"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in full_files.CASES)


def test_small_groups_are_a_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(full_files.CASES, "tiny", full_files.Case((1.05,), "COPY_ON_WRITE"))
    assert full_files.main(["--full", "1000000", "--case", "tiny"]) == 1
    assert "expected at least 10%" in capsys.readouterr().out


def test_a_large_table_is_listed_in_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main(["--partitions", "20", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("folder by folder", "metadata table", "400"))


def test_slices_that_leave_files_out_are_no_measurement(tmp_path: Path) -> None:
    listing.build(tmp_path / "t", 2)
    (tmp_path / "t" / "00001" / listing._names(1, listing.GROUPS)[0]).unlink()
    with pytest.raises(AssertionError, match="the slices are not those of all files"):
        listing.measure(tmp_path / "t", 2 * listing.FILES, rounds=1)
