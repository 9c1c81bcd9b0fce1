"""Every intact block of a damaged log file, byte for byte, in a new file.  Rules: spec/log-file.md, "Salvage"."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from hudiformat.logfile.reader import Source, map_source, place
from hudiformat.logfile.verify import FindingKind, LogFinding, parts_of
from hudiformat.storage import OutputFile, Storage

_LOST = (FindingKind.TORN_TAIL, FindingKind.CORRUPT, FindingKind.JUNK)


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What a salvage kept and what it could not: *blocks* blocks of *size* bytes are in the file *target*.

    ``lost`` are the spans that are not, in file order.  ``recovered`` are those of the blocks kept that queries of the
    damaged file skip, so that their rows come back with the new file.

    Source: spec/log-file.md, "Salvage".
    """

    target: str
    blocks: int
    size: int
    lost: tuple[LogFinding, ...]
    recovered: tuple[LogFinding, ...]

    @property
    def instants(self) -> tuple[str, ...]:
        """The instants that lost spans name, each once, in file order; a span that names none may be of any."""
        return tuple(dict.fromkeys(instant for finding in self.lost for instant in finding.instants))


def salvage(
    source: Source,
    target: str | os.PathLike[str],
    *,
    storage: Storage | None = None,
    progress: Callable[[int], None] | None = None,
) -> SalvageReport:
    """Copy every intact block of *source*, byte for byte, into the new file *target*, and say what is lost.

    Only one block at a time is touched, so the file may be larger than memory.  When the copy fails, no *target* is
    left behind.  Blocks keep their order; that the new file takes the old one's place is for the caller to bring about,
    while no query runs.  *progress* is called with the bytes of *source* that are done, after each block.

    Raises:
        StorageError: *source* cannot be read, or *target* exists or cannot be written.

    Source: spec/log-file.md, "Salvage".
    """
    _, data = map_source(source, storage)
    path = os.fspath(target)
    store, name = place(path, storage)
    findings: list[LogFinding] = []
    with store.open_new(name) as file:
        try:
            blocks = _copy(data, file, findings, progress)
            file.sync()
        except BaseException:  # an interrupt too: half a salvage looks like a whole one
            store.delete(name)
            raise
        size = file.size
    lost = tuple(finding for finding in findings if finding.kind in _LOST)
    recovered = tuple(finding for finding in findings if finding.kind is FindingKind.HIDDEN)
    return SalvageReport(path, blocks, size, lost, recovered)


def _copy(
    data: memoryview, file: OutputFile, findings: list[LogFinding], progress: Callable[[int], None] | None
) -> int:
    """How many blocks were copied; what else there is goes to *findings*."""
    count = 0
    for part in parts_of(data, progress=progress):
        if isinstance(part, LogFinding):
            findings.append(part)
        else:
            start = part.offset or 0
            file.write(data[start : start + (part.size or 0)])
            count += 1
    return count
