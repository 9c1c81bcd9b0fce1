"""Keep files hidden until the commit of their partition, so that files of several batches are merged into one.

A visible file is never merged, because no order of renames and deletes would hide the sources and show the merged file
at once.  Pure.  Rules: spec/sink.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hudiformat.sink.layout import StagedFile
from hudiformat.sink.options import SinkOptions
from hudiformat.sink.packing import Packing, pack

MAX_WAITING_FILES = 64
"""This many waiting files that tasks have written are merged into one hidden file."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What happens to the files of a partition.

    ``published`` are groups of files, each of which becomes a visible file; ``merged`` are groups that become one
    hidden file each; ``waiting`` are files that stay as they are.
    """

    published: tuple[tuple[StagedFile, ...], ...] = ()
    merged: tuple[tuple[StagedFile, ...], ...] = ()
    waiting: tuple[StagedFile, ...] = ()

    def __add__(self, other: Arrangement) -> Arrangement:
        return Arrangement(self.published + other.published, self.merged + other.merged, self.waiting + other.waiting)


def arrange_files(files: Sequence[StagedFile], options: SinkOptions, *, is_due: bool) -> Arrangement:
    """Arrange the files of a partition, oldest first: publish all of them if it is due, otherwise full groups only.

    Files of different schemas or codecs are not put together.  With the target 10 and files of the sizes 4, 5, 3, 4::

        not due: published [4, 5], waiting 3, 4
        due:     published [4, 5], [3, 4]
    """
    arrangement = Arrangement()
    for alike in _by_kind(files):
        packing = options.packing if is_due else Packing.NEXT_FIT
        groups = [tuple(group) for group in pack(alike, lambda file: file.size, options.compaction_target, packing)]
        if is_due:
            arrangement += Arrangement(tuple(groups))
        else:
            arrangement += Arrangement(tuple(groups[:-1])) + _arrange_rest(groups[-1], options)
    return arrangement


def _arrange_rest(files: Sequence[StagedFile], options: SinkOptions) -> Arrangement:
    """Arrange the files that do not fill a group: many are merged, so that there are never very many of them."""
    if sum(file.size for file in files) >= options.compaction_target:
        return Arrangement((tuple(files),))
    merged = tuple(file for file in files if file.merged)
    written = tuple(file for file in files if not file.merged)
    return (
        Arrangement((), (written,), merged) if len(written) >= MAX_WAITING_FILES else Arrangement((), (), tuple(files))
    )


def _by_kind(files: Sequence[StagedFile]) -> Iterator[list[StagedFile]]:
    for kind in dict.fromkeys((file.kind, file.name.rpartition(".")[2]) for file in files):
        yield [file for file in files if (file.kind, file.name.rpartition(".")[2]) == kind]


def with_batch(file: StagedFile, batch: int) -> StagedFile:
    """Return a file that a task has written with its batch in front of its name.

    Without it, files of two batches may have the same name.
    """
    return replace(file, name=f"{batch:010d}-{file.name}")
