"""Repair damaged log files: replace each, under the same name, by those of its blocks that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from hudiformat.check.repair.liveness import WriterTimeout
from hudiformat.check.repair.repair_folder import RepairFolder
from hudiformat.check.repair.steps import Job, RepairKind, RepairStep
from hudiformat.codec.log.block import LogBlock, encode_block
from hudiformat.codec.log.verify import FindingKind, LogFinding, content_error, positions_error, scan_parts
from hudiformat.storage.protocol import Storage
from hudiformat.table.state import TableState
from hudiformat.write.commit.changing import hold_table_lock

_WHAT = "is replaced by a copy of its blocks that can be read"


@dataclass(frozen=True, slots=True)
class _Salvaged:
    """The readable blocks of a log file as bytes, and a description of each lost block.

    ``hidden`` is the number of readable blocks that queries skipped because of the bytes around them.
    """

    data: bytes
    lost: tuple[str, ...]
    hidden: int


def plan_logs(state: TableState, paths: Iterable[tuple[str, str]], timeout: WriterTimeout) -> Iterator[Job]:
    """Yield the jobs for damaged log files; *paths* gives each with the message of its finding."""
    writing = timeout.of_writers(state) if state.logs_name_slices else None  # any of them may append to any log file
    for path, why in paths:
        found = _read_log(state.storage, path)
        more = f"; queries see {found.hidden} of them again" if found.hidden else ""
        step = RepairStep(RepairKind.LOG, path, f"{_WHAT}{more}", why, "; ".join(found.lost))
        reason = writing or timeout.of_file(path)
        yield Job(step, partial(_salvage, state, path, why)) if reason is None else Job.refused(step, reason)


def _salvage(state: TableState, path: str, why: str, taken: RepairFolder) -> None:
    with hold_table_lock(state.context) as owning:
        found = _read_log(state.storage, path)
        taken.copy_file(path, why)
        owning.confirm()
        state.storage.create(path, found.data, overwrite=True)


def _read_log(storage: Storage, path: str) -> _Salvaged:
    """Return the readable blocks of a log file.

    A block with lengths that only Java accepts is encoded anew.  A block whose content cannot be read is left out.
    """
    data = storage.map(path)
    kept, lost, hidden, is_odd = [], [], 0, False
    for part in scan_parts(data):
        if isinstance(part, LogFinding):
            is_odd = part.kind is FindingKind.QUIRK
            hidden += part.kind is FindingKind.HIDDEN
            if part.kind not in (FindingKind.QUIRK, FindingKind.HIDDEN):
                lost.append(_format_finding(part))
            continue
        error = content_error(part)
        if error is not None:
            lost.append(f"the {part.type.name} block of {part.instant}: {error}")
        elif error := positions_error(part):
            lost.append(f"the record positions of the {part.type.name} block of {part.instant}: {error}")
            kept.append(_encode_again(part.without_positions()))
        elif is_odd:
            kept.append(_encode_again(part))
        else:
            start = part.offset or 0
            kept.append(bytes(data[start : start + (part.size or 0)]))
        is_odd = False
    return _Salvaged(b"".join(kept), tuple(lost), hidden)


def _encode_again(block: LogBlock) -> bytes:
    return encode_block(LogBlock(block.type, block.header, block.content, block.footer))


def _format_finding(finding: LogFinding) -> str:
    of = f" of {', '.join(finding.instants)}" if finding.instants else ""
    return f"{finding.length} bytes{of} at byte {finding.offset} ({finding.kind.value})"
