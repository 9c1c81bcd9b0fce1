"""File slices from made-up listings, by the rules of spec/file-slices.md, and against a model of random writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from hudiformat import UnsupportedFeatureError
from hudiformat.file_group.slices import (
    BaseFile,
    FileSlice,
    KnownSlices,
    LogFile,
    Visibility,
    build_slices,
    latest_slices,
)
from hudiformat.naming.file_names import BaseFileName, LogFileName
from hudiformat.storage.protocol import FileInfo
from hudiformat.timeline.timeline import Action, Instant, State, Timeline
from tests.effort import examples

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


def test_a_slice_has_its_files_and_their_sizes() -> None:
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


def test_a_savepoint_does_not_change_when_its_commit_was_completed() -> None:
    timeline = Timeline.of(
        [
            Instant("10", Action.COMMIT, State.COMPLETED, "11"),
            Instant("20", Action.DELTA_COMMIT, State.COMPLETED, "25"),
            Instant("30", Action.COMMIT, State.COMPLETED, "31"),
            Instant("20", Action.SAVEPOINT, State.COMPLETED, "40"),
        ]
    )
    listing = files("f_0-0-0_10.parquet", "f_0-0-0_30.parquet", ".f_20.log.1_0-0-0")
    assert shown(build_slices("", listing, Visibility.of(timeline)))[-1] == ("f", "30", "f_0-0-0_30.parquet", [])


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


def test_logs_are_sorted_by_instant_then_version_then_token() -> None:
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


def test_files_of_pending_instants_are_not_visible() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_20.log.1_0-0-0", "g_0-0-0_20.parquet")
    assert shown(build_slices("", listing, committed("10"))) == [("f", "10", "f_0-0-0_10.parquet", [])]
    assert build_slices("", listing, Visibility({})) == []


def test_files_of_archived_instants_are_visible_unless_they_are_pending() -> None:
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


def test_a_registered_file_is_the_base_file_of_its_group() -> None:
    listing = files("data.parquet_1_hudiext", "data.parquet_0-1-2_2.parquet", "other.parquet_1_hudiext")
    assert [one.base_path for one in build_slices("x", listing, committed("1"))] == [
        "x/data.parquet",
        "x/other.parquet",
    ]
    newest = latest_slices(build_slices("x", listing, committed("1", "2")))
    assert [one.base_path for one in newest] == ["x/data.parquet_0-1-2_2.parquet", "x/other.parquet"]


@pytest.mark.parametrize("name", ["data.csv_1_hudiext", "data.parquet_fg%3Dbucket_1_hudiext"])
def test_registered_files_of_other_forms_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"^{name}: expected a file that Hudi wrote, found one"):
        build_slices("", files(name), committed("1"))


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


C, D = Action.COMMIT, Action.DELTA_COMMIT


def visible(*done: str, compaction: str | None = None, first_active: str | None = None) -> Visibility:
    pending = frozenset({compaction} if compaction else ())
    return Visibility(
        dict.fromkeys(done, "99"),  # completion times, which here mean nothing
        first_active=first_active,
        pending=pending,
        pending_compactions=pending,
        logs_name_slices=True,
    )


def test_in_version_6_a_log_belongs_to_the_slice_in_its_name() -> None:
    listing = files("f_0-0-0_10.parquet", "f_0-0-0_30.parquet", ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0")
    assert shown(build_slices("", listing, visible("10", "30"))) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_10.log.1_0-0-0"]),
        ("f", "30", "f_0-0-0_30.parquet", [".f_30.log.1_0-0-0"]),
    ]


def test_versions_rise_over_commits_and_tokens_are_several() -> None:
    listing = files(
        ".f_10.log.2_1-0-0", ".f_10.log.10_0-0-0", ".f_10.log.2_0-0-0", "f_0-0-0_10.parquet", ".f_10.log.1_0-0-0.cdc"
    )
    (found,) = shown(build_slices("", listing, visible("10")))
    assert found[3] == [".f_10.log.2_0-0-0", ".f_10.log.2_1-0-0", ".f_10.log.10_0-0-0"]


def test_logs_after_a_scheduled_compaction_are_read_with_the_slice_before_it() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0", "f_0-0-0_30.parquet")
    assert shown(build_slices("", listing, visible("10", compaction="30"))) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0"])
    ]
    done = latest_slices(build_slices("", listing, visible("10", "30")))
    assert shown(done) == [("f", "30", "f_0-0-0_30.parquet", [".f_30.log.1_0-0-0"])]


def test_as_of_an_instant_before_the_compaction_its_logs_are_hidden() -> None:
    listing = files("f_0-0-0_10.parquet", ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0")
    assert shown(build_slices("", listing, visible("10", compaction="30"), as_of="29")) == [
        ("f", "10", "f_0-0-0_10.parquet", [".f_10.log.1_0-0-0"])
    ]


def test_a_pending_compaction_of_a_group_of_log_files_only() -> None:
    listing = files(".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0")
    assert shown(build_slices("", listing, visible("10", compaction="30"))) == [
        ("f", "10", None, [".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0"])
    ]
    assert shown(build_slices("", files(".f_30.log.1_0-0-0"), visible("10", compaction="30"))) == [
        ("f", "30", None, [".f_30.log.1_0-0-0"])
    ]


@pytest.mark.parametrize(("instant", "there"), [("05", True), ("10", True), ("20", False)])
def test_archived_instants_count_as_completed(instant: str, there: bool) -> None:
    found = build_slices("", files(f".f_{instant}.log.1_0-0-0"), visible("10", first_active="10"))
    assert bool(found) is there


def test_pending_compactions_come_from_the_timeline() -> None:
    timeline = Timeline(
        (
            Instant("10", D, State.COMPLETED),
            Instant("20", Action.COMPACTION, State.REQUESTED),
            Instant("30", Action.COMPACTION, State.INFLIGHT),
            Instant("40", D, State.INFLIGHT),
            Instant("50", C, State.COMPLETED),
        )
    )
    found = Visibility.of(timeline, logs_name_slices=True)
    assert found.pending_compactions == {"20", "30"}
    assert [found.shows_log(instant) for instant in ("10", "20", "30", "40", "50")] == [True, True, True, False, True]
    assert not Visibility.of(timeline).shows_log("20"), "from version 8 on names carry the delta commits' instants"


GROUPS = ("a", "b")


@dataclass
class Write:
    instant: str
    is_base: bool
    groups: frozenset[str]


@dataclass
class Group:
    bases_begun: list[str] = field(default_factory=list)
    base_files: set[str] = field(default_factory=set)
    logs: dict[str, str | None] = field(default_factory=dict)  # instant -> base that had been begun at its end


class Views(RuleBasedStateMachine):
    pending = Bundle("pending")

    @initialize()
    def start(self) -> None:
        self.time = 1000
        self.listing: list[FileInfo] = []
        self.completion: dict[str, str] = {}
        self.groups = {name: Group() for name in GROUPS}
        self.known = KnownSlices("")

    def tick(self) -> str:
        self.time += 1
        return str(self.time)

    @rule(target=pending, is_base=st.booleans(), groups=st.frozensets(st.sampled_from(GROUPS), min_size=1))
    def begin(self, is_base: bool, groups: frozenset[str]) -> Write:
        instant = self.tick()
        for name in groups:
            if is_base:
                self.groups[name].bases_begun.append(instant)
                file_name = str(BaseFileName(name, "0-0-0", instant))
            else:
                file_name = str(LogFileName(name, instant, 1, "0-0-0"))
            self.listing.insert(0, FileInfo(file_name, 1, is_dir=False))
        return Write(instant, is_base, groups)

    @rule(write=consumes(pending))
    def complete(self, write: Write) -> None:
        self.completion[write.instant] = self.tick()
        for name in write.groups:
            group = self.groups[name]
            if write.is_base:
                group.base_files.add(write.instant)
            else:
                group.logs[write.instant] = None

    @invariant()
    def slices_are_the_models(self) -> None:
        visible = Visibility(self.completion)
        slices = build_slices("", self.listing, visible)
        expected = [entry for name in GROUPS for entry in self.expected(name)]
        assert [
            (
                item.file_id,
                None if item.base_file is None else item.base_file.name.instant,
                [log.name.instant for log in item.log_files],
            )
            for item in slices
        ] == expected
        newest = {name: entry for name, *entry in expected}
        assert {item.file_id: [log.name.instant for log in item.log_files] for item in latest_slices(slices)} == {
            name: logs for name, (_, logs) in newest.items()
        }
        for instant in self.completion:  # nothing that began later is in an earlier view
            past = build_slices("", self.listing, visible, as_of=instant)
            assert all(item.base_instant <= instant for item in past)

    @rule()
    def list_since(self) -> None:
        """What is known of an earlier listing, and the files that have come since, are the slices of all files."""
        visible = Visibility(self.completion)
        assert self.known.is_usable(visible)
        new = [file for file in self.listing if file.name not in self.known.names]
        self.known = self.known.with_files(new, visible)
        assert self.known.newest == latest_slices(build_slices("", self.listing, visible))

    def expected(self, name: str) -> list[tuple[str, str | None, list[str]]]:
        group = self.groups[name]
        by_base: dict[str | None, list[str]] = {base: [] for base in sorted(group.base_files)}
        for instant in sorted(group.logs):
            at_its_end = [base for base in group.base_files if base < self.completion[instant]]
            by_base.setdefault(max(at_its_end, default=None), []).append(instant)
        without_base = by_base.pop(None, [])
        head: list[tuple[str, str | None, list[str]]] = [(name, None, without_base)] if without_base else []
        return head + [(name, base, logs) for base, logs in by_base.items()]


def test_known_slices_are_not_used_after_a_write_was_undone_or_other_groups_are_replaced() -> None:
    files = [FileInfo(str(BaseFileName("a", "0-0-0", "1001")), 1, is_dir=False), FileInfo("text", 1, is_dir=False)]
    known = KnownSlices("p").with_files(files, Visibility({"1001": "1002"}))
    assert known.names == {file.name for file in files}
    assert known.is_usable(Visibility({"1001": "1002", "1003": "1004"}))
    assert known.is_usable(Visibility({"1003": "1004"}, first_active="1003"))
    assert not known.is_usable(Visibility({"1003": "1004"}))
    assert not known.is_usable(Visibility({"1003": "1004"}, first_active="1003", pending=frozenset({"1001"})))
    assert not known.is_usable(Visibility({"1001": "1002"}, replaced={("p", "a"): "1003"}))


def test_registered_files_of_other_forms_are_refused_among_further_ones_too() -> None:
    name = f"{BaseFileName('a', '0-0-0', '1001', 'csv')}_1001_hudiext"
    with pytest.raises(UnsupportedFeatureError, match="registered with a table"):
        KnownSlices("p").with_files([FileInfo(name, 1, is_dir=False)], Visibility({"1001": "1002"}))


TestViews = Views.TestCase
TestViews.settings = settings(max_examples=examples(50), stateful_step_count=20, deadline=None)
