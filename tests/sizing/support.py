"""File slices and commits for sizing tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hudiformat.file_group.slices import BaseFile, FileSlice, LogFile
from hudiformat.naming.file_names import BaseFileName, LogFileName
from hudiformat.sizing import GroupVerdict, RecordSize, SizingOptions, Verdict
from hudiformat.timeline.commit_metadata import CommitMetadata, WriteStat
from hudiformat.timeline.timeline import Action, Instant, State

MB = 10**6
LIMITS = SizingOptions(max_file_size=120 * MB, small_file_limit=100 * MB, candidates_limit=10)
KB = RecordSize(1000)


def group(file_id: str, base: int | None = None, logs: Sequence[int] = ()) -> FileSlice:
    """A slice with files of these sizes."""
    return FileSlice(
        "p",
        file_id,
        "1",
        None if base is None else BaseFile(BaseFileName(file_id, "0-0-0", "1", "parquet"), base),
        tuple(LogFile(LogFileName(file_id, "2", i + 1, "0-0-0"), size) for i, size in enumerate(logs)),
    )


def verdicts(groups: Sequence[GroupVerdict]) -> dict[str, Verdict]:
    return {item.file_id: item.verdict for item in groups}


def small(groups: Sequence[GroupVerdict]) -> list[str]:
    """The file ids of the candidates, in order."""
    return [item.file_id for item in groups if item.is_candidate]


def candidate(file_id: str, size: int) -> GroupVerdict:
    return GroupVerdict(file_id, size, Verdict.SMALL)


def commit(time: str, *files: tuple[str, int, int], action: Action = Action.COMMIT) -> tuple[Instant, CommitMetadata]:
    """A completed commit of files, each with its name, bytes and records."""
    stats = tuple(WriteStat(path=f"p/{name}", total_write_bytes=size, num_writes=n) for name, size, n in files)
    return Instant(time, action, State.COMPLETED), CommitMetadata(partition_to_write_stats={"p": stats})


def endless(commits: Sequence[tuple[Instant, CommitMetadata]]) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Commits that fail if more than those are read."""
    yield from commits
    raise AssertionError("read too many commits")
