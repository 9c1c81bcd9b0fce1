"""Log files from version 8 or 9 in a table of version 6: what its timeline says of their slices."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hudiformat import open_table
from hudiformat.errors import CorruptTableError
from hudiformat.file_group.former_slices import FormerSlices
from hudiformat.file_group.slices import Visibility, build_slices
from hudiformat.naming.file_names import LogFileName
from hudiformat.storage.local import LocalStorage
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.config_files import parse_table_config
from hudiformat.timeline.contents import Content, encode_content
from hudiformat.timeline.plans import (
    ClusteringGroup,
    ClusteringPlan,
    CompactionOperation,
    CompactionPlan,
    RequestedReplaceMetadata,
    SliceInfo,
)
from hudiformat.timeline.table_config import TableConfig
from hudiformat.timeline.timeline import Action, Instant, State, Timeline, instant_path
from tests.file_group.test_slices import files, shown
from tests.tables import new_table, rows

LOG_20 = ".f_20.log.1_0-0-0"
BASE_10, BASE_30 = "f_0-0-0_10.parquet", "f_0-0-0_30.parquet"


def config() -> TableConfig:
    text = (
        "hoodie.table.name=t\nhoodie.table.version=6\nhoodie.timeline.layout.version=1\nhoodie.table.type=MERGE_ON_READ"
    )
    return parse_table_config(text.encode(), path="p")


def made(*paths: str) -> CommitMetadata:
    return CommitMetadata(
        partition_to_write_stats={"p": tuple(WriteStat("f", f"p/{path}", partition_path="p") for path in paths)}
    )


def compaction(base_instant: str, *logs: str) -> CompactionPlan:
    return CompactionPlan((CompactionOperation(base_instant, logs, None, "f", "p"),))


def clustering(base: str | None, *logs: str) -> RequestedReplaceMetadata:
    part = SliceInfo(base and f"/t/p/{base}", tuple(f"/t/p/{log}" for log in logs), "f", "p")
    return RequestedReplaceMetadata("CLUSTER", ClusteringPlan((ClusteringGroup((part,)),)))


class Past:
    """A timeline of delta commits at 10 and 20, a compaction or clustering at 30, and a delta commit at 40."""

    def __init__(self, root: Path, plan: Content | None = None, *, of_20: CommitMetadata | None = None) -> None:
        self.storage, self.config = LocalStorage(root), config()
        action = Action.REPLACE_COMMIT if isinstance(plan, RequestedReplaceMetadata) else Action.COMMIT
        planned = Action.COMPACTION if action is Action.COMMIT else action
        done = [Instant(time, Action.DELTA_COMMIT, State.COMPLETED) for time in ("10", "20", "40")]
        done.append(Instant("30", action, State.COMPLETED))
        self.timeline = Timeline.of(done)
        self.former = FormerSlices(self.storage, self.config, self.timeline)
        self.put(Instant("20", Action.DELTA_COMMIT, State.COMPLETED), made(LOG_20) if of_20 is None else of_20)
        if plan is not None:
            self.put(Instant("30", planned, State.REQUESTED), plan)

    def put(self, instant: Instant, content: Content) -> None:
        self.storage.create(instant_path(self.config, instant), encode_content(content, self.config))

    def slices(self, *names: str, as_of: str | None = None) -> list[tuple[str, list[str]]]:
        visible = Visibility.of(self.timeline, logs_name_slices=True, former=self.former)
        return [(one[1], one[3]) for one in shown(build_slices("p", files(*names), visible, as_of=as_of))]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (compaction("10", LOG_20), [("10", [LOG_20]), ("30", [])]),
        (clustering(BASE_10, LOG_20), [("10", [LOG_20]), ("30", [])]),
        (compaction("10"), [("10", []), ("30", [LOG_20])]),  # completed after the compaction was planned
        (None, [("10", [LOG_20]), ("30", [])]),
    ],
)
def test_a_log_file_belongs_to_the_slice_of_the_plan_that_names_it(
    tmp_path: Path, plan: Content | None, expected: list[tuple[str, list[str]]]
) -> None:
    past = Past(tmp_path, plan)
    assert past.slices(BASE_10, LOG_20, BASE_30) == expected
    assert past.slices(BASE_10, LOG_20, BASE_30, as_of="20") == [("10", [LOG_20])]


def test_a_slice_of_log_files_only_begins_with_the_first(tmp_path: Path) -> None:
    first = ".f_10.log.1_0-0-0"
    plans: tuple[Content, ...] = compaction("10", first, LOG_20), clustering(None, first, LOG_20)
    for number, plan in enumerate(plans):
        past = Past(tmp_path / str(number), plan)
        assert past.slices(first, LOG_20, BASE_30) == [("10", [first, LOG_20]), ("30", [])]


def test_a_slice_whose_base_file_is_not_listed_is_not_made_up(tmp_path: Path) -> None:
    """As in an incremental query, which lists the files of some commits only."""
    later = ".f_40.log.1_0-0-0"
    past = Past(tmp_path, compaction("10", LOG_20, later))
    assert past.slices(LOG_20, later) == [("20", [LOG_20, later])]


def test_without_an_earlier_base_file_a_log_file_that_was_not_read_belongs_to_the_compaction(tmp_path: Path) -> None:
    assert Past(tmp_path, compaction("10")).slices(LOG_20, BASE_30) == [("30", [LOG_20])]


def test_a_log_file_that_its_commit_has_not_made_keeps_the_slice_in_its_name(tmp_path: Path) -> None:
    """The base file of its slice was lost, which is to be noticed."""
    past = Past(tmp_path, of_20=made("f_0-0-0_20.parquet"))
    assert past.slices(BASE_10, LOG_20) == [("10", []), ("20", [LOG_20])]
    named = Past(tmp_path / "planned", compaction("20", LOG_20), of_20=made("f_0-0-0_20.parquet"))
    assert named.slices(BASE_10, LOG_20, BASE_30) == [("10", []), ("20", [LOG_20]), ("30", [])]


def test_names_that_have_the_slice_need_no_plan(tmp_path: Path) -> None:
    past = Past(tmp_path)
    (tmp_path / ".hoodie" / "30.compaction.requested").write_bytes(b"damaged")
    logs = ".f_10.log.1_0-0-0", ".f_30.log.1_0-0-0"
    assert past.slices(BASE_10, BASE_30, *logs) == [("10", [logs[0]]), ("30", [logs[1]])]
    with pytest.raises(CorruptTableError, match=r"30\.compaction\.requested"):
        past.slices(BASE_10, BASE_30, LOG_20)


def test_a_delta_commit_completed_after_the_compactions_that_have_not_read_it(tmp_path: Path) -> None:
    done = [Instant("20", action, State.COMPLETED) for action in (Action.DELTA_COMMIT, Action.COMMIT)]
    unread = Past(tmp_path / "unread", compaction("10")).former
    assert [unread.completed_after(one) for one in done] == ["30", "20"]
    read = Past(tmp_path / "read", compaction("10", LOG_20)).former
    assert [read.completed_after(one) for one in done] == ["20", "20"]


def test_it_can_be_pickled(tmp_path: Path) -> None:
    """Tasks on Spark get it."""
    past = Past(tmp_path, compaction("10", LOG_20))
    name = LogFileName("f", "20", 1, "0-0-0")
    for _ in range(2):
        past.former = pickle.loads(pickle.dumps(past.former))
        assert past.former.of("p", name, ["10", "30"]) == "10"


def test_an_archiving_that_ended_after_the_plan_of_a_compaction_brings_no_row_back(tmp_path: Path) -> None:
    """A file group of version 6 that began with log files; its first compaction has lost its plan."""
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = new_table(tmp_path / "t", version=6, partition_by=[], options=options)
    table.upsert(rows(("a", 1, "", 1), ("b", 1, "", 2)))
    table.compact()
    table.delete(where="k = 'b'")
    table.compact()
    table.upsert(rows(("a", 2, "", 3)))
    min((tmp_path / "t/.hoodie").glob("*.compaction.requested")).unlink()
    found = open_table(tmp_path / "t").snapshot(columns=["k", "v"])
    assert found.to_pylist() == [{"k": "a", "v": 3}]
