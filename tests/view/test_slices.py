"""File slices from made-up listings; the rules are those of spec/file-slices.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudiformat.naming import BaseFileName, LogFileName
from hudiformat.storage import FileInfo
from hudiformat.view import BaseFile, FileSlice, LogFile, Visibility, build_slices, latest_slices

SPEC = Path(__file__).parents[2] / "spec" / "file-slices.md"


def files(*names: str) -> list[FileInfo]:
    return [FileInfo(name, size, is_dir=False) for size, name in enumerate(names, start=1)]


def committed(*instants: str, first_active: str | None = None, **more: str) -> Visibility:
    """Each instant completes one after it began, ``i3="9"`` completes 3 at 9."""
    completion = {instant: f"{int(instant) + 1}" for instant in instants}
    completion |= {name.removeprefix("i"): time for name, time in more.items()}
    return Visibility(completion, first_active=first_active)


def shown(slices: list[FileSlice]) -> list[tuple[str, str, str | None, list[str]]]:
    return [
        (
            item.file_id,
            item.base_instant,
            None if item.base_file is None else str(item.base_file.name),
            [str(log.name) for log in item.log_files],
        )
        for item in slices
    ]


def test_a_slice_knows_its_files_and_their_sizes() -> None:
    slices = build_slices("p", files("f_0-0-0_10.parquet", ".f_20.log.1_1-2-3"), committed("10", "20"))
    base = BaseFile(BaseFileName("f", "0-0-0", "10"), 1)
    log = LogFile(LogFileName("f", "20", 1, "1-2-3"), 2)
    assert slices == [FileSlice("p", "f", "10", base, (log,))]
    assert slices[0].size == 3
    assert FileSlice("p", "f", "10", None, (log,)).size == 2


def test_a_log_belongs_to_the_newest_base_that_began_before_it_completed() -> None:
    listing = files("f_0-0-0_10.parquet", "f_0-0-0_30.parquet", ".f_20.log.1_0-0-0")
    early = build_slices("", listing, committed("10", "30", i20="25"))
    assert shown(early) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_20.log.1_0-0-0"]),
        ("f", "30", "f_0-0-0_30.parquet", []),
    ]
    late = build_slices("", listing, committed("10", "30", i20="35"))
    assert shown(late) == [
        ("f", "10", "f_0-0-0_10.parquet", []),
        ("f", "30", "f_0-0-0_30.parquet", [".f_20.log.1_0-0-0"]),
    ]
    at_once = build_slices("", listing, committed("10", "30", i20="30"))
    assert shown(at_once)[1][3] == [".f_20.log.1_0-0-0"]


def test_logs_without_a_base_file_are_one_slice_from_the_first() -> None:
    listing = files(".f_30.log.1_0-0-0", ".f_10.log.1_0-0-0", ".f_20.log.1_0-0-0")
    assert shown(build_slices("", listing, committed("10", "20", "30"))) == [
        ("f", "10", None, [".f_10.log.1_0-0-0", ".f_20.log.1_0-0-0", ".f_30.log.1_0-0-0"])
    ]


def test_a_log_completed_before_every_base_has_a_slice_of_its_own() -> None:
    listing = files("f_0-0-0_30.parquet", ".f_10.log.1_0-0-0", ".f_40.log.1_0-0-0")
    assert shown(build_slices("", listing, committed("10", "30", "40"))) == [
        ("f", "10", None, [".f_10.log.1_0-0-0"]),
        ("f", "30", "f_0-0-0_30.parquet", [".f_40.log.1_0-0-0"]),
    ]


def test_logs_come_by_instant_then_version_then_token_whatever_the_completion() -> None:
    listing = files(
        "f_0-0-0_10.parquet",
        ".f_30.log.1_0-0-0",
        ".f_20.log.10_0-0-0",
        ".f_20.log.2_0-0-0",
        ".f_20.log.1_9-0-0",
        ".f_20.log.1_10-0-0",
        ".f_20.log.1",
    )
    (item,) = build_slices("", listing, committed("10", i20="99", i30="31"))
    assert [str(log.name) for log in item.log_files] == [
        ".f_20.log.1",
        ".f_20.log.1_10-0-0",
        ".f_20.log.1_9-0-0",
        ".f_20.log.2_0-0-0",
        ".f_20.log.10_0-0-0",
        ".f_30.log.1_0-0-0",
    ]


def test_what_is_not_committed_cannot_be_seen() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_20.log.1_0-0-0", "g_0-0-0_20.parquet")
    assert shown(build_slices("", listing, committed("10"))) == [("f", "10", "f_0-0-0_10.parquet", [])]
    assert build_slices("", listing, Visibility({})) == []


def test_what_was_archived_can_be_seen_unless_it_is_pending() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_20.log.1_0-0-0", ".f_40.log.1_0-0-0")
    archived = Visibility({"30": "31", "40": "41"}, first_active="30")
    assert shown(build_slices("", listing, archived)) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_20.log.1_0-0-0", ".f_40.log.1_0-0-0"])
    ]
    pending = Visibility({"30": "31", "40": "41"}, first_active="30", pending=frozenset({"20"}))
    assert shown(build_slices("", listing, pending))[0][3] == [".f_40.log.1_0-0-0"]
    assert archived.completion_time("20") == "20"


def test_change_data_and_other_files_are_left_out() -> None:
    listing = files(
        ".f_10.log.1_0-0-0.cdc",
        ".f_10.log.1_0-0-0",
        ".hoodie_partition_metadata",
        ".f_0-0-0_10.parquet.crc",
        ".commits_.archive.1_1-0-1",
        "README",
        "f_0-0-0_10.csv",
        "",
    )
    assert shown(build_slices("", listing, committed("10"))) == [("f", "10", None, [".f_10.log.1_0-0-0"])]


def test_as_of_hides_what_began_later() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_20.log.1_0-0-0", "f_0-0-0_30.parquet", "g_0-0-0_40.parquet")
    visible = committed("10", "20", "30", "40")
    assert build_slices("", listing, visible, as_of="09") == []
    assert shown(build_slices("", listing, visible, as_of="10")) == [("f", "10", "f_0-0-0_10.parquet", [])]
    assert shown(build_slices("", listing, visible, as_of="29"))[0][3] == [".f_20.log.1_0-0-0"]
    assert len(build_slices("", listing, visible, as_of="40")) == 3


def test_a_replaced_group_is_gone_from_its_replacement_on() -> None:
    listing = files("f_0-0-0_10.parquet", "g_0-0-0_20.parquet")
    visible = Visibility({"10": "11", "20": "21"}, replaced={("p", "f"): "20"})
    assert [item.file_id for item in build_slices("p", listing, visible)] == ["g"]
    assert [item.file_id for item in build_slices("p", listing, visible, as_of="19")] == ["f"]
    assert [item.file_id for item in build_slices("p", listing, visible, as_of="20")] == ["g"]
    assert [item.file_id for item in build_slices("q", listing, visible)] == ["f", "g"]


def test_slices_are_sorted_by_file_id_and_age() -> None:
    listing = files("g_0-0-0_10.parquet", "f_0-0-0_30.parquet", "f_0-0-0_10.parquet", ".a_20.log.1_0-0-0")
    slices = build_slices("", listing, committed("10", "20", "30"))
    assert [(item.file_id, item.base_instant) for item in slices] == [
        ("a", "20"),
        ("f", "10"),
        ("f", "30"),
        ("g", "10"),
    ]
    assert [(item.file_id, item.base_instant) for item in latest_slices(slices)] == [
        ("a", "20"),
        ("f", "30"),
        ("g", "10"),
    ]
    assert latest_slices([]) == []


@pytest.mark.parametrize("reverse", [False, True])
def test_the_example_of_the_specification(reverse: bool) -> None:
    text = SPEC.read_text(encoding="utf-8").split("## Example", 1)[1].split("\n## ", 1)[0]
    listing = files(*re.findall(r"^    (\S+)$", text, re.MULTILINE))
    text = text.replace("\N{EN DASH}", "-")
    instants = re.findall(r"^\| (\d+) \| (\d+|-) \|$", text, re.MULTILINE)
    visible = Visibility({began: completed for began, completed in instants if completed != "-"})
    expected = [
        (file_id, base_instant, None if base == "-" else base.strip("`"), re.findall("`([^`]+)`", logs))
        for file_id, base_instant, base, logs in re.findall(
            r"^\| `(\w+)` \| (\d+) \| (`[^`]+`|-) \| (.*) \|$", text, re.MULTILINE
        )
    ]
    assert len(expected) == 3
    assert shown(build_slices("p", reversed(listing) if reverse else listing, visible)) == expected
