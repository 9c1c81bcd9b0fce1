"""Copy the intact blocks of a damaged log file to a new one.  Rules: spec/log-file.md, "Salvage"."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from hudiformat.arguments import check_arguments
from hudiformat.codec.log.reader import Source, map_source, storage_of_file
from hudiformat.codec.log.verify import FindingKind, LogFinding, scan_parts
from hudiformat.progress import notebook_bar
from hudiformat.storage.protocol import OutputFile, Storage

_LOST = (FindingKind.TORN_TAIL, FindingKind.CORRUPT, FindingKind.JUNK)


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """The result of a salvage: *blocks* blocks of *size* bytes were copied to the file *target*.

    ``lost`` are the spans that were not copied, in file order.  ``recovered`` are copied blocks that queries of the
    damaged file skip; queries of the new file return their rows again.

    Source: spec/log-file.md, "Salvage".
    """

    target: str
    blocks: int
    size: int
    lost: tuple[LogFinding, ...]
    recovered: tuple[LogFinding, ...]

    @property
    def instants(self) -> tuple[str, ...]:
        """The instants in lost spans, each once, in file order; a span without an instant may be of any write."""
        return tuple(dict.fromkeys(instant for finding in self.lost for instant in finding.instants))


@check_arguments
def salvage(
    source: Source,
    target: str | os.PathLike[str],
    *,
    storage: Storage | None = None,
    progress: Callable[[int], None] | None = None,
) -> SalvageReport:
    """Copy every intact block of *source*, byte for byte and in order, to the new file *target*, and report the losses.

    One block at a time is read, so the file may be larger than memory.  If the copy fails, *target* is deleted.  The
    caller has to replace the old file by the new one, while no query runs.  *progress* is called after each block with
    the number of bytes of *source* that are done.

    Raises:
        StorageError: *source* cannot be read, or *target* exists or cannot be written.

    Source: spec/log-file.md, "Salvage".
    """
    _, data = map_source(source, storage)
    path = os.fspath(target)
    store, name = storage_of_file(path, storage)
    findings: list[LogFinding] = []
    file = store.open_new(name)
    try:
        with file:
            with notebook_bar("salvaging", len(data)) if progress is None else nullcontext(progress) as done:
                blocks = _copy(data, file, findings, done)
            file.sync()
    except BaseException:  # an interrupt too: an incomplete copy looks like a complete one
        store.delete(name)
        raise
    size = file.size
    lost = tuple(finding for finding in findings if finding.kind in _LOST)
    recovered = tuple(finding for finding in findings if finding.kind is FindingKind.HIDDEN)
    return SalvageReport(path, blocks, size, lost, recovered)


def _copy(data: memoryview, file: OutputFile, findings: list[LogFinding], progress: Callable[[int], None]) -> int:
    """Copy the intact blocks and return how many there are; append the findings about all other bytes to *findings*."""
    count = 0
    for part in scan_parts(data, progress=progress):
        if isinstance(part, LogFinding):
            findings.append(part)
        else:
            start = part.offset or 0
            file.write(data[start : start + (part.size or 0)])
            count += 1
    return count
